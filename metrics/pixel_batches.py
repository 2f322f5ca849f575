"""What the pixel tier computes of many images at once, flat in memory."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from .pixel_pairs import Draft
from .pixel_pairs import Drafts
from .pixel_target import Target

Limit = Callable[[tuple[int, int]], int]


class SsimQueue:
    """Collects pairs of one size until there are enough for one call; calls are alike, as of `LpipsQueue`.

    Args:
        compute: candidates, references -> values.
        limit: (height, width) -> pairs a call.
    """

    def __init__(self, compute: Callable[[list[np.ndarray], list[np.ndarray]], list[float]], limit: Limit) -> None:
        self._compute = compute
        self._limit = limit
        self._waiting: dict[tuple[int, int], list[tuple[Draft, tuple[np.ndarray, np.ndarray]]]] = {}

    def add(self, row: Draft) -> None:
        """Take a draft's arrays, if it has any."""
        arrays, row.ssim_arrays = row.ssim_arrays, None
        if arrays is None:
            return
        shape = (arrays[0].shape[0], arrays[0].shape[1])
        group = self._waiting.setdefault(shape, [])
        group.append((row, arrays))
        if len(group) >= self._limit(shape):
            self._run(self._waiting.pop(shape), self._limit(shape))

    def flush(self) -> None:
        """Compute what is left."""
        while self._waiting:
            shape = next(iter(self._waiting))
            self._run(self._waiting.pop(shape), self._limit(shape))

    def _run(self, group: list[tuple[Draft, tuple[np.ndarray, np.ndarray]]], limit: int) -> None:
        arrays = [pair for _, pair in group]
        arrays += arrays[-1:] * (limit - len(arrays))
        values = self._compute([pair[0] for pair in arrays], [pair[1] for pair in arrays])
        for (row, _), value in zip(group, values, strict=False):
            row.values["ssim"] = value


class LpipsQueue:
    """Encodes images of one size together, a reference once for all its candidates, and compares the features.

    A size's batches hold equally many images, the last one filled up by repeating: the kernels that a library chooses
    follow the batch's shape, and with them a score's last bits. So a score does not depend on how many systems or
    records are scored beside it.

    Args:
        column: where the values go.
        encode: images of one size -> each one's features.
        compare: features of candidate and reference -> LPIPS.
        limit: (height, width) -> images a call.
    """

    def __init__(
        self,
        column: str,
        encode: Callable[[Sequence[np.ndarray]], list[Any]],
        compare: Callable[[Any, Any], float],
        limit: Limit,
    ) -> None:
        self._column = column
        self._encode = encode
        self._compare = compare
        self._limit = limit
        self._waiting: dict[tuple[int, int], list[tuple[np.ndarray, Target, Draft | None]]] = {}

    def add(self, drafts: Drafts) -> None:
        """Take the images of a record whose LPIPS is wanted."""
        rows = [row for row in drafts.rows if row.lpips_array is not None]
        if not rows:
            return
        target = drafts.target
        shape = (target.for_lpips.shape[0], target.for_lpips.shape[1])
        group = self._waiting.setdefault(shape, [])
        group.append((target.for_lpips, target, None))
        for row in rows:
            assert row.lpips_array is not None
            group.append((row.lpips_array, target, row))
            row.lpips_array = None
        limit = self._limit(shape)
        while len(group) >= limit:
            self._run(group[:limit], limit)
            del group[:limit]

    def flush(self) -> None:
        """Compute what is left."""
        for shape, group in self._waiting.items():
            if group:
                self._run(group, self._limit(shape))
        self._waiting = {}

    def _run(self, group: Sequence[tuple[np.ndarray, Target, Draft | None]], limit: int) -> None:
        images = [image for image, _, _ in group]
        features = self._encode([*images, *images[-1:] * (limit - len(images))])
        for found, (_, target, row) in zip(features, group, strict=False):
            if row is None:
                target.features = found  # before those of its candidates, as it was added
            else:
                row.values[self._column] = self._compare(found, target.features)
