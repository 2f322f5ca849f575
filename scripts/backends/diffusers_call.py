"""How a pipeline of diffusers is called for a batch of requests."""

import inspect
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from .base import Ask

if TYPE_CHECKING:
    from PIL.Image import Image

OURS = ("prompt", "image", "mask_image", "generator", "width", "height")
"""Arguments that follow from the request."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request with its images decoded."""

    ask: Ask
    images: tuple["Image", ...]

    @property
    def form(self) -> tuple[Any, ...]:
        """What requests of one batch have in common."""
        return (self.ask.size, tuple(image.size for image in self.images))


def call_of(kind: Any) -> dict[str, Any]:
    """Parameter of a pipeline's call -> its default."""
    call = inspect.signature(kind.__call__).parameters
    return {name: parameter.default for name, parameter in call.items()}


def arguments(pipeline: Any, jobs: Sequence[Job], parameters: Mapping[str, Any], *, several: bool) -> dict[str, Any]:
    """What a pipeline is called with.

    Args:
        pipeline: loaded.
        jobs: of one form.
        parameters: of the component, given as they are.
        several: whether it takes several images a request.
    """
    import torch
    from PIL import Image

    call = call_of(type(pipeline))
    first, count = jobs[0], len(jobs)

    def all_or_one(values: list[Any]) -> Any:
        return values[0] if count == 1 else values

    found: dict[str, Any] = {
        "prompt": all_or_one([job.ask.prompt for job in jobs]),
        "generator": all_or_one([torch.Generator().manual_seed(job.ask.seed) for job in jobs]),
    }
    size = first.ask.size
    if first.images:
        found["image"] = all_or_one([list(job.images) if several else job.images[0] for job in jobs])
        if "mask_image" in call:
            found["mask_image"] = all_or_one([Image.new("L", job.images[0].size, 255) for job in jobs])
            # left open, it would be the size that the model was trained for, whatever the image's aspect
            size = size or _whole(first.images[0].size, getattr(pipeline, "vae_scale_factor", 8))
    if size is not None and "width" in call:
        found["width"], found["height"] = size
    for name, value in parameters.items():
        # texts come one a prompt
        found[name] = [value] * count if isinstance(value, str) and "prompt" in name and count > 1 else value
    return found


def _whole(size: tuple[int, int], step: int) -> tuple[int, int]:
    """The nearest size that the pipeline's latents can have."""
    return max(step, round(size[0] / step) * step), max(step, round(size[1] / step) * step)
