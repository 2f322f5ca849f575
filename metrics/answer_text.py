"""What a model wraps round its answer, taken off: reasoning blocks, mark-up, JSON, answer tags and boxes.

Shared by the parsers of closed questions (`exact_match`, `blank`). Every pass is linear in the text's length.
"""

import json
import re
import unicodedata
from typing import NamedTuple

# No answer to a closed question is this long. Of a longer one only both ends are read, which bounds the work.
LIMIT = 20_000
_HEAD = LIMIT // 4


class Parsed(NamedTuple):
    """What a parser made of a text.

    Attributes:
        status: `parsed`, `unparsable` or `empty`.
        answer: an option's letter, or the normalised filling of a blank; None unless parsed.
        how: the rule that decided, so that a number explains itself.
    """

    status: str
    answer: str | None
    how: str


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# NFKC leaves typographic quotes and dashes alone; a table is faster than a pattern.
_PLAIN = str.maketrans({**dict.fromkeys("‘’‛′`´", "'"), **dict.fromkeys("“”„″", '"'), **dict.fromkeys("‐‑‒–—―−", "-")})
_EDGES = " \t\n\"'*_#.,;:!?()[]{}<>$\\|~-·•。、「」『』【】《》…"
_FILLING_EDGES = " \t\n\"'*_#.,;:!?()[]{}$\\|~。、「」『』【】《》…"


def plain(text: str) -> str:
    """NFKC (full-width letters and punctuation become ASCII), plain quotes and dashes, no invisible characters."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return text.translate(_PLAIN)


def fold(text: str) -> str:
    """`plain`, lower-cased, white space collapsed."""
    return " ".join(plain(text).lower().split())


def strip_edges(text: str) -> str:
    """Drop punctuation and mark-up at both ends."""
    return text.strip(_EDGES)


def strip_filling(text: str) -> str:
    """Like `strip_edges`, but signs and comparisons that belong to a quantity stay (`-5`, `<3 cm`)."""
    return text.strip(_FILLING_EDGES)


def is_blank(text: str) -> bool:
    """Whether nothing in the text would be seen (white space, control and format characters only)."""
    return all(character.isspace() or unicodedata.category(character)[0] in "ZC" for character in text)


_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>|◁/think▷", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|thought|reasoning)>|◁think▷", re.IGNORECASE)
_BREAK = re.compile(r"<br\s?/?>|</?(?:p|div|li|ul|ol)>")
_MARKUP = re.compile(r"</?(?:b|strong|i|em|u|span|code|mark|s)>|<\|[^|<>\n]{1,30}\|>|<end_of_turn>|<eos>")
_LATEX = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathsf|mathit)\s?\{([^{}]{0,500})\}")


def after_thought(text: str) -> str:
    """What stands behind the last reasoning block (`<think>…</think>`); all of the text where none is closed."""
    ends = [match.end() for match in _THOUGHT_END.finditer(text)]
    return text[ends[-1] :] if ends else text


def unwrap(text: str) -> tuple[str, bool]:
    """The answer proper, one line a line, white space collapsed, blank lines dropped.

    Returns:
        The text and whether it is concluded: False if a reasoning block was opened and never closed, in which case
        what it holds is still returned, since an answer tag or a box may stand in it.
    """
    text = after_thought(text)
    concluded = _THOUGHT_START.search(text) is None
    if len(text) > LIMIT:
        text = text[:_HEAD] + "\n" + text[_HEAD - LIMIT :]
    text = plain(text)
    text = _MARKUP.sub("", _BREAK.sub("\n", text))
    text = _LATEX.sub(r"\1", _LATEX.sub(r"\1", text))
    text = "\n".join(line for line in (" ".join(raw.split()) for raw in text.splitlines()) if line)
    return _from_json(text), concluded


_JSON_KEYS = ("final_answer", "final answer", "answer", "choice", "option", "prediction", "response", "text")


def _from_json(text: str) -> str:
    """The answer's value where the whole text is a JSON object with one; else the text."""
    body = text
    if body.startswith("```"):
        body = body.partition("\n")[2].rstrip("` \n")
    if not (body.startswith("{") and body.endswith("}")):
        return text
    try:
        record = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return text
    if not isinstance(record, dict):
        return text
    lowered = {str(key).lower(): value for key, value in record.items()}
    for key in _JSON_KEYS:
        value = lowered.get(key)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return str(value).strip()
    return text


_TAG = re.compile(
    r"[<\[](/?)(?:final[_ -]?answer|answer|final|choice|option|response|conclusion|output)[>\]]", re.IGNORECASE
)
_BOX = re.compile(r"\\?\b(?:boxed|fbox)\s?\{")


def container(text: str) -> tuple[str, str] | None:
    r"""The content of the last answer tag or `\boxed{}`, whichever comes last, with its kind; None if there is none."""
    found: list[tuple[int, str, str]] = []
    opening = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            opening = tag
        elif opening is not None:
            found.append((opening.end(), text[opening.end() : tag.start()], "tag"))
            opening = None
    if opening is not None:
        found.append((opening.end(), text[opening.end() :], "tag"))
    boxes = [box.end() for box in _BOX.finditer(text)]
    if boxes:
        found.append((boxes[-1], _braced(text, boxes[-1]), "boxed"))
    found = [item for item in found if item[1].strip()]
    if not found:
        return None
    _, content, kind = max(found, key=lambda item: item[0])
    return content.strip(), kind


def _braced(text: str, start: int) -> str:
    depth = 1
    for index in range(start, min(len(text), start + 2000)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[start:index]
    return text[start : start + 2000]
