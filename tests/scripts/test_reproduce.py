import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from skimage.metrics import structural_similarity

from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.reproduce import FIELDS
from medgen_scripts.reproduce import Cell
from medgen_scripts.reproduce import cause
from medgen_scripts.reproduce import reproduce

from .scored import options
from .scored import png
from .scored import rows
from .scored import write_data
from .scored import write_predictions

COUNT = 6


def grey(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(data)).convert("L"))


def evaluated(folder: Path) -> Path:
    """An evaluated result file of the public evaluator, its SSIM by its own definition; one figure of it is forged."""
    (folder / "output_image").mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    for number, row in enumerate(rows("edit", COUNT)):
        output = png(2000 + number)
        (folder / "output_image" / f"{number}.png").write_bytes(output)
        reference = row["output_images"][0]["bytes"]
        lines.append(
            {
                "id": row["id"],
                "category": "ImageEdit",
                "instruction": row["instruction"],
                "response": "",
                "output_image": f"output_image/{number}.png",
                "SSIM": structural_similarity(grey(output), grey(reference), data_range=255),
            }
        )
    lines[2]["SSIM"] += 0.1
    lines[3]["SSIM"] = None
    lines[4]["output_image"] = "Edit Error: 503"
    path = folder / "a-model_edit.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_published_figures_stand_beside_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, path = write_data(tmp_path / "data", COUNT), evaluated(tmp_path / "results")
    (written,) = reproduce([path], options(data, tmp_path / "out"))
    assert written == tmp_path / "out" / "results" / "a-model.json"
    printed = capsys.readouterr().out
    (line,) = [line.split(maxsplit=5) for line in printed.splitlines() if line.startswith("ssim")]
    assert line[1] == "4"
    assert line[4] == "-0.0250"  # one of four is forged by 0.1
    assert line[5].strip() == "open 1; published only: error_text 1; ours only: 1"


def test_files_without_figures_are_refused_before_anything_is_scored(tmp_path: Path) -> None:
    data, path = write_data(tmp_path / "data", COUNT), evaluated(tmp_path / "results")
    bare = [{k: v for k, v in json.loads(line).items() if k != "SSIM"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in bare))
    with pytest.raises(UsageError, match=r"got none; .*score") as told:
        reproduce([path], options(data, tmp_path / "out"))
    assert all(key in str(told.value) for key in FIELDS.values())
    assert not (tmp_path / "out").exists()


def test_a_file_without_figures_beside_one_with_some_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path = write_data(tmp_path / "data", COUNT), evaluated(tmp_path / "results")
    bare = write_predictions(tmp_path / "bare", COUNT) / "vqa.jsonl"
    reproduce([path, bare], options(data, tmp_path / "out"))
    assert f"{bare}: its rows hold none of the public evaluator's figures" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("metric", "flags", "expected"),
    [
        ("psnr", ("resized",), "resize"),
        ("psnr", (), "open"),
        ("lpips", (), "LPIPS inputs (if the file is of an older version)"),
        ("em", (), "exact match parser"),
        ("bleu", ("empty",), "blank answers"),
        ("bertscore", ("truncated",), "BERTScore length"),
    ],
)
def test_a_difference_is_put_down_to_a_repair(metric: str, flags: tuple[str, ...], expected: str) -> None:
    assert cause(metric, Row({metric: 0.5}, {}, flags)) == expected


def test_every_cause_is_in_the_list_of_repairs() -> None:
    listed = (Path(__file__).resolve().parents[2] / "docs" / "repairs.md").read_text()
    flags = ((), ("resized",), ("empty",), ("truncated",))
    for metric in ("ssim", "psnr", "lpips", "bleu", "bertscore", "em"):
        for flag in flags:
            name = cause(metric, Row({}, {}, flag)).split(" (")[0]
            assert name == "open" or f"| {name} |" in listed


def test_small_differences_are_none() -> None:
    cell = Cell("ssim")
    cell.add(0.5, Row({"ssim": 0.50001}))
    assert not cell.causes
