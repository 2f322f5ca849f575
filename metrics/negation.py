r"""Whether a sentence asserts, denies or only considers what it mentions: rules in the manner of NegEx and ConText.

Trigger phrases have a direction and a scope. One before a mention reaches forward, one behind it backward, until a
contrast ("but", "except"), a new clause or the sentence's end. Phrases that only look like negations ("no change in",
"not only", "not without") are found first and deny nothing. Of two triggers that reach a mention the nearer one counts.

Sources: Chapman et al. 2001 (NegEx: phrases before and behind, pseudo-negations, ending conjunctions), Harkema et al.
2009 (ConText: scope to the sentence's end; hypothetical and historical mentions), Peng et al. 2018 (NegBio) and Irvin
et al. 2019 (CheXpert) for radiology, among it that "likely" and "consistent with" assert. The wording of the rules is
this project's own, English only. All look-arounds are bounded: the work is linear in the text's length.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

PRESENT, ABSENT, UNCERTAIN = "present", "absent", "uncertain"

_BE = r"(?:is|are|was|were|be|been|remains?|appears?|seems?)"
_ISNT = r"(?:(?:is|are|was|were)(?:\snot|n't)|isn't|aren't)"
_CANT = r"(?:cannot|can\snot|can't|could\snot|couldn't)"
_ADVERBS = r"(?:(?:\w{2,20}ly|yet|been|being|to\sbe|be|also|still|since|now)\s){0,3}"
_SEEN = (
    r"(?:seen|identified|visuali[sz]ed|detected|present|evident|demonstrated|noted|observed|found|appreciated|visible|"
    r"apparent|shown|recogni[sz]ed|suspected|discernible|depicted|described|reported)(?!\s(?:an?|any|evidence|signs?)\b)"
)
_EXCLUDE = r"(?:exclude|rule\sout|eliminate)"
_EXCLUDED = r"(?:excluded|ruled\sout|eliminated)"
_GONE = r"(?:resolved|cleared|disappeared|subsided|healed)"
_MORE = (
    r"(?:(?:significant|definite|suspicious|substantial|appreciable|interval|major|marked|notable|obvious|further|"
    r"other)\s){0,3}"
)
_CHANGE = (
    r"(?:changes?|increase|decrease|growth|progression|improvement|difference|enlargement|worsening|alteration|reduction|"
    r"regression|resolution|evolution)"
)
_ENDS = r"(?=[\s.)]{0,4}(?:\Z|[,;]))"
# Behind a trigger: "cannot exclude that there is a fracture".
_OPENS = r"(?:\sthat)?(?:\sthere\s(?:is|are|was|were|has\sbeen|may\sbe|might\sbe))?"

_PSEUDO = (
    rf"(?:no|without|not\sany)\s{_MORE}{_CHANGE}(?:\s(?:in|of|to|from|since|within))?",
    r"not\s(?:only|just|simply|merely|solely)",
    r"(?:no|without(?:\sa)?)\s(?:doubt|question)(?:\s(?:that|about|of))?",
    r"not\s(?:entirely\s)?(?:without|free\s(?:of|from)|negative\sfor|devoid\sof|lacking|absent)",
    rf"(?:not|n't)\s{_ADVERBS}(?:{_GONE}|changed|increased|decreased|improved|enlarged|progressed|worsened|grown)",
    # New, not gone: "not seen on the prior study", "not previously seen".
    rf"(?:{_ISNT}|(?:has|have|had)(?:\snot|n't)\sbeen|not)\s(?:(?:previously|formerly)\s{_SEEN}|{_SEEN}\s(?:previously|"
    r"before|(?:on|in)\s(?:(?:the|any|an?)\s)?(?:prior|previous|earlier|old(?:er)?|preceding)))",
    r"not\smuch\s(?:of\san?\s)?" + _CHANGE + r"(?:\s(?:in|of|to|from|since))?",
    r"(?:no|not)\s(?:more|less|greater|fewer|larger|smaller)\sthan",
    r"(?:no|without)\s(?:relevant\s)?(?:prior|previous|comparison)\s(?:study|studies|exam\w{0,9}|imaging|films?|"
    r"radiographs?|images?)",
    r"(?:no|without)\s(?:(?:prior|previous|available)\s)?(?:comparisons?|priors)",
    r"(?:without|no)\s(?:(?:iv|intravenous|oral)\s)?(?:contrast|difficulty)",
    r"gram[\s-]negative",
)
_UNCERTAIN_BEHIND = (
    rf"(?:{_CANT}|{_ISNT}|(?:has|have)(?:\snot|n't)|not)\s{_ADVERBS}(?:{_EXCLUDED}|confirmed|assessed|evaluated)",
    rf"(?:must|should|can|could|may|might|will|to|ought\sto)\sbe\s(?:\w{{2,20}}ly\s)?(?:{_EXCLUDED}|considered|suspected)",
    rf"{_BE}\s(?:also\s|still\s|only\s|thus\s)?(?:possible|suspected|questionable|questioned|suggested|equivocal|doubtful|"
    r"indeterminate|uncertain|less\slikely|an?\spossibility|in\sthe\sdifferential|(?:a|under)\sconsideration)",
    r"(?:may|might|could)\sbe\s(?:present|seen|there)",
)
_ABSENT_BEHIND = (
    rf"(?:{_ISNT}|(?:is|are|was|were)\sno\slonger|(?:has|have|had|can|could)(?:\snot|n't|\snever)\s(?:\w{{2,20}}ly\s)?"
    rf"(?:been|be)|cannot\sbe|can't\sbe|(?<!has\s)(?<!have\s)(?<!had\s)not|no\slonger)\s{_ADVERBS}{_SEEN}",
    rf"{_BE}\s(?:\w{{2,20}}ly\s|both\s|all\s)?(?:absent|negative|unlikely|gone|nil)(?!\s(?:to|for)\b)",
    rf"(?:is|are|was|were|been)\s{_ADVERBS}{_EXCLUDED}",
    rf"(?:is|are|was|were|has|have|had)\s{_ADVERBS}{_GONE}",
    rf"(?:absent|unlikely|resolved|negative|{_EXCLUDED}|none|nil|no){_ENDS}",
)
_UNCERTAIN_BEFORE = (
    rf"(?:{_CANT}|not|n't|unable\sto|(?:difficult|hard|impossible|insufficient)\sto)\s{_ADVERBS}"
    rf"(?:{_EXCLUDE}|excluding|ruling\sout)",
    rf"{_CANT}\s(?:confirm|assess|evaluate)(?:\sfor)?",
    r"(?:not|un)\s?(?:certain|sure|clear)(?:\s(?:if|whether|of))?|not\snecessarily",
    r"possib(?:le|ly)|possibility\sof|potential(?:ly)?|perhaps|maybe",
    r"(?:may|might|could)(?:\salso)?"
    r"(?:\s(?:be(?:\s(?:due|secondary|related)\sto)?|represent|reflect|have|indicate|suggest|correspond\sto|contain))?",
    r"suspicion\s(?:for|of)|suspect(?:ed|s)?|concern(?:ed)?\s(?:for|of|about)|query|suggest(?:s|ed)?",
    r"question(?:able|ed)?(?:\sof)?|equivocal(?:\sfor)?|indeterminate(?:\sfor)?",
    rf"(?:must\s|should\s|to\s)?{_EXCLUDE}|r/o|rule-out",
    r"(?:evaluat(?:e|ion)|assess(?:ment)?|look(?:ing)?|check(?:ed)?|screen(?:ing)?|search(?:ing)?|watch)\sfor",
    r"risks?\s(?:for|of)|predisposed\sto|in\s(?:the\s)?(?:case|event)\sof|less\slikely(?:\sto\s(?:be|represent|reflect))?",
    r"differential(?:\sdiagnos[ie]s)?(?:\s(?:includes?|of|is|would\sinclude|considerations?))?|consider(?:ation\sof)?",
)
# What something would be a sign of: uncertain, but "no opacity to suggest pneumonia" denies both.
_IMPLIED = (
    rf"(?:(?:is|are|was|were)\s{_ADVERBS}{_SEEN}\s)?to\s(?:suggest|indicate)|suggesting|"
    r"(?:suggestive|indicative)\sof|(?:suspicious|concerning|worrisome)\s(?:for|of)",
)
# A supposition holds beyond its verb ("if there is a fracture").
_SUPPOSED = (r"if|unless|whether|should(?=\s\w{2,30}\s(?:develop|occur|persist|worsen|recur))",)
_PAST = (r"(?:past\s)?(?:history|hx)\sof|h/o|status\spost|s/p",)
_ABSENT_BEFORE = (
    r"(?:not|n't)\s(?:think|believe|feel|see|find|suspect)",
    r"no|nothing|without|w/o|absence\sof|absent|lack(?:s|ing)?(?:\sof)?|negative\sfor|free\s(?:of|from)|clear\sof|devoid\sof",
    r"(?:rules|ruled|ruling)\sout|exclud(?:es|ed|ing)|den(?:y|ies|ied|ying)|neither|nor|none\sof|unremarkable\sfor",
    r"fail(?:s|ed)?\sto\s(?:show|reveal|demonstrate|identify)|no\slonger|not|never|cannot|can't|\w{2,6}n't",
    r"resolved|resolution\sof|unlikely(?:\sto\s(?:be|represent|reflect))?|rather\sthan|instead\sof|as\sopposed\sto",
    r"argu(?:es?|ing)\sagainst|evidence\sagainst",
)
_STOPS = (
    r"but|however|nevertheless|nonetheless|yet|although|though|except(?:\sfor)?|apart\sfrom|aside\sfrom|other\sthan|"
    r"while|whereas|despite|in\saddition\sto|secondary\sto|because|due\sto|instead|which|who|otherwise",
    r"there\s(?:is|are|was|were|has\sbeen|have\sbeen)|there's",
)
# An article or a size opens a new clause, unless a list goes on ("without a fracture, a dislocation or a mass").
_AND = r"(?:,\s?|,?\sand\s)"
_NO_LIST = r"\s(?![^.;]{0,80}(?:\bn?or\b|/))"
_CLAUSE = rf"{_AND}(?=(?:the|this|these|it){_NO_LIST})"
_ITEM = (
    rf"(?:{_AND}|,\swith\s)(?=(?:\d{{1,3}}(?:\.\d)?\s?[mc]m|an?|small|tiny|trace|minimal|"
    rf"mild|moderate|severe|large|stable|unchanged|persistent|chronic|old|"
    rf"increased){_NO_LIST})"
)
_VERBS = r"is|are|was|were|remains|appears|persists|measures"
# Verbs with an object, which a denied subject denies: "no view shows a fracture", "no longer has a mass".
_ACTIVE = (
    r"has|(?<!not\s)(?<!n't\s)(?<!to\s)have|had|shows|showed|demonstrates|demonstrated|reveals|revealed|exhibits|contains|"
    r"indicates"
)


def _one_of(kind: str, phrases: Sequence[str], more: str = "") -> str:
    return rf"(?P<{kind}>(?<![\w/])(?:{'|'.join(phrases)})(?!\w){more})"


_EVENTS = re.compile(
    "|".join(
        (
            _one_of("pseudo", _PSEUDO),
            _one_of("uncertain_behind", _UNCERTAIN_BEHIND),
            _one_of("absent_behind", _ABSENT_BEHIND),
            r"(?P<free>-free(?!\w))",
            _one_of("both", (r"versus|vs\.?",)),
            _one_of("implied", _IMPLIED),
            _one_of("uncertain", _UNCERTAIN_BEFORE, _OPENS),
            _one_of("supposed", _SUPPOSED, _OPENS),
            _one_of("past", _PAST),
            _one_of("absent", _ABSENT_BEFORE, _OPENS),
            _one_of("stop", _STOPS),
            rf"(?P<clause>{_CLAUSE})",
            rf"(?P<item>{_ITEM})",
            _one_of("verb", (_VERBS,)),
            _one_of("active", (_ACTIVE,)),
            r"(?P<comma>,)",
            r"(?P<join>\b(?:and|or|nor)\b)",
            r"(?P<asked>\?)",
        )
    ),
    re.IGNORECASE,
)
_BEHIND = {"uncertain_behind": UNCERTAIN, "absent_behind": ABSENT, "free": ABSENT, "both": UNCERTAIN}
_BEFORE = {
    "uncertain": UNCERTAIN,
    "implied": UNCERTAIN,
    "supposed": UNCERTAIN,
    "past": UNCERTAIN,
    "absent": ABSENT,
    "both": UNCERTAIN,
}
_ENDING = frozenset(("pseudo", "stop", "clause", "uncertain_behind", "absent_behind"))
_VERBAL = frozenset(("verb", "active"))


class _Event(NamedTuple):
    start: int
    end: int
    kind: str


class _Reached(NamedTuple):
    """What a trigger says of a mention, and how many characters lie between."""

    polarity: str
    distance: int


_SENTENCE_END = re.compile(
    r"\n{2,8}|(?<=[.!?;])(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)\s{1,8}|(?<=[a-z]{2}\.)(?=[A-Z][a-z])|"
    r"\n(?=\s{0,8}(?:\n|[-*+•#>|]|\d{1,2}[.)]|[A-Z]))"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Where sentences are; a line break ends one only before a bullet, a capital or a blank line."""
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]


def polarities(sentence: str, mentions: Sequence[tuple[int, int]]) -> list[str]:
    """What one sentence says of each of its mentions: `present`, `absent` or `uncertain`.

    Args:
        sentence: in plain signs (`answer_text.plain`), white space single.
        mentions: where the mentions start and end, in order, none overlapping.

    >>> polarities("No effusion, but a small pneumothorax.", [(3, 11), (25, 37)])
    ['absent', 'present']
    """
    events = _events(sentence, mentions)
    before, behind = _forward(events), _backward(events)
    is_asked = any(event.kind == "asked" for event in events)
    found = []
    for first, second in zip(before, behind, strict=True):
        reached = [trigger for trigger in (first, second) if trigger is not None]
        nearest = min(reached, key=lambda trigger: trigger.distance, default=None)
        polarity = PRESENT if nearest is None else nearest.polarity
        found.append(UNCERTAIN if is_asked and polarity == PRESENT else polarity)
    return found


def _events(sentence: str, mentions: Sequence[tuple[int, int]]) -> list[_Event]:
    """Triggers and mentions in order; what stands within a mention is no trigger."""
    parts, place = [], 0
    for start, end in mentions:
        parts += [sentence[place:start], "x" * (end - start)]
        place = end
    masked = "".join([*parts, sentence[place:]])
    found = [_Event(match.start(), match.end(), str(match.lastgroup)) for match in _EVENTS.finditer(masked)]
    return sorted([*found, *(_Event(start, end, "mention") for start, end in mentions)])


def _forward(events: Sequence[_Event]) -> list[_Reached | None]:
    reached: list[_Reached | None] = []
    # Fresh: nothing that the last trigger could be about lies behind it yet. Parted: a comma, "and" or "or" does.
    kind, end, is_fresh, is_parted = "", 0, True, False
    for event in events:
        if event.kind == "mention":
            reached.append(_Reached(_BEFORE[kind], event.start - end) if kind else None)
            is_fresh = False
        elif event.kind in _BEFORE:
            # "may not have" considers, "no suspicion of" denies: of triggers with nothing between the first counts.
            goes_on = is_fresh or kind == "supposed" or (event.kind == "implied" and kind == "absent" and not is_parted)
            if not kind or not goes_on:
                kind = event.kind
            end, is_fresh, is_parted = event.end, True, False
        elif event.kind in _ENDING or event.kind in _VERBAL:
            goes_on = kind == "supposed" or (is_fresh and event.kind == "active")
            kind = kind if goes_on and event.kind in _VERBAL else ""
        elif event.kind in ("comma", "join", "item"):
            # A list of what may be goes on with articles: "the differential includes an abscess, a cyst".
            kind = "" if event.kind == "item" and kind == "absent" else kind
            is_fresh, is_parted = False, True
    return reached


def _backward(events: Sequence[_Event]) -> list[_Reached | None]:
    reached: list[_Reached | None] = []
    kind, start, is_fresh, is_list = "", 0, True, False
    for event in reversed(events):
        if event.kind == "mention":
            reached.append(_Reached(_BEHIND[kind], start - event.end) if kind else None)
            is_fresh = False
        elif event.kind in _BEHIND:
            kind, start, is_fresh, is_list = event.kind, event.start, True, False
        elif event.kind in _ENDING or event.kind in _BEFORE or (event.kind in _VERBAL and not is_fresh):
            kind = ""
        elif event.kind == "join":
            is_list = True
        elif event.kind in ("comma", "item") and not is_list:
            # "Small effusion, pneumothorax not seen" is no list; "A, B and C are not seen" is one.
            kind = ""
    return reached[::-1]
