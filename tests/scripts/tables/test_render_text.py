import re

from medgen_metrics.rows import Row
from medgen_scripts.tables.model import Document
from medgen_scripts.tables.render_text import _broken
from medgen_scripts.tables.render_text import _filled
from tests.scripts.built import as_text
from tests.scripts.built import built
from tests.scripts.results import config_result
from tests.scripts.results import result

SCORES = {"ssim": 0.9, "psnr": 30.0, "mse": 65.0, "lpips": 0.5}
DIAGNOSTICS = {"changed_share": 0.25, "changed_mae": 20.0, "changed_gain": -4.5, "kept_mae": 1.0, "psnr_gain": 13.0}


def wide(system: str = "a-system-with-a-name") -> Document:
    rows = [Row({name: value + step * value for name, value in (SCORES | DIAGNOSTICS).items()}) for step in (0.0, 0.1)]
    return built(result(system, {"edit": config_result({"pixel": rows})}), diagnostics=True, intervals=True)


def test_columns_that_do_not_fit_stand_in_a_further_grid() -> None:
    document = wide()
    text = as_text(document)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("a-system-with-a-name") == 2
    assert "…" not in text
    for column in document.tables[0].columns:
        assert all(word in text.split() for word in [*column.head.split(), column.arrow] if word), column.head
    assert "-100.00–-100.00" in text


def test_no_column_stands_alone_in_the_last_grid() -> None:
    assert [len(grid) for grid in _filled([10] * 7, 60)] == [6, 1]
    text = as_text(wide())
    assert [len(re.findall(r"\d\.\d\d", row)) for row in text.splitlines() if row.startswith(" a-system")] == [4, 4]


def test_units_and_stand_ins_have_a_line_of_their_own() -> None:
    text = as_text(wide())
    assert re.search(r"\n +Error in +Done in +Error out +PSNR gain\n system +\(grey\) ↓ +\(%\) ↑ +\(grey\) ↓", text)


def test_a_long_name_folds_and_figures_stay() -> None:
    text = as_text(wide("n" * 300))
    assert max(map(len, text.splitlines())) <= 100
    assert "-100.00–-100.00" in text


def test_one_grid_where_all_fits() -> None:
    document = built(result("alpha", {"edit": config_result({"pixel": [Row(SCORES)]})}))
    assert as_text(document).count("alpha") == 1


def test_a_long_signature_is_broken_behind_its_separators_only() -> None:
    signature = "|".join(f"part{number}:{'x' * 10}" for number in range(12))
    lines = _broken(signature, 60).split("\n")
    assert "".join(lines) == signature
    assert all(len(line) <= 60 for line in lines)
    assert all(line.endswith("|") for line in lines[:-1])
    assert _broken("a" * 100, 60) == "a" * 100
