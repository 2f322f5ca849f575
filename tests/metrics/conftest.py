"""What all tests of the metrics share."""

import numpy as np
import pytest

SEED = 3


@pytest.fixture(autouse=True)
def same_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module's `RNG` begins anew with each test, which so draws the same whatever has run before it here."""
    if isinstance(getattr(request.module, "RNG", None), np.random.Generator):
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(SEED))
