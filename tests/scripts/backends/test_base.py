import subprocess
import sys
from types import SimpleNamespace

import pytest

from medgen_scripts.backends import base
from medgen_scripts.errors import UsageError
from medgen_scripts.systems.component import Component


def test_unknown_kind() -> None:
    with pytest.raises(UsageError, match=r"backend: expected one of openai-chat, openai-images, .*; got 'other'"):
        base.make(Component.model_construct(backend="other"))


@pytest.mark.parametrize(("kind", "wanted"), [("diffusers", "medgen-bench[diffusers]"), ("gemini", "parrots")])
def test_library_that_is_not_installed(kind: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(component: Component, options: base.Options) -> None:
        raise ModuleNotFoundError("No module named 'parrots'", name="parrots")

    for name, *_ in base._KINDS.values():
        monkeypatch.setitem(sys.modules, f"medgen_scripts.backends.{name}", SimpleNamespace(make=make))
    with pytest.raises(UsageError) as failed:
        base.make(Component(backend=kind, model="m"))
    assert str(failed.value) == (f"backend {kind}: it needs parrots, which isn't installed; `pip install '{wanted}'`")


def test_a_module_of_this_package_that_is_missing_is_no_fault_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "medgen_scripts.backends.gemini", None)
    with pytest.raises(ImportError):
        base.make(Component(backend="gemini", model="m"))


@pytest.mark.parametrize("kind", ["openai-chat", "openai-images", "gemini", "hf-inference"])
def test_environment_is_filled_in(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_URL", "http://localhost:8000/v1")
    component = Component(backend=kind, model="m", base_url="${MODEL_URL}")
    assert base.make(component).describe()["endpoint"] == "http://localhost:8000/v1"
    monkeypatch.delenv("MODEL_URL")
    with pytest.raises(UsageError, match="MODEL_URL not set"):
        base.make(component)


@pytest.mark.parametrize("kind", ["openai-chat", "openai-images", "gemini", "hf-inference"])
@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://"])
def test_addresses_that_are_none(kind: str, url: str) -> None:
    with pytest.raises(UsageError, match=r"expected (base URLs of servers|an address)"):
        base.make(Component(backend=kind, model="m", base_url=url))


def test_key_that_no_header_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret\u2013key")
    with pytest.raises(UsageError, match=r"\$A_KEY: expected a key of printable ASCII") as failed:
        base.make(Component(backend="gemini", model="m", key_env="A_KEY"))
    assert "secret" not in str(failed.value)


def test_describing_loads_no_library() -> None:
    code = (
        "import sys; from medgen_scripts.backends.base import Ask, Gave, KINDS;"
        "print(sorted({'torch', 'openai', 'huggingface_hub', 'PIL', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
