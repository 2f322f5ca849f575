from pathlib import Path

from medgen_scripts.result_file import Predictions
from medgen_scripts.result_file import ResultFile
from medgen_scripts.result_file import load
from medgen_scripts.tables import tracks
from medgen_scripts.tables.build import build

from ..built import as_text
from ..built import built
from ..results import config_result
from ..results import pixels
from ..results import result


def test_tracks_are_told_where_they_differ_or_where_an_input_was_never_seen() -> None:
    direct, rewritten, drawn = ({"track": name} for name in ("direct", "rewrite-then-edit", "text-to-image"))
    assert list(tracks.notes({"a": direct, "b": direct, "shuffled": {"track": "baseline"}, "old": {}})) == []
    (said,) = tracks.notes({"a": direct, "b": rewritten, "c": drawn})
    assert said.startswith("Tracks; systems of different tracks aren't comparable: direct")
    assert said.endswith("never sees the input image: text-only): c.")
    (said,) = tracks.notes({"c": drawn})
    assert said.startswith("Tracks: text-to-image")


def test_blind_and_unproven_systems_are_told() -> None:
    said = list(
        tracks.notes(
            {
                "a-blind": {"track": "direct", "blind": True},
                "b": {"track": "direct", "verified": "never"},
                "c": {"track": "direct", "verified": "loopback"},
                "d": {"track": "direct", "verified": "2026-05-01"},
            }
        )
    )
    assert said[0] == "Not shown the images (--blind): a-blind."
    assert said[1].endswith("c (loopback); b (never).")
    assert len(said) == 2


def test_what_the_manifest_says_of_a_system_stands_in_the_tables_foot(tmp_path: Path) -> None:
    about = {"track": "text-to-image", "components": {"vlm": "a", "image": "b"}, "verified": "never"}
    made = config_result({"pixel": pixels([0.5, 0.6])})
    told = Predictions.model_validate({**made.predictions.model_dump(), "system": about})
    path = tmp_path / "mine.json"
    result("mine", {"edit": made.model_copy(update={"predictions": told})}).save(path)
    document = build([(path, load(path))])
    notes = " ".join([*document.tables[0].notes, *document.notes])
    assert "text-only): mine." in notes
    assert "mine (never)" in notes


def _of_track(system: str, track: str | None, *ssim: float) -> ResultFile:
    made = config_result({"pixel": pixels(ssim)})
    about = {} if track is None else {"system": {"track": track}}
    told = Predictions.model_validate({**made.predictions.model_dump(), **about})
    return result(system, {"edit": made.model_copy(update={"predictions": told})})


def test_by_track_systems_are_compared_within_their_own() -> None:
    files = [
        _of_track("drawn-a", "text-to-image", 0.2, 0.3),
        _of_track("direct-a", "direct", 0.8, 0.9),
        _of_track("drawn-b", "text-to-image", 0.4, 0.5),
        _of_track("direct-b", "direct", 0.6, 0.7),
        _of_track("old", None, 0.5, 0.5),
    ]
    document = built(*files, by="track")
    (table,) = document.tables
    assert [(line.group, line.system) for line in table.lines] == [
        ("(no track)", "old"),
        ("direct", "direct-a"),
        ("direct", "direct-b"),
        ("text-to-image", "drawn-a"),
        ("text-to-image", "drawn-b"),
    ]
    marks = {line.system: cell.mark for line in table.lines if (cell := line.cells[0]) is not None and cell.mark}
    assert marks == {"direct-a": "best", "direct-b": "second", "drawn-b": "best", "drawn-a": "second"}
    printed = as_text(document)
    assert (
        printed.index("(no track)")
        < printed.index("direct-a")
        < printed.index("text-to-image")
        < printed.index("drawn-a")
    )
    assert "macro" not in printed
