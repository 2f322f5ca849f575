import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts.cli import main

from .given import COUNT
from .given import EDITS
from .given import TEXTS
from .given import Cli
from .given import put


def line(**row: Any) -> bytes:
    return json.dumps(row).encode() + b"\n"


# name: what becomes of the file's lines, words of the refusal
REFUSED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "broken line": (lambda lines: [lines[0], b"{nope\n", *lines[1:]], "edit.jsonl:2: expected one JSON object"),
    "UTF-16": (lambda lines: [b"".join(lines).decode().encode("utf-16")], "expected UTF-8, got a UTF-16"),
    "old Mac line ends": (lambda lines: [b"".join(lines).replace(b"\n", b"\r")], "was dropped"),
    "one array": (lambda lines: [b"[" + b",".join(lines).replace(b"\n", b"") + b"]\n"], "expected a JSON object"),
    "compressed": (lambda lines: [b"\x1f\x8b\x08\x00" + b"".join(lines)], "edit.jsonl:1: expected UTF-8, got byte"),
    "duplicate id": (lambda lines: [*lines, lines[0]], f"duplicate id '{EDITS[0]}', first on line 1"),
    "unknown id": (
        lambda lines: [*lines, line(id="style-transfer-0123456789ab", image="x.png")],
        "edit.jsonl:4: unknown id 'style-transfer-0123456789ab'",
    ),
    "missing id": (lambda lines: [*lines, line(image="x.png")], "edit.jsonl:4: expected an id"),
    "id that is no text": (lambda lines: [*lines, line(id=[3], image="x.png")], "edit.jsonl:4: expected an id"),
    "surrogate in the id": (lambda lines: [*lines, line(id="\ud800", image="x.png")], "edit.jsonl:4: unknown id"),
    "surrogate as raw bytes": (
        lambda lines: [*lines, b'{"id": "\xed\xa0\x80"}\n'],
        "edit.jsonl:4: expected UTF-8, got byte 0xed",
    ),
    "NaN for a path": (
        lambda lines: [line(id=EDITS[0], image=float("nan")), *lines[1:]],
        "edit.jsonl:1: expected image to be a path, a list of paths or null, got nan",
    ),
    "50 MB line": (
        lambda lines: [lines[0], b'{"id": "' + b"x" * (50 << 20) + b'"}\n', *lines[1:]],
        "edit.jsonl:2: expected a line of at most 16,777,216 bytes, got 52,428,811",
    ),
    "key twice": (
        lambda lines: [lines[0][:-2] + b', "image": "images/b.png"}\n', *lines[1:]],
        "edit.jsonl:1: expected each key once, got 'image' again",
    ),
    "number without end": (lambda lines: [b'{"id": ' + b"9" * 5000 + b"}\n", *lines], "edit.jsonl:1: expected one"),
    "empty file": (lambda lines: [], "expected one JSON object a line, got no row"),
    "blank file": (lambda lines: [b"\n \n"], "expected one JSON object a line, got no row"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_bad_predictions_file_is_refused_in_words(kind: str, system: Path, cli: Cli) -> None:
    change, words = REFUSED[kind]
    file = system / "edit.jsonl"
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))
    ended = cli(system, "--config", "edit")
    assert ended.code == 2
    assert words in ended.said
    assert len(ended.said) < 5000
    assert ended.result is None


# name: what becomes of the file's lines, words of the notice ("" for none)
TAKEN: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "blank lines": (lambda lines: [lines[0], b"\n", b" \t\r\n", *lines[1:]], ""),
    "byte order mark": (lambda lines: [b"\xef\xbb\xbf", *lines], ""),
    "CRLF": (lambda lines: [row.replace(b"\n", b"\r\n") for row in lines], ""),
    "no last newline": (lambda lines: [b"".join(lines)[:-1]], ""),
    "torn last line": (lambda lines: [*lines, lines[0][:30]], "edit.jsonl:4: the last line is torn and was dropped"),
    "lone surrogate": (
        lambda lines: [line(**{**json.loads(lines[0]), "text": "\ud800"}), *lines[1:]],
        "1 lone surrogates in strings replaced by U+FFFD",
    ),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_a_harmless_oddity_is_read(kind: str, system: Path, cli: Cli) -> None:
    change, words = TAKEN[kind]
    file = system / "edit.jsonl"
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    assert words in ended.said
    assert ended.result is not None
    assert ended.result.configs["edit"].tiers["pixel"].metrics["ssim"].scored == COUNT


@pytest.mark.parametrize("text", ["A" * 2**20, "\x1b[31mB\x00\x7f", "\u202eB", "🩻" * 9, "", " \n"])
def test_any_text_is_scored(text: str, system: Path, cli: Cli) -> None:
    put(system, 0, "vqa", text=text)
    ended = cli(system, "--config", "vqa")
    assert ended.code == 0
    assert "bleu" in ended.first("vqa")[0]


@pytest.mark.parametrize(
    ("file", "arguments", "words"),
    [
        ("vqa.jsonl", ["--config", "edit"], f"id '{TEXTS[0]}' is of config vqa, expected edit; give --config vqa"),
        ("edit.jsonl", ["--config", "gen"], "no records of config 'gen'"),
        ("edit.jsonl", ["--config", "foo"], "'foo' is not one of"),
        ("edit.jsonl", ["--edition", "sample"], f"unknown id '{EDITS[0]}' in edit, edition sample"),
        ("edit.jsonl", ["--data-dir", "nowhere"], "nowhere: no such folder"),
        ("gone.jsonl", [], "expected a predictions folder or a JSONL or Parquet file, got nothing there"),
        ("images", [], "expected a folder with vqa.jsonl, edit.jsonl, gen.jsonl, got none of them"),
        ("edit.jsonl", ["--lpips-net", "foo"], "lpips_net: expected alex, squeeze, vgg; got 'foo'"),
        ("edit.jsonl", ["--lpips-weights", "gone"], "lpips_weights: expected torchvision's weights file"),
        ("edit.jsonl", ["--lpips-weights", __file__], "expected torchvision's ImageNet weights for lpips_net='alex'"),
        ("edit.jsonl", ["--device", "foo"], "--device: expected a torch device of this machine, got 'foo'"),
        ("vqa.jsonl", ["--text-model", "gone/at/all"], "no folder gone/at/all here"),
        ("vqa.jsonl", ["--text-baseline", "gone"], "the paper protocol doesn't rescale"),
    ],
)
def test_wrong_usage_is_told(
    file: str, arguments: list[str], words: str, data: Path, system: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["score", str(system / file), "--out", str(system / "out"), "--offline"]
    edition = [] if "--edition" in arguments else ["--edition", "release"]
    data_dir = [] if "--data-dir" in arguments or not edition else ["--data-dir", str(data)]
    with pytest.raises(SystemExit) as ended:
        main([*common, *edition, *data_dir, *arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.replace("│", " ").split())
    assert not (system / "out" / "results" / "mine.json").exists()
