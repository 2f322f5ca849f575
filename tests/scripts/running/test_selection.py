import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.running.options import RunOptions
from medgen_scripts.running.options import Shard
from medgen_scripts.running.selection import selected
from medgen_scripts.running.selection import share


@pytest.fixture(scope="module")
def vqa() -> Records:
    return load_records("vqa", "sample")


def test_filters_come_before_the_limit(vqa: Records) -> None:
    task = "report-generation"
    found = selected(vqa, RunOptions(tasks=(task,), limit=2))
    assert len(found.positions) == 2
    assert {vqa.column("task")[position] for position in found.positions} == {task}
    both = selected(vqa, RunOptions(tasks=(task,), modalities=("MRI", "CT")))
    assert {vqa.column("modality")[position] for position in both.positions} <= {"MRI", "CT"}
    assert selected(vqa, RunOptions(ids=(vqa.ids[3], vqa.ids[1]))).positions == (1, 3)
    whole = selected(vqa, RunOptions())
    assert whole.positions == tuple(range(len(vqa)))
    assert whole.digest != both.digest


def test_all_unknown_names_are_told_in_one_message(vqa: Records) -> None:
    with pytest.raises(UsageError) as raised:
        selected(vqa, RunOptions(tasks=("multiple-choise",), modalities=("PET",), ids=("x-1",)))
    said = str(raised.value)
    assert "--tasks: unknown 'multiple-choise'; near: multiple-choice" in said
    assert "--modalities: unknown 'PET'" in said
    assert "--ids: unknown 'x-1'" in said
    with pytest.raises(UsageError, match="no record meets them all"):
        selected(vqa, RunOptions(tasks=("blank-filling",), ids=(vqa.ids[0],)))


@pytest.mark.parametrize("count", [1, 3, 40])
def test_shares_are_the_whole_and_overlap_nowhere(count: int) -> None:
    positions = tuple(range(0, 60, 2))
    shares = [share(positions, RunOptions(shard=Shard(number, count))) for number in range(1, count + 1)]
    assert sorted(position for part in shares for position in part) == list(positions)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["", "0/3", "4/3", "1", "1/0", "a/b", "-1/2"])
def test_shards_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard: expected I/N"):
        Shard.read(text)
