from collections import Counter
from dataclasses import replace

import pytest
from PIL import Image

from medgen_metrics.judge.probes import KINDS
from medgen_metrics.judge.probes import Probe
from medgen_metrics.judge.probes import is_visible
from medgen_metrics.judge.probes import probes
from tests.builders import encoded
from tests.builders import png
from tests.metrics.judge.probe_material import original
from tests.metrics.judge.probe_material import originals


def of(found: list[Probe], **wanted: str) -> list[Probe]:
    return [probe for probe in found if all(getattr(probe, name) == value for name, value in wanted.items())]


def test_the_right_side_is_the_reference_and_the_wrong_one_differs() -> None:
    found = probes(originals())
    assert {probe.kind for probe in found} == set(KINDS)
    for probe in found:
        assert (probe.right.output_image, probe.right.response) == (probe.right.reference_image, probe.right.answer)
        assert (probe.wrong.output_image, probe.wrong.response) != (probe.right.output_image, probe.right.response)
        # what is judged against is the record's own on both sides
        assert replace(probe.wrong, id=probe.right.id, output_image=None, response=None) == replace(
            probe.right, output_image=None, response=None
        )
    assert max(Counter(probe.wrong.id for probe in found).values()) == 1


def test_pairs_follow_from_records_and_seed_alone() -> None:
    found = probes(originals())
    assert probes(originals()[::-1]) == found
    other = probes(originals(), seed=1)
    assert {probe.wrong.id for probe in other} == {probe.wrong.id for probe in found}
    assert other != found


def test_one_record_more_leaves_the_others_kinds() -> None:
    fewer = {probe.wrong.id for probe in probes(originals()[:-1])}
    assert fewer < {probe.wrong.id for probe in probes(originals())}


def test_donors_are_of_another_group_and_modality_as_their_kind_says() -> None:
    by_image = {each.sample.reference_image: each for each in originals() if each.sample.reference_image}
    modality = {each.sample.id: each.modality for each in originals()}
    for probe in probes(originals()):
        donor = by_image.get(probe.wrong.output_image)
        if probe.kind == "shuffled" and probe.config != "vqa":
            assert donor is not None
            assert donor.group != probe.group
            assert donor.modality == modality[probe.record]
            assert donor.sample.task == probe.task
        if probe.kind == "unrelated" and probe.config != "vqa":
            assert donor is not None
            assert donor.modality != modality[probe.record]
            if probe.config == "gen":
                assert probe.wrong.response == donor.sample.answer


def test_a_group_of_its_own_is_no_donor() -> None:
    alone = [original("edit", "noise-reconstruction", number, group="one", modality="CT") for number in range(4)]
    assert {probe.kind for probe in probes(alone)} == {"blank", "copied_input"}


def test_multiple_choice_takes_the_records_own_options() -> None:
    found = of(probes(originals()), task="multiple-choice")
    assert {probe.wrong.response for probe in of(found, kind="laterality")} == {"A. left lung"}
    assert {probe.wrong.response for probe in of(found, kind="shuffled")} <= {"A. left lung", "C. heart"}
    assert not of(found, kind="unrelated")


def test_without_the_reference_only_what_the_picture_shows_is_asked() -> None:
    found = probes(originals())
    assert {probe.views for probe in of(found, kind="number")} == {("with_reference",)}
    assert {probe.views for probe in of(found, kind="shuffled", config="gen", task="2d-to-3d-reconstruction")} == {
        ("with_reference",)
    }
    assert len(of(found, kind="laterality")[0].views) == 2
    assert not of(probes(originals(), views=["without_reference"]), kind="number")


def test_an_edit_that_cannot_be_seen_is_no_copy_probe() -> None:
    reference = Image.new("L", (100, 100), 80)
    marked = reference.copy()
    marked.paste(200, (0, 0, 7, 7))  # 49 of 10,000 pixels
    visible = reference.copy()
    visible.paste(200, (0, 0, 5, 10))  # 50
    sample = original("edit", "anatomical-annotation", 1, inputs=(encoded(reference),), reference_image=encoded(marked))
    assert {probe.kind for probe in probes([sample])} == {"blank"}
    sample = original(
        "edit", "anatomical-annotation", 1, inputs=(encoded(reference),), reference_image=encoded(visible)
    )
    assert {probe.kind for probe in probes([sample])} == {"blank", "copied_input"}


@pytest.mark.parametrize(("level", "seen"), [(25, False), (26, True)])
def test_visible_change(level: int, seen: bool) -> None:
    black = encoded(Image.new("RGB", (20, 20)))
    assert is_visible(encoded(Image.new("RGB", (40, 40), (0, 0, level))), black) is seen


def test_a_black_reference_is_no_blank_probe() -> None:
    sample = original("edit", "style-transfer", 1, inputs=(png(5),), reference_image=encoded(Image.new("L", (9, 9))))
    assert [probe.kind for probe in probes([sample])] == ["copied_input"]


def test_unreadable_or_missing_references_give_no_pair() -> None:
    broken = [
        original("edit", "style-transfer", 1, reference_image=b"no image"),
        original("edit", "style-transfer", 2, reference_image=None),
        original("gen", "organic-removal", 3, answer=""),
        original("vqa", "question-answering", 4, answer=None),
    ]
    assert probes(broken) == []
