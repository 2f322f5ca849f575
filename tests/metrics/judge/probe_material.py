"""Records to make probes from."""

from collections.abc import Sequence
from functools import lru_cache

from medgen_metrics.judge.probes import Original
from medgen_metrics.judge.prompt import JudgeSample
from tests.builders import png

MODALITIES = ("CT", "MRI", "X-ray", "Pathology")


def original(config: str, task: str, number: int, **changes: object) -> Original:
    """A record whose images and texts nobody else has; `group` and `modality` may be given too."""
    group = str(changes.pop("group", f"g-{number}"))
    modality = str(changes.pop("modality", MODALITIES[number % len(MODALITIES)]))
    fields: dict[str, object] = {
        "instruction": f"Do {number}.",
        "inputs": (png(number),),
        "reference_image": png(1000 + number) if config != "vqa" else None,
        "answer": f"The lesion of {number} mm is on the left." if config != "edit" else None,
    }
    return Original(JudgeSample(f"{task}-{number:03d}", config, task, **(fields | changes)), group, modality)  # type: ignore[arg-type]


@lru_cache(maxsize=4)
def originals(each: int = 8) -> Sequence[Original]:
    """`each` records of five tasks over the three configs."""
    tasks = (
        ("vqa", "question-answering"),
        ("vqa", "multiple-choice"),
        ("edit", "noise-reconstruction"),
        ("gen", "organic-removal"),
        ("gen", "2d-to-3d-reconstruction"),
    )
    found = []
    for place, (config, task) in enumerate(tasks):
        for number in range(100 * place, 100 * place + each):
            changes: dict[str, object] = {}
            if task == "multiple-choice":
                changes = {"choices": ("A. left lung", "B. right lung", "C. heart"), "answer": "B. right lung"}
            found.append(original(config, task, number, **changes))
    return tuple(found)
