"""What stands below several tables at once: each thing once."""

from typing import Any

from medgen_metrics.rows import Row
from medgen_scripts.tables.render_latex import render
from tests.scripts.built import built
from tests.scripts.built import edits
from tests.scripts.built import foot
from tests.scripts.results import SIGNATURES
from tests.scripts.results import config_result
from tests.scripts.results import pixels
from tests.scripts.results import result


def everything(system: str, **options: Any) -> Any:
    text = [Row({"bleu": 0.5, "em": 1.0}, {"bertscore": "weights_missing"})] * 2
    pixel = pixels([0.5, 0.5], [20.0, 20.0])
    configs = {"vqa": {"text": text}, "edit": {"pixel": pixel}, "gen": {"pixel": pixel, "text": text}}
    return result(system, {name: config_result(tiers, **options) for name, tiers in configs.items()})


def test_a_signature_is_printed_once() -> None:
    said = foot(built(everything("alpha"), everything("beta")))
    assert said.count("medgen_pixel|") == 1
    assert said.count("medgen_text|") == 1
    assert f"BLEU, EM: {SIGNATURES['text']}" in said
    assert f"SSIM, PSNR: {SIGNATURES['pixel']}" in said


def test_a_signature_that_differs_between_tables_stands_below_each() -> None:
    other = {**SIGNATURES, "pixel": SIGNATURES["pixel"].replace("grey", "colour")}
    document = built(edits("alpha", [0.5]), edits("beta", [0.5], signatures=other, edition="release"))
    for signatures, table in zip((SIGNATURES, other), document.tables, strict=True):
        assert f"SSIM: {signatures['pixel']}" in table.notes
    assert "medgen_pixel|" not in "".join(document.notes)


def test_a_note_of_several_tables_is_printed_once_and_says_whose_it_is() -> None:
    document = built(everything("alpha"))
    remedy = "medgen-bench weights fetch lpips-alex"
    assert foot(document).count(remedy) == 1
    assert f"edit, gen: LPIPS: no weights: {remedy}, then score again" in document.notes
    alone = built(edits("alpha", [0.5]))
    assert any(note.startswith("LPIPS: no weights") for note in alone.tables[0].notes)


def test_systems_that_fail_alike_are_told_together() -> None:
    same = [edits(name, [0.5, None], [20.0, None]) for name in ("alpha", "beta")]
    said = foot(built(*same, edits("gamma", [0.5, 0.5], [20.0, 20.0]), edits("delta", [None, None], [20.0, None])))
    assert (
        "Unscored records: alpha, beta, each (SSIM, PSNR: missing 1); delta (SSIM: missing 2; PSNR: missing 1)." in said
    )


def test_flags_alike_are_told_together_and_explained_once() -> None:
    rows = [Row({"ssim": 0.5, "psnr": 20.0}, {}, ("resized",))]
    options = {"pixel": {"metrics": ["ssim", "psnr"]}}
    files = [
        result(name, {config: config_result({"pixel": rows}, options=options) for config in ("edit", "gen")})
        for name in ("alpha", "beta")
    ]
    said = foot(built(*files))
    assert said.count("resized: alpha, beta, each 1/1 (100.0%)") == 1
    assert said.count("output not of the reference's size") == 1


def test_every_table_in_latex_has_the_signatures() -> None:
    text = render(built(everything("alpha")))
    assert text.count(r"medgen\_pixel") == text.count(r"\begin{table}") == 3
