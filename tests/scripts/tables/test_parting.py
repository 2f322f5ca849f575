"""What may stand in one table, and in one column."""

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.tables.columns import column_signature

from ..built import built
from ..built import edits
from ..built import foot
from ..results import SIGNATURES
from ..results import config_result
from ..results import pixels
from ..results import result


def test_editions_protocols_and_subsets_never_share_a_table() -> None:
    document = built(
        edits("alpha", [0.5, 0.6]),
        edits("beta", [0.5, 0.6], edition="release"),
        edits("gamma", [0.5, 0.6], protocol="standard"),
        edits("delta", [0.5], limit=1),
        edits("epsilon", [0.5, 0.7]),
    )
    assert [(one.title, [line.system for line in one.lines]) for one in document.tables] == [
        ("edit · edition paper · protocol paper · 2 records", ["alpha", "epsilon"]),
        ("edit · edition release · protocol paper · 2 records", ["beta"]),
        ("edit · edition paper · protocol standard · 2 records", ["gamma"]),
        ("edit · edition paper · protocol paper · 1 of 2 records (--limit 1, seed 0)", ["delta"]),
    ]
    assert "Several tables for edit: results of different editions, protocols or subsets of records never" in foot(
        document
    )


def test_one_column_holds_one_signature() -> None:
    other = SIGNATURES["pixel"].replace("ssim:grey", "ssim:colour")
    with pytest.raises(UsageError) as error:
        built(edits("alpha", [0.5]), edits("beta", [0.5], signatures={"pixel": other}))
    message = str(error.value)
    assert message.startswith("edit: expected one signature a column, got SSIM: 0.json has medgen_pixel|v:0.1.0|")
    assert "1.json has medgen_pixel|v:0.1.0|protocol:paper|ssim:colour" in message
    assert "PSNR" not in message


def test_two_files_of_other_signatures_are_told_once_with_all_their_metrics() -> None:
    other = SIGNATURES["pixel"].replace("size:lanczos", "size:nearest")
    with pytest.raises(UsageError) as error:
        built(edits("alpha", [0.5], [20.0]), edits("beta", [0.5], [20.0], signatures={"pixel": other}))
    message = str(error.value)
    assert message.startswith("edit: expected one signature a column, got SSIM, PSNR: 0.json has medgen_pixel|")
    assert message.count("0.json") == message.count("1.json") == 1


def test_another_definition_under_one_signature_is_told_once_a_tier_with_the_remedy_first() -> None:
    old = [edits(f"old-{number}", [0.5], [20.0], [0.1], definition="ffff") for number in range(9)]
    with pytest.raises(UsageError) as error:
        built(edits("alpha", [0.5], [20.0], [0.1]), *old)
    message = str(error.value)
    assert message.startswith("edit: run `medgen-bench score` again on the older files")
    assert "expected one definition of tier pixel, got 2 under one signature" in message
    assert message.endswith(": 0011223344556677: 0.json; ffff: 1.json, 2.json, 3.json, 4.json, 5.json, … and 4 more")
    assert "medgen_pixel|" not in message
    assert "\n" not in message


def test_every_tier_of_other_definitions_is_told() -> None:
    text = [Row({"bleu": 0.5, "bertscore": 0.5, "em": 1.0})]
    tiers = {"pixel": pixels([0.5], [20.0]), "text": text}
    files = [result(name, {"gen": config_result(tiers, definition=name * 8)}) for name in ("aa", "bb")]
    with pytest.raises(UsageError) as error:
        built(*files)
    lines = str(error.value).splitlines()
    assert [line.partition("of tier ")[2].partition(",")[0] for line in lines] == ["pixel", "text"]
    assert all(line.count(".json") == 2 for line in lines)


def test_a_model_that_one_system_lacks_does_not_part_the_other_columns() -> None:
    without = SIGNATURES["text"].replace("weights:ab", "weights:missing")
    assert column_signature(SIGNATURES["text"], "bleu") == column_signature(without, "bleu")
    assert column_signature(SIGNATURES["text"], "bertscore") != column_signature(without, "bertscore")
    assert column_signature(SIGNATURES["text"], "em") == "medgen_text|v:0.1.0|protocol:paper|em:own"


def test_a_system_named_twice_is_refused_with_both_files() -> None:
    with pytest.raises(UsageError, match=r"every system once, got 'alpha' in 0\.json and 1\.json"):
        built(edits("alpha", [0.5]), edits("alpha", [0.6]))


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(UsageError, match="at least one config, got 1 files without any"):
        built(result("alpha", {}))


def test_a_tier_of_another_version_is_an_error() -> None:
    file = edits("alpha", [0.5])
    file.configs["edit"].tiers["pixel"].options["colour"] = "blue"
    with pytest.raises(
        UsageError, match=r"0\.json: expected options of tier pixel that this version knows, got .*colour"
    ):
        built(file)
