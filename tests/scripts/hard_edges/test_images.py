from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from ...builders import encoded
from ...builders import our_schema
from ...metrics.image_files import png_file
from ..scored import png
from ..scored import rows
from .given import COUNT
from .given import EDITS
from .given import GREY
from .given import PICTURE
from .given import PIXELS
from .given import TEXTS
from .given import Cli


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(PIXELS[:20]), "JPEG", exif=exif)


GREY16 = GREY.astype(np.uint16) * 100
BOMB = png_file(60_000, 60_000, depth=8, colour=0, rows=b"\0" * 1000)
HALF_BOMB = png_file(12_000, 12_000, depth=8, colour=0, rows=b"\0" * 1000)  # Pillow warns of it, and would read
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
    "half a bomb": (HALF_BOMB, "too_large", "12000x12000 pixels; expected at most 89,478,485"),
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
