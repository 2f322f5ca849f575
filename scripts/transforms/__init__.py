"""The benchmark's image transforms: pure functions on 8-bit arrays.

Every transform takes a uint8 array, H x W (grey) or H x W x 3 (RGB), and keyword parameters, and returns a new uint8
array. Those that draw random numbers take a `numpy.random.Generator` as well, so that a seed fixes the result. They
are the operations that the benchmark's paper (arXiv 2511.13135) builds its image pairs from.

`apply` runs one by its name, so that a data file can name what made an image; `TRANSFORMS` lists the names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np

from medgen_scripts.transforms import annotation
from medgen_scripts.transforms import artifacts
from medgen_scripts.transforms import contrast
from medgen_scripts.transforms import exemplar
from medgen_scripts.transforms import marks
from medgen_scripts.transforms import noise
from medgen_scripts.transforms import regions
from medgen_scripts.transforms import removal
from medgen_scripts.transforms import resolution
from medgen_scripts.transforms import style

TRANSFORMS: dict[str, Callable[..., np.ndarray]] = {
    f"{module.__name__.rsplit('.', 1)[1]}.{function.__name__}": function
    for module, functions in (
        (annotation, (annotation.outline,)),
        (artifacts, (artifacts.zipper, artifacts.truncation)),
        (contrast, (contrast.compress, contrast.equalise, contrast.clahe, contrast.stretch)),
        (marks, (marks.scale_bar, marks.arrow, marks.inset, marks.desaturate, marks.gamma, marks.flip)),
        (noise, (noise.salt_and_pepper, noise.gaussian, noise.rician, noise.speckle, noise.poisson)),
        (exemplar, (exemplar.fill,)),
        (removal, (removal.black_fill, removal.blur, removal.clone, removal.inpaint)),
        (resolution, (resolution.downsample,)),
        (style, (style.thermal, style.negative, style.dab_to_eosin, style.eosin_to_dab, style.match_colours)),
    )
    for function in functions
}


def apply(name: str, image: np.ndarray, seed: int | None = None, **parameters: Any) -> np.ndarray:
    """Runs the transform called `name`.

    Args:
        name: a key of `TRANSFORMS`, e.g. "noise.gaussian".
        image: uint8, H x W or H x W x 3.
        seed: for transforms that draw random numbers; they get a generator of their own from it.
        **parameters: the transform's own. One called `mask` may be given as a shape (`regions.mask` draws it).

    Raises:
        KeyError: no such transform.
        ValueError: a random transform without a seed, or a seed where nothing is random.
    """
    if name not in TRANSFORMS:
        raise KeyError(f"no transform {name!r}; there are {', '.join(sorted(TRANSFORMS))}")
    transform = TRANSFORMS[name]
    is_random = "rng" in inspect.signature(transform).parameters
    if is_random != (seed is not None):
        raise ValueError(f"{name} {'needs a seed' if is_random else 'draws no random numbers, yet a seed was given'}")
    if isinstance(parameters.get("mask"), Mapping):
        parameters["mask"] = regions.mask(image.shape[:2], parameters["mask"])
    if is_random:
        parameters["rng"] = np.random.default_rng(seed)
    return transform(image, **parameters)
