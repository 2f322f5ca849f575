import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

import medgen_bench
from medgen_metrics.judge import form
from medgen_metrics.judge.rubric import CONFIGS
from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import Rubric
from medgen_metrics.judge.rubric import rubric

from .verdicts import CASES
from .verdicts import STANDARD
from .verdicts import filled

V2 = (
    "anatomical_accuracy",
    "clinical_finding_accuracy",
    "instruction_compliance",
    "cross_modal_consistency",
    "hallucination_omission_control",
)
V1 = ("consistency", "visual_text_alignment", "content_accuracy", "relevance", "modality_consistency")
SHEETS = [rubric("v2", layout, scale) for layout in ("paper", "standard") for scale in (5, 10)]
SHEETS += [rubric("v1", layout) for layout in ("paper", "standard")]
name = "{0.version}-{0.layout}-{0.scale}".format
every_sheet = pytest.mark.parametrize("sheet", SHEETS, ids=name)


def test_versions_and_scales() -> None:
    assert (rubric().version, rubric().layout, rubric().scale) == ("v2", "paper", 5)
    assert [(s.low, s.high, s.pass_mark) for s in (rubric(), rubric(scale=10), rubric("v1"))] == [
        (1, 5, 4),
        (1, 10, 8),
        (1, 10, 8),
    ]
    assert rubric().names == V2
    assert rubric("v1").names == V1
    assert rubric() is rubric()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("v3",), "unknown rubric version 'v3'; expected one of v1, v2"),
        (("v2", "wide"), "unknown layout 'wide'; expected one of paper, standard"),
        (("v2", "paper", 7), "rubric v2 has scale 5 or 10; got 7"),
        (("v1", "paper", 5), "rubric v1 has scale 10; got 5"),
        (("v2", "paper", 0), "rubric v2 has scale 5 or 10; got 0"),
    ],
)
def test_bad_combinations(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        rubric(*arguments)


def test_every_task_of_the_benchmark_has_a_checklist() -> None:
    missing = {task: kind.config for task, kind in medgen_bench.TASKS.items() if task not in STANDARD.tasks}
    assert not missing, f"tasks without a checklist in metrics/judge/checklists.yaml: {missing}"
    assert STANDARD.tasks == {task: kind.config for task, kind in medgen_bench.TASKS.items()}


def test_unknown_names_are_told() -> None:
    for ask in (STANDARD.checklist, STANDARD.schema, STANDARD.describe, STANDARD.model):
        with pytest.raises(ValueError, match=r"unknown task 'noise'; expected one of multiple-choice, .*disease-pred"):
            ask("edit", "noise", VIEWS[0])
    with pytest.raises(ValueError, match="unknown view 'both'; expected one of with_reference, without_reference"):
        STANDARD.checklist("edit", "style-transfer", "both")
    with pytest.raises(ValueError, match="unknown config 'image'; expected one of vqa, edit, gen"):
        rubric().dimensions("image", "style-transfer")
    with pytest.raises(ValueError, match="task 'style-transfer' is of config 'edit', not 'gen'"):
        STANDARD.dimensions("gen", "style-transfer")


def test_a_layout_by_formats_takes_tasks_of_other_data_sets() -> None:
    assert len(rubric().checklist("edit", "my-own-task", VIEWS[0])) >= 5


def test_paper_asks_all_dimensions_and_standard_those_that_apply() -> None:
    for config, task, _ in CASES:
        assert tuple(d.key for d in rubric().dimensions(config, task)) == V2
        asked = tuple(d.key for d in STANDARD.dimensions(config, task))
        assert asked == (V2 if config == "gen" else tuple(key for key in V2 if key != "cross_modal_consistency"))
    one_output = {d.key: d.asks for d in rubric().dimensions("edit", "style-transfer")}["cross_modal_consistency"]
    assert "only one of the two is produced" in one_output
    both = {d.key: d.asks for d in rubric().dimensions("gen", "organic-removal")}["cross_modal_consistency"]
    assert "only one of the two" not in both


def test_version_1_has_no_checklist() -> None:
    assert rubric("v1").checklist("edit", "style-transfer", VIEWS[0]) == ()
    assert "checklist" not in rubric("v1").schema("edit", "style-transfer", VIEWS[0])["properties"]
    assert "hecklist" not in rubric("v1").describe("edit", "style-transfer", VIEWS[0])


def test_a_schema_is_made_once_and_each_caller_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("edit", "style-transfer", VIEWS[0])
    form._schema_text.cache_clear()
    rubric().schema(*where)["properties"].clear()
    monkeypatch.setattr(form, "_inlined", lambda *_: pytest.fail("made again"))
    assert next(iter(rubric().schema(*where)["properties"])) == "checklist"


@every_sheet
def test_each_level_of_each_dimension_is_worded(sheet: Rubric) -> None:
    for dimension in sheet.dimensions("gen", "organic-removal"):
        assert len(set(dimension.levels)) == 5
        assert all(len(level.split()) >= 6 for level in dimension.levels), dimension.key
    text = sheet.describe("gen", "organic-removal", VIEWS[0])
    numbers = re.findall(r"^  ([0-9-]+): ", text, re.MULTILINE)
    expected = [str(n) for n in range(1, 6)] if sheet.scale == 5 else ["1-2", "3-4", "5-6", "7-8", "9-10"]
    assert numbers == expected * 6  # five dimensions and the overall score
    assert ("covers two levels" in text) is (sheet.scale == 10)


@pytest.mark.parametrize("sheet", [rubric(), STANDARD], ids=name)
def test_checklists_can_be_answered_in_their_view(sheet: Rubric) -> None:
    for config, task, view in CASES:
        items = sheet.checklist(config, task, view)
        assert 5 <= len(items) <= 10
        keys = [item.key for item in items]
        assert len(set(keys)) == len(keys)
        assert all(re.fullmatch(r"[a-z][a-z_]{3,40}", key) for key in keys)
        assert all(item.question.count("?") == 1 for item in items)
        # a record of `edit` has no response, and one of `vqa` no output image
        unseen = {"vqa": "output image|input", "edit": "response|answer", "gen": "(?!)"}[config]
        # the public judge hides the input where it shows the reference
        unseen += "|input" if sheet.layout == "paper" and view == "with_reference" else ""
        unseen += "|reference" if view == "without_reference" else ""
        wrong = [item.question for item in items if re.search(unseen, item.question)]
        assert not wrong, (task, view, wrong)


def test_checklists_of_tasks_are_their_own() -> None:
    lists = {task: STANDARD.checklist(config, task, VIEWS[1]) for task, config in STANDARD.tasks.items()}
    for task, items in lists.items():
        others = {item.question for other, its in lists.items() if other != task for item in its}
        own = [item for item in items if item.question not in others]
        assert len(own) >= 5, task
        # nothing invented, in whatever words, is asked of every task
        assert re.search(r"nothing_invented|others_excluded|sentence_true", " ".join(item.key for item in items))


@every_sheet
def test_the_view_without_a_reference_never_speaks_of_one(sheet: Rubric) -> None:
    for config, task, view in CASES:
        text = sheet.describe(config, task, view)
        assert ("reference" in text) is (view == "with_reference")


def _objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for part in schema for found in _objects(part)]
    if not isinstance(schema, dict):
        return []
    return [schema] * (schema.get("type") == "object") + [found for v in schema.values() for found in _objects(v)]


@every_sheet
def test_schemas_are_strict(sheet: Rubric) -> None:
    allowed = {"type", "properties", "required", "additionalProperties", "enum", "minimum", "maximum"}
    for config, task, view in CASES:
        schema = sheet.schema(config, task, view)
        found = _objects(schema)
        dimensions = [d.key for d in sheet.dimensions(config, task)]
        items = [item.key for item in sheet.checklist(config, task, view)]
        assert len(found) == 1 + len(dimensions) + bool(items)
        for node in found:
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
            assert set(node) <= allowed
            leaves = [leaf for leaf in node["properties"].values() if leaf["type"] != "object"]
            assert all(set(leaf) <= allowed for leaf in leaves)
        order = ["checklist"] * bool(items) + ["analysis", *dimensions, "overall_score", "final_thoughts"]
        assert list(schema["properties"]) == order
        assert schema["properties"]["overall_score"] == {"type": "number", "minimum": 1, "maximum": sheet.scale}
        levels = list(range(1, sheet.scale + 1))
        assert schema["properties"][dimensions[0]]["properties"]["score"] == {"type": "integer", "enum": levels}
        if items:
            assert list(schema["properties"]["checklist"]["properties"]) == items


@every_sheet
def test_the_form_in_the_prompt_is_the_schema_s(sheet: Rubric) -> None:
    for config, task, view in CASES:
        text = sheet.describe(config, task, view)
        form = json.loads(re.sub(r"<[^<>]*>", "0", re.sub(r'"<[^<>]*>"', '"x"', text[text.index("\n{\n") :])))
        schema = sheet.schema(config, task, view)
        assert list(form) == schema["required"]
        for key, part in form.items():
            assert list(part if isinstance(part, dict) else []) == schema["properties"][key].get("required", [])
        for item in sheet.checklist(config, task, view):
            assert f"- {item.key}: {item.question}" in text


def test_the_model_takes_what_the_schema_describes() -> None:
    for sheet in SHEETS:
        for case in CASES:
            read = sheet.model(*case).model_validate(filled(sheet, case))
            assert read.model_dump() == filled(sheet, case)
            assert sheet.model(*case) is sheet.model(*case)


@pytest.mark.parametrize("key", filled())
def test_the_model_refuses_what_lacks_a_key_or_has_another(key: str) -> None:
    case = ("edit", "noise-reconstruction", "with_reference")
    model = STANDARD.model(*case)
    verdict = filled()
    del verdict[key]
    with pytest.raises(ValidationError, match=key):
        model.model_validate(verdict)
    with pytest.raises(ValidationError, match="confidence"):
        model.model_validate(filled(confidence=1))


def test_digests_tell_rubrics_apart() -> None:
    digests = {sheet.digest for sheet in SHEETS}
    assert len(digests) == len(SHEETS)
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in digests)


@pytest.mark.parametrize(
    "change",
    [
        (
            "dimensions",
            lambda texts: texts["versions"]["v2"]["anatomical_accuracy"]["levels"].__setitem__(2, "other words"),
        ),
        ("rules", lambda texts: texts["rules"].append("One more.")),
        ("overall", lambda texts: texts["overall"]["levels"].reverse()),
        ("basis", lambda texts: texts["basis"].update(without_reference="Otherwise.")),
    ],
    ids=lambda change: change[0],
)
def test_a_changed_word_changes_the_digest(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import copy

    from medgen_metrics.judge import rubric as module

    texts = copy.deepcopy(module._texts())
    change[1](texts)
    before = Rubric("v2", "paper", 5).digest
    monkeypatch.setattr(module, "_texts", lambda: texts)
    assert Rubric("v2", "paper", 5).digest != before


def test_a_changed_question_changes_the_digest_of_its_layout_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import copy

    from medgen_metrics.judge import rubric as module

    lists = copy.deepcopy(module._checklists())
    before = [Rubric("v2", layout, 5).digest for layout in ("paper", "standard")]
    lists["standard"]["edit"]["style-transfer"]["old_style_gone"] = "Is it gone?"
    monkeypatch.setattr(module, "_checklists", lambda: lists)
    after = [Rubric("v2", layout, 5).digest for layout in ("paper", "standard")]
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)


def test_configs_are_the_benchmark_s() -> None:
    assert CONFIGS == medgen_bench.CONFIGS
