"""`medgen-bench weights list|fetch|path`: what metrics need, where it comes from, and whether it is here."""

import textwrap
from collections.abc import Sequence

from medgen_metrics import radgraph_f1
from medgen_metrics import weights

from .errors import Failure
from .errors import UsageError

PAPER = ("lpips-alex", "pubmedbert", "medimageinsight")  # what the paper's definitions need


def list_weights() -> None:
    """Print a table of all weights."""
    form = "{:<17}{:<11}{:<12}{:>5}  {:<14}{}"
    print(form.format("name", "tier", "metric", "MB", "licence", "here"))
    for entry in _all().values():
        here = "yes" if entry.find() is not None else "no"
        print(form.format(entry.name, entry.tier, entry.metric, entry.megabytes or "-", entry.licence, here))
        # On lines of its own, so that a narrow terminal leaves names and paths whole.
        for line in textwrap.wrap(f"from {entry.origin}", 76, break_long_words=False, break_on_hyphens=False):
            print(f"    {line}")


def fetch_weights(names: Sequence[str]) -> None:
    """Download weights that are not here; none named: the paper's.

    Raises:
        UsageError: an unknown name, or weights of a package that is not installed.
        Failure: one or more can't be had; the others are fetched.
    """
    for name in names:
        _known(name)
    problems = []
    for name in names or PAPER:
        try:
            print(f"{name}: {weights.obtain(_known(name), offline=False)}")
        except weights.WeightsUnavailable as error:  # noqa: PERF203 - the others are fetched all the same
            # The exception's own remedy is the command that has just failed.
            problems.append(f"{error.problem}; {_known(name).by_hand()}")
    if problems:
        raise Failure("\nmedgen-bench: ".join(problems))


def weights_path(name: str) -> None:
    """Print where weights are on this machine.

    Raises:
        UsageError: an unknown name, or weights of a package that is not installed.
        Failure: they are not here.
    """
    path = _known(name).find()
    if path is None:
        raise Failure(
            f"weights {name} are not on this machine; `medgen-bench weights fetch {name}` gets them. "
            f"Without a network: {_known(name).by_hand()}"
        )
    print(path)


def _all() -> dict[str, weights.Weights]:
    """All that can be listed and fetched by name, the optional ones last."""
    return {**weights.REGISTRY, radgraph_f1.MODEL: radgraph_f1.listed()}


def _known(name: str) -> weights.Weights:
    known = _all()
    if name not in known:
        raise UsageError(f"unknown weights {name!r}; expected some of {', '.join(known)}")
    if name == radgraph_f1.MODEL and not radgraph_f1.is_installed():
        raise UsageError(
            f"weights {name} lie where the package radgraph has them, and it is not installed; {known[name].by_hand()}"
        )
    return known[name]
