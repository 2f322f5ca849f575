import pytest

from .growth import assert_linear


def test_quadratic_work_is_told_from_linear_work() -> None:
    assert_linear(list, "ab", 100_000)
    with pytest.raises(AssertionError, match="8 times the text takes"):
        assert_linear(lambda text: sum(1 for _ in text for _ in text), "ab", 1_500)
