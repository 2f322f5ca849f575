import json
from pathlib import Path

import pytest

from medgen_scripts.cli import main
from medgen_scripts.systems import SYSTEMS
from medgen_scripts.systems.file import catalogue
from tests.servers.openai_server import OpenAIServer


def told(arguments: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    """What a command prints, and its complaints."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()
    assert ended.value.code == status, said.err
    return said.out, said.err


def test_list_names_every_system_with_track_and_whether_it_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(["systems", "list"], capsys)
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert {*SYSTEMS, *catalogue()} <= set(lines)
    assert "text-to-image" in lines["qwen3-vl+dall-e-3"]
    assert lines["gpt-4o"].split()[-1] == "loopback"
    assert lines["qwen-image-edit"].split()[-1] == "never"
    out, _ = told(["systems", "list", "--config", "vqa"], capsys)
    assert "huatuogpt-vision" in out
    assert "qwen-image-edit" not in out
    out, _ = told(["systems", "list", "--json"], capsys)
    listed = {entry["name"]: entry for entry in json.loads(out)}
    assert set(listed) == set(catalogue())
    assert listed["qwen3-vl+dall-e-3"]["text_only"] is True


def test_show_says_what_is_needed_and_no_value_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-planted-secret")
    monkeypatch.delenv("ARK_API_KEY", raising=False)
    out, _ = told(["systems", "show", "gpt-4o+seedream-4.0"], capsys)
    assert "$OPENAI_API_KEY (set)" in out
    assert "$ARK_API_KEY (not set)" in out
    assert "a-planted-secret" not in out
    out, _ = told(["systems", "show", "gpt-4o+imagen-4.0"], capsys)
    assert "text-only" in out
    out, _ = told(["systems", "show", "shuffled"], capsys)
    assert "built-in baseline" in out
    _, err = told(["systems", "show", "gpt-5o"], capsys, status=2)
    assert "near: gpt-4o" in err


def test_short_forms_are_shown_and_checked_as_files_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with OpenAIServer() as server:
        name = f"openai-chat:stub-judge@{server.url}"
        out, _ = told(["systems", "show", name], capsys)
        assert "backend: openai-chat" in out
        assert f"Run it: medgen-bench run {name} vqa" in out
        assert told(["systems", "check", name, "--ping"], capsys)[0] == "vlm (stub-judge): ready\n"
    _, err = told(["systems", "check", "openai-chat:nobody"], capsys, status=2)
    assert "openai-chat:MODEL@URL" in err
    out, _ = told(["systems", "check", f"folder:{tmp_path / 'none'}"], capsys, status=1)
    assert "expected a folder of outputs" in out
    assert "shape: editor" in told(["systems", "show", "diffusers:owner/name"], capsys)[0]


def written(folder: Path, url: str, model: str, more: str = "") -> str:
    path = folder / "mine.yaml"
    told = f"{{backend: openai-chat, model: {model}, base_url: '{url}'{more}}}"
    path.write_text(f"shape: vlm\ncomponents: {{vlm: {told}}}\n")
    return str(path)


def test_check_says_what_stands_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with OpenAIServer() as server:
        out, _ = told(["systems", "check", written(tmp_path, server.url, "stub-judge")], capsys)
        assert out == "vlm (stub-judge): ready\n"
        assert not [seen for seen in server.log if seen.path.endswith("completions")]
        told(["systems", "check", "--ping", written(tmp_path, server.url, "stub-judge")], capsys)
        assert len([seen for seen in server.log if seen.path.endswith("completions")]) == 1
        out, err = told(["systems", "check", written(tmp_path, server.url, "other")], capsys, status=1)
        assert "does not list 'other'" in out
        assert "not ready to be run" in err
        keyed = written(tmp_path, server.url, "stub-judge", ", key_env: NO_SUCH_KEY")
        out, _ = told(["systems", "check", keyed], capsys, status=1)
        assert "$NO_SUCH_KEY" in out
    out, _ = told(["systems", "check", written(tmp_path, server.url, "stub-judge")], capsys, status=1)
    assert "127.0.0.1" in out
    assert told(["systems", "check", "blank"], capsys)[0].startswith("blank: a built-in baseline")


def test_run_with_a_file_of_ids_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "ids.txt"
    _, said = told(["run", "blank", "vqa", "--edition", "sample", "--ids", f"@{absent}"], capsys, status=2)
    assert f"--ids: expected a file of text after @, got '{absent}'" in said
