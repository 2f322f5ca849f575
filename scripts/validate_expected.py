"""The counts that paper and release state, for `validate` to compare with."""

from typing import Any

# What paper (sections on the data's size) and release state; the rest follows from the number of records.
_UNIQUE_IMAGES = {"paper": 10_703}
_RELEASE_FILES = 11_105  # image files of the folder layout
_STATED_TASKS = {
    "multiple-choice": 300,
    "blank-filling": 300,
    "report-generation": 200,
    "question-answering": 300,
    "style-transfer": 900,
}


def expected(edition: str, are_files: bool) -> dict[str, Any]:
    """What an edition has, by the names of a report's counts.

    Args:
        edition: paper or release.
        are_files: whether image files are counted too, as only the folder layout allows.
    """
    import medgen_bench

    inferred = {medgen_bench.RELEASE_ONLY_TASK: medgen_bench.RELEASE_ONLY_RECORDS}
    configs = dict(medgen_bench.RECORDS)
    configs["gen"] -= sum(inferred.values()) if edition == "paper" else 0
    tasks = len(medgen_bench.TASKS) - (edition == "paper")
    counts: dict[str, Any] = {
        "records": sum(configs.values()),
        "by config": configs,
        "by task": _STATED_TASKS | (inferred if edition == "release" else {}),
        "tasks": tasks,
        "subtasks": medgen_bench.PAPER_SUBTASKS + (edition == "release"),
        # input and reference, but for VQA
        "images, one a VQA record": 2 * sum(configs.values()) - configs["vqa"],
    }
    if edition in _UNIQUE_IMAGES:
        counts["unique images"] = _UNIQUE_IMAGES[edition]
    if are_files and edition == "release":
        counts["image files"] = _RELEASE_FILES
    return counts
