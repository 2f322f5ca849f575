"""The house's rules that a glance at the tree can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    *ROOT.glob("*.py"),
    *(p for d in ("metrics", "scripts", "dataset_card", "tests") for p in (ROOT / d).rglob("*.py")),
]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


def test_nothing_imports_the_folders_by_their_own_names() -> None:
    guilty = [str(path) for path in SOURCES if roots(path) & {"metrics", "scripts", "dataset_card"}]
    assert guilty == []


def test_arrows_point_one_way() -> None:
    for path in (ROOT / "metrics").rglob("*.py"):
        assert not roots(path) & {"medgen_scripts", "medgen_bench", "medgen_card"}, path
    assert "medgen_scripts" not in roots(ROOT / "medgen_bench.py")


def test_one_import_a_line() -> None:
    # datasets and evaluate scan imports with a parser that fails on `import a, b`.
    guilty = [
        f"{path}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) and len(node.names) > 1
    ]
    assert guilty == []


def test_every_package_is_listed_in_setup_cfg() -> None:
    names = {"metrics": "medgen_metrics", "scripts": "medgen_scripts", "dataset_card": "medgen_card"}
    listed = set(re.findall(r"^    (medgen_[\w.]+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE))
    for folder, package in names.items():
        for path in (ROOT / folder).rglob("*.py"):
            inside = path.parent.relative_to(ROOT / folder).parts
            assert ".".join([package, *inside]) in listed, path


HEAVY = ("torch", "transformers", "lpips", "bert_score", "skimage", "sacrebleu", "evaluate", "accelerate")


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        ("import medgen_bench", (*HEAVY, "imagehash", "scipy")),
        ("import medgen_scripts.cli", (*HEAVY, "datasets", "pyarrow", "numpy")),
        (
            "import medgen_metrics.pixel, medgen_metrics.text, medgen_metrics.weights",
            ("torch", "transformers", "lpips"),
        ),
    ],
)
def test_imports_cost_nothing_that_is_not_used(code: str, banned: tuple[str, ...]) -> None:
    # datasets itself imports torch where it is installed; what counts is what we add to it.
    before = "import datasets, sys; before = set(sys.modules); " if "medgen_bench" in code else ""
    before = before or "import sys; before = set(); "
    code = f"{before}{code}; print('\\n'.join({{name.split('.')[0] for name in set(sys.modules) - before}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(banned)


@pytest.mark.parametrize("verb", ["", "demo", "run", "score", "judge-check", "table", "weights"])
def test_help_needs_no_heavy_library(verb: str) -> None:
    code = (
        "import sys; from medgen_scripts.cli import app; "
        "app([*sys.argv[1:], '--help'], standalone_mode=False); print('LOADED', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *verb.split()], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {name.split(".")[0] for name in done[done.index("LOADED") :]} & {*HEAVY, "datasets", "numpy"}
