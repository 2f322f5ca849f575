"""The page on predictions elsewhere: what it shows of streams runs as it is shown."""

import re
from pathlib import Path

import datasets
import pytest

import medgen_bench

from .servers.hub import Hub

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMIT = "a" * 40


@pytest.mark.usefixtures("cache")
def test_a_stream_goes_through_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = medgen_bench.load("edit", edition="sample").take(10)
    edits = edits.cast_column("output_images", datasets.List(datasets.Image(decode=False)))
    rows = [{"id": row["id"], "image": {**row["output_images"][0], "path": None}} for row in edits]
    rows[3]["image"] = None
    features = datasets.Features({"id": datasets.Value("string"), "image": datasets.Image()})
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "made.parquet")
    card = b"---\nconfigs:\n- config_name: edit\n  data_files:\n  - split: test\n    path: edit/test-*\n---\n"
    content = (tmp_path / "made.parquet").read_bytes()
    (shown,) = re.findall(r"```python\n(.*?)```", (DOCS / "remote.md").read_text(), re.DOTALL)
    with Hub() as hub:
        hub.aim(monkeypatch, tmp_path / "hub")
        hub.add("datasets", "me/my-system", COMMIT, {"edit/test-00000-of-00001.parquet": content, "README.md": card})
        exec(compile(shown, "remote.md", "exec"), {})
    assert "'psnr': 100.0" in capsys.readouterr().out
    assert not list((tmp_path / "hub").rglob("*.parquet"))
