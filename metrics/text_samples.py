"""Intake of text samples: what is missing, what is an error sentence, which options and task a sample has."""

from collections.abc import Sequence

from .answer_text import is_blank
from .failures import is_error_text
from .options import Option
from .options import read_options
from .options import whole_option

CHOICE = "multiple-choice"
BLANK = "blank-filling"
CLOSED = (CHOICE, BLANK)


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
        samples.append(Sample(predictions[index], references[index], options, canonical))
    return samples


def _options(choices: Sequence[str] | None, index: int) -> tuple[Option, ...]:
    if choices is None:
        return ()
    if isinstance(choices, str) or not all(isinstance(choice, str) for choice in choices):
        raise TypeError(f"choices[{index}]: expected a list of str, [] for none, got {str(choices)[:60]!r}")
    try:
        return read_options(choices)
    except ValueError as error:
        raise ValueError(f"choices[{index}]: {error}") from error
