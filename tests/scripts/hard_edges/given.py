"""What the tests of hard edges share: records, a picture, and what `medgen-bench score` ended with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import NamedTuple

import numpy as np
from PIL import Image

from medgen_scripts import result_file

from ..scored import rows

COUNT = 3
EDITS = [row["id"] for row in rows("edit", COUNT)]
TEXTS = [row["id"] for row in rows("vqa", COUNT)]
PIXELS = np.random.default_rng(3).integers(0, 256, (24, 24, 3), dtype=np.uint8)
PICTURE = Image.fromarray(PIXELS)
GREY = PIXELS[..., 0]


class Outcome(NamedTuple):
    """What a command ended with: exit code, what it said, and the result file if there is one."""

    code: int
    said: str
    result: result_file.ResultFile | None

    def first(self, config: str = "edit") -> tuple[dict[str, float], dict[str, str], set[str]]:
        """Values, reasons and flags of the first record."""
        assert self.result is not None, self.said
        (row, *_) = next(
            iter(self.result.configs[config].rows.unpack(tier) for tier in self.result.configs[config].tiers)
        )
        return dict(row.values), dict(row.reasons), set(row.flags)


Cli = Callable[..., Outcome]


def put(system: Path, position: int, config: str = "edit", **changes: Any) -> None:
    """Change a row of a predictions file."""
    file = system / f"{config}.jsonl"
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    lines[position].update(changes)
    file.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
