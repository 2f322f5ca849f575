from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import medgen_bench
from medgen_scripts.errors import UsageError
from medgen_scripts.records import load_records
from medgen_scripts.running import prompts
from medgen_scripts.running.prompts import PROMPT
from medgen_scripts.running.prompts import TEXT


@pytest.mark.parametrize("name", prompts.templates())
@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_instruction_and_choices_are_in_every_prompt(name: str, config: str) -> None:
    templates = prompts.load(name)
    for record in load_records(config, "sample"):
        made = [templates.ask(role, record, blind=blind) for role in ("answer", "edit", "both") for blind in (0, 1)]
        made += [
            templates.direct(record, sees=sees, keys=keys) for sees in (True, False) for keys in ((), (TEXT, PROMPT))
        ]
        for prompt in made:
            assert record.instruction.strip() in prompt
            assert "{" not in prompt.replace(record.instruction, "")
        for prompt in (made[0], made[4]):
            assert all(prompt.count(choice) == 1 for choice in record.choices)


def test_choices_that_the_instruction_lists_are_not_said_twice() -> None:
    record = next(record for record in load_records("vqa", "sample") if record.choices)
    bare, _ = medgen_bench.split_options(record.instruction)
    assert not any(choice in bare for choice in record.choices)
    assert prompts.options_of(record) == ""
    assert prompts.options_of(replace(record, instruction=bare)).splitlines() == ["Options:", *record.choices]


def test_v1_asks_every_task_in_its_own_words() -> None:
    templates = prompts.load("v1")
    for kind, configs in (("text", ("vqa", "gen")), ("image", ("edit", "gen"))):
        words = getattr(templates, kind)
        assert set(words) == {name for name, task in medgen_bench.TASKS.items() if task.config in configs}
        assert len(set(words.values())) == len(words)


def test_braces_of_records_are_text() -> None:
    record = replace(load_records("vqa", "sample")[0], instruction="What is {this} {0} {?")
    assert "What is {this} {0} {?" in prompts.load("v1").ask("answer", record)


def test_another_wording_has_another_digest(tmp_path: Path) -> None:
    given = yaml.safe_load(prompts.templates()["v1"].read_text())
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(given))
    assert prompts.load(str(path)).digest == prompts.load("v1").digest
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump({**given, "answer": given["answer"] + "Be brief."}))
    assert prompts.load(str(other)).digest != prompts.load("v1").digest


def test_all_faults_of_a_file_are_told(tmp_path: Path) -> None:
    given = yaml.safe_load(prompts.templates()["v1"].read_text())
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**given, "answer": "{question}", "edit": "{", "text": {"sewing": "x"}, "sees": {}}))
    with pytest.raises(UsageError) as raised:
        prompts.load(str(path))
    for said in ("unknown {question}", "edit:", "sewing is no task", "sees: expected input", "sees: expected nothing"):
        assert said in str(raised.value)
