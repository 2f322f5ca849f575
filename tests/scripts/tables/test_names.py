"""Names of systems and groups that would steer a terminal, break a line or run a formula."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from medgen_scripts.table import FORMATS
from medgen_scripts.table import table
from medgen_scripts.tables.printing import printable
from medgen_scripts.tables.show import Show

from ..built import as_text
from ..built import built
from ..built import edits

HOSTILE = "=cmd()|[bold]x[/]_*`<b>&%$#{}\\~^\n\x1b[31m\u202ered"
SHOWN = "=cmd()|[bold]x[/]_*`<b>&%$#{}\\~^\\n\\x1b[31m\\u202ered"


@pytest.mark.parametrize("format", FORMATS)
def test_names_neither_steer_a_terminal_nor_break_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    edits(HOSTILE, [0.5], tasks=[HOSTILE]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format=format, show=Show(by="task"))
    out = capsys.readouterr().out
    assert not {character for character in out if not character.isprintable()} - {"\n"}
    # A machine gets the name as it is.
    if format == "json":
        assert json.loads(out)["tables"][0]["rows"][0]["system"] == HOSTILE
    else:
        assert re.search(r"x1b(\\|{)?\[", out)


def test_text_shows_a_hostile_name_as_it_is() -> None:
    text = as_text(built(edits(HOSTILE, [0.5])))
    assert SHOWN in text
    assert printable(HOSTILE) == SHOWN


def test_markdown_escapes_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="markdown")
    row = capsys.readouterr().out.split("\n")[4]
    assert row == (r"| =cmd()\|\[bold\]x\[/\]\_\*\`\<b\>\&%\$\#\{\}\\\~^\\n\\x1b\[31m\\u202ered | 50.00 |")


def test_markdown_renders_the_name_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from html import unescape

    from markdown_it import MarkdownIt

    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="markdown")
    html = MarkdownIt("commonmark").enable("table").render(capsys.readouterr().out)
    assert unescape(re.findall(r"<td>(.*)</td>", html)[0]) == SHOWN


def test_latex_escapes_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="latex")
    (row,) = [line for line in capsys.readouterr().out.split("\n") if line.endswith(r"50.00 \\")]
    assert row == (
        r"=cmd()\textbar{}{[}bold{]}x{[}/{]}\_*\textasciigrave{}\textless{}b\textgreater{}\&\%\$\#\{\}\textbackslash{}"
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}n\textbackslash{}x1b{[}31m\textbackslash{}u202ered"
        r" & 50.00 \\"
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [("=1+1", "'=1+1"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), (" =x", "' =x"), ('a,"b"', 'a,"b"'), ("-3", "-3")],
)
def test_csv_runs_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, written: str) -> None:
    edits(name, [-0.25]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="csv")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["system"] == written
    assert (row["printed"], row["value"]) == ("-25.00", "-0.25")


def test_a_long_name_leaves_the_figures_whole() -> None:
    text = as_text(built(edits("system-" * 40, [0.123456], [23.456], [0.345])))
    assert all(len(line) <= 100 for line in text.split("\n"))
    assert re.search(r" 12\.35 +23\.46 +34\.50", text)
