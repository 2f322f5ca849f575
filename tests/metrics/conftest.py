"""What all tests of the metrics share."""

import numpy as np
import pytest

from . import image_files

SEED = 3


@pytest.fixture(autouse=True)
def same_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module's `RNG` begins anew with each test, which so draws the same whatever has run before it here."""
    for module in (request.module, image_files):
        if isinstance(getattr(module, "RNG", None), np.random.Generator):
            monkeypatch.setattr(module, "RNG", np.random.default_rng(SEED))
