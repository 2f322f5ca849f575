import json
from dataclasses import asdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import result_file
from medgen_scripts import subset
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.lock import hold
from medgen_scripts.score import _arguments
from medgen_scripts.score import score
from medgen_scripts.scoring import tiers
from medgen_scripts.scoring.judge_options import JudgeOptions
from medgen_scripts.scoring.options import ScoreOptions

from .scored import options
from .scored import png
from .scored import rows
from .scored import write_data
from .scored import write_predictions

COUNT = 20
ALIKE = 8  # of the answers to the ten closed questions one is missing, and the others are one text, scored once


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"), COUNT)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    return write_predictions(tmp_path / "out" / "predictions" / "mine", COUNT, skip=(4,))


def load(out: Path, name: str = "mine") -> result_file.ResultFile:
    return result_file.load(out / "results" / f"{name}.json")


@pytest.fixture
def scored_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of all records that a tier is asked to score."""
    seen: list[str] = []
    for work in (tiers.PixelWork, tiers.TextWork):
        original = work.score

        def spy(self: Any, samples: Any, original: Any = original) -> Any:
            seen.extend(record.id for record, _ in samples)
            return original(self, samples)

        monkeypatch.setattr(work, "score", spy)
    return seen


def test_scores_are_those_of_the_tiers_and_a_missing_record_is_counted(
    data: Path, system: Path, tmp_path: Path
) -> None:
    from medgen_metrics.pixel import PixelTier

    out = tmp_path / "out"
    assert score([system], options(data, out)) == [out / "results" / "mine.json"]
    result = load(out)
    records = list(rows("edit", COUNT))
    assert result.configs["edit"].rows.id == [row["id"] for row in records]
    candidates = [system / "images" / f"{row['id']}.png" for row in records]
    direct = PixelTier(metrics=("ssim", "psnr")).score(
        [path if path.exists() else None for path in candidates],
        [row["output_images"][0]["bytes"] for row in records],
    )
    for metric in ("ssim", "psnr"):
        expected = [row.values.get(metric) for row in direct]
        assert result.configs["edit"].rows.tiers["pixel"].values[metric] == expected
        figures = result.configs["edit"].tiers["pixel"].metrics[metric]
        assert (figures.n, figures.scored, figures.failures) == (COUNT, COUNT - 1, {"missing": 1})
    lpips = result.configs["edit"].tiers["pixel"].metrics["lpips"]
    assert lpips.mean is None
    assert lpips.failures == {"missing": 1, "weights_missing": COUNT - 1}
    em = result.configs["vqa"].tiers["text"].metrics["em"]
    assert (em.n, em.scored, em.failures) == (COUNT // 2, COUNT // 2 - 1, {"missing": 1})
    assert em.mean == (COUNT // 2 - 1) / (COUNT // 2)


def test_nothing_is_scored_twice(data: Path, system: Path, tmp_path: Path, scored_rows: list[str]) -> None:
    out = tmp_path / "out"
    score([system], options(data, out))
    first = load(out)
    assert len(scored_rows) == 2 * COUNT - ALIKE
    files = sorted((out / "scores").rglob("*.jsonl"))
    scored_rows.clear()
    score([system], options(data, out))
    assert scored_rows == []
    assert sorted((out / "scores").rglob("*.jsonl")) == files
    assert load(out).configs == first.configs


@pytest.mark.parametrize("what", ["output", "text", "protocol"])
def test_what_changed_is_scored_again(
    what: str, data: Path, system: Path, tmp_path: Path, scored_rows: list[str]
) -> None:
    out = tmp_path / "out"
    score([system], options(data, out))
    before = load(out)
    scored_rows.clear()
    chosen = options(data, out)
    if what == "output":
        changed = next(rows("edit", 1))["id"]
        (system / "images" / f"{changed}.png").write_bytes(png(77))
    elif what == "text":
        lines = [json.loads(line) for line in (system / "vqa.jsonl").read_text().splitlines()]
        changed = lines[1]["id"]
        lines[1]["text"] = "something else"
        (system / "vqa.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        chosen = replace(chosen, protocol="standard")
    score([system], chosen)
    if what == "protocol":
        assert len(scored_rows) == 2 * COUNT - ALIKE
        assert load(out) == before
        assert load(out, "mine.standard").protocol == "standard"
    else:
        # Its batch goes through the metrics again, but only its own line is new.
        assert changed in scored_rows
        config = "edit" if what == "output" else "vqa"
        files = (out / "scores").rglob(f"{config}.*.jsonl")
        written = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
        assert sorted(written) == sorted([*before.configs[config].rows.id, changed])


def test_tiers_scored_in_turn_stand_in_one_result(data: Path, system: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    score([system], options(data, out, tiers=("pixel",)))
    assert set(load(out).configs) == {"edit"}
    score([system], options(data, out, tiers=("text",)))
    assert {name: set(config.tiers) for name, config in load(out).configs.items()} == {
        "edit": {"pixel"},
        "vqa": {"text"},
    }


def test_a_limit_selects_and_says_so(data: Path, system: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    score([system], options(data, out, limit=6, seed=3))
    edit = load(out).configs["edit"]
    assert (edit.records, edit.selected, edit.subset.limit, edit.subset.seed) == (COUNT, 6, 6, 3)


def test_a_run_is_refused_while_another_scores_the_same(data: Path, system: Path, tmp_path: Path) -> None:
    held = hold(tmp_path / "out" / "scores" / "mine", "vqa", "scoring vqa")
    with pytest.raises(UsageError, match="another run is scoring vqa"):
        score([system], options(data, tmp_path / "out"))
    held.release()


def test_a_launcher_that_started_another_number_is_refused(data: Path, system: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected 4 processes, got 1"):
        score([system], options(data, tmp_path / "out", expect_processes=4))


def test_bad_input_ends_with_one_message_and_code_2(
    data: Path, system: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (system / "edit.jsonl").open("a") as file:
        file.write('{"id": "style-transfer-000000000000", "image": "images/x.png"}\nnot json\n')
    common = ["score", str(system), "--edition", "release", "--data-dir", str(data), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main([*common, "--offline"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"edit.jsonl:{COUNT}:" in said
    assert f"edit.jsonl:{COUNT + 1}:" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out" / "results").exists()
    with pytest.raises(SystemExit) as ended:
        main([*common, "--tiers", "pixel,taste"])
    assert ended.value.code == 2
    assert "expected some of pixel, text, embedding, judge, got taste" in capsys.readouterr().err


def test_options_of_tiers_that_are_not_chosen_are_told() -> None:
    chosen = ScoreOptions(tiers=("pixel",), text_extras=("negation",), embedding_model="x", judge=JudgeOptions(scale=7))
    assert chosen.unused() == [
        "--text-extras: not used, since --tiers has no text",
        "--embedding-model: not used, since --tiers has no embedding",
        "--scale: not used, since --tiers has no judge",
    ]
    assert replace(chosen, tiers=("pixel", "text", "embedding", "judge")).unused() == ScoreOptions().unused() == []


def test_the_command_line_for_processes_means_the_same_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = ScoreOptions(
        edition="sample",
        data_dir=tmp_path / "data dir",
        tiers=("text",),
        out=tmp_path / "out",
        limit=7,
        seed=3,
        subset="lite",
        protocol="standard",
        processes=2,
        expect_processes=2,
        device="cpu",
        lpips_net="squeeze",
        lpips_weights=tmp_path / "w.pth",
        text_model="some/model",
        text_layers=6,
        text_baseline=tmp_path / "b.tsv",
        text_extras=("sentence", "sections"),
        sentence_model="some/sentences",
        embedding_model="some/encoder",
        embedding_weights=tmp_path / "m.pt",
        embedding_cache=tmp_path / "features",
        embedding_dtype="bfloat16",
        image_roots=(tmp_path / "a", tmp_path / "b"),
        offline=True,
        download=True,
        judge=JudgeOptions(
            judge_url=("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"),
            judge_model="some/judge",
            judge_backend="transformers",
            jury="a@http://127.0.0.1:1/v1",
            rubric="v1",
            judge_layout="standard",
            scale=10,
            view="with-reference",
            samples=3,
            temperature=0.5,
            judge_seed=9,
            judge_image_side=512,
            judge_image_format="jpeg",
            judge_deadline=30.0,
            judge_revision="abc",
            judge_dtype="bfloat16",
            judge_batch_size=2,
            judge_max_tokens=100,
            judge_concurrency=4,
            judge_format="text",
            judge_cache=tmp_path / "cache",
            max_requests=5,
            max_cost=1.5,
            prices=tmp_path / "prices.yaml",
            sentinel=tmp_path / "probe.json",
        ),
    )
    for given, default in ((chosen, ScoreOptions()), (chosen.judge, JudgeOptions())):
        unlike_default = {name for name in asdict(given) if getattr(given, name) != getattr(default, name)}
        assert unlike_default == set(asdict(given)), "an option at its default shows nothing"
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr("medgen_scripts.score.score", lambda *a, **k: calls.append((*a, k)))
    paths = [str(tmp_path / "one"), "-two"]
    with pytest.raises(SystemExit):
        main(["score", *_arguments(paths, chosen, "edit", "a name")])
    assert calls == [(paths, chosen, {"config": "edit", "system": "a name"})]


def test_a_fixed_subset_is_named_in_the_result(
    data: Path, system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subset, "LITE", {"edit": 6, "vqa": 5})
    out = tmp_path / "out"
    score([system], options(data, out, subset="lite"))
    found = load(out).configs["edit"]
    assert (found.selected, found.subset.name, found.subset.limit) == (6, "lite", 6)
    with pytest.raises(SystemExit):
        main(["table", str(out / "results" / "mine.json")])
    assert "6 of 20 records (--subset lite)" in capsys.readouterr().out
