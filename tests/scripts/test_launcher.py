import os
import signal

import pytest

from medgen_scripts import launcher
from medgen_scripts.errors import UsageError
from medgen_scripts.launcher import Place

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "ACCELERATE_USE_CPU", launcher.SUPERVISED)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, Place(0, 1, 0)),
        ({"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}, Place(0, 1, 0)),
        ({"WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "1"}, Place(3, 4, 1)),
        ({"WORLD_SIZE": "4", "RANK": "3"}, Place(3, 4, 3)),
    ],
)
def test_the_place_is_what_the_launcher_told(
    told: dict[str, str], expected: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert launcher.place() == expected
    assert launcher.is_launched() == bool(told)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"WORLD_SIZE": "4"}, "RANK: expected a number of 0 to 3 from the launcher of this process, got ''"),
        ({"WORLD_SIZE": "4", "RANK": "4"}, "RANK: expected a number of 0 to 3"),
        ({"WORLD_SIZE": "4", "RANK": "-1"}, "RANK: expected a number of 0 to 3"),
        ({"WORLD_SIZE": "many", "RANK": "0"}, "WORLD_SIZE: expected a number of 1 or more"),
        ({"WORLD_SIZE": "0", "RANK": "0"}, "WORLD_SIZE: expected a number of 1 or more"),
        ({"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "x"}, "LOCAL_RANK: expected a number of 0 or more"),
    ],
)
def test_half_a_place_is_bad_usage(told: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=said):
        launcher.place()


@pytest.mark.parametrize(("local", "expected"), [(0, "cuda:0"), (1, "cuda:1"), (2, "cuda:0"), (5, "cuda:1")])
def test_processes_beyond_the_gpus_share_them(local: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert Place(local, 8, local).device() == expected
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert Place(local, 8, local).device() == "cpu"


def test_without_a_gpu_it_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Place(1, 2, 1).device() == "cpu"


def test_one_of_several_tells_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launcher.tells_end()
    monkeypatch.setenv("RANK", "1")
    assert not launcher.tells_end()
    monkeypatch.setenv("RANK", "0")
    assert launcher.tells_end()
    monkeypatch.setenv(launcher.SUPERVISED, "True")
    assert not launcher.tells_end()


def test_a_launchers_sigterm_ends_a_process_as_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        launcher.heed_sigterm()
        assert signal.getsignal(signal.SIGTERM) is before
        monkeypatch.setenv("WORLD_SIZE", "2")
        launcher.heed_sigterm()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
