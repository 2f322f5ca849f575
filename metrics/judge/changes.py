"""Whether the judges are what they are called, as far as their servers tell."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from .judges import Judge


def changes(
    judges: Sequence[Judge],
    fact: Callable[[Judge], Mapping[str, Any] | None],
    fingerprints: Mapping[str, frozenset[str]],
) -> list[str]:
    """What to say where a judge isn't what it is called: another model, another server, one judge twice.

    Args:
        judges: that were asked.
        fact: what was known of a judge's server before; see `connected.Connected.fact`.
        fingerprints: judge -> those that came with its verdicts.
    """
    found = []
    served: dict[str, list[str]] = {}
    for judge in judges:
        model = (fact(judge) or {}).get("model")
        if not isinstance(model, str):
            continue
        served.setdefault(model, []).append(judge.name)
        # a server may name the snapshot that stands behind an alias
        short, told = (name.rpartition("/")[2].lower() for name in (judge.name, model))
        if not (short.startswith(told) or told.startswith(short)):
            found.append(f"judge {judge.name}: its server says that it is {model}, and the scores are that model's")
    found += [
        f"judges {', '.join(names)} are one model to their servers, {model}: their agreement says nothing"
        for model, names in served.items()
        if len(names) > 1
    ]
    for judge in judges:
        given = fingerprints.get(judge.name, frozenset())
        named = (fact(judge) or {}).get("fingerprint")
        if len(given) > 1:
            found.append(
                f"judge {judge.name} changed while it was asked: its server gave the fingerprints "
                f"{', '.join(sorted(given))}"
            )
        elif given and named and not given <= set(named.split("+")):
            found.append(
                f"judge {judge.name} has changed since this cache first met it: the signature names the "
                f"fingerprint {named}, and the verdicts came with {', '.join(given)}"
            )
    return found
