import gzip
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics.cache_files import files
from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.judge.entry import Entry
from medgen_scripts.cli import main
from medgen_scripts.lock import hold

from ..metrics.judge.entries import entry
from ..metrics.judge.entries import filled
from ..metrics.judge.entries import full_disk


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["cache", *map(str, arguments)])
    return int(ended.value.code or 0)


def held(folder: Path) -> dict[str, Entry]:
    return {item.key: item for item in ReplyCache(folder)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five entries of two judges in two files, where `--out` has them; one is unusable, one is new."""
    cache = tmp_path / "out" / "judge-cache"
    filled(cache, entry(1), entry(2, "sorry", unusable="refusal"), entry(3, created=time.time()))
    return filled(cache, replace(entry(4), model="other"), replace(entry(5), model="other"), entry(1, created=2000.0))


def test_list_counts_a_judge_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "--out", folder.parent) == 0
    rows = {line.split()[1]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["judge-8b"][2:5] == ["3", "1", "0"]
    assert rows["judge-8b"][6:] == ["1970-01-01", time.strftime("%Y-%m-%d", time.gmtime())]
    assert rows["other"][2:5] == ["2", "0", "0"]
    assert call("list", "--cache", folder / "none") == 0
    assert "no entries" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("criteria", "stay"),
    [
        (["--model", "other"], {1, 2, 3}),
        (["--unusable"], {1, 3, 4, 5}),
        (["--older-than", 1], {3}),
        (["--older-than", 1, "--model", "judge-8b"], {3, 4, 5}),
        (["--older-than", 1, "--unusable"], {1, 3, 4, 5}),
    ],
)
def test_prune_removes_what_meets_every_criterion(
    folder: Path, criteria: list[object], stay: set[int], capsys: pytest.CaptureFixture[str]
) -> None:
    before = held(folder)
    with ReplyCache(folder) as cache:
        cache.note("mode", "text")
    assert call("prune", "--cache", folder, *criteria, "--dry-run") == 0
    assert held(folder) == before
    assert call("prune", "--cache", folder, *criteria) == 0
    would, did = capsys.readouterr().out.splitlines()
    count = len(before) - len(stay)
    assert f"{count} {'entry' if count == 1 else 'entries'} would be removed" in would
    assert would.replace("would be ", "") == did
    assert held(folder) == {entry(number).key: before[entry(number).key] for number in stay}
    assert ReplyCache(folder).facts == {"mode": "text"}


def test_a_scorer_goes_on_while_its_cache_is_pruned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReplyCache(folder) as scorer:
        new = replace(entry(6), model="other")
        scorer.put(new.key, new)
        assert call("prune", "--cache", folder, "--model", "other") == 0
        assert "left as it is, a running process appends to it" in capsys.readouterr().out
        scorer.put(entry(7).key, entry(7))
        assert scorer.get(entry(3).key) is not None, "what was kept is found where it is now"
        assert scorer.get(entry(4).key) is None
        assert scorer.get(new.key) == new
    assert set(held(folder)) == {entry(number).key for number in (1, 2, 3, 6, 7)}


def test_a_full_disk_ends_a_prune_without_a_loss(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = held(folder)
    with full_disk(100):
        assert call("prune", "--cache", folder, "--unusable") == 1
    assert "can't be written" in capsys.readouterr().err
    assert held(folder) == before
    assert len(list(folder.glob("*.tmp"))) == 0


def test_prune_says_what_it_lacks(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("prune", "--cache", folder) == 2
    assert "expected what is to go (--model, --older-than, --unusable)" in capsys.readouterr().err
    assert call("prune", "--cache", folder, "--model", "judge-80b") == 2
    assert "expected one of judge-8b, other; got 'judge-80b'" in capsys.readouterr().err
    assert call("prune", "--cache", tmp_path / "none", "--unusable") == 2
    assert not (tmp_path / "none").exists()
    with hold(folder, "prune", "pruning"):
        assert call("prune", "--cache", folder, "--unusable") == 2


@pytest.mark.parametrize("name", ["verdicts.jsonl", "verdicts.jsonl.gz"])
def test_an_export_is_imported_elsewhere(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("export", tmp_path / name, "--cache", folder) == 0
    first = (tmp_path / name).read_bytes()
    assert (first[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert b"gpu7" not in (gzip.decompress(first) if name.endswith(".gz") else first)
    assert call("import", tmp_path / name, "--cache", tmp_path / "mine") == 0
    assert "5 added, 0 known, 0 refused" in capsys.readouterr().out
    ours, theirs = held(folder), held(tmp_path / "mine")
    bare = {key: replace(item, endpoint=None) for key, item in ours.items()}
    assert {key: replace(item, meta=bare[key].meta) for key, item in theirs.items()} == bare
    assert {item.meta["imported"] for item in theirs.values()} == {name}
    assert call("import", tmp_path / name, "--cache", tmp_path / "mine") == 0
    assert "0 added, 5 known, 0 refused" in capsys.readouterr().out
    assert call("export", tmp_path / name, "--cache", folder) == 0
    assert (tmp_path / name).read_bytes() == first, "equal caches give equal bytes"


def test_an_export_of_one_judge(folder: Path, tmp_path: Path) -> None:
    assert call("export", tmp_path / "e.jsonl", "--cache", folder, "--model", "other") == 0
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert lines[0]["entries"] == len(lines) - 1 == 2
    assert {line["model"] for line in lines[1:]} == {"other"}
    assert call("export", tmp_path / "f.jsonl", "--cache", tmp_path / "none") == 2
    assert not (tmp_path / "f.jsonl").exists()


def test_what_is_here_stays_but_an_unusable_reply_gives_way(tmp_path: Path) -> None:
    theirs = filled(tmp_path / "theirs", entry(1, "two", created=1.0), entry(2, "four"))
    filled(tmp_path / "mine", entry(1, "five"), entry(2, "sorry", unusable="refusal"))
    assert call("export", tmp_path / "e.jsonl", "--cache", theirs) == 0
    assert call("import", tmp_path / "e.jsonl", "--cache", tmp_path / "mine") == 0
    assert [held(tmp_path / "mine")[entry(number).key].text for number in (1, 2)] == ["five", "four"]


def test_import_counts_nothing_of_a_file_that_is_not_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.jsonl"
    assert call("export", file, "--cache", folder) == 0
    capsys.readouterr()
    assert call("import", tmp_path / "gone.gz", file, "--cache", tmp_path / "mine") == 2
    said = capsys.readouterr()
    assert said.out == f"{file}: 5 added, 0 known, 0 refused\n"
    assert "gone.gz: expected an export" in said.err


def test_import_takes_what_is_sound_and_names_the_rest(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.jsonl"
    assert call("export", file, "--cache", folder) == 0
    lines = file.read_text().splitlines()
    forged = json.loads(lines[2])
    forged["text"] = '{"overall_score": 5}'
    file.write_text("\n".join([lines[0], lines[1], json.dumps(forged), "no JSON", *lines[4:]]) + "\n")
    assert call("import", file, "--cache", tmp_path / "mine") == 2
    said = capsys.readouterr()
    assert "3 added, 0 known, 2 refused" in said.out
    assert f"{file}:3: its content doesn't have the digest that it names" in said.err
    assert f"{file}:4: no JSON" in said.err
    assert len(held(tmp_path / "mine")) == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[: len(whole) // 2], "got: "),
        (
            lambda whole: gzip.compress(b"".join(gzip.decompress(whole).splitlines(keepends=True)[:-1])),
            "fetch the file",
        ),
        (lambda whole: gzip.compress(gzip.decompress(whole).replace(b'"version": 1', b'"version": 9', 1)), "version 9"),
        (lambda whole: gzip.compress(gzip.decompress(whole).split(b"\n", 1)[1]), "'format'|no header line"),
        (lambda whole: whole[:40] + b"\x00" * 20 + whole[60:], "got: "),
        (lambda whole: b"", "an empty file"),
    ],
)
def test_half_an_export_is_told(
    folder: Path, tmp_path: Path, damage: object, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.jsonl.gz"
    assert call("export", file, "--cache", folder) == 0
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert call("import", file, "--cache", tmp_path / "mine") == 2
    error = capsys.readouterr().err
    assert any(part in error for part in message.split("|")), error


def test_several_exports_may_follow_each_other_in_one_file(tmp_path: Path) -> None:
    parts = []
    for number in (1, 2):
        file = tmp_path / f"{number}.jsonl.gz"
        assert call("export", file, "--cache", filled(tmp_path / str(number), entry(number))) == 0
        parts.append(file.read_bytes())
    (tmp_path / "both.jsonl.gz").write_bytes(b"".join(parts))
    assert call("import", tmp_path / "both.jsonl.gz", "--cache", tmp_path / "mine") == 0
    assert set(held(tmp_path / "mine")) == {entry(1).key, entry(2).key}


def test_a_broken_cache_is_a_failure_that_names_the_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files(folder)[0]
    path.write_bytes(b"garbage\n" + path.read_bytes())
    for verb in (["list"], ["prune", "--unusable"], ["export", folder.parent / "e.jsonl"]):
        assert call(*verb, "--cache", folder) == 1
        assert f"{path}:1: expected an entry of the reply cache, got 'garbage'" in capsys.readouterr().err


def test_a_broken_line_of_a_feature_cache_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "features-1.jsonl"
    path.write_bytes(b"garbage\n")
    for verb in (["list"], ["prune", "--older-than", "1"]):
        assert call(*verb, "--kind", "embedding", "--cache", tmp_path) == 1
        said = capsys.readouterr().err
        assert f"{path}:1: expected an entry of the feature cache, got 'garbage'" in said
        assert "its images are encoded again" in said
