import pytest

from medgen_metrics.judge.families import components
from medgen_metrics.judge.families import families
from medgen_metrics.judge.families import repeated


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", ("Qwen-VL",)),
        ("qwen3-vl-235b-a22b-instruct", ("Qwen-VL",)),
        ("Qwen2.5-VL-7B", ("Qwen-VL",)),
        ("qwen2_5_vl_32b", ("Qwen-VL",)),
        ("Qwen-VL-Max", ("Qwen-VL",)),
        ("Qwen/Qwen3-Omni-30B", ("Qwen-VL",)),
        ("Qwen/Qwen-Image-Edit", ("Qwen-Image", "Qwen-VL")),
        ("lingshu-medical-mllm/Lingshu-32B", ("Lingshu", "Qwen-VL")),
        ("gpt-4o-mini", ("GPT-4o",)),
        ("chatgpt-4o-latest", ("GPT-4o",)),
        ("gpt-image-1-mini", ("GPT-4o",)),
        ("gpt-4.1", ("GPT",)),
        ("gpt-5", ("GPT",)),
        ("openai/o3", ("GPT",)),
        ("dall-e-3", ("DALL-E",)),
        ("gemini-2.5-flash-image-preview", ("Gemini",)),
        ("google/medgemma-4b-it", ("MedGemma", "Gemma")),
        ("microsoft/llava-med-v1.5-mistral-7b", ("LLaVA",)),
        ("OpenGVLab/InternVL3-8B", ("InternVL",)),
        ("Show-o2", ("Show-o",)),
        ("doubao-seedream-4-0-250828", ("Doubao",)),
        ("Qwen/Qwen3-VL-8B-Instruct@http://gpt-4o.example/v1", ("Qwen-VL",)),
        ("my-own-model", ()),
        ("Qwen3-8B", ()),
        ("chiron-o1", ()),
        ("", ()),
    ],
)
def test_a_models_family(model: str, expected: tuple[str, ...]) -> None:
    assert families(model) == expected


def test_a_systems_name_tells_its_components() -> None:
    assert components("qwen3-vl+gpt-image-1") == ("qwen3-vl", "gpt-image-1")


def test_every_repetition_is_warned_of_once() -> None:
    found = repeated(["Lingshu-32B", "Qwen2.5-VL-7B"], {"qwen3-vl+flux": [], "mine": ["qwen-vl-max"], "radfm": []})
    assert [text for text in found if text.startswith("judges ")] == [
        "judges Lingshu-32B and Qwen2.5-VL-7B are both of the family Qwen-VL; their agreement is no second opinion"
    ]
    assert sum("system qwen3-vl+flux;" in text for text in found) == 2
    # a rewriter that the name doesn't tell
    assert sum("qwen-vl-max in system mine;" in text for text in found) == 2
    assert sum(text.startswith("system qwen3-vl+flux holds qwen3-vl") for text in found) == 1
    assert sum("benchmark's construction; its scores" in text for text in found) == 2
    assert not [text for text in found if "radfm" in text]


def test_the_constructors_alone_are_enough() -> None:
    assert len(repeated(["gpt-4o"], {})) == 1
    assert len(repeated(["gpt-4o"], {"gemini-2.5-pro": []})) == 1
    # GPT-image is GPT-4o's
    assert any("gpt-image-1 of the family GPT-4o" in text for text in repeated(["gemini"], {"x+gpt-image-1": []}))


def test_unknown_names_warn_of_nothing() -> None:
    assert repeated(["my-judge", "my-judge"], {"my-judge": ["my-judge"]}) == []
