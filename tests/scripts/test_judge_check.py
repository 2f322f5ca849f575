import json
from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics.judge import drift
from medgen_scripts import judge_check as verb
from medgen_scripts.cli import main
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.judge_examine import Check
from medgen_scripts.judge_examine import examine
from medgen_scripts.judge_report import report
from medgen_scripts.scoring.judge_options import JudgeOptions
from tests.metrics.judge import fake_tiers
from tests.metrics.judge.probe_material import original
from tests.metrics.judge.probe_material import originals


def checked(judging: fake_tiers.Judging, **options: bool | int | float) -> Check:
    return examine(originals(8), fake_tiers.FakeTier(judging), **options)[0]  # type: ignore[arg-type]


def test_a_perfect_judge() -> None:
    check = checked(fake_tiers.perfect)
    for found in check.views.values():
        assert (found.overall.value, found.verdict.word, found.failures) == (1, "fit", [])
        assert {figure.value for figure in found.by_dimension.values()} == {1}
        assert found.sway is not None
        assert found.sway.shift == 0
    assert "number" in check.views["with_reference"].by_kind
    assert "number" not in check.views["without_reference"].by_kind
    assert check.records == {"vqa": 16, "edit": 8, "gen": 16}
    page = report(check)
    assert "with reference (w. GT*): FIT: 1.000" in page
    assert "no pair is misordered or tied" in page


def test_a_coin() -> None:
    check = checked(fake_tiers.coin(), injections=False)
    found = check.views["with_reference"]
    assert found.verdict.word == "not fit"
    assert found.sway is None
    assert found.overall.value is not None
    # ties count half
    misordered = found.overall.judged * (1 - found.overall.value) - found.overall.ties / 2
    assert len(found.failures) == pytest.approx(misordered + found.overall.ties)
    assert misordered > 0
    page = report(check)
    assert "NOT FIT" in page
    assert "the worst 20:" in page
    assert "risen  [95 %]" not in page


def test_a_judge_by_length_falls_to_injections() -> None:
    found = checked(fake_tiers.by_length).views["with_reference"]
    assert found.sway_by_kind["verdict"].shift > 0.5  # type: ignore[operator]
    assert found.sway_by_kind["image"].shift == 0


def test_each_output_is_judged_once() -> None:
    tier = fake_tiers.FakeTier(fake_tiers.perfect)
    check, rows, _ = examine(originals(8), tier)
    assert len(tier.asked) == len(set(tier.asked)) == len(rows) == check.judged


def test_undetermined_says_how_many_pairs_would_settle_it() -> None:
    few = originals(8)[:3]
    check = examine(few, fake_tiers.FakeTier(fake_tiers.perfect), injections=False)[0]
    assert "UNDETERMINED" in report(check)
    assert "pairs would settle it (--limit " in report(check)


def test_records_without_pairs_are_refused() -> None:
    with pytest.raises(UsageError, match="1 records give no pair"):
        examine([original("vqa", "question-answering", 1, answer="Aorta")], fake_tiers.FakeTier(fake_tiers.perfect))


def test_a_judge_without_verdicts_is_undetermined() -> None:
    check = checked(lambda sample, view: None)
    found = check.views["with_reference"]
    assert (found.overall.judged, found.overall.value, found.verdict.word) == (0, None, "undetermined")
    assert "UNDETERMINED: usable verdicts of 0 of " in report(check)
    assert "no pair has usable verdicts" in report(check)


@pytest.mark.parametrize("mark", [0.0, 1.0, -1, 2])
def test_a_mark_is_a_share(mark: float) -> None:
    with pytest.raises(UsageError, match="--mark"):
        verb.judge_check(JudgeOptions(judge_url=("http://127.0.0.1:9/v1",)), verb.CheckOptions(mark=mark))


def test_a_file_that_cannot_be_written_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = verb.CheckOptions(edition="sample", configs=("vqa",), limit=2, save=tmp_path / "file" / "kept.json")
    with pytest.raises(UsageError, match="give another --save"):
        verb.judge_check(JudgeOptions(judge_url=("http://127.0.0.1:9/v1",)), options)


def test_a_judge_without_verdicts_has_nothing_to_keep(tmp_path: Path) -> None:
    from tests.servers.openai_server import OpenAIServer

    options = verb.CheckOptions(
        edition="sample", configs=("vqa",), limit=2, injections=False, out=tmp_path, save=tmp_path / "kept.json"
    )
    with OpenAIServer(replies=lambda asked: "I can't assist with that.") as server:
        judge = JudgeOptions(judge_url=(server.url,), judge_model="stub")
        with pytest.raises(Failure, match="no output has usable verdicts"):
            verb.judge_check(judge, options)
    assert not (tmp_path / "kept.json").exists()


def test_end_to_end_against_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from medgen_scripts.scoring.judge_options import build
    from tests.servers.openai_server import OpenAIServer

    kept = tmp_path / "probes.json"
    few = verb.CheckOptions(edition="sample", configs=("gen",), limit=2, injections=False, out=tmp_path / "out")
    with OpenAIServer() as server:
        judge = JudgeOptions(judge_url=(server.url,), judge_model="stub")
        check = verb.judge_check(judge, replace(few, save=kept))
        page = capsys.readouterr().out
        assert page.rstrip() == report(check)
        assert "judge:stub@stub" in check.signature
        views = check.views
        assert views["with_reference"].overall.judged == views["with_reference"].overall.pairs
        saved = json.loads(kept.read_text())
        assert saved["format"] == drift.FORMAT
        assert len(saved["probes"]) >= views["with_reference"].overall.pairs
        # a second run asks for nothing that is in the cache
        asked = len(server.log)
        options = ["--edition", "sample", "--config", "gen", "--limit", "2", "--no-injections", "--judge-model", "stub"]
        with pytest.raises(SystemExit) as ended:
            main(["judge-check", *options, "--judge-url", server.url, "--out", str(tmp_path / "out")])
        assert ended.value.code == 0
        assert capsys.readouterr().out == page
        assert len(server.log) == asked
        with build(judge, protocol="paper", out=tmp_path / "out", device=None, offline=None) as tier:
            assert drift.sentinel(kept, tier) == []
            # past the cache: each kept sample, in both views
            assert len(server.log) - asked == 2 * len(saved["sentinels"])
            server.salt = "a model that changed under its name"
            told = drift.sentinel(kept, tier)
        assert len(told) == 1
        assert "judge stub gives other scores" in told[0]
