"""The benchmark is cited in one way, wherever it is."""

import re
from pathlib import Path

import evaluate
import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(path for path in (ROOT / "metrics").glob("medgen_*") if path.is_dir())
ENTRY = re.compile(r"^@\w+\{(?:(?!^\}).)*2511\.13135.*?^\}", re.MULTILINE | re.DOTALL)


def entries(text: str) -> list[str]:
    return ENTRY.findall(text)


CITATION = entries((ROOT / "dataset_card" / "README.md").read_text("utf-8"))[0]


def test_the_cards_entry_is_whole() -> None:
    assert re.findall(r"^  (\w+) = ", CITATION, re.MULTILINE) == ["title", "author", "journal", "year"]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_metric_cards_and_modules_cite_as_the_data_card_does(module: Path) -> None:
    assert entries((module / "README.md").read_text("utf-8")) == [CITATION]
    assert entries(evaluate.load(str(module)).citation) == [CITATION]


def test_nothing_in_the_tree_cites_it_otherwise() -> None:
    files = [
        path
        for kind in ("*.md", "*.py")
        for folder in ("metrics", "scripts", "dataset_card", "docs")
        for path in (ROOT / folder).rglob(kind)
    ]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*.py")]
    assert {entry for path in files for entry in entries(path.read_text("utf-8"))} == {CITATION}
