"""Work ahead of who takes the results: decoding and resizing go on while a model computes."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medgen_metrics import ahead
from medgen_metrics.ahead import in_order
from medgen_metrics.embedding import EmbeddingTier

from .tiny_vision import save_vit

PATIENCE = 60.0  # seconds; only a failure waits as long


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_order_and_a_failure_in_its_turn(threads: int) -> None:
    def work(number: int) -> int:
        if number == 30:
            raise ValueError("thirty")
        return number * number

    got: list[int] = []
    with pytest.raises(ValueError, match="thirty"):
        got.extend(in_order(work, range(40), threads))
    assert got == [number * number for number in range(30)]


def test_works_on_later_items_while_the_first_is_used() -> None:
    begun = [threading.Event() for _ in range(20)]
    results = in_order(lambda number: begun[number].set(), range(20), 2)
    next(iter(results))
    assert begun[ahead.AHEAD].wait(PATIENCE)
    assert not begun[-1].is_set(), "no more is held than that"


def test_draws_no_more_than_it_needs() -> None:
    drawn = []

    def items() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    results = iter(in_order(lambda number: number, items(), 4))
    next(results)
    assert len(drawn) <= ahead.AHEAD + 1


def test_the_next_images_are_read_while_one_is_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tier = EmbeddingTier(model=f"tiny={save_vit(tmp_path)}")
    encoder: Any = tier._encoder
    encode, preprocess = encoder.encode, encoder.preprocess
    read, waits = threading.Semaphore(0), []

    def noted(image: Any) -> Any:
        read.release()
        return preprocess(image)

    def held(pixels: Any) -> Any:
        if not waits:
            # the first image is encoded only when two further records' images, two each, have been prepared
            waits.append(all(read.acquire(timeout=PATIENCE) for _ in range(6)))
        return encode(pixels)

    monkeypatch.setattr(encoder, "preprocess", noted)
    monkeypatch.setattr(encoder, "encode", held)
    monkeypatch.setattr("medgen_metrics.embedding_queue.thread_count", lambda: 2)
    images = [np.random.RandomState(seed).randint(0, 256, (40, 50, 3), np.uint8) for seed in range(20)]
    tier.score(images[:10], images[10:])
    assert waits == [True]
