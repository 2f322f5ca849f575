"""Baselines that need no model: floors and ceilings to read other numbers against."""

import random
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from medgen_metrics.signature import digest

from ..prediction import GIVES
from ..records import Record
from ..records import Records
from .base import Response

TRACK = "baseline"


def draw(seed: int, *key: str) -> random.Random:
    """Random numbers that depend on the seed and a record alone, not on order or number of processes."""
    return random.Random("\0".join([str(seed), *key]))


def first_option(record: Record) -> str:
    """The first option of a closed question, the empty text otherwise: an answer that knows nothing."""
    return record.choices[0] if record.choices else ""


class CopyInput:
    """Does nothing: returns the (first) input image, the first option of a closed question, and no text."""

    name = "copy-input"
    track = TRACK
    takes = gives = ("text", "image")
    definition: Mapping[str, Any] = {"revision": 1}

    def __init__(self, config: str) -> None:
        self._wanted = GIVES[config]

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        text = first_option(record) if "text" in self._wanted else None
        return Response(text, record.input_images[0].open() if "image" in self._wanted else None)


class Blank:
    """Gives nothing of use: a black image of the input's size and blank text."""

    name = "blank"
    track = TRACK
    takes = gives = ("text", "image")
    definition: Mapping[str, Any] = {"revision": 1}

    def __init__(self, config: str) -> None:
        self._wanted = GIVES[config]

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        from PIL import Image

        image = None
        if "image" in self._wanted:
            image = Image.new("RGB", record.input_images[0].open().size)
        return Response("" if "text" in self._wanted else None, image)


class Reference:
    """The upper bound: the references themselves."""

    name = "reference"
    track = TRACK
    takes = gives = ("text", "image")
    definition: Mapping[str, Any] = {"revision": 1}

    def __init__(self, config: str) -> None:
        self._wanted = GIVES[config]

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        return Response(
            record.answer if "text" in self._wanted else None,
            record.output_images[0].open() if "image" in self._wanted else None,
        )


class Shuffled:
    """The honest floor: another record's reference, and a random option of a closed question with options.

    The donor is of the same task and modality and shares no image (another `group`). Where there is none, the nearest
    that there is: the same task, then the same modality, then any; the row's `meta.donor_of` says which. Useless text
    still scores high in BERTScore; this shows how high.
    """

    name = "shuffled"
    track = TRACK
    takes = gives = ("text", "image")

    _LEVELS = (("task", "modality"), ("task",), ("modality",), ())

    def __init__(self, records: Records, seed: int) -> None:
        self._wanted = GIVES[records.config]
        # Donors come from the whole edition: other records make another system.
        self.definition: Mapping[str, Any] = {"revision": 1, "seed": seed, "records": digest(sorted(records.ids))}
        self._records = records
        self._seed = seed

    @cached_property
    def _strata(self) -> Mapping[tuple[str, ...], Sequence[int]]:
        strata: dict[tuple[str, ...], list[int]] = defaultdict(list)
        columns = {name: self._records.column(name) for name in ("task", "modality")}
        for position in range(len(self._records)):
            for level in self._LEVELS:
                key = (*level, *(columns[name][position] for name in level))
                strata[key].append(position)
        return strata

    def respond(self, record: Record) -> Response:
        """Answer one record.

        Raises:
            LookupError: every record shares an image with this one.
        """
        if record.choices and "image" not in self._wanted:
            return Response(draw(self._seed, "option", record.id).choice(record.choices), meta={"drawn": "option"})
        donor, level = self._donor(record)
        meta = {"donor": donor.id, "donor_of": " and ".join(level) or "any task and modality"}
        text = donor.answer if "text" in self._wanted else None
        return Response(text, donor.output_images[0].open() if "image" in self._wanted else None, meta)

    def _donor(self, record: Record) -> tuple[Record, tuple[str, ...]]:
        groups = self._records.column("group")
        for level in self._LEVELS:
            key = (*level, *(getattr(record, name) for name in level))
            others = [position for position in self._strata[key] if groups[position] != record.group]
            if others:
                # By id, not by position: the same donor whatever the order of the source.
                others.sort(key=self._records.ids.__getitem__)
                return self._records[draw(self._seed, "donor", record.id).choice(others)], level
        raise LookupError("no record of another group to take a reference from")
