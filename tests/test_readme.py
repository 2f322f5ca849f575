"""What the README says is what happens."""

import re
from pathlib import Path

import pytest

from . import readme

NUMBER = re.compile(r"-?\d+\.\d+")


def test_the_demos_table_is_the_readmes(tmp_path: Path) -> None:
    printed, shown = readme.demo_tables(tmp_path), readme.shown()
    assert [NUMBER.sub("#", line) for line in printed] == [NUMBER.sub("#", line) for line in shown]
    got, said = (list(map(float, NUMBER.findall("\n".join(lines)))) for lines in (printed, shown))
    # Another release of a library may filter an image a little differently.
    assert got == pytest.approx(said, abs=0.15)


def test_the_readmes_python_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", readme.README.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_every_file_that_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", readme.README.read_text("utf-8"))
    assert links
    assert [link for link in links if not (readme.README.parent / link).exists()] == []
