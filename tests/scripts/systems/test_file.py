from collections import Counter
from pathlib import Path

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.running import prompts
from medgen_scripts.systems import SYSTEMS
from medgen_scripts.systems.file import SERVES
from medgen_scripts.systems.file import catalogue
from medgen_scripts.systems.file import load
from medgen_scripts.systems.file import read

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "ARK_API_KEY", "HF_TOKEN")


@pytest.mark.parametrize("name", catalogue())
def test_every_system_of_the_package_can_be_read_and_claims_no_more_than_it_knows(name: str) -> None:
    system = load(name)
    assert system.name == name
    assert system.name not in SYSTEMS
    assert system.provider
    assert "verified" in system.model_fields_set
    prompts.load(system.prompts)
    for component in system.components.values():
        assert component.key_env in (None, *KEYS)
        if component.key_env is None:
            assert component.backend in ("command", "diffusers", "transformers")


def test_the_papers_rows_are_all_there() -> None:
    rows = Counter(row for name in catalogue() for row in load(name).paper)
    assert rows == {
        "compositional generation": 5,
        "compositional editing": 5,
        "editor": 2,
        "unified": 3,
        "vlm": 5,
    }
    assert sum(rows.values()) == 20
    alias = load("gemini-2.5-pro-edit")
    assert alias.alias_of == "gemini-2.5-flash-image"
    assert alias.components == load("gemini-2.5-flash-image").components


@pytest.mark.parametrize(
    ("name", "track"),
    [
        ("qwen3-vl", "direct"),
        ("qwen-image-edit", "direct"),
        ("qwen3-vl+gpt-image-1", "rewrite-then-edit"),
        ("gpt-4o+seedream-4.0", "rewrite-then-edit"),
        ("qwen3-vl+dall-e-3", "text-to-image"),
        ("gemini-2.5-pro+imagen-4.0", "text-to-image"),
    ],
)
def test_tracks_follow_from_what_the_image_model_sees(name: str, track: str) -> None:
    assert load(name).track == track


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def test_a_short_file_is_enough(tmp_path: Path) -> None:
    system = read(written(tmp_path, "shape: vlm\ncomponents: {vlm: {python: 'my.module:answer'}}\n"))
    assert (system.name, system.track, system.configs) == ("mine", "direct", SERVES["vlm"])
    assert (system.components["vlm"].backend, system.components["vlm"].function) == ("python", "my.module:answer")
    system = read(written(tmp_path, "shape: editor\ncomponents: {image: {command: ./edit --fast}}\n"))
    assert system.components["image"].command == ("./edit", "--fast")
    assert system.takes == ("text", "image")
    assert system.gives == ("image",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "expected a system"),
        ("shape: vlm", "components: expected a value"),
        ("shape: choir\ncomponents: {}", "shape: expected 'vlm', 'editor'"),
        ("shape: vlm\ncomponents: {image: {python: 'a:b'}}", "shape vlm has vlm; got image"),
        ("shape: vlm\nconfigs: [edit]\ncomponents: {vlm: {python: 'a:b'}}", "shape vlm serves vqa; got ('edit',)"),
        ("shape: vlm\ntrack: text-to-image\ncomponents: {vlm: {python: 'a:b'}}", "is direct; got text-to-image"),
        ("shape: vlm\ncomponents: {vlm: {backend: telepathy, model: x}}", "expected one of openai-chat"),
        ("shape: vlm\ncomponents: {vlm: {backend: gemini}}", "backend gemini: expected model"),
        ("shape: vlm\ncomponents: {vlm: {python: 'nowhere'}}", "expected module:name"),
        ("shape: vlm\nname: ../up\ncomponents: {vlm: {python: 'a:b'}}", "a folder goes by it"),
        ("shape: vlm\nverified: soon\ncomponents: {vlm: {python: 'a:b'}}", "expected never, loopback or a date"),
        ("shape: vlm\ntemperature: 1\ncomponents: {vlm: {python: 'a:b'}}", "temperature: expected no such field"),
        ("shape: editor\ncomponents: {image: {python: 'a:b', sizes: [[0, 5]]}}", "expected [width, height]"),
        ("a: [", "expected YAML"),
    ],
)
def test_faults_are_told(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read(written(tmp_path, text))
    assert said in str(raised.value)
    assert "mine.yaml" in str(raised.value)


def test_keys_in_a_file_are_refused_and_shown_nowhere(tmp_path: Path) -> None:
    secret = "4f7a0c1d2e3b"
    vlm = f"{{backend: gemini, model: m, key_env: {secret}, load: {{api_key: {secret}}}}}"
    text = f"shape: vlm\ncomponents: {{vlm: {vlm}}}"
    with pytest.raises(UsageError) as raised:
        read(written(tmp_path, text))
    assert "name of an environment variable" in str(raised.value)
    assert "expected no key here (api_key)" in str(raised.value)
    assert secret not in str(raised.value)


def test_credentials_in_an_address_are_used_and_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
shape: vlm
components:
  vlm: {backend: openai-chat, model: m, base_url: "http://me:s3cr3t-word@host/v1?token=s3cr3t-word", key_env: KEY}
"""
    system = read(written(tmp_path, text))
    assert "s3cr3t-word" not in repr(system)
    assert "s3cr3t-word" not in str(system.described())
    assert "s3cr3t-word" in (system.components["vlm"].base_url or "")
    other = read(written(tmp_path, text.replace("s3cr3t-word", "an0ther-word")))
    assert other.digest == system.digest


def test_the_environment_fills_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "shape: vlm\ncomponents: {vlm: {command: [python, '${MY_FOLDER}/run.py', '${MY_MODE}']}}"
    component = read(written(tmp_path, text)).components["vlm"]
    assert component.variables == ["MY_FOLDER", "MY_MODE"]
    monkeypatch.delenv("MY_FOLDER", raising=False)
    with pytest.raises(UsageError, match=r"\$MY_FOLDER, \$MY_MODE not set"):
        component.resolved()
    monkeypatch.setenv("MY_FOLDER", "/models")
    monkeypatch.setenv("MY_MODE", "fast")
    assert component.resolved().command == ("python", "/models/run.py", "fast")


def test_unknown_names_are_answered_with_near_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown system 'qwen3-v'; near: .*qwen3-vl"):
        load("qwen3-v")
