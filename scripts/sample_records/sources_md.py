"""Renders SOURCES.md: what each image of the sample is, under which terms, and what each answer rests on."""

from __future__ import annotations

from medgen_scripts.sample_records.build import Built
from medgen_scripts.sample_records.record import FOLDER
from medgen_scripts.sample_records.sources import SOURCES
from medgen_scripts.sample_records.views import VIEWS

_HEAD = """# Sources of the embedded sample

This sample is an illustration made by this project. It is **not part of MedGEN-Bench**, and nothing in it is for
clinical use. Instructions and answers are the project's own, from the documentation of the images, their tags, what is
visible in them, or by construction; no clinician has reviewed them. All tags were left behind, burned-in text was
cropped, and images that are stored turned or mirrored were brought to the usual orientation, as said under Views.

The full texts of the licenses are in [LICENSES.md](LICENSES.md).

Written by `python -m medgen_scripts.make_sample`; edit the files in `scripts/sample_records/` instead.

## Source files
"""


def render(records: list[Built]) -> str:
    """The whole of SOURCES.md, in Markdown."""
    used = {name for record in records for name in (*record.authored.views, record.authored.reference) if name}
    parts = [_HEAD, *_sources(), "\n## Views\n", *_views(used), "\n## What each record rests on\n", *_support(records)]
    return "\n".join(parts) + "\n\n" + (FOLDER / "notices.md").read_text("utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _sources() -> list[str]:
    lines = ["| key | picture | file | package license | origin | terms of the origin |", "|---|---|---|---|---|---|"]
    for key, source in SOURCES.items():
        package = f"{source.package.distribution} {source.package.version}"
        cells = (
            key,
            source.shows,
            f"{package}, `{source.member}`",
            source.package.licence,
            source.origin,
            source.terms,
        )
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return lines


def _views(used: set[str]) -> list[str]:
    lines = ["| view | source | modality | made by |", "|---|---|---|---|"]
    lines += [f"| {name} | {v.source} | {v.modality} | {_cell(v.how)} |" for name, v in VIEWS.items() if name in used]
    return lines


def _support(records: list[Built]) -> list[str]:
    lines = ["| id | views | transforms | support |", "|---|---|---|---|"]
    for record in records:
        steps = (*record.authored.before, *record.authored.after)
        shown = [*record.authored.views, *([record.authored.reference] if record.authored.reference else [])]
        cells = (
            record.row["id"],
            ", ".join(shown),
            ", ".join(step.name for step in steps) or "none",
            record.authored.support,
        )
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return lines
