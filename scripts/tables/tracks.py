"""What a table's foot says of its systems: which may be compared, which never saw the image, which are unproven."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

_ABOUT = {
    "direct": "direct (the model sees image and instruction)",
    "rewrite-then-edit": "rewrite-then-edit (an image model sees the image and another model's prompt)",
    "text-to-image": "text-to-image (what makes the image never sees the input image: text-only)",
}


def notes(systems: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """The foot's lines.

    Args:
        systems: system -> what its predictions' manifest says of it (`track`, `components`, `verified`, `blind`);
            those that aren't known are left out.
    """
    tracks: dict[str, list[str]] = defaultdict(list)
    for name, about in systems.items():
        if about.get("track") in _ABOUT:
            tracks[about["track"]].append(name)
    if len(tracks) > 1 or "text-to-image" in tracks:
        told = [f"{said}: {', '.join(tracks[track])}" for track, said in _ABOUT.items() if track in tracks]
        more = "; systems of different tracks aren't comparable" if len(tracks) > 1 else ""
        yield f"Tracks{more}: {'; '.join(told)}."
    blind = [name for name, about in systems.items() if about.get("blind")]
    if blind:
        yield f"Not shown the images (--blind): {', '.join(blind)}."
    unproven: dict[str, list[str]] = defaultdict(list)
    for name, about in systems.items():
        if about.get("verified") in ("never", "loopback"):
            unproven[about["verified"]].append(name)
    if unproven:
        told = [f"{', '.join(names)} ({verified})" for verified, names in sorted(unproven.items())]
        yield (
            "Systems whose files are not known to have run against the real models (never, or loopback: against "
            f"stand-ins): {'; '.join(told)}."
        )
