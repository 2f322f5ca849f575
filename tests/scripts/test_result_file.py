import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import medgen_bench
from medgen_metrics.failures import REASONS
from medgen_metrics.rows import Row
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.result_file import CONFIGS
from medgen_scripts.result_file import ResultFile
from medgen_scripts.result_file import load
from medgen_scripts.result_file import load_all
from medgen_scripts.result_rows import TierRows

from .results import config_result
from .results import pixels
from .results import result


def simple(system: str = "alpha") -> ResultFile:
    return result(system, {"edit": config_result({"pixel": pixels([0.5, None, 0.75], [20.0, None, 30.0])})})


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "results" / "alpha.json"
    simple().save(path)
    return path


def test_what_is_written_is_read_again(saved: Path) -> None:
    assert load(saved) == simple()
    assert load(saved).configs["edit"].rows.unpack("pixel") == pixels([0.5, None, 0.75], [20.0, None, 30.0])


def test_the_file_is_the_documented_json(saved: Path) -> None:
    written = content(saved)
    assert list(written) == [
        *("format", "system", "edition", "edition_note", "protocol", "versions", "created", "configs")
    ]
    edit = written["configs"]["edit"]
    assert edit["rows"]["id"] == ["r-000000000000", "r-000000000001", "r-000000000002"]
    assert edit["rows"]["pixel"] == {
        "values": {"ssim": [0.5, None, 0.75], "psnr": [20.0, None, 30.0], "mse": [650.25, None, 65.025]},
        "reasons": {"ssim": {"missing": [1]}, "psnr": {"missing": [1]}, "lpips": {"weights_missing": [0, 1, 2]}},
        "flags": {},
    }
    assert edit["tiers"]["pixel"]["metrics"]["ssim"]["mean"] == 0.625


def test_configs_are_those_of_the_data_set() -> None:
    assert CONFIGS == medgen_bench.CONFIGS


names = st.sampled_from(["a", "b", "c"])
some_rows = st.lists(
    st.builds(
        Row,
        st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False)),
        st.dictionaries(names, st.sampled_from(REASONS)),
        st.lists(names, unique=True).map(sorted).map(tuple),
    )
)


@given(some_rows)
def test_rows_survive_packing(rows: list[Row]) -> None:
    again = TierRows.pack(rows).unpack(len(rows))
    assert [(row.values, row.reasons, sorted(row.flags)) for row in again] == [
        (row.values, row.reasons, list(row.flags)) for row in rows
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused(value: float) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        TierRows.pack([Row({"ssim": value})])


def test_a_number_that_json_lacks_among_the_extras_is_not_written(tmp_path: Path) -> None:
    file = simple()
    file.configs["edit"].tiers["pixel"].metrics["ssim"].chance = float("nan")  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="not JSON compliant"):
        file.save(tmp_path / "alpha.json")
    assert not list(tmp_path.iterdir())


def test_saving_replaces_in_one_step(saved: Path) -> None:
    simple("beta").save(saved)
    assert load(saved).system == "beta"
    assert [path.name for path in saved.parent.iterdir()] == ["alpha.json"]


def test_a_name_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 250}.json"
    simple().save(path)
    assert load(path).system == "alpha"


def test_a_folder_in_the_way_is_a_failure_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(Failure, match=r"out.results.alpha\.json: can't be written: .*name another folder"):
        simple().save(tmp_path / "out" / "results" / "alpha.json")


def change(path: Path, *keys: str, to: Any) -> Path:
    """Set (or, with `...`, delete) one field of a JSON file."""
    whole = content(path)
    place = whole
    for key in keys[:-1]:
        place = place[key]
    if to is ...:
        del place[keys[-1]]
    else:
        place[keys[-1]] = to
    path.write_text(json.dumps(whole))
    return path


ROWS = ("configs", "edit", "rows")


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        (("format",), "medgen-bench/result@2", "format: expected 'medgen-bench/result@1', got 'medgen-bench/result@2'"),
        (("format",), ..., "format: expected a value, got none"),
        (("system",), "", "system: expected text of at least 1 character, got ''"),
        (("edition",), "draft", "edition: expected 'paper', 'release' or 'sample', got 'draft'"),
        (("surprise",), 1, "surprise: expected no such field, got 1"),
        (("configs", "video"), {}, "configs.video: expected 'vqa', 'edit' or 'gen', got 'video'"),
        ((*ROWS, "task"), ["t"], "rows: task: expected 3 entries, one an id, got 1"),
        ((*ROWS, "id"), ["x", "x", "y"], "id: expected every record once, got 1 repeated"),
        ((*ROWS, "id"), ["x", "z", "y"], "subset.digest: expected "),
        ((*ROWS, "pixel", "values", "ssim"), [0.5], "pixel.values.ssim: expected 3 entries, one a record, got 1"),
        ((*ROWS, "pixel", "values", "ssim"), ["?", 1, 2], "rows.pixel.values.ssim.0: expected a number, got '?'"),
        (
            (*ROWS, "pixel", "reasons", "ssim"),
            {"missing": [7]},
            "reasons.ssim.missing: expected indices below 3, got 7",
        ),
        (
            (*ROWS, "pixel", "reasons", "ssim"),
            {"tired": [1]},
            "ssim.tired: expected one of missing, unreadable",
        ),
        ((*ROWS, "pixel", "flags"), {"resized": [3]}, "pixel.flags.resized: expected indices below 3, got 3"),
        ((*ROWS, "pixel"), ..., "tiers: expected rows for ['pixel'], got rows for []"),
        (("configs", "edit", "selected"), 4, "rows.id: expected selected = 4 records, got 3"),
    ],
)
def test_a_file_that_contradicts_itself_is_named_with_its_fault(
    saved: Path, keys: tuple[str, ...], to: Any, said: str
) -> None:
    change(saved, *keys, to=to)
    with pytest.raises(UsageError) as error:
        load(saved)
    assert str(error.value).startswith(f"{saved}: expected a result of format medgen-bench/result@1; ")
    assert "Value error" not in str(error.value)
    assert said in str(error.value)
    assert str(error.value).endswith("Pass files that `medgen-bench score` wrote (out/results/<system>.json).")


@pytest.mark.parametrize("text", ["", "{", "[]", '"text"', '{"format": NaN}', "\ufeff{}", "\x00"])
def test_what_is_no_result_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"broken\.json: expected a result of format"):
        load(path)


def test_nan_in_a_row_is_an_error(saved: Path) -> None:
    saved.write_text(saved.read_text().replace("0.75", "NaN"))
    with pytest.raises(UsageError, match=r"rows\.pixel\.values\.ssim\.2"):
        load(saved)


def test_all_bad_files_are_reported_in_one_pass(saved: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    with pytest.raises(UsageError) as error:
        load_all([bad, saved, tmp_path / "absent.json", tmp_path])
    lines = str(error.value).split("\n")
    assert [line.partition(":")[0] for line in lines] == [str(bad), str(tmp_path / "absent.json"), str(tmp_path)]
    assert "No such file" in lines[1]


def test_a_file_named_twice_counts_once(saved: Path) -> None:
    again = saved.parent / ".." / "results" / saved.name
    assert [path for path, _ in load_all([saved, again])] == [saved]
