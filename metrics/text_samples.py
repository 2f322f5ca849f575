"""Intake of text samples: what is missing, what is an error sentence, which options and task a sample has."""

import re
import warnings
from collections.abc import Sequence
from difflib import get_close_matches

from .answer_text import is_blank
from .failures import is_error_text
from .options import Option
from .options import read_options
from .options import whole_option

CHOICE = "multiple-choice"
BLANK = "blank-filling"
CLOSED = (CHOICE, BLANK)
REPORT = "report-generation"
# What only a closed task's name holds. Other tasks may have any name, these modules don't know them.
_CLOSED_WORDS = {"choice", "choices", "multichoice", "mcq", "mcqa", "blank", "blanks", "cloze"}
_NEAR = 0.8  # of difflib's similarity
_SHOWN = 20


def normalise(text: str, task: str, options: Sequence[Option] = ()) -> str:
    """The text that paper BLEU and PBScore compare.

    White space is collapsed. Closed tasks are lower-cased, and where the *whole* text is a letter, `letter. body` or a
    body, it becomes the option's `letter. body`.
    """
    if task == CHOICE:
        option = whole_option(text, options)
        if option is not None:
            return option.text
    collapsed = " ".join(text.split())
    return collapsed.lower() if task in CLOSED else collapsed


def task_name(task: str) -> str:
    """A task's name in the canonical spelling (lower case, hyphens)."""
    return "-".join(task.lower().replace("_", " ").replace("-", " ").split())


def is_nearly_closed(task: str) -> bool:
    """Whether a name seems to mean one of `CLOSED` but is none: as an open task it would silently lose its EM.

    >>> [is_nearly_closed(task_name(name)) for name in ("multi-choice", "blank filing", "Multiple_Choice", "report")]
    [True, True, False, False]
    """
    if task in CLOSED:
        return False
    return bool(_CLOSED_WORDS & set(re.split(r"[^a-z]+", task))) or bool(get_close_matches(task, CLOSED, 1, _NEAR))


class Sample:
    """One sample, checked.

    Attributes:
        text, reference: "" where missing.
        options: of a multiple-choice question.
        task: in its canonical spelling; "" for an open question without a name.
        reason: why no metric can score it; "" for none.
        is_blank: whether nothing in `text` would be seen.
    """

    __slots__ = ("is_blank", "options", "reason", "reference", "task", "text")

    def __init__(self, text: str | None, reference: str | None, options: tuple[Option, ...], task: str) -> None:
        self.text = sound(text or "")
        self.reference = sound(reference or "")
        self.options = options
        self.task = task
        self.is_blank = is_blank(self.text)
        self.reason = ""
        if is_blank(self.reference):
            self.reason = "reference_missing"
        elif text is None:
            self.reason = "missing"
        elif is_error_text(self.text):
            self.reason = "error_text"
        if self.reason:
            self.text, self.is_blank = "", True


def sound(text: str) -> str:
    """Half a surrogate pair, which no tokenizer takes, becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def read_samples(
    predictions: Sequence[str | None],
    references: Sequence[str | None],
    choices: Sequence[Sequence[str] | None] | None,
    tasks: Sequence[str | None] | None,
) -> list[Sample]:
    """Check and read a batch; see `text.TextTier.score`."""
    count = len(predictions)
    choices = [None] * count if choices is None else choices
    tasks = [None] * count if tasks is None else tasks
    lengths = {"predictions": count, "references": len(references), "choices": len(choices), "tasks": len(tasks)}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"expected as many values in each input, got {got}")
    samples = []
    misnamed: list[str] = []
    unused: list[str] = []
    for index in range(count):
        for name, value in (
            ("predictions", predictions[index]),
            ("references", references[index]),
            ("tasks", tasks[index]),
        ):
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    f"{name}[{index}]: expected str or None, got {type(value).__name__} {str(value)[:60]!r}"
                )
        options = _options(choices[index], index)
        task = tasks[index]
        canonical = task_name(task) if task is not None else (CHOICE if options else "")
        if is_nearly_closed(canonical):
            misnamed.append(f"tasks[{index}]: {task!r:.60}")
        elif options and canonical not in CLOSED:
            unused.append(f"tasks[{index}]: {task!r:.60} with {len(options)} options")
        samples.append(Sample(predictions[index], references[index], options, canonical))
    if misnamed:
        raise ValueError(
            f"expected {' or '.join(map(repr, CLOSED))} of closed questions, any other name of open ones; got "
            f"{_first(misnamed)}. Spell closed tasks so; as open ones they would have no exact match"
        )
    if unused:
        warnings.warn(
            f"options of tasks other than {' and '.join(map(repr, CLOSED))} are not used, and these samples have no "
            f"exact match: {_first(unused)}",
            stacklevel=2,
        )
    return samples


def _first(places: Sequence[str]) -> str:
    more = f"; … and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
    return "; ".join(places[:_SHOWN]) + more


def _options(choices: Sequence[str] | None, index: int) -> tuple[Option, ...]:
    if choices is None:
        return ()
    if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
        raise TypeError(f"choices[{index}]: expected a list of str, [] for none, got {str(choices)[:60]!r}")
    try:
        return read_options(choices)
    except ValueError as error:
        raise ValueError(f"choices[{index}]: {error}") from error
