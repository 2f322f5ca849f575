from pathlib import Path

from medgen_metrics.sources.paths import allowed_roots


def test_links_may_lead_into_the_source_and_the_hub_cache(tmp_path: Path) -> None:
    view = tmp_path / "view"
    view.mkdir()
    assert allowed_roots(view) == (view,)
    (view / "source").symlink_to("source")  # a loop
    assert allowed_roots(view) == (view,)
    (view / "source").unlink()
    (tmp_path / "data").mkdir()
    (view / "source").symlink_to("../data")
    assert set(allowed_roots(view)) == {view, tmp_path / "data"}
    snapshot = tmp_path / "hub" / "datasets--x" / "snapshots" / "abc"
    assert tmp_path / "hub" / "datasets--x" in allowed_roots(snapshot / "below")
    assert tmp_path / "hub" not in allowed_roots(snapshot)
