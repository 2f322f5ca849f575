"""What stands below a table about the text tier's extras."""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from medgen_metrics.sections import SECTIONS
from medgen_metrics.text_specs import NEGATION
from medgen_metrics.text_specs import RADGRAPH
from medgen_metrics.text_specs import in_section

from ..result_file import Tier
from . import columns
from .model import Table

TIER = "text"


def notes(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """How the extras' columns are to be read.

    Args:
        table: without notes.
        tiers: system -> tier -> its result.
    """
    shown = {columns.split_name(column.metric)[0] for column in table.columns if column.tier == TIER}
    if RADGRAPH in shown:
        yield (
            "RadGraph F1 (RG_ER): entities of reports by tokens, label and whether a relation starts from them; a "
            "report whose reference has none doesn't count. RadGraph-XL was made for radiology: of pathology and "
            "photographs it says little (--by modality). Upper and lower case differ, as in its package."
        )
    if "sentence" in shown:
        yield (
            "Sentence cosine: of mean-pooled token vectors. Texts that contradict each other may lie close together; "
            "compare with shuffled."
        )
    if NEGATION in shown:
        yield (
            "Negation agreement: of the findings of a closed list that an open question's reference states to be "
            "present or absent, the share that the answer states alike, averaged over records; a finding that it "
            "doesn't mention, or only considers, isn't stated alike. Found by rules, English only; side and size are "
            "not compared."
        )
        yield from _counts(tiers)
    if any(in_section(metric, section) in shown for section in SECTIONS for metric in columns.OF_TEXTS):
        yield (
            "findings, impression: the sections of reports, of those whose reference has the section; an answer "
            "without it scores 0 there (no_findings, no_impression)."
        )


def _counts(tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    told = []
    for system, scored in tiers.items():
        made = scored[TIER].metrics.get(NEGATION) if TIER in scored else None
        counts: Mapping[str, Any] = (made.model_extra if made is not None else None) or {}
        if made is not None and counts.get("asserted"):
            told.append(
                f"{system} {counts['agreed']:,} of {counts['asserted']:,} in {made.scored:,} records alike, "
                f"{counts['contradicted']:,} the other way round"
            )
    if told:
        yield f"Closed findings stated: {'; '.join(told)}."
