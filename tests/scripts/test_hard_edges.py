"""Bad input through the real command line: no traceback, nothing dropped in silence, a message or a reason."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from medgen_scripts import result_file
from medgen_scripts.cli import main
from medgen_scripts.scoring import results

from ..builders import our_schema
from ..metrics.test_images import encoded
from ..metrics.test_images import png_file
from .scored import png
from .scored import rows
from .scored import write_data
from .scored import write_predictions

COUNT = 3
EDITS = [row["id"] for row in rows("edit", COUNT)]
TEXTS = [row["id"] for row in rows("vqa", COUNT)]
PIXELS = np.random.default_rng(3).integers(0, 256, (24, 24, 3), dtype=np.uint8)
PICTURE = Image.fromarray(PIXELS)
GREY = PIXELS[..., 0]


class Outcome(NamedTuple):
    """What a command ended with: exit code, what it said, and the result file if there is one."""

    code: int
    said: str
    result: result_file.ResultFile | None

    def first(self, config: str = "edit") -> tuple[dict[str, float], dict[str, str], set[str]]:
        """Values, reasons and flags of the first record."""
        assert self.result is not None, self.said
        (row, *_) = next(
            iter(self.result.configs[config].rows.unpack(tier) for tier in self.result.configs[config].tiers)
        )
        return dict(row.values), dict(row.reasons), set(row.flags)


Cli = Callable[..., Outcome]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"), COUNT)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    return write_predictions(tmp_path / "predictions" / "mine", COUNT)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def cli(data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`medgen-bench score PATH …`, in this process."""

    def call(path: Path, *extra: object, name: str = "mine", data_dir: Path = data) -> Outcome:
        capsys.readouterr()
        assert isinstance(sys.stderr, TextIOWrapper)
        sys.stderr.reconfigure(errors="backslashreplace")  # as the interpreter's own is
        common = ["--edition", "release", "--data-dir", data_dir, "--out", out, "--offline"]
        with pytest.raises(SystemExit) as ended:
            main([str(part) for part in ("score", *common, *extra, "--", path)])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        code = ended.value.code
        assert isinstance(code, int)
        assert code == 0 or said.strip(), "a failure without a word"
        file = out / "results" / f"{name}.json"
        return Outcome(code, said, result_file.load(file) if file.is_file() else None)

    return call


# --- images ---------------------------------------------------------------------------------------------------------


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(PIXELS[:20]), "JPEG", exif=exif)


GREY16 = GREY.astype(np.uint16) * 100
BOMB = png_file(60_000, 60_000, depth=8, colour=0, rows=b"\0" * 1000)
HALF_BOMB = png_file(12_000, 12_000, depth=8, colour=0, rows=b"\0" * 1000)  # Pillow warns of it, and reads
FLOAT = encoded(Image.fromarray(GREY.astype(np.float32) / 255), "TIFF")
NAN = encoded(Image.fromarray(np.full((24, 24), np.nan, np.float32)), "TIFF")
PAGES = encoded(PICTURE, "TIFF", save_all=True, append_images=[PICTURE, PICTURE])

# name: content, reason, words of the message
UNREADABLE = {
    "truncated": (png(5)[:-60], "unreadable", "truncated"),
    "header only": (png(5)[:20], "unreadable", "Truncated"),
    "empty": (b"", "unreadable", "an empty file"),
    "16-bit grey against 8-bit": (encoded(Image.fromarray(GREY16)), "unreadable", "no common scale"),
    "float TIFF": (FLOAT, "unreadable", "candidate is float, reference 8-bit"),
    "float TIFF with NaN": (NAN, "unreadable", "not all values are finite"),
    "decompression bomb": (BOMB, "too_large", "exceeds limit of"),
    "half a bomb": (HALF_BOMB, "unreadable", "truncated"),
    "text": (b"The lesion is gone.", "not_an_image", "it begins with b'The lesion is go'"),
    "web page": (b"<html>429</html>", "not_an_image", "it begins with"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_output_that_is_no_image_has_a_reason_and_is_told(kind: str, system: Path, cli: Cli) -> None:
    content, reason, words = UNREADABLE[kind]
    (system / "images" / f"{EDITS[0]}.png").write_bytes(content)
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    values, reasons, _ = ended.first()
    assert reasons == dict.fromkeys(("ssim", "psnr", "lpips"), reason)
    assert not values.keys() & {"ssim", "psnr", "lpips"}
    assert f"medgen-bench: {EDITS[0]}: {reason}: " in ended.said
    assert words in ended.said
    assert f"of {COUNT} records pixel leaves unscored: {reason} 1 (first {EDITS[0]})" in ended.said
    assert ended.result is not None
    assert ended.result.configs["edit"].tiers["pixel"].metrics["ssim"].failures == {reason: 1}


# name: content, flags
READABLE = {
    "RGBA": (encoded(Image.fromarray(np.dstack([PIXELS, GREY]))), set()),
    "palette": (encoded(PICTURE.quantize(16)), set()),
    "CMYK": (encoded(PICTURE.convert("CMYK"), "JPEG"), set()),
    "1-bit": (encoded(PICTURE.convert("1")), set()),
    "multi-page TIFF": (PAGES, {"several_images"}),
    "EXIF-rotated JPEG": (turned(), {"resized", "aspect_changed"}),
    "1x1": (encoded(PICTURE.resize((1, 1))), {"resized"}),
    "6x6": (encoded(PICTURE.resize((6, 6))), {"resized"}),
    "another aspect": (encoded(PICTURE.resize((48, 24))), {"resized", "aspect_changed"}),
    "a line": (encoded(PICTURE.resize((1, 20_000))), {"resized", "aspect_changed"}),
}


@pytest.mark.parametrize("kind", READABLE)
def test_an_odd_image_is_scored_and_flagged(kind: str, system: Path, cli: Cli) -> None:
    content, flags = READABLE[kind]
    (system / "images" / f"{EDITS[0]}.png").write_bytes(content)
    ended = cli(system, "--config", "edit")
    values, reasons, found = ended.first()
    assert ended.code == 0
    assert {"ssim", "psnr"} <= values.keys()
    assert reasons == {"lpips": "weights_missing"}
    assert found == flags
    if kind == "EXIF-rotated JPEG":
        assert (values["candidate_width"], values["candidate_height"]) == (20, 24)


def write_records(folder: Path, config: str, **changes: Any) -> Path:
    """A data set of one config whose first record differs; written past `datasets`, which would check it."""
    made = list(rows(config, COUNT))
    made[0].update(changes)
    (folder / config).mkdir(parents=True)
    table = pa.Table.from_pylist(made, schema=our_schema(config))
    pq.write_table(table, folder / config / "test-00000-of-00001.parquet")
    return folder


def image(content: bytes | None, path: str | None = None) -> list[dict[str, Any]]:
    return [{"bytes": content, "path": path}]


def test_sixteen_bit_pairs_that_differ_in_scale_do_not_score_as_equal(system: Path, cli: Cli, tmp_path: Path) -> None:
    folder = write_records(tmp_path / "deep", "edit", output_images=image(encoded(Image.fromarray(GREY16))))
    scores = []
    for levels in (GREY16, GREY16 * 2 + 3000):
        (system / "images" / f"{EDITS[0]}.png").write_bytes(encoded(Image.fromarray(levels.astype(np.uint16))))
        scores.append(cli(system, "--config", "edit", data_dir=folder).first())
    (same, _, flags), (scaled, _, none) = scores
    assert (same["ssim"], same["psnr"], flags) == (1.0, 100.0, {"identical"})
    assert scaled["ssim"] < 0.9
    assert scaled["psnr"] < 20
    assert none == set()


# name: the reference, reasons
REFERENCES = {
    "truncated": (png(5)[:-60], {"ssim": "reference_missing", "psnr": "reference_missing"}),
    "text": (b"hello", {"ssim": "reference_missing", "psnr": "reference_missing"}),
    "decompression bomb": (BOMB, {"ssim": "reference_missing", "psnr": "reference_missing"}),
    "6x6": (encoded(PICTURE.resize((6, 6))), {"ssim": "too_small"}),
    "1x1": (encoded(PICTURE.resize((1, 1))), {"ssim": "too_small"}),
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_a_bad_reference_is_not_the_systems_fault(kind: str, system: Path, cli: Cli, tmp_path: Path) -> None:
    content, expected = REFERENCES[kind]
    folder = write_records(tmp_path / "made", "edit", output_images=image(content))
    ended = cli(system, "--config", "edit", data_dir=folder)
    _, reasons, _ = ended.first()
    assert ended.code == 0
    assert {metric: reasons[metric] for metric in reasons if metric != "lpips"} == expected
    assert f"unscored: {expected['ssim']} 1 (first {EDITS[0]})" in ended.said


# name: the image, words
UNUSABLE = {
    "empty": (image(b""), "output_images: expected an image's bytes"),
    "a path outside": (image(None, "/etc/hostname"), "embed the image files"),
    "a path to nothing": (image(None, "gone/x.png"), "embed the image files"),
    "nothing": (image(None), "embed the image files"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_data_without_image_bytes_are_refused_by_their_place(kind: str, system: Path, cli: Cli, tmp_path: Path) -> None:
    images, words = UNUSABLE[kind]
    ended = cli(system, "--config", "edit", data_dir=write_records(tmp_path / "made", "edit", output_images=images))
    assert ended.code == 2
    assert "test-00000-of-00001.parquet" in ended.said
    assert words in ended.said


def test_a_damaged_block_of_the_data_is_told(system: Path, cli: Cli, data: Path, tmp_path: Path) -> None:
    content = bytearray((data / "edit" / "test-00000-of-00001.parquet").read_bytes())
    content[4:60] = b"\xff" * 56
    (tmp_path / "made" / "edit").mkdir(parents=True)
    (tmp_path / "made" / "edit" / "test-00000-of-00001.parquet").write_bytes(content)
    ended = cli(system, "--config", "edit", data_dir=tmp_path / "made")
    assert ended.code == 2
    assert "config 'edit' can't be read" in ended.said


@pytest.mark.parametrize("choices", [["A. one", ""], [f"option {number}" for number in range(30)]])
def test_options_that_cannot_be_told_apart_cost_that_record_its_em(
    choices: list[str], system: Path, cli: Cli, tmp_path: Path
) -> None:
    ended = cli(system, "--config", "vqa", data_dir=write_records(tmp_path / "made", "vqa", choices=choices))
    values, reasons, _ = ended.first("vqa")
    assert ended.code == 0
    assert "bleu" in values
    assert reasons["em"] == "reference_missing"
    assert f"medgen-bench: {TEXTS[0]}: its options can't be used, so that EM leaves it unscored: " in ended.said


# --- paths ----------------------------------------------------------------------------------------------------------


def put(system: Path, position: int, config: str = "edit", **changes: Any) -> None:
    """Change a row of a predictions file."""
    file = system / f"{config}.jsonl"
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    lines[position].update(changes)
    file.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/etc/hostname", "absolute paths are refused"),
        ("../../secret.png", "paths with '..' are refused"),
        ("images/link.png", "it is a link to '/etc/hostname', outside the allowed folders"),
        ("images/\0.png", "expected a relative path"),
    ],
)
def test_a_path_that_leads_out_is_refused(name: str, words: str, system: Path, cli: Cli) -> None:
    (system / "images" / "link.png").symlink_to("/etc/hostname")
    put(system, 0, image=name)
    ended = cli(system, "--config", "edit")
    assert ended.code == 2
    assert "edit.jsonl:1: " in ended.said
    assert words in ended.said
    assert ended.result is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "link to itself"])
def test_what_is_no_file_is_missing(kind: str, system: Path, cli: Cli) -> None:
    path = system / "images" / f"{EDITS[0]}.png"
    path.unlink()
    make: dict[str, Callable[[], Any]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "dangling link": lambda: path.symlink_to("gone"),
        "link to itself": lambda: path.symlink_to(path.name),
    }
    make[kind]()
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    assert set(ended.first()[1].values()) == {"missing"}
    assert f"1 of {COUNT} images do not exist under" in ended.said


ODD_NAMES = ["two words", "line\nbreak", "Röntgen-胸", "[a]*?", "-dash", "é" * 125, "y" * 251]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_image_of_any_name_is_scored(name: str, system: Path, cli: Cli) -> None:
    file = f"{name}.png"
    (system / "images" / f"{EDITS[0]}.png").rename(system / "images" / file)
    put(system, 0, image=f"images/{file}")
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    assert "ssim" in ended.first()[0]


@pytest.mark.parametrize("name", ["two words", "Röntgen-胸", "[a]*?", "-dash", "x.json", "y" * 200])
def test_a_systems_folder_may_have_any_name_that_names_its_files(name: str, system: Path, cli: Cli) -> None:
    ended = cli(system.rename(system.with_name(name)), "--config", "edit", name=name)
    assert ended.code == 0
    assert ended.result is not None
    assert ended.result.system == name


@pytest.mark.parametrize("name", ["line\nbreak", "y" * 255, "a\udcffb", ".hidden", "a\\b"])
def test_a_systems_folder_of_another_name_is_asked_for_one(name: str, system: Path, cli: Cli) -> None:
    moved = system.rename(system.with_name(name))
    ended = cli(moved, "--config", "edit")
    assert ended.code == 2
    assert "expected a system name of 1 to 200 bytes" in ended.said
    assert "name it with --system NAME" in ended.said
    assert cli(moved, "--config", "edit", "--system", "mine").code == 0


@pytest.mark.parametrize("name", ["", ".", "..", "../../evil", "a/b", "a\0b"])
def test_a_systems_name_leads_nowhere_else(name: str, system: Path, cli: Cli, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    ended = cli(system, "--config", "edit", "--system", name)
    assert ended.code == 2
    assert "expected a system name" in ended.said
    assert set(tmp_path.rglob("*")) == before


# --- JSONL ----------------------------------------------------------------------------------------------------------


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
        ("gone.jsonl", [], "expected a predictions folder or a JSONL file, got nothing there"),
        ("images", [], "expected a folder with vqa.jsonl, edit.jsonl, gen.jsonl, got none of them"),
        ("edit.jsonl", ["--lpips-net", "foo"], "lpips_net: expected alex, squeeze, vgg; got 'foo'"),
        ("edit.jsonl", ["--lpips-weights", "gone"], "lpips_weights: expected torchvision's weights file"),
        ("edit.jsonl", ["--lpips-weights", __file__], "expected torchvision's ImageNet weights for lpips_net='alex'"),
        ("edit.jsonl", ["--device", "foo"], "--device: expected a torch device of this machine, got 'foo'"),
        ("vqa.jsonl", ["--text-model", "gone/at/all"], "is neither a folder here nor a Hub id"),
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


# --- where results go -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [".", "scores", "scores/mine", "results"])
def test_something_in_the_outputs_way_is_told_before_anything_is_scored(
    place: str, system: Path, out: Path, cli: Cli
) -> None:
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).write_text("in the way")
    ended = cli(system)
    assert ended.code == 2
    assert "expected a folder that can be written" in ended.said
    assert "give another --out" in ended.said
    assert not list(out.rglob("*.jsonl"))


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own, for which one has to be root (CI is)."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"CI must be able to mount a tmpfs: {made.stderr}")
        pytest.skip(f"needs the right to mount a tmpfs: {made.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_output_folder_is_told(system: Path, out: Path, cli: Cli) -> None:
    with mounted(out, "size=1m,ro"):
        ended = cli(system)
    assert ended.code == 2
    assert "expected a folder that can be written, got: Read-only file system" in ended.said


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_on_a_full_disk_it_says_so_and_continues_once_there_is_room(
    pages: int, system: Path, out: Path, cli: Cli
) -> None:
    with mounted(out, "size=64k"):
        room = os.statvfs(out)
        (out / "filler").write_bytes(b"x" * ((room.f_bavail - pages) * room.f_frsize))
        ended = cli(system)
        assert ended.code == 1
        assert "No space left on device" in ended.said
        assert "make room" in ended.said
        assert ended.result is None
        assert not list(out.rglob("*.tmp"))
        (out / "filler").unlink()
        ended = cli(system)
        assert ended.code == 0
        assert ended.result is not None
        assert set(ended.result.configs) == {"edit", "vqa"}


def test_a_damaged_result_file_is_replaced_with_a_notice(system: Path, out: Path, cli: Cli) -> None:
    first = cli(system, "--config", "edit")
    (out / "results" / "mine.json").write_text("{nope")
    again = cli(system, "--config", "edit")
    assert again.code == 0
    assert "mine.json: expected a result of format medgen-bench/result@1" in again.said
    assert "It is replaced." in again.said
    assert first.result is not None
    assert again.result is not None
    assert again.result.configs == first.result.configs


def test_a_result_file_of_another_edition_is_replaced_with_a_notice(system: Path, out: Path, cli: Cli) -> None:
    cli(system, "--config", "edit")
    file = out / "results" / "mine.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "edition": "sample"}))
    ended = cli(system, "--config", "edit")
    assert "mine.json: replaced a result of edition sample, protocol paper" in ended.said
    assert ended.result is not None
    assert ended.result.edition == "release"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "expected a file of scores, got: Is a directory"),
        (lambda path: path.write_bytes(b"garbage\n{}\n"), "expected a score line, got b'garbage"),
    ],
)
def test_something_else_among_the_scores_is_named(
    make: Callable[[Path], Any], words: str, system: Path, out: Path, cli: Cli
) -> None:
    (out / "scores" / "mine").mkdir(parents=True)
    make(out / "scores" / "mine" / "edit.other.jsonl")
    ended = cli(system, "--config", "edit")
    assert ended.code == 1
    assert words in ended.said


def test_runs_of_two_configs_that_end_together_keep_each_others_results(
    system: Path, out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = cli(system).result
    assert found is not None
    read = results.load

    def slow(path: Path) -> result_file.ResultFile:
        try:
            return read(path)
        finally:
            time.sleep(0.2)  # in which the other run would write

    monkeypatch.setattr(results, "load", slow)
    file = tmp_path / "together.json"
    results.merge(file, "mine", "release", "paper", {})
    threads = [
        threading.Thread(target=results.merge, args=(file, "mine", "release", "paper", {name: found.configs[name]}))
        for name in ("edit", "vqa")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read(file).configs) == {"edit", "vqa"}


def test_two_runs_of_one_config_at_once_are_not_possible(system: Path, data: Path, out: Path, cli: Cli) -> None:
    hold = "import sys, time; from pathlib import Path; from medgen_scripts.lock import hold; "
    hold += "held = hold(Path(sys.argv[1]), 'edit', 'scoring edit'); print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", hold, str(out / "scores" / "mine")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        ended = cli(system, "--config", "edit")
        first.kill()
    assert ended.code == 2
    assert "another run is scoring edit into this folder now; wait for it" in ended.said
    assert cli(system, "--config", "edit").code == 0


def test_a_clock_that_goes_backwards_changes_nothing(
    system: Path, out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cli(system)
    now = time.time()
    earlier = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: now - 3600 * next(earlier))
    for path in system.rglob("*"):
        os.utime(path, (0, 0))
    changed = png(77)
    (system / "images" / f"{EDITS[0]}.png").write_bytes(changed)
    os.utime(system / "images" / f"{EDITS[0]}.png", (-86_400, -86_400))
    again = cli(system)
    assert (first.code, again.code) == (0, 0)
    assert first.first()[0]["psnr"] != again.first()[0]["psnr"]
    (system / "images" / f"{EDITS[0]}.png").write_bytes(png(2000))
    assert cli(system).first() == first.first()


def test_a_reader_that_leaves_is_no_failure_of_ours(system: Path, out: Path, cli: Cli) -> None:
    cli(system, "--config", "edit")
    command = [sys.executable, "-m", "medgen_scripts", "table", str(out / "results" / "mine.json")]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""
