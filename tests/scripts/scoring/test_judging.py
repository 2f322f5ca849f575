"""`score --tiers judge` from the command line, against a loopback server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medgen_metrics.judge.tier import JudgeTier
from medgen_scripts.cli import main
from medgen_scripts.prediction import Prediction
from medgen_scripts.records import Picture
from medgen_scripts.records import Record
from medgen_scripts.records import Records
from medgen_scripts.result_file import Figures
from medgen_scripts.result_file import load
from medgen_scripts.scoring.judging import JudgeWork

from ...builders import png
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import OpenAIServer
from ...servers.openai_server import openai_server
from ..scored import write_work

COUNT = 6
WITH = "holistic_with_reference"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_work(tmp_path_factory.mktemp("judging"), COUNT, without=3)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def score(work: Path, out: Path, server: OpenAIServer | str, *more: object, tiers: str = "judge") -> int:
    url = server if isinstance(server, str) else server.url
    common = ["score", work / "mine", "--edition", "release", "--data-dir", work / "data", "--out", out, "--offline"]
    return run(*common, "--tiers", tiers, "--judge-url", url, "--judge-model", "stub-judge", *more)


def figures(out: Path, config: str = "edit") -> Figures:
    return load(out / "results" / "mine.json").configs[config].tiers["judge"].metrics[WITH]


def verdicts(server: OpenAIServer) -> int:
    return sum(bool(seen.images) for seen in server.chats())


def test_both_configs_are_judged_and_a_second_run_asks_nothing(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(work, tmp_path, server) == 0
    assert verdicts(server) == 2 * 2 * (COUNT - 1)
    assert f"{len(server.chats())} requests" in capsys.readouterr().err
    for config in ("edit", "vqa"):
        found = figures(tmp_path, config)
        assert (found.n, found.scored, found.failures) == (COUNT, COUNT - 1, {"missing": 1})
    result = load(tmp_path / "results" / "mine.json")
    assert "stub-judge@stub(json_schema)" in result.configs["edit"].tiers["judge"].signature
    asked = len(server.log)
    assert score(work, tmp_path, server) == 0
    assert len(server.log) == asked
    # Without the journal, the cache has every reply.
    for path in (tmp_path / "scores").rglob("*.jsonl"):
        path.unlink()
    assert score(work, tmp_path, server) == 0
    assert len(server.log) == asked
    assert load(tmp_path / "results" / "mine.json").configs == result.configs


def test_a_record_is_read_once_to_be_judged(
    work: Path, tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    reading = Records.__getitem__
    monkeypatch.setattr(Records, "__getitem__", lambda self, place: (read.append(place), reading(self, place))[1])
    assert score(work, tmp_path, server, "--config", "edit") == 0
    assert sorted(read) == sorted([*range(COUNT)] * 2)  # the second time for the digest of the predictions


def test_the_table_says_whose_scores_they_are(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(work, tmp_path, server, tiers="pixel,text,judge") == 0
    assert score(work, tmp_path, server, "--protocol", "standard") == 0
    capsys.readouterr()
    assert run("table", tmp_path / "results" / "mine.json") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "anatomical" not in printed
    assert "not comparable with published Holistic scores" in printed
    assert "w. GT*: 5 of 6 records are scored (83.3%; the system's failures: missing 1)" in printed
    assert "w. GT* [stub]" in printed
    assert "[stub]: a stub of a server made up these scores; they mean nothing." in printed
    assert "judge:stub-judge@stub(json_schema)" in printed.replace("| ", "|")
    assert run("table", tmp_path / "results" / "mine.json", "--diagnostics") == 0
    assert "anatomical accuracy w." in " ".join(capsys.readouterr().out.split())
    assert run("table", tmp_path / "results" / "mine.standard.json") == 0
    assert "w. GT* [standard, stub]" in " ".join(capsys.readouterr().out.split())


def test_what_a_judge_failed_on_is_asked_again_and_nothing_else(work: Path, tmp_path: Path) -> None:
    refused: list[str] = []

    def refusing(asked: ChatRequest) -> str | None:
        # the first two records, for good: repairs show the same picture
        if not asked.images:
            return None
        shown = asked.images[-1].digest
        if len(refused) < 2 and shown not in refused:
            refused.append(shown)
        return "I'm sorry, but I can't assist with that." if shown in refused else None

    with openai_server(replies=refusing) as failing:
        assert score(work, tmp_path, failing, "--judge-format", "json_schema") == 0
        assert figures(tmp_path, "vqa").failures == {"judge_failed": 2, "missing": 1}
    with openai_server() as mended:
        assert score(work, tmp_path, mended, "--judge-format", "json_schema") == 0
        assert figures(tmp_path, "vqa").failures == {"missing": 1}
        assert verdicts(mended) == 2 * 2, "views that had their verdict were asked again"
        asked = len(mended.log)
        assert score(work, tmp_path, mended, "--judge-format", "json_schema") == 0
        assert len(mended.log) == asked


def test_two_processes_give_the_rows_of_one(work: Path, tmp_path: Path, server: OpenAIServer) -> None:
    assert score(work, tmp_path / "one", server) == 0
    arguments = ["score", work / "mine", "--edition", "release", "--data-dir", work / "data", "--offline"]
    arguments += ["--out", tmp_path / "two", "--tiers", "judge", "--judge-url", server.url]
    arguments += ["--judge-model", "stub-judge", "--processes", 2]
    subprocess.run([sys.executable, "-m", "medgen_scripts", *map(str, arguments)], check=True)
    one, two = (load(tmp_path / name / "results" / "mine.json") for name in ("one", "two"))
    assert one.configs == two.configs


def test_a_server_that_is_not_there_is_told_at_once(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(work, tmp_path, "http://127.0.0.1:9/v1") == 1
    said = capsys.readouterr().err
    assert "http://127.0.0.1:9/v1" in said
    assert "Traceback" not in said


def test_a_dry_run_says_what_would_be_asked(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("stub-judge: {input: 1.0, output: 2.0}\n")
    assert score(work, tmp_path / "out", server, "--dry-run", "--prices", prices) == 0
    said = capsys.readouterr().out
    assert f"about {2 * 2 * (COUNT - 1)} requests" in said
    assert "$" in said
    assert not server.log
    assert not (tmp_path / "out").exists()


def test_a_spent_budget_ends_with_a_failure_and_the_next_run_goes_on(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(work, tmp_path, server, "--max-requests", 10) == 1
    assert "--max-requests 10" in capsys.readouterr().err
    assert len(server.chats()) <= 10
    assert score(work, tmp_path, server) == 0
    digests = [seen.digest for seen in server.chats() if seen.images]
    assert len(digests) == len(set(digests)) == 2 * 2 * (COUNT - 1)


def test_without_a_server_the_usage_is_told(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MEDGEN_JUDGE_URL", raising=False)
    common = ["score", work / "mine", "--edition", "release", "--data-dir", work / "data", "--out", tmp_path]
    assert run(*common, "--tiers", "judge") == 2
    assert "MEDGEN_JUDGE_URL" in capsys.readouterr().err
    assert run("judge-serve") == 2
    assert run("judge-serve", "--print") == 0
    assert "vllm serve Qwen/Qwen3-VL-8B-Instruct" in capsys.readouterr().out


def test_keys_are_written_nowhere(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_JUDGE_API_KEY", "planted-key-1234")
    with openai_server(key="planted-key-1234") as guarded:
        assert score(work, tmp_path, guarded) == 0
    monkeypatch.delenv("MEDGEN_JUDGE_API_KEY")
    with openai_server() as opened:
        url = opened.url.replace("http://", "http://user:planted-password@")
        assert score(work, tmp_path, url, "--judge-seed", 1) == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"planted-" not in content, path
    assert json.loads((tmp_path / "results" / "mine.json").read_text())["system"] == "mine"


def test_requests_of_all_processes_together_keep_to_the_limit(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(work, tmp_path, server, "--max-requests", 0) == 1
    assert not server.log
    assert score(work, tmp_path, server, "--max-requests", 2, "--processes", 3) == 2
    assert "--max-requests" in capsys.readouterr().err
    assert not server.log
    # one finds out the reply format, so that too few are left
    assert score(work, tmp_path, server, "--max-requests", 3, "--processes", 3) == 1
    assert "--max-requests 3" in capsys.readouterr().err
    assert len(server.chats()) == 1


def test_options_that_a_judge_refuses_are_bad_usage(
    work: Path, tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("another: {input: 1.0, output: 2.0}\n")
    assert score(work, tmp_path, server, "--prices", prices) == 2
    assert "no price of model 'stub-judge'" in capsys.readouterr().err
    assert score(work, tmp_path, "host:8000/v1") == 2
    assert "host:8000/v1" in capsys.readouterr().err
    assert not server.log


def test_a_plan_counts_what_will_be_asked_again(work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with openai_server(replies=lambda asked: "I can't.") as failing:
        assert score(work, tmp_path, failing, "--judge-format", "json_schema", "--config", "edit") == 0
        capsys.readouterr()
        assert score(work, tmp_path, failing, "--judge-format", "json_schema", "--config", "edit", "--dry-run") == 0
    said = capsys.readouterr().out
    assert [line.split()[3:6] for line in said.splitlines() if line.startswith("mine")] == [["6", "1", "5"]]
    assert f"about {2 * (COUNT - 1)} requests" in said


def test_an_image_that_cannot_be_read_is_no_missing_one(server: OpenAIServer) -> None:
    class Locked:
        def read_bytes(self) -> bytes:
            raise PermissionError(13, "Permission denied")

    pictures = {"input_images": (Picture(png(1)),), "output_images": (Picture(png(2)),)}
    texts = {"release_id": "1", "task": "noise-reconstruction", "subtask": None, "modality": "CT", "choices": ()}
    record = Record(
        id="edit-0", instruction="Remove the noise.", answer=None, source=None, group="0", **texts, **pictures
    )
    with JudgeTier(model="stub-judge", url=server.url, reply_format="json_schema") as tier:
        (row,) = JudgeWork(tier).score([(record, Prediction("edit-0", image=Locked()))])  # type: ignore[arg-type]
    assert row.reasons[WITH] == "unreadable"
    assert verdicts(server) == 0


def test_a_judge_of_the_family_of_a_systems_model_is_told_whatever_the_system_is_called() -> None:
    from types import SimpleNamespace

    scorer = SimpleNamespace(
        judges=[SimpleNamespace(name="gpt-4o")],
        views=(),
        rubric=SimpleNamespace(names=()),
        fingerprint_changes=lambda: [],
        options={},
    )
    work = JudgeWork(scorer)  # type: ignore[arg-type]
    assert not any("mine" in said for said in work.warnings([], "mine"))
    said = work.warnings([], "mine", ["Qwen/Qwen3-VL-8B-Instruct", "gpt-image-1"])
    assert any("mine" in one and "GPT-4o" in one for one in said)
