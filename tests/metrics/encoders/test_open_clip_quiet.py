"""What is muted while an open_clip model is loaded; needs no open_clip."""

import logging
import threading

import pytest

from medgen_metrics.encoders.open_clip_model import _quiet


def test_only_this_threads_notes_are_muted_and_only_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    def elsewhere() -> None:
        logging.warning("of another thread")
        logging.getLogger("mine").warning("of another logger")

    with _quiet():
        logging.warning("no weights loaded")
        logging.getLogger("mine").warning("of a logger with a name")
        logging.error("an error")
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    logging.warning("afterwards")
    assert [record.getMessage() for record in caplog.records] == [
        "of a logger with a name",
        "an error",
        "of another thread",
        "of another logger",
        "afterwards",
    ]
