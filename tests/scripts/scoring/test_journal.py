import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.failures import REASONS
from medgen_metrics.rows import Row
from medgen_scripts.errors import Failure
from medgen_scripts.scoring import journal


def line(key: str, value: float = 0.5) -> journal.Line:
    return journal.Line(id=f"id-{key}", key=key, tier="pixel", row=Row({"ssim": value}), signature="s|v:1")


def silent(message: str) -> None:
    pytest.fail(f"unexpected notice: {message}")


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    row = Row({"ssim": 0.1 + 0.2}, {"lpips": "weights_missing"}, ("resized", "identical"))
    written = journal.Line(id="x-é\ud800", key="k", tier="pixel", row=row, signature="s", view="with", sample=2)
    with journal.Writer(tmp_path, "edit", 0) as writer:
        writer.append([written])
    assert list(journal.read(tmp_path, "edit", notice=silent).values()) == [written]


def test_the_union_of_all_files_of_one_config_counts_a_key_once(tmp_path: Path) -> None:
    for rank in (0, 1):
        with journal.Writer(tmp_path, "edit", rank) as writer:
            writer.append([line("shared"), line(f"own-{rank}")])
    with journal.Writer(tmp_path, "gen", 0) as writer:
        writer.append([line("elsewhere")])
    assert sorted(journal.read(tmp_path, "edit", notice=silent)) == ["own-0", "own-1", "shared"]


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_last_line_is_dropped_with_a_notice(tmp_path: Path, cut: int) -> None:
    with journal.Writer(tmp_path, "edit", 0) as writer:
        writer.append([line("whole"), line("torn")])
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    notices: list[str] = []
    assert list(journal.read(tmp_path, "edit", notice=notices.append)) == ["whole"]
    assert len(notices) == 1
    assert f"{path}:2" in notices[0]


def test_a_line_that_another_process_is_writing_is_torn_and_its_rest_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.Writer(tmp_path, "edit", 0) as writer:
        writer.append([line("whole"), line("torn")])
    (path,) = tmp_path.glob("*.jsonl")
    whole = path.read_bytes()

    class Growing(io.BytesIO):
        def __next__(self) -> bytes:
            text = super().__next__()
            if not text.endswith(b"\n"):  # at its end, behind which the writer goes on
                place = self.tell()
                self.write(whole[place:])
                self.seek(place)
            return text

    monkeypatch.setattr(Path, "open", lambda self, mode: Growing(whole[:-10]))
    notices: list[str] = []
    assert list(journal.read(tmp_path, "edit", notice=notices.append)) == ["whole"]
    assert len(notices) == 1


def test_a_broken_line_in_the_middle_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    with journal.Writer(tmp_path, "edit", 0) as writer:
        writer.append([line("a"), line("b")])
    (path,) = tmp_path.glob("*.jsonl")
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(Failure, match=r"jsonl:1: expected a score line.*Delete the file"):
        journal.read(tmp_path, "edit", notice=silent)


@pytest.mark.parametrize(
    "change",
    [{"values": {"ssim": "NaN"}}, {"values": {"ssim": float("inf")}}, {"reasons": {"ssim": "bored"}}, {"flags": None}],
)
def test_a_line_that_is_no_score_is_refused(change: dict[str, object]) -> None:
    data = {**json.loads(line("a").to_json()), **change}
    with pytest.raises(ValueError):
        journal.Line.from_json(json.dumps(data))


@given(
    st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    st.dictionaries(st.text(max_size=5), st.sampled_from(REASONS), max_size=3),
)
def test_any_row_survives_the_round_trip(values: dict[str, float], reasons: dict[str, str]) -> None:
    before = journal.Line(id="a", key="k", tier="t", row=Row(values, reasons), signature="s")
    encoded = before.to_json().encode("utf-8", "surrogatepass")
    assert journal.Line.from_json(encoded) == before


def test_a_run_with_nothing_to_write_leaves_no_file(tmp_path: Path) -> None:
    with journal.Writer(tmp_path, "edit", 0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_in_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with journal.Writer(tmp_path, "edit", 0) as writer:
        writer.append([line("kept")])
        monkeypatch.setattr(journal.os, "write", full)
        with pytest.raises(Failure, match=r"No space left on device.*What is written is kept"):
            writer.append([line("lost")])
    assert list(journal.read(tmp_path, "edit", notice=silent)) == ["kept"]
