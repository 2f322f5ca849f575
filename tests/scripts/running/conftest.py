import pytest

from medgen_scripts.records import Records
from medgen_scripts.records import load_records

from .fakes import fakes as fakes


@pytest.fixture(scope="module")
def gen() -> Records:
    return load_records("gen", "sample")
