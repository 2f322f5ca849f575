"""Every evaluate module: found by looking, loaded as users load it, its card's examples run."""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import evaluate
import pytest

from medgen_metrics.module import ScoringModule

from ..servers.openai_server import openai_server

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path for path in (ROOT / "metrics").glob("medgen_*") if path.is_dir())

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)

SECTIONS = (
    "Description",
    "How to use",
    "Inputs",
    "Output values",
    "Examples",
    "Limitations and bias",
    "Citation",
)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module", autouse=True)
def _a_judge() -> Iterator[None]:
    """The server that the judge's examples ask."""
    with openai_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDGEN_JUDGE_URL", server.url)
        yield


def test_loads_by_folder_and_scores_nothing_at_first(folder: Path) -> None:
    module = evaluate.load(f"metrics/{folder.name}")
    assert module.name == folder.name
    assert isinstance(module, ScoringModule)
    for text in (module.description, module.citation, module.inputs_description):
        assert text.strip()
    with pytest.raises(ValueError, match="nothing was added"):
        module.compute()


def test_names_its_options_and_inputs_where_users_look(folder: Path) -> None:
    module = evaluate.load(f"metrics/{folder.name}")
    card = (folder / "README.md").read_text(encoding="utf-8")
    for name in [*module.options, *module.inputs]:
        assert f"{name}" in module.inputs_description, name
        assert f"`{name}`" in card or f"**{name}**" in card, name


def test_card_has_every_section(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert [title for title in SECTIONS if f"\n## {title}\n" not in card] == []
    assert "evidence of clinical correctness" in card


def test_card_examples_run(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.count(">>>") > 5
    examples = doctest.DocTestParser().get_doctest(
        re.sub(r"^```.*$", "", card, flags=re.MULTILINE), {}, folder.name, str(folder / "README.md"), 0
    )
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
    assert report == []


def test_space_requires_the_distribution(folder: Path) -> None:
    assert (folder / "requirements.txt").read_text(encoding="utf-8").split() == ["medgen-bench"]


def test_file_is_one_that_evaluate_can_scan_and_load(folder: Path) -> None:
    # Its scanner fails on `import a, b`, and takes the first module class in the namespace for the main one.
    tree = ast.parse((folder / f"{folder.name}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert len(node.names) == 1
    at_margin = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert not {name for name in at_margin if name.startswith("medgen")}
    loaded = evaluate.load(f"metrics/{folder.name}")
    namespace = vars(inspect.getmodule(type(loaded)))
    classes = [value for value in namespace.values() if inspect.isclass(value) and issubclass(value, evaluate.Metric)]
    assert classes == [type(loaded)]


def test_says_what_to_install_where_the_package_is_absent(folder: Path) -> None:
    source = (folder / f"{folder.name}.py").read_text(encoding="utf-8")
    absent = {"__builtins__": {**vars(__import__("builtins")), "__import__": _without_ours}}
    with pytest.raises(ImportError, match="pip install medgen-bench"):
        exec(compile(source, folder.name, "exec"), absent)


def _without_ours(name: str, *args: object) -> object:
    if name.split(".")[0] == "medgen_metrics":
        raise ModuleNotFoundError(f"No module named {name!r}", name="medgen_metrics")
    return __import__(name, *args)  # type: ignore[arg-type]
