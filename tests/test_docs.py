"""The pages of `docs` that tell how to run one's own model: what they show runs as it is shown."""

import json
import os
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medgen_scripts.cli import main

from .metrics.judge.tiny_qwen3vl import write
from .servers.openai_replies import Reply
from .servers.openai_requests import ChatRequest
from .servers.openai_server import OpenAIServer

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```(python|yaml|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ENDPOINT = "http://127.0.0.1:8000/v1"


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((DOCS / page).read_text("utf-8"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder as the current one, with a checkpoint where the pages name one."""
    checkpoint = write(tmp_path / "checkpoints" / "step-500")
    config = json.loads((checkpoint / "config.json").read_text())
    # it says gibberish without end
    config["text_config"]["max_position_embeddings"] = 800
    (checkpoint / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("my_"):
            del sys.modules[name]


def answer(request: ChatRequest) -> Reply:
    return "A. Yes"


def follow(page: str, url: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Do what a page says, top to bottom; the commands that were run."""
    done = []
    for language, text in blocks(page):
        named = re.match(r"# (\S+\.(?:py|yaml))\n", text)
        if named:
            Path(named[1]).write_text(text.replace(ENDPOINT, url))
        elif language == "python":
            exec(compile(text, page, "exec"), {})
        for line in text.splitlines() if language == "console" else ():
            words = shlex.split(line.removeprefix("$ ").replace(ENDPOINT, url), comments=True)
            if words[0] == "export":
                monkeypatch.setenv(*words[1].replace("…", "secret").split("=", 1))
            elif words[0] == "python":
                runpy.run_path(words[1])
            elif words[0] == "medgen-bench":
                with pytest.raises(SystemExit) as ended:
                    main(words[1:])
                assert ended.value.code == 0, line
                done.append(line)
            else:
                assert words[0] == "vllm", line
    return done


def test_ones_own_model(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with OpenAIServer(replies=answer, models=["Qwen/Qwen3-VL-8B-Instruct"]) as server:
        done = follow("your-model.md", server.url, monkeypatch)
    assert len(done) >= 11
    assert "BLEU" in capsys.readouterr().out
    predictions = here / "out" / "predictions"
    rows = {path.parent.name: path.read_text().splitlines() for path in predictions.glob("*/*.jsonl")}
    assert {name: len(found) for name, found in rows.items() if name != "my-outputs"} == {
        "my_model-answer": 6,
        "my_model-edit": 6,
        "my-batches": 6,
        "step-500": 6,
        "my-vlm": 6,
        "Qwen3-VL-8B-Instruct": 6,
        "my-server": 6,
    }
    for name, found in rows.items():
        failed = [row for row in found if '"error"' in row]
        assert len(found) - len(failed) == (3 if name == "my-outputs" else 6), failed[0]
        assert all('"missing"' in row for row in failed)


def test_a_program(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow("wrappers.md", ENDPOINT, monkeypatch)
    rows = (here / "out" / "predictions" / "my-program" / "gen.jsonl").read_text().splitlines()
    assert len(rows) == 4
    assert not any('"error"' in row for row in rows)
    assert all("I see 1 image(s)." in row for row in rows)


@pytest.mark.parametrize("page", ["your-model.md", "wrappers.md"])
def test_links(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (DOCS / page).read_text("utf-8"))
    assert [link for link in links if not (DOCS / link).exists()] == []
