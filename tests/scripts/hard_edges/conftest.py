import sys
from io import TextIOWrapper
from pathlib import Path

import pytest

from medgen_scripts import result_file
from medgen_scripts.cli import main

from ..scored import write_data
from ..scored import write_predictions
from .given import COUNT
from .given import Cli
from .given import Outcome


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"), COUNT)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    return write_predictions(tmp_path / "predictions" / "mine", COUNT)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def cli(data: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`medgen-bench score PATH …`, in this process."""

    def call(path: Path, *extra: object, name: str = "mine", data_dir: Path = data) -> Outcome:
        capsys.readouterr()
        assert isinstance(sys.stderr, TextIOWrapper)
        sys.stderr.reconfigure(errors="backslashreplace")  # as the interpreter's own is
        common = ["--edition", "release", "--data-dir", data_dir, "--out", out, "--offline"]
        with pytest.raises(SystemExit) as ended:
            main([str(part) for part in ("score", *common, *extra, "--", path)])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        code = ended.value.code
        assert isinstance(code, int)
        assert code == 0 or said.strip(), "a failure without a word"
        file = out / "results" / f"{name}.json"
        return Outcome(code, said, result_file.load(file) if file.is_file() else None)

    return call
