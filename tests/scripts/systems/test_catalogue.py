"""The package's systems as they are, their models replaced by stand-ins that speak the same protocols."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from medgen_scripts.run import execute
from medgen_scripts.running.options import RunOptions
from medgen_scripts.systems.component import Component
from medgen_scripts.systems.file import catalogue
from medgen_scripts.systems.file import load
from tests.servers.gemini_server import GeminiServer
from tests.servers.openai_replies import Reply
from tests.servers.openai_requests import ChatRequest
from tests.servers.openai_server import OpenAIServer

from ..running.fakes import rows_of

STAND_IN = Path(__file__).resolve().parents[1] / "backends" / "stand_in.py"
KEY = "the-key-of-the-stand-ins"
# Tens of billions of parameters in this process: nothing stands in for it but a pipeline of another kind.
LARGE = ("qwen-image-edit",)


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """Back end -> a server that speaks its protocol and wants a key."""
    models = tuple(
        component.model for name in catalogue() for component in load(name).components.values() if component.key_env
    )

    def reply(asked: ChatRequest) -> Reply:
        return {"output_text": "a text", "image_prompt": "a prompt"} if '"image_prompt"' in asked.text else None

    with OpenAIServer(key=KEY, replies=reply) as openai, GeminiServer(key=KEY, models=models) as gemini:
        yield {
            "openai-chat": openai.url,
            "openai-images": openai.url,
            "hf-inference": openai.url,
            "gemini": gemini.url,
        }


@pytest.mark.parametrize("name", [name for name in catalogue() if name not in LARGE])
def test_a_system_runs_on_stand_ins_as_its_file_says(
    name: str, urls: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load(name)
    assert found.verified == "loopback"
    monkeypatch.setenv("MEDGEN_WRAPPERS", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def placed(component: Component) -> Component:
        if component.key_env:
            monkeypatch.setenv(component.key_env, KEY)
        if component.backend == "command":
            assert component.command is not None
            shutil.copy(STAND_IN, tmp_path / component.command[1].rpartition("/")[2])
            return component.model_copy(update={"command": (sys.executable, *component.command[1:], "good")})
        return component.model_copy(update={"base_url": urls[component.backend]})

    components = {role: placed(component) for role, component in found.components.items()}
    system = found.model_copy(update={"components": components})
    # in the same two calls for both
    configs = found.configs[-1:] if found.shape == "compositional" else found.configs
    for config in configs:
        options = RunOptions(edition="sample", out=tmp_path / "out", limit=1)
        (row,) = rows_of(execute(system, config, options))
        assert "error" not in row
        assert (row["text"] is not None) == (config != "edit")
        assert (row["image"] is not None) == (config != "vqa")


@pytest.mark.parametrize("name", LARGE)
def test_what_has_not_been_run_says_so(name: str) -> None:
    assert load(name).verified == "never"
