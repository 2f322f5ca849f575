import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.systems import short


@pytest.mark.parametrize(
    ("name", "config", "called", "shape", "told"),
    [
        ("python:my_model:answer", "vqa", "my_model-answer", "vlm", {"function": "my_model:answer"}),
        ("transformers:./out/checkpoint-500/", "vqa", "checkpoint-500", "vlm", {"model": "./out/checkpoint-500/"}),
        ("diffusers:owner/an-editor", "edit", "an-editor", "editor", {"model": "owner/an-editor", "max_images": 1}),
        ("folder:/data/my outputs", "gen", "my-outputs", "unified", {"model": "/data/my outputs"}),
        (
            "openai-chat:Qwen/Qwen3-VL-8B@http://127.0.0.1:8000/v1",
            "vqa",
            "Qwen3-VL-8B",
            "vlm",
            {"model": "Qwen/Qwen3-VL-8B", "base_url": "http://127.0.0.1:8000/v1"},
        ),
    ],
)
def test_forms(name: str, config: str, called: str, shape: str, told: dict[str, object]) -> None:
    assert short.is_short(name)
    system = short.read(name, config)
    assert (system.name, system.shape, system.configs) == (called, shape, (config,))
    (component,) = system.components.values()
    assert component.backend == name.partition(":")[0]
    assert {key: getattr(component, key) for key in told} == told


@pytest.mark.parametrize("name", ["gpt-4o", "systems/mine.yaml", "C:/mine.yaml", "http://host/x.yaml"])
def test_other_names_are_no_short_forms(name: str) -> None:
    assert not short.is_short(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:answer", "expected python:MODULE:FUNCTION: .*expected module:name"),
        ("transformers:", "expected transformers:PATH_OR_HUB_ID: .*expected model"),
        ("openai-chat:Qwen/Qwen3-VL-8B", "expected openai-chat:MODEL@URL"),
    ],
)
def test_forms_that_are_none(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        short.read(name, "vqa")
