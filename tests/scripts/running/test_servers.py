"""Whole runs against the loopback model server."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from medgen_scripts.cli import main
from medgen_scripts.errors import Failure
from medgen_scripts.run import run
from tests.servers.misbehaviour import chance
from tests.servers.openai_replies import Reply
from tests.servers.openai_requests import ChatRequest
from tests.servers.openai_server import OpenAIServer
from tests.servers.process import served
from tests.waiting import until

from .fakes import rows_of

ROOT = Path(__file__).resolve().parents[3]


def compositional(folder: Path, url: str, **more: object) -> Path:
    """A compositional system whose models are the loopback server's."""
    component = {"base_url": url, "attempts": 3, **more}
    told = {
        "shape": "compositional",
        "components": {
            "vlm": {"backend": "openai-chat", "model": "stub-judge", **component},
            "image": {"backend": "openai-images", "model": "stub-judge", **component},
        },
    }
    path = folder / "loop.yaml"
    path.write_text(yaml.safe_dump(told))
    return path


def test_killed_at_random_moments_a_run_gives_the_undisturbed_predictions(tmp_path: Path) -> None:
    kills = 20
    with served(tmp_path / "log.jsonl", latency=0.02) as server:
        file = compositional(tmp_path, server.url)
        command = [sys.executable, "-m", "tests.scripts.running.killed", str(file), "gen", str(tmp_path / "out")]
        done = subprocess.run([*command, str(kills), "1"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    killed, partial, ended = map(int, done.stdout.split())
    assert killed == kills
    # kills that meet a run at work, not only one that hasn't begun
    assert partial >= kills // 3
    assert ended >= 1


SECRETS = {"key": "kkkk-planted-key-1234", "url": "pw-planted-1234", "query": "q-planted-1234"}


@pytest.mark.parametrize("place", ["key", "url"])
def test_planted_secrets_reach_no_file_log_or_traceback(place: str, tmp_path: Path) -> None:
    # the server tells the secrets back in its replies' texts and its errors' bodies
    plan = [None] * 16 + ["500"] * 8 + ["echo_key"] * 50
    told = f"You sent {SECRETS[place]} and {SECRETS['query']}."

    def telling(asked: ChatRequest) -> Reply:
        return told if "kidney" in asked.text else {"output_text": told, "image_prompt": told}

    with OpenAIServer(key=SECRETS["key"] if place == "key" else None, plan=plan, replies=telling) as server:
        url = f"{server.url}?signature={SECRETS['query']}"
        if place == "url":
            url = url.replace("http://", f"http://me:{SECRETS['url']}@")
        file = compositional(tmp_path, url, **({"key_env": "PLANTED_KEY"} if place == "key" else {}))
        environment = {**os.environ, "PLANTED_KEY": SECRETS["key"]}
        command = [sys.executable, "-c", LOUD, "run", str(file), "gen", "--edition", "sample", "--log-requests"]
        command += ["--concurrency", "2", "--image-concurrency", "2", "--out", str(tmp_path / "out")]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    printed = done.stdout + done.stderr
    assert "DEBUG" in printed
    assert "Incorrect API key provided" in printed
    _free_of_secrets(printed.encode(), "what was printed")
    rows = rows_of(tmp_path / "out" / "predictions" / "loop" / "gen.jsonl")
    assert any("You sent ***" in (row["text"] or "") for row in rows)
    assert any("error" in row for row in rows)
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {"manifest.json", "gen.requests.jsonl"} <= {path.name for path in written}
    for path in written:
        _free_of_secrets(path.read_bytes(), str(path))


# all logs at their loudest
LOUD = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from medgen_scripts.cli import main
main(sys.argv[1:])
"""


def _free_of_secrets(content: bytes, where: str) -> None:
    import base64

    for name, secret in SECRETS.items():
        for form in (secret.encode(), base64.b64encode(secret.encode())):
            assert form not in content, f"{name} in {where}"


def test_what_fails_at_random_is_retried_and_the_predictions_are_the_same(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        whole = run(compositional(tmp_path, server.url), "gen", edition="sample", out=tmp_path / "a").read_bytes()
    # By request, not in the order of arrival, by which chance gave one record all attempts that fail.
    with OpenAIServer(plan=chance(0.4, ["503", "429"]), retry_after=0.01) as server:
        file = compositional(tmp_path, server.url, attempts=12)
        path = run(file, "gen", edition="sample", out=tmp_path / "b")
        log = list(server.log)
    assert path.read_bytes() == whole
    assert {200, 429, 503} == {seen.status for seen in log}
    assert Counter(seen.status for seen in log)[200] == 44
    entry = json.loads((path.parent / "manifest.json").read_text())["configs"]["gen"]
    assert entry["runs"][0]["usage"]["requests"] == len(log)
    assert entry["usage"]["requests"] == 44


def test_a_key_that_is_refused_ends_the_run_before_all_records_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG_KEY", "not-the-key")
    with OpenAIServer(key="the-key") as server:
        with pytest.raises(Failure, match="auth"):
            run(compositional(tmp_path, server.url, key_env="WRONG_KEY"), "gen", edition="sample", out=tmp_path)
        assert 0 < len(server.log) <= 16
    assert rows_of(tmp_path / "predictions" / "loop" / "gen.jsonl") == []


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from medgen_scripts.cli import main
main(sys.argv[1:])
"""


def test_ctrl_c_keeps_everything_and_the_same_command_continues(tmp_path: Path) -> None:
    with OpenAIServer(latency=0.3) as server:
        file = compositional(tmp_path, server.url)
        arguments = ["run", str(file), "gen", "--edition", "sample", "--out", str(tmp_path), "--concurrency", "4"]
        child = subprocess.Popen([sys.executable, "-c", INTERRUPTIBLE, *arguments], stderr=subprocess.PIPE, text=True)
        journal = tmp_path / "predictions" / "loop" / ".gen.journal.jsonl"
        assert until(lambda: journal.exists() and journal.stat().st_size)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert child.returncode == 130
        assert "interrupted; what is done is kept" in said
        assert "Traceback" not in said
        lines = rows_of(journal)
        assert any("draft" in line for line in lines)
        asked = Counter(seen.path for seen in server.log)
        server.latency = 0.0
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        again = Counter(seen.path for seen in server.log) - asked
    rows = rows_of(journal.parent / "gen.jsonl")
    assert len(rows) == 22
    known = {line["id"] for line in lines}
    # of what was written before nothing was asked again
    assert again["/v1/chat/completions"] == 22 - len(known)
    runs = json.loads((journal.parent / "manifest.json").read_text())["configs"]["gen"]["runs"]
    assert [made["ended"] for made in runs] == ["interrupted", "finished"]
