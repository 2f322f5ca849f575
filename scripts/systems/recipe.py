"""An oracle for the sample: the very transforms that made the reference, run on the input."""

import json
from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np

from ..errors import UsageError
from ..records import Record
from .base import Response


class Recipe:
    """Runs a record's own recipe, and gives nothing where there is none.

    A recipe is what `provenance.json` of the sample lists under `after`, where input and reference come from the same
    view. It knows what no system is told (the region, the parameters), so it shows what knowing the edit is worth, not
    what a system can reach; where the input was degraded first it isn't perfect either. References that were made by
    degrading the input have no recipe.

    Args:
        edition: of the records.

    Raises:
        UsageError: another edition than `sample`: nobody says how its references were made.
    """

    name = "recipe"
    track = "oracle"
    takes = gives = ("image",)

    def __init__(self, edition: str) -> None:
        if edition != "sample":
            raise UsageError(
                f"recipe: expected edition sample, whose provenance says how each reference was made, got {edition!r}; "
                "add --edition sample, or run copy-input or reference"
            )

    @cached_property
    def definition(self) -> Mapping[str, Any]:
        """The recipes."""
        return {"revision": 1, "recipes": self._recipes}

    @cached_property
    def _recipes(self) -> dict[str, list[dict[str, Any]]]:
        text = resources.files("medgen_card.sample").joinpath("provenance.json").read_text(encoding="utf-8")
        return {
            id: made["after"]
            for id, made in json.loads(text).items()
            if made["after"] and made["views"] == [made["reference"]]
        }

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        from PIL import Image

        from .. import transforms

        if record.id not in self._recipes:
            return Response(meta={"recipe": None})
        steps = self._recipes[record.id]
        pixels = np.asarray(record.input_images[0].open())
        for step in steps:
            pixels = transforms.apply(step["transform"], pixels, **step["parameters"])
        return Response(image=Image.fromarray(pixels), meta={"recipe": [step["transform"] for step in steps]})
