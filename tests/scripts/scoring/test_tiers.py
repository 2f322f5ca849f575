import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.prediction import Prediction
from medgen_scripts.records import Picture
from medgen_scripts.records import Record
from medgen_scripts.scoring.image_work import PixelWork
from medgen_scripts.scoring.image_work import image_digests
from medgen_scripts.scoring.options import ScoreOptions
from medgen_scripts.scoring.text_work import TextWork
from medgen_scripts.scoring.tiers import build
from medgen_scripts.scoring.work import TierOptions


def picture(width: int, height: int, seed: int = 0) -> Picture:
    file = BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, "PNG")
    return Picture(file.getvalue())


RECORD = Record(
    id="resolution-editing-0",
    release_id="0",
    task="resolution-editing",
    subtask=None,
    modality="CT",
    instruction="Halve the resolution.",
    choices=(),
    input_images=(picture(32, 24),),
    output_images=(picture(16, 12, seed=1),),
    answer=None,
    source=None,
    group="g",
)


def score(folder: Path, record: Record, output: Picture) -> Row:
    (folder / "output.png").write_bytes(output.data)
    prediction = Prediction(record.id, None, folder / "output.png", None, {})
    (row,) = PixelWork(TierOptions(ScoreOptions(offline=True))).score([(record, prediction)])
    return row


@pytest.mark.parametrize(
    ("size", "task", "flagged"),
    [
        ((32, 24), "resolution-editing", True),
        ((16, 12), "resolution-editing", False),
        ((20, 20), "resolution-editing", False),
        ((32, 24), "style-transfer", False),
    ],
)
def test_a_resolution_left_at_the_inputs_size(tmp_path: Path, size: tuple[int, int], task: str, flagged: bool) -> None:
    row = score(tmp_path, replace(RECORD, task=task), picture(*size, seed=2))
    assert ("unresized_resolution" in row.flags) == flagged


def test_where_the_references_size_is_the_inputs_there_is_nothing_to_resize(tmp_path: Path) -> None:
    row = score(tmp_path, replace(RECORD, output_images=(picture(32, 24, seed=1),)), picture(32, 24, seed=2))
    assert "unresized_resolution" not in row.flags


def test_copies_of_the_input_are_no_ops(tmp_path: Path) -> None:
    assert "no_op" in score(tmp_path, RECORD, RECORD.input_images[0]).flags
    assert "no_op" not in score(tmp_path, RECORD, picture(32, 24, seed=2)).flags


def test_the_key_changes_with_the_input() -> None:
    other = replace(RECORD, input_images=(picture(32, 24, seed=9),))
    assert image_digests((RECORD, None))[1] != image_digests((other, None))[1]
    assert json.dumps(image_digests((RECORD, None))) == json.dumps(image_digests((replace(RECORD), None)))


def test_extras_of_texts_reach_their_tier() -> None:
    work = TextWork(TierOptions(ScoreOptions(offline=True, text_extras=("negation", "sections"))))
    report = "FINDINGS: No mass.\nIMPRESSION: Normal."
    record = replace(RECORD, task="report-generation", answer=report, output_images=())
    answers = [Prediction(RECORD.id, report), None]
    scored, missing = work.score([(record, answer) for answer in answers])
    names = {"negation_agreement", "bleu_findings", "bleu_impression"}
    assert names <= scored.values.keys()
    assert {missing.reasons[name] for name in names} == {"missing"}
    with pytest.raises(UsageError, match="tier text: extras: expected a list of some of radgraph, sentence"):
        build("text", TierOptions(ScoreOptions(offline=True, text_extras=("rouge",))))
