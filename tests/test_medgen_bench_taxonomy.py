"""Tasks, modalities, options and ids of `medgen_bench`."""

import hashlib
import warnings

import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

import medgen_bench
from medgen_bench import canonical_modality
from medgen_bench import canonical_task
from medgen_bench import record_id
from medgen_bench import split_options

ALIASES = {
    "multi-choice": "multiple-choice",
    "question-answer": "question-answering",
    "resolution-edit": "resolution-editing",
    "instruction-edit": "instruction-editing",
    "dye-transfer": "style-transfer",
    "3d-2d-projection": "3d-to-2d-projection",
    "2d-3d-reconstruction": "2d-to-3d-reconstruction",
    "organ-removal": "organic-removal",
    "organ-reconstruction": "organic-reconstruction",
}


def test_fifteen_paper_tasks_and_one_more_in_the_release() -> None:
    by_config = {name: [t for t, task in medgen_bench.TASKS.items() if task.config == name] for name in ("vqa", "edit")}
    assert len(medgen_bench.TASKS) == 16
    assert by_config["vqa"] == ["multiple-choice", "blank-filling", "report-generation", "question-answering"]
    assert len(by_config["edit"]) == 6
    assert {task for task in medgen_bench.TASKS.values() if task.config == "edit"} == {medgen_bench.Task("edit", None)}
    assert medgen_bench.TASKS["disease-prediction"].config == "gen"


respelled = st.sampled_from(sorted({**{task: task for task in medgen_bench.TASKS}, **ALIASES}.items()))


@given(respelled, st.sampled_from(["-", "_", " "]), st.sampled_from([str.lower, str.upper, str.title]))
def test_every_spelling_of_a_task_is_mapped(names: tuple[str, str], joint: str, case: type[str]) -> None:
    raw, canonical = names
    assert canonical_task(f" {case(raw.replace('-', joint))}\n") == canonical


KNOWN = {*medgen_bench.TASKS, *ALIASES}


@given(st.text(min_size=1).filter(lambda raw: "-".join(raw.replace("_", " ").lower().split()) not in KNOWN))
@example("image-edit")
def test_no_other_name_passes(raw: str) -> None:
    with pytest.raises(ValueError, match=r"(unknown|no) task .*; expected one of multiple-choice, blank-filling, "):
        canonical_task(raw)


@pytest.mark.parametrize("generic", ["image-edit", "Image_Editing", "multimodal-generation", "generate", "generation"])
def test_a_generic_name_falls_back(generic: str) -> None:
    assert canonical_task(generic, None, "dye_transfer") == "style-transfer"
    assert canonical_task(generic, "generation", "organ-removal") == "organic-removal"
    with pytest.raises(ValueError, match="unknown task 'Red'; expected one of multiple-choice, "):
        canonical_task(generic, "Red", "style-transfer")
    with pytest.raises(ValueError, match=rf"no task in \['{generic}', None\]"):
        canonical_task(generic, None)


def test_a_specific_unknown_name_does_not_fall_back() -> None:
    with pytest.raises(ValueError, match="unknown task 'detection'"):
        canonical_task("detection", "style-transfer")


@pytest.mark.parametrize(
    ("raw", "modality"),
    [
        ("CT", "CT"),
        ("computed_tomography", "CT"),
        ("MR", "MRI"),
        ("Magnetic Resonance Imaging", "MRI"),
        ("US", "Ultrasound"),
        ("ultrasound", "Ultrasound"),
        ("Radiograph", "X-ray"),
        ("X-ray/Radiography", "X-ray"),
        ("x-Ray", "X-ray"),
        ("xray", "X-ray"),
        ("Histopathology", "Pathology"),
        ("Clinical photos", "Clinical photography"),
        ("clinical-photo", "Clinical photography"),
        ("other", "Other"),
    ],
)
def test_modality_spellings(raw: str, modality: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert canonical_modality(raw) == modality


@given(st.sampled_from(medgen_bench.MODALITIES), st.sampled_from([str.lower, str.upper, str.title]))
def test_canonical_modalities_stay(modality: str, case: type[str]) -> None:
    assert canonical_modality(case(modality)) == modality


def test_an_unknown_modality_is_other_with_one_warning_a_spelling() -> None:
    canonical_modality.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [canonical_modality(raw) for raw in ("PET", "PET", "pet", None, "PET")] == ["Other"] * 5
    assert [str(warning.message).split(" taken")[0] for warning in caught] == [
        "unknown modality 'PET'",
        "unknown modality 'pet'",
        "unknown modality None",
    ]


@pytest.mark.parametrize(
    ("instruction", "body", "choices"),
    [
        ("Which organ?\n\nOptions:\nA. lung\nB. heart", "Which organ?", ["A. lung", "B. heart"]),
        ("Which organ? Options: A. lung\nB. heart\n", "Which organ?", ["A. lung", "B. heart"]),
        ("Which?\r\nOPTIONS :\r\n\r\nA) lung \r\n\r\n(B) heart\r\n", "Which?", ["A. lung", "B. heart"]),
        ("Which?\n选项 Options：\nA．肺\nB、心", "Which?\n选项", ["A. 肺", "B. 心"]),
        ("Which?\nA. lung\nB. heart\nC. 2.5 cm", "Which?", ["A. lung", "B. heart", "C. 2.5 cm"]),
        ("Options:\nA. x\nB. y\nAnswer with a letter.", "Answer with a letter.", ["A. x", "B. y"]),
        ("Treatment options: see A. Then choose.\nOptions:\nA. x\nB. y", "Treatment options: see A. Then choose.",
         ["A. x", "B. y"]),
        ("Sections:\nA. Findings\nB. Impression\n\nOptions:\nA. x\nB. y", "Sections:\nA. Findings\nB. Impression",
         ["A. x", "B. y"]),
        # No blocks: no options, one only, not from A, out of order.
        ("Is there a mass?", "Is there a mass?", []),
        ("Options:\nA. lung", "Options:\nA. lung", []),
        ("Options:\nB. lung\nC. heart", "Options:\nB. lung\nC. heart", []),
        ("A. baumannii grew.\nE. coli did not.", "A. baumannii grew.\nE. coli did not.", []),
        ("Answer choices are given below.", "Answer choices are given below.", []),
    ],
)  # fmt: skip
def test_options_are_taken_out(instruction: str, body: str, choices: list[str]) -> None:
    assert split_options(instruction) == (body, choices)


visible = st.characters(exclude_categories=("C", "Z"))
phrase = st.text(st.one_of(visible, st.just(" ")), min_size=1, max_size=40).map(str.strip).filter(bool)
plain = phrase.filter(lambda text: not text.startswith(("A", "(A")) and "ption" not in text.lower())
plain = plain.filter(lambda text: "hoice" not in text.lower())


@given(
    st.lists(plain, max_size=5),
    st.lists(phrase, min_size=2, max_size=26),
    st.sampled_from(["{}. {}", "{}) {}", "({}) {}"]),
    st.sampled_from(["\n", "\n\n", " \r\n"]),
    st.sampled_from(["Options:\n", "Options: ", "choices:\n\n", ""]),
)
def test_a_block_round_trips(lines: list[str], bodies: list[str], form: str, gap: str, marker: str) -> None:
    body = "\n".join(lines)
    block = gap.join(form.format(chr(65 + n), text) for n, text in enumerate(bodies))
    expected = [f"{chr(65 + n)}. {text}" for n, text in enumerate(bodies)]
    assert split_options(f"{body}\n{marker}{block}") == (body.strip(), expected)


@given(st.text(st.one_of(st.characters(), st.sampled_from("AB.)(: \n")), max_size=200))
def test_any_text_splits_without_losing_a_word(text: str) -> None:
    body, choices = split_options(text)
    assert [choice[:3] for choice in choices] == [f"{chr(65 + n)}. " for n in range(len(choices))]
    assert len(choices) != 1
    if not choices:
        assert body == text


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["A. x" + " " * 10**6 + "\ny", "Options:\n" * 10**5, "Options:" * 10**5, "A. x\n" * 10**5, "\n" * 10**6]
)
def test_hostile_texts_take_no_long_time(text: str) -> None:
    assert split_options(text) == (text, [])


def test_an_id_is_what_the_definition_says() -> None:
    # Written out, since ids that change make every stored prediction useless.
    digests = [hashlib.sha256(data).hexdigest() for data in (b"in", b"out")]
    text = f'["style-transfer", "Make it blue.", ["{digests[0]}"], ["{digests[1]}"]]'
    expected = f"style-transfer-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    assert record_id("style-transfer", "Make  it\nblue. ", [b"in"], [b"out"]) == expected
    assert expected == "style-transfer-103eeead26bc"


def test_ids_tell_records_apart() -> None:
    base = ("style-transfer", "Make it blue.", [b"in"], [b"out"])
    changed = [
        ("artifact-removal", *base[1:]),
        (base[0], "Make it red.", *base[2:]),
        (*base[:2], [b"in2"], [b"out"]),
        (*base[:3], [b"out2"]),
        (*base[:2], [b"in", b"out"], []),
        (*base[:2], [b"out"], [b"in"]),
    ]
    assert len({record_id(*parts) for parts in [base, *changed]}) == 7


@given(st.lists(plain, min_size=1, max_size=4), st.lists(phrase, min_size=2, max_size=5))
def test_options_and_white_space_do_not_count_in_ids(words: list[str], bodies: list[str]) -> None:
    block = "\n".join(f"{chr(65 + n)}. {text}" for n, text in enumerate(bodies))
    stem = " ".join(words)
    spaced = "  \n".join(words)
    wanted = record_id("multiple-choice", stem, [b"x"], [])
    assert record_id("multiple-choice", f"{spaced}\nOptions:\n{block}", [b"x"], []) == wanted


def test_repeats_are_numbered() -> None:
    assert medgen_bench.number_repeats(["a", "b", "a", "a", "b"]) == ["a", "b", "a-2", "a-3", "b-2"]
