"""The judge's options of the command line reach the judge."""

from pathlib import Path

import pytest

from medgen_metrics.judge.judges import InProcess
from medgen_metrics.judge.prompt import JudgeSample
from medgen_scripts.errors import UsageError
from medgen_scripts.scoring.judge_options import JudgeOptions
from medgen_scripts.scoring.judge_options import build

from ...builders import png
from ...servers.openai_server import openai_server
from .test_judging import run


def test_images_are_sent_in_the_format_asked_for(tmp_path: Path) -> None:
    with openai_server() as server:
        for form in ("png", "jpeg"):
            options = JudgeOptions(judge_url=(server.url,), judge_model="stub-judge", judge_image_format=form)
            with build(options, protocol="paper", out=tmp_path, device=None, offline=True) as tier:
                tier.score([JudgeSample("a", "edit", "style-transfer", "x", (), (png(1),), png(2), png(3))])
        formats = [picture.media_type for seen in server.chats() for picture in seen.images]
    # two views of two pictures each
    assert formats == ["image/png"] * 4 + ["image/jpeg"] * 4


def test_a_judge_in_this_process_is_loaded_as_asked_for(tmp_path: Path) -> None:
    given = {"judge_revision": "main", "judge_dtype": "bfloat16", "judge_batch_size": 3, "judge_deadline": 9.0}
    options = JudgeOptions(judge_model="owner/name", judge_backend="transformers", **given)  # type: ignore[arg-type]
    with build(options, protocol="paper", out=tmp_path, device="cpu", offline=True) as tier:
        (judge,) = tier.judges
        assert judge.in_process == InProcess(device="cpu", dtype="bfloat16", revision="main", batch_size=3)
        assert tier.deadline == 9.0
    options = JudgeOptions(judge_model="owner/name", judge_backend="transformers", judge_dtype="int3")
    with pytest.raises(UsageError, match="dtype: expected float32, bfloat16, float16; got 'int3'"):
        build(options, protocol="paper", out=tmp_path, device=None, offline=True)


def test_the_command_line_takes_them_and_hands_them_to_its_processes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("score", "--help") == 0
    said = "".join(capsys.readouterr().out.split())
    for name in JudgeOptions.__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in said
    assert "Severalprocesseshaveequalshares" in said.replace("│", "")
