"""`python -m tests.fuzz TARGET SECONDS`: coverage-guided fuzzing with atheris of what reads anyone's bytes.

Targets: `em` (the exact-match parser), `jsonl` (predictions), `image` (intake), `verdict` (a judge's reply). Each may
refuse its input in its own words; any other exception ends the run with the input that caused it.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from medgen_metrics import images
    from medgen_metrics.blank import parse_blank
    from medgen_metrics.exact_match import parse_choice
    from medgen_metrics.failures import Unscored
    from medgen_metrics.judge.rubric import rubric
    from medgen_metrics.judge.verdict import Unusable
    from medgen_metrics.judge.verdict import read_verdict
    from medgen_metrics.options import read_options
    from medgen_scripts.errors import UsageError
    from medgen_scripts.jsonl import Findings
    from medgen_scripts.jsonl import JsonLines

OPTIONS = read_options(["A. heart", "B. right lung", "C. T-shaped", "D. left lung"])
SHEET = rubric()
FILE = Path(tempfile.mkdtemp(prefix="medgen-fuzz-")) / "predictions.jsonl"


def em(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    parse_choice(text, OPTIONS)
    parse_blank(text)


def jsonl(data: bytes) -> None:
    FILE.write_bytes(data)
    findings = Findings(FILE, "predictions")
    lines = JsonLines(FILE, findings)
    try:
        rows = sum(1 for _ in lines)
    except UsageError:
        return
    written = sum(bool(line.strip()) for line in data.split(b"\n"))
    accounted = rows + findings.count
    assert accounted <= data.count(b"\n") + 1, "a line was counted twice"
    assert accounted + len(lines.notices) >= written, "a line was dropped in silence"


def image(data: bytes) -> None:
    try:
        images.read(data)
    except Unscored:
        return


def verdict(data: bytes) -> None:
    try:
        read_verdict(data.decode("utf-8", "surrogateescape"), SHEET, "edit", "noise-reconstruction", "with_reference")
    except Unusable:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {"em": em, "jsonl": jsonl, "image": image, "verdict": verdict}


def main() -> None:
    """Fuzz one target."""
    if len(sys.argv) != 3 or sys.argv[1] not in TARGETS:
        raise SystemExit(f"usage: python -m tests.fuzz {'|'.join(TARGETS)} SECONDS")
    name, seconds = sys.argv[1:]
    atheris.Setup([sys.argv[0], f"-max_total_time={int(seconds)}", "-max_len=4096"], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
