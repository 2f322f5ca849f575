"""Records made for a judge, and `python -m tests.metrics.judge.judged`: judging them in children that are killed."""

import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import openai.resources.chat
import PIL.PngImagePlugin

from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.tier import JudgeTier
from medgen_metrics.rows import Row

from ...scripts.scored import png
from ...servers import kills
from ...servers.process import Served
from ...spawned import fork

CONCURRENCY = 8
# The tier imports these where it needs them; here children find them loaded.
LOADED = (openai.resources.chat, PIL.PngImagePlugin)


def samples(count: int, size: int = 24) -> list[JudgeSample]:
    """Edits, each with pictures of its own."""
    return [
        JudgeSample(
            id=f"noise-reconstruction-{number:012x}",
            config="edit",
            task="noise-reconstruction",
            instruction=f"Remove the noise of image {number}.",
            inputs=(png(3 * number, size),),
            reference_image=png(3 * number + 1, size),
            output_image=png(3 * number + 2, size),
        )
        for number in range(count)
    ]


def tier(url: str, cache: Path | None = None, **options: Any) -> JudgeTier:
    """A judge behind a server."""
    return JudgeTier(model="stub-judge", url=url, cache=cache, concurrency=CONCURRENCY, **options)


def main() -> None:
    """Kill and go on, until a run on the same cache has ended; prints how the runs went, and keeps their rows.

    Forks with the libraries loaded and without a thread, which makes a run short and a kill cheap.
    """
    server, folder = Served(sys.argv[1], "", Path(sys.argv[2])), Path(sys.argv[3])
    count, number, span = int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
    made = samples(count)
    cache, rows = folder / "cache", folder / "rows"
    ended: list[list[Row]] = []

    def start() -> int:
        if child := fork():
            return child
        with tier(server.url, cache) as judge:
            rows.write_bytes(pickle.dumps(judge.score(made)))
        os._exit(0)

    def finished() -> None:
        ended.append(pickle.loads(rows.read_bytes()))
        shutil.rmtree(cache)

    rounds = kills.disturbed(
        start,
        server.answered,
        lambda: len(ReplyCache(cache, notice=lambda _: None)),
        finished,
        kills=number,
        span=span,
        settle=0.1,
    )
    (folder / "rounds").write_bytes(pickle.dumps((rounds, ended)))
    print(json.dumps([len(each.runs) for each in rounds]))


if __name__ == "__main__":
    main()
