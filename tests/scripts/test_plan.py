import re
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from medgen_metrics import radgraph_f1
from medgen_scripts.errors import UsageError
from medgen_scripts.plan import plan
from medgen_scripts.score import score

from .scored import options
from .scored import write_data
from .scored import write_predictions


def rows(printed: str) -> dict[str, list[str]]:
    """Config -> records, done, to score."""
    lines = [line.split() for line in printed.splitlines()]
    return {line[1]: line[3:6] for line in lines if line[:1] == ["mine"]}


def test_a_plan_says_what_score_will_do_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, mine, out = write_data(tmp_path / "data", 12), write_predictions(tmp_path / "mine", 12), tmp_path / "out"
    plan([mine], options(data, out))
    printed = capsys.readouterr().out
    assert rows(printed) == {"vqa": ["12", "0", "12"], "edit": ["12", "0", "12"]}
    assert "the weights of lpips are not here and would be left unscored" in printed
    # times in one format, also under a second
    assert re.findall(r"[\d.]+ s\b", printed) == []
    times = [line.split()[6] for line in printed.splitlines() if line.startswith("mine ")]
    assert len(times) == 2
    assert all(re.fullmatch(r"\d+:\d\d:\d\d", time) and time != "0:00:00" for time in times)
    assert re.search(r"About \d+:\d\d:\d\d on 1 process,", printed)
    assert not out.exists()
    score([mine], options(data, out, tiers=("pixel",)))
    capsys.readouterr()
    before = sorted(out.rglob("*"))
    plan([mine], options(data, out, limit=5))
    assert rows(capsys.readouterr().out) == {"vqa": ["5", "0", "5"], "edit": ["5", "5", "0"]}
    assert sorted(out.rglob("*")) == before


def test_a_package_that_is_missing_is_not_told_as_weights_to_download(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(radgraph_f1.metadata, "version", absent)
    monkeypatch.setattr("medgen_scripts.plan.is_offline", lambda: False)
    data, mine = write_data(tmp_path / "data", 4), write_predictions(tmp_path / "mine", 4)
    plan([mine], replace(options(data, tmp_path / "out", text_extras=("radgraph", "sections")), offline=False))
    printed = capsys.readouterr().out
    assert printed.count("which is not installed") == 1
    assert "text: radgraph_f1, radgraph_f1_findings, radgraph_f1_impression would be left unscored: " in printed
    assert "the weights of lpips are not here and would be downloaded first, or left unscored" in printed
    monkeypatch.setattr("medgen_scripts.plan.is_offline", lambda: True)
    plan([mine], replace(options(data, tmp_path / "out"), offline=False))
    assert "the weights of lpips are not here and would be left unscored" in capsys.readouterr().out


def test_every_bad_file_is_in_one_message(tmp_path: Path) -> None:
    data, out = write_data(tmp_path / "data", 6), tmp_path / "out"
    folders = [write_predictions(tmp_path / name, 6) for name in ("one", "two", "three")]
    for folder in folders[:2]:
        (folder / "edit.jsonl").write_text('{"id": "nobody", "image": "x.png"}\n' * 30)
    for verb in (plan, score):
        with pytest.raises(UsageError) as told:
            verb(folders, options(data, out))
        said = str(told.value)
        for folder in folders[:2]:
            assert f"{folder}/edit.jsonl: 30 bad rows in predictions" in said
            assert f"medgen-bench validate {folder}/edit.jsonl " in said
        assert said.count("… and 10 more") == 2
        assert str(folders[2]) not in said
