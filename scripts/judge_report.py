"""What `judge-check` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .judge_examine import Check
from .judge_examine import OfView

if TYPE_CHECKING:
    from medgen_metrics.judge.accuracy import Accuracy
    from medgen_metrics.judge.accuracy import Ordering
    from medgen_metrics.judge.sway import Sway

HEADS = {"with_reference": "with reference (w. GT*)", "without_reference": "without reference (w.o. GT*)"}
MOST_FAILURES = 20
_NAME = 38


def report(check: Check) -> str:
    """The page, a line a figure."""
    counted = ", ".join(f"{config} {count}" for config, count in check.records.items())
    lines = [
        check.signature,
        f"{sum(check.records.values())} records ({counted}) of {check.groups} source images; "
        f"{check.judged} outputs judged",
        "",
    ]
    for view, found in check.views.items():
        lines += [*_view(HEADS[view], found, check.mark), ""]
    lines += [*_verdicts(check), "", *_foot(check)]
    return "\n".join(lines)


def _view(head: str, found: OfView, mark: float) -> list[str]:
    columns = f"{'pairs':>6} {'judged':>6} {'images':>6} {'ties':>5} {'accuracy':>9}  95 % interval"
    lines = [f"{head:<{_NAME}} {columns}", _accuracy("overall", found.overall)]
    lines += [_accuracy(f"  {kind.replace('_', ' ')}", figure) for kind, figure in found.by_kind.items()]
    lines += ["dimensions, each over all pairs to which it applies"]
    lines += [_accuracy(f"  {name.replace('_', ' ')}", figure) for name, figure in found.by_dimension.items()]
    lines += _failures(found.failures) if found.overall.judged else ["no pair has usable verdicts"]
    if found.sway is not None:
        columns = f"{'pairs':>6} {'judged':>6} {'shift':>7} {'[95 %]':>16} {'fallen':>7} {'risen':>7}  [95 %]"
        lines.append(f"{'injections':<{_NAME}} {columns}")
        lines += [_sway("all", found.sway)]
        lines += [_sway(f"  {kind}", figure) for kind, figure in found.sway_by_kind.items()]
    return lines


def _accuracy(name: str, figure: "Accuracy") -> str:
    value = "-" if figure.value is None else f"{figure.value:.3f}"
    from medgen_metrics.judge.accuracy import MIN_GROUPS

    few = " few images" if figure.groups < MIN_GROUPS and figure.low is not None else ""
    interval = _range(figure.low, figure.high, "", 3) + few
    counts = f"{figure.pairs:>6} {figure.judged:>6} {figure.groups:>6} {figure.ties:>5}"
    return f"{name:<{_NAME}} {counts} {value:>9}  {interval}".rstrip()


def _sway(name: str, figure: "Sway") -> str:
    shift = "-" if figure.shift is None else f"{figure.shift:+.2f}"
    fallen, risen = ("-" if share is None else f"{share:.1%}" for share in (figure.fallen, figure.risen))
    spread = _range(figure.shift_interval.low, figure.shift_interval.high, "+", 2)
    low, high = (None if end is None else 100 * end for end in (figure.risen_interval.low, figure.risen_interval.high))
    line = f"{name:<{_NAME}} {figure.of:>6} {figure.pairs:>6} {shift:>7} {spread:>16} {fallen:>7} {risen:>7}"
    return f"{line}  {_range(low, high, '', 1)}".rstrip()


def _range(low: float | None, high: float | None, sign: str, places: int) -> str:
    return "" if low is None or high is None else f"[{low:{sign}.{places}f}, {high:{sign}.{places}f}]"


def _failures(failures: Sequence["Ordering"]) -> list[str]:
    if not failures:
        return ["no pair is misordered or tied"]
    ordered = sorted(failures, key=lambda found: (_lead(found), found.probe.kind, found.probe.record))
    wrong = sum(found.value == 0 for found in ordered)
    shown = f"; the worst {MOST_FAILURES}" if len(ordered) > MOST_FAILURES else ""
    lines = [f"{wrong} pairs misordered, {len(ordered) - wrong} tied{shown}:"]
    for found in ordered[:MOST_FAILURES]:
        what = f"  {found.probe.kind.replace('_', ' '):<13} {found.probe.record:<{_NAME}}"
        lines.append(f"{what} reference {found.right:g}, worse {found.wrong:g}")
    return lines


def _lead(found: "Ordering") -> float:
    """By how much the reference is ahead."""
    return (found.right or 0.0) - (found.wrong or 0.0)


def _verdicts(check: Check) -> list[str]:
    lines = []
    for view, found in check.views.items():
        line = f"{HEADS[view]}: {found.verdict.word.upper()}: {found.verdict.why}"
        if found.verdict.needed is not None:
            scale = -(-sum(check.records.values()) * found.verdict.needed // max(1, found.overall.judged))
            per_config = -(-scale // len(check.records))
            line += f"; about {found.verdict.needed} pairs would settle it (--limit {per_config})"
        lines.append(line)
    return lines


def _foot(check: Check) -> list[str]:
    lines = [
        f"Fit: the 95 % interval of pairwise accuracy, clustered by source image, lies above {check.mark:g}. "
        "Ties count half.",
    ]
    if any(found.sway is not None for found in check.views.values()):
        lines.append(
            "Injections are put into worse outputs; risen and fallen: by 1 or more. Noise alone raises as many scores "
            "as it lowers."
        )
    lines.append(
        "Each pair's order follows from how it was made. A fit judge passes what none may fail; that is no evidence "
        "that its scores are clinically right."
    )
    return lines
