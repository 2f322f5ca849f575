"""Systems behind a loopback server: the runner's share of the server's rate, CPU a record, memory."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..servers.openai_log import Seen
from ..servers.process import served
from . import command

LATENCY, SLOTS = 2.0, 16
RATE = SLOTS / LATENCY
RECORDS = 400
FEW, MANY = 1000, 10_000
FORMS = ("PNG", "JPEG")  # a PNG's pixels are kept as they are packed; a JPEG's are packed as a PNG


def run() -> Iterator[str]:
    """Figures."""
    for part in (_rate, _memory):
        with tempfile.TemporaryDirectory() as name:
            yield from part(Path(name))


def _rate(folder: Path) -> Iterator[str]:
    data = _made(f"made.write(Path({str(folder / 'made')!r}), {RECORDS}, 512, grey=True)", folder / "made" / "data")
    for form in FORMS:
        yield from _rate_of(folder / form, data, form)


def _rate_of(folder: Path, data: Path, form: str) -> Iterator[str]:
    picture = folder / "reply"
    # what an image model gives: a photograph's detail, 1024 x 1024
    _made(f"run.picture(Path({str(picture)!r}), {form!r})", picture)
    with served(folder / "log", latency=LATENCY, slots=SLOTS, picture=str(picture)) as server:
        editor = _system(folder, "editor", server.url, "image", "openai-images")
        arguments = ("--concurrency", SLOTS)
        # builds the data set's cache, and shows what a run costs that asks next to nothing
        idle = command.spent(command.run(editor, data, folder / "idle", *arguments, "--limit", SLOTS))
        before = len(server.log())
        full = command.spent(command.run(editor, data, folder / "out", *arguments))
        log = server.log()[before:]
    share, ramp = _share(log)
    cpu = (full.cpu - idle.cpu) / (RECORDS - SLOTS)
    yield f"{RECORDS} edits, {SLOTS} slots, {LATENCY:g} s: {share:.1%} of slots/latency, first request to last answer"
    yield f"  ramp-up {ramp:.1f} s; CPU seconds a record {cpu:.3f} (a PNG of 512x512 sent, a {form} of 1024x1024 kept)"


def _share(log: list[Seen]) -> tuple[float, float]:
    """Answers a second against the server's rate, over the whole run; and seconds until all slots were busy."""
    begin, end = min(seen.received for seen in log), max(seen.answered for seen in log)
    busy = min(seen.received for seen in log if seen.in_flight >= SLOTS)
    # the last answer comes with the last wave: what a perfect client needs is a whole number of waves
    waves = -(-len(log) // SLOTS)
    return waves * LATENCY / (end - begin), busy - begin


def _memory(folder: Path) -> Iterator[str]:
    peaks = {}
    with served(folder / "log") as server:
        vlm = _system(folder, "vlm", server.url, "vlm", "openai-chat")
        for count in (FEW, MANY):
            data = _made(f"made.questions(Path({str(folder / str(count))!r}), {count}, 64)", folder / str(count))
            once = [sys.executable, "-m", "medgen_scripts", "run", str(vlm), "vqa", "--edition", "release"]
            once += ["--data-dir", str(data), "--concurrency", str(SLOTS), "--out"]
            command.spent([*once, str(folder / "first"), "--limit", "1", "--fresh"])
            peaks[count] = command.own_memory([*once, str(folder / f"out-{count}")])
        rows = sum(1 for _ in (folder / f"out-{MANY}" / "predictions" / "vlm" / "vqa.jsonl").open())
    ratio = f"{peaks[MANY] / peaks[FEW]:.2f} ({peaks[MANY] / 2**10:.0f} MB)"
    yield f"peak memory, pages of mapped files left out, {rows:,} text-only records / {FEW:,}: {ratio}"


def _system(folder: Path, shape: str, url: str, role: str, backend: str) -> Path:
    told = {"shape": shape, "components": {role: {"backend": backend, "model": "stub-judge", "base_url": url}}}
    path = folder / f"{shape}.json"
    path.write_text(json.dumps(told))
    return path


def _made(call: str, result: Path) -> Path:
    """Made in a process of its own: on Linux a child's peak memory counts from its parent's."""
    code = f"from pathlib import Path; from tests.bench import made; from tests.bench import run; {call}"
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
    return result


def picture(path: Path, form: str) -> None:
    """A file such as image models give."""
    from io import BytesIO

    from PIL import Image

    from .material import image_pairs

    with Image.open(BytesIO(image_pairs(1, 1024)[0][0])) as image:
        path.parent.mkdir(exist_ok=True)
        image.convert("RGB").save(path, form, quality=92)
