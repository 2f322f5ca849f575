import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import result_file
from medgen_scripts.scoring import results

from ..scored import png
from .given import EDITS
from .given import Cli


@pytest.mark.parametrize("place", [".", "scores", "scores/mine", "results"])
def test_something_in_the_outputs_way_is_told_before_anything_is_scored(
    place: str, system: Path, out: Path, cli: Cli
) -> None:
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).write_text("in the way")
    ended = cli(system)
    assert ended.code == 2
    assert "expected a folder that can be written" in ended.said
    assert "give another --out" in ended.said
    assert not list(out.rglob("*.jsonl"))


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own, for which one has to be root (CI is)."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"CI must be able to mount a tmpfs: {made.stderr}")
        pytest.skip(f"needs the right to mount a tmpfs: {made.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_output_folder_is_told(system: Path, out: Path, cli: Cli) -> None:
    with mounted(out, "size=1m,ro"):
        ended = cli(system)
    assert ended.code == 2
    assert "expected a folder that can be written, got: Read-only file system" in ended.said


@pytest.mark.parametrize("pages", [0, 1, 2])
def test_on_a_full_disk_it_says_so_and_continues_once_there_is_room(
    pages: int, system: Path, out: Path, cli: Cli
) -> None:
    with mounted(out, "size=64k"):
        room = os.statvfs(out)
        (out / "filler").write_bytes(b"x" * ((room.f_bavail - pages) * room.f_frsize))
        ended = cli(system)
        assert ended.code == 1
        assert "No space left on device" in ended.said
        assert "make room" in ended.said
        assert ended.result is None
        assert not list(out.rglob("*.tmp"))
        (out / "filler").unlink()
        ended = cli(system)
        assert ended.code == 0
        assert ended.result is not None
        assert set(ended.result.configs) == {"edit", "vqa"}


def test_a_damaged_result_file_is_replaced_with_a_notice(system: Path, out: Path, cli: Cli) -> None:
    first = cli(system, "--config", "edit")
    (out / "results" / "mine.json").write_text("{nope")
    again = cli(system, "--config", "edit")
    assert again.code == 0
    assert "mine.json: expected a result of format medgen-bench/result@1" in again.said
    assert "It is replaced." in again.said
    assert first.result is not None
    assert again.result is not None
    assert again.result.configs == first.result.configs


def test_a_result_file_of_another_edition_is_replaced_with_a_notice(system: Path, out: Path, cli: Cli) -> None:
    cli(system, "--config", "edit")
    file = out / "results" / "mine.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "edition": "sample"}))
    ended = cli(system, "--config", "edit")
    assert "mine.json: replaced a result of edition sample, protocol paper" in ended.said
    assert ended.result is not None
    assert ended.result.edition == "release"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "expected a file of scores, got: Is a directory"),
        (lambda path: path.write_bytes(b"garbage\n{}\n"), "expected a score line, got b'garbage"),
    ],
)
def test_something_else_among_the_scores_is_named(
    make: Callable[[Path], Any], words: str, system: Path, out: Path, cli: Cli
) -> None:
    (out / "scores" / "mine").mkdir(parents=True)
    make(out / "scores" / "mine" / "edit.other.jsonl")
    ended = cli(system, "--config", "edit")
    assert ended.code == 1
    assert words in ended.said


def test_runs_of_two_configs_that_end_together_keep_each_others_results(
    system: Path, out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = cli(system).result
    assert found is not None
    read = results.load

    def slow(path: Path) -> result_file.ResultFile:
        try:
            return read(path)
        finally:
            time.sleep(0.2)  # in which the other run would write

    monkeypatch.setattr(results, "load", slow)
    file = tmp_path / "together.json"
    results.merge(file, "mine", "release", "paper", {})
    threads = [
        threading.Thread(target=results.merge, args=(file, "mine", "release", "paper", {name: found.configs[name]}))
        for name in ("edit", "vqa")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read(file).configs) == {"edit", "vqa"}


def test_two_runs_of_one_config_at_once_are_not_possible(system: Path, data: Path, out: Path, cli: Cli) -> None:
    hold = "import sys, time; from pathlib import Path; from medgen_scripts.lock import hold; "
    hold += "held = hold(Path(sys.argv[1]), 'edit', 'scoring edit'); print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", hold, str(out / "scores" / "mine")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        ended = cli(system, "--config", "edit")
        first.kill()
    assert ended.code == 2
    assert "another run is scoring edit into this folder now; wait for it" in ended.said
    assert cli(system, "--config", "edit").code == 0


def test_a_clock_that_goes_backwards_changes_nothing(
    system: Path, out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cli(system)
    now = time.time()
    earlier = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: now - 3600 * next(earlier))
    for path in system.rglob("*"):
        os.utime(path, (0, 0))
    changed = png(77)
    (system / "images" / f"{EDITS[0]}.png").write_bytes(changed)
    os.utime(system / "images" / f"{EDITS[0]}.png", (-86_400, -86_400))
    again = cli(system)
    assert (first.code, again.code) == (0, 0)
    assert first.first()[0]["psnr"] != again.first()[0]["psnr"]
    (system / "images" / f"{EDITS[0]}.png").write_bytes(png(2000))
    assert cli(system).first() == first.first()


def test_a_reader_that_leaves_is_no_failure_of_ours(system: Path, out: Path, cli: Cli) -> None:
    cli(system, "--config", "edit")
    command = [sys.executable, "-m", "medgen_scripts", "table", str(out / "results" / "mine.json")]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""
