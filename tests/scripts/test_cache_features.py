"""`medgen-bench cache` on references' embeddings: listed, thinned out, handed on."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from medgen_metrics.cache_files import files
from medgen_metrics.feature_cache import Entry
from medgen_metrics.feature_cache import Feature
from medgen_metrics.feature_cache import FeatureCache
from medgen_metrics.signature import digest

from ..metrics.judge.entries import entry as reply
from ..metrics.judge.entries import filled as replies
from .test_cache import call


def entry(number: int, model: str = "MedImageInsight", size: int = 8) -> Entry:
    vector = np.random.RandomState(number).standard_normal(size).astype(np.float32)
    return Entry(digest(number, 32), 1000.0 + number, digest(model), model, Feature(vector, "8-bit"))


def kept(folder: Path) -> dict[str, bytes]:
    return {found.key: found.feature.vector.tobytes() for found in FeatureCache(folder, strict=True)}


def fill(folder: Path, *entries: Entry) -> Path:
    with FeatureCache(folder) as cache:
        for item in entries:
            cache.put(item)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `--out` has it: three embeddings of one encoder and one of another."""
    return fill(tmp_path / "out" / "feature-cache", *map(entry, range(3)), entry(3, "tiny", 4))


EMBEDDING = ("--kind", "embedding")


def test_list_has_no_blank_cell_and_names_the_cache_that_is_empty(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("list", "--out", folder.parent) == 0
    head, *rows, last = (line.split() for line in capsys.readouterr().out.splitlines())
    assert [row[:5] for row in rows] == [
        ["embedding", "MedImageInsight", "3", "-", "0"],
        ["embedding", "tiny", "1", "-", "0"],
    ]
    assert {len(row) for row in rows} == {len(head)}
    assert last[-2:] == ["no", "entries"]
    assert last[0].endswith("judge-cache:")


@pytest.mark.parametrize("name", ["features.jsonl", "features.jsonl.gz"])
def test_an_export_is_imported_elsewhere(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / name
    assert call("export", file, *EMBEDDING, "--out", folder.parent) == 0
    first = file.read_bytes()
    mine = tmp_path / "mine"
    assert call("import", file, "--out", mine) == 0, "its kind is told by the file"
    assert "4 added, 0 known, 0 refused" in capsys.readouterr().out
    assert kept(mine / "feature-cache") == kept(folder)
    assert {found.imported for found in FeatureCache(mine / "feature-cache")} == {name}
    assert not (mine / "judge-cache").exists()
    assert call("import", file, file, "--out", mine) == 0
    assert capsys.readouterr().out.count("0 added, 4 known, 0 refused") == 2
    assert len(files(mine / "feature-cache")) == 1
    assert call("export", file, *EMBEDDING, "--out", folder.parent) == 0
    assert file.read_bytes() == first, "equal caches give equal bytes"
    capsys.readouterr()
    assert call("list", "--out", mine) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert [row[1:5] for row in rows] == [["MedImageInsight", "3", "-", "3"], ["tiny", "1", "-", "1"]]


def test_both_kinds_may_stand_in_one_file(folder: Path, tmp_path: Path) -> None:
    out = folder.parent
    replies(out / "judge-cache", reply(1))
    parts = []
    for kind in ("judge", "embedding"):
        assert call("export", tmp_path / f"{kind}.jsonl", "--kind", kind, "--out", out) == 0
        parts.append((tmp_path / f"{kind}.jsonl").read_bytes())
    (tmp_path / "both.jsonl").write_bytes(b"".join(parts))
    assert call("import", tmp_path / "both.jsonl", "--out", tmp_path / "mine") == 0
    assert kept(tmp_path / "mine" / "feature-cache") == kept(folder)
    assert len(files(tmp_path / "mine" / "judge-cache")) == 1


def test_of_one_encoder(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("export", tmp_path / "e.jsonl", *EMBEDDING, "--cache", folder, "--model", "tiny") == 0
    head, line = (json.loads(text) for text in (tmp_path / "e.jsonl").read_text().splitlines())
    assert head == {"format": "medgen-bench feature cache", "version": 1, "entries": 1}
    assert line["model"] == "tiny"
    assert call("prune", *EMBEDDING, "--cache", folder, "--model", "tiny") == 0
    assert set(kept(folder)) == {entry(number).key for number in range(3)}
    capsys.readouterr()
    assert call("export", tmp_path / "f.jsonl", *EMBEDDING, "--cache", folder, "--model", "tiny") == 2
    assert "expected one of MedImageInsight; got 'tiny'" in capsys.readouterr().err


def test_bad_usage_is_told_and_writes_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        ((tmp_path / "kept.tar",), "kept.tar: expected a name that ends in .jsonl or .jsonl.gz"),
        ((tmp_path / "e.jsonl",), "judge-cache: expected a cache with entries, got none; name its folder with --cache"),
        ((tmp_path / "e.jsonl",), "or --kind embedding"),
        ((folder / "e.jsonl", *EMBEDDING), "expected a file outside of the cache"),
    ):
        assert call("export", *arguments, "--out", folder.parent) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("*.*"))
    assert len(list(folder.iterdir())) == 1


def forged(line: bytes, **changes: object) -> bytes:
    """A line that another hand wrote, with a digest that fits."""
    found = Entry.from_json(line)
    return found._replace(**changes).to_json().encode() + b"\n"  # type: ignore[arg-type]


FORGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "changed": (lambda line: line.replace(b'"8-bit"', b'"float"'), "doesn't have the digest that it names"),
    "not finite": (
        lambda line: forged(line, feature=Feature(np.array([np.inf] * 8, np.float32), "8-bit")),
        "expected finite numbers",
    ),
    "another shape": (
        lambda line: forged(line, feature=Feature(np.ones(9, np.float32), "8-bit")),
        "expected 8 dimensions, as others of its definition have, got 9",
    ),
    "no entry": (lambda line: b'{"key": "x"}\n', "not an entry of the feature cache"),
}


@pytest.mark.parametrize("name", FORGED)
def test_import_takes_what_is_sound_and_names_the_rest(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fill(tmp_path / "theirs", *map(entry, range(3)))
    file = tmp_path / "e.jsonl"
    assert call("export", file, *EMBEDDING, "--cache", folder) == 0
    lines = file.read_bytes().splitlines(keepends=True)
    damage, message = FORGED[name]
    file.write_bytes(b"".join([*lines[:2], damage(lines[2]), lines[3]]))
    mine = tmp_path / "mine"
    assert call("import", file, "--cache", mine) == 2
    said = capsys.readouterr()
    assert "2 added, 0 known, 1 refused" in said.out
    assert f"{file}:3: " in said.err
    assert message in said.err
    whole = kept(folder)
    assert len(kept(mine)) == 2
    assert kept(mine).items() <= whole.items()


def test_half_an_export_and_another_folder_are_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.jsonl.gz"
    assert call("export", file, *EMBEDDING, "--cache", folder) == 0
    whole = gzip.decompress(file.read_bytes())
    half = tmp_path / "half.jsonl"
    half.write_bytes(whole[: len(whole) * 2 // 3])
    assert call("import", half, "--cache", tmp_path / "mine") == 2
    assert "expected 4 entries, got " in capsys.readouterr().err
    judged = replies(tmp_path / "judged", reply(1))
    assert call("import", file, "--cache", judged) == 1
    assert "expected an entry of the feature cache" in capsys.readouterr().err


def test_a_full_cache_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "e.jsonl"
    assert call("export", file, *EMBEDDING, "--cache", folder) == 0
    monkeypatch.setattr(
        "medgen_scripts.cache.FeatureCache", lambda *all, **named: FeatureCache(*all, limit=300, **named)
    )
    assert call("import", file, "--cache", tmp_path / "mine") == 2
    said = capsys.readouterr()
    assert "2 added, 0 known, 2 refused" in said.out
    assert "the cache is full; `medgen-bench cache prune --kind embedding` makes room" in said.err
