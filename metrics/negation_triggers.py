r"""The phrases by which `negation` tells what a sentence asserts, denies or only considers, as one pattern of events.

English only; the sources are `negation`'s, the wording is this project's own. All look-arounds are bounded: the work is
linear in the text's length.
"""

import re
from collections.abc import Sequence

MASK = "x"
"""What each character of a mention is before `EVENTS` is searched for."""

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
_WORDS = r"(?:(?!xx)[\w'-]{1,30}\s)"  # no mention among them (MASK)
# "can hardly be excluded" leaves it open.
_CAN = (
    r"can\s(?:(?!(?:on|hard|bare|scarce|rare|part|partial|poor)ly)(?:\w{2,20}ly|therefore|thus|hence|now|also|then)\s)?"
)
# A count, no label, range, measure or sign ("BI-RADS 0", "from 0 to 4 mm", "0 HU"). A look-behind is of one width.
_COUNTING = (
    *("[,:]", "is|or|of|ly", "are|was|has|had|and|see", "were|have|with|show", "shows|found", "showed", "reveals"),
    *("revealed|contains|detected", "identified", "demonstrates|demonstrated"),
)
_ZERO = (
    rf"(?:\A|{'|'.join(rf'(?<=(?:{words}){chr(92)}s)' for words in _COUNTING)})(?:zero|0)"
    r"(?=\s(?!(?:hu|hounsfield|[mc]?m|ml|cc|to|or|and|x|of|with|in|on|at|for|by)\b)[a-z])"
)
# Behind a trigger: "cannot exclude that there is a fracture".
_OPENS = r"(?:\sthat)?(?:\sthere\s(?:is|are|was|were|has\sbeen|may\sbe|might\sbe))?"

_PSEUDO = (
    rf"(?:no|zero|without|not\sany)\s{_MORE}{_CHANGE}(?:\s(?:in|of|to|from|since|within))?",
    r"not\s(?:only|just|simply|merely|solely)",
    r"(?:no|zero|without(?:\sa)?)\s(?:doubt|question)(?:\s(?:that|about|of))?",
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
    rf"(?:{_CANT}|never|not|(?:can|could)\s(?:only|hardly|barely|scarcely|rarely))\s{_WORDS}{{0,3}}be(?:en)?\s{_WORDS}{{0,2}}"
    rf"{_EXCLUDED}",
    rf"can\sbe\s(?:\w{{2,20}}ly\s)?(?:{_EXCLUDED}\s(?:only|if|unless|when|once)|considered|suspected)",
    rf"{_BE}\s{_WORDS}{{0,2}}(?:never|not|hardly|only|to\sbe)\s(?:\w{{2,20}}ly\s)?{_EXCLUDED}",
    rf"(?:difficult|hard|impossible)\sto\s(?:\w{{2,20}}ly\s)?{_EXCLUDE}(?:{_ENDS}|(?=\s(?:by|with|on|given|without)\b))",
    rf"neither\s(?:be(?:en)?\s)?(?:{_EXCLUDED}|\w{{2,20}}\snor\s(?:be(?:en)?\s)?{_EXCLUDED})",
    rf"(?:must|should|could|may|might|will|to|ought\sto)\s(?:first\s|still\s)?be\s(?:\w{{2,20}}ly\s)?"
    rf"(?:{_EXCLUDED}|considered|suspected)",
    rf"{_BE}\s(?:also\s|still\s|only\s|thus\s)?(?:possible|suspected|questionable|questioned|suggested|equivocal|doubtful|"
    r"indeterminate|uncertain|less\slikely|an?\spossibility|in\sthe\sdifferential|(?:a|under)\sconsideration)",
    r"(?:may|might|could)\sbe\s(?:present|seen|there)",
)
_EXCLUDED_BEHIND = (
    rf"{_CAN}be\s(?:(?!only)\w{{2,20}}ly\s)?{_EXCLUDED}(?!\s(?:only|if|unless|when|once)\b)",
    rf"(?:is|are|was|were|been)\s{_ADVERBS}{_EXCLUDED}",
    rf"{_EXCLUDED}(?:{_ENDS}|(?=\s(?:by|with|on|via|using|clinically|radiographically)\b))",
)
_ABSENT_BEHIND = (
    rf"(?:{_ISNT}|(?:is|are|was|were)\sno\slonger|(?:has|have|had|can|could)(?:\snot|n't|\snever)\s(?:\w{{2,20}}ly\s)?"
    rf"(?:been|be)|cannot\sbe|can't\sbe|(?<!has\s)(?<!have\s)(?<!had\s)not|no\slonger)\s{_ADVERBS}{_SEEN}",
    rf"{_BE}\s(?:\w{{2,20}}ly\s|both\s|all\s)?(?:absent|negative|unlikely|gone|nil)(?!\s(?:to|for)\b)",
    rf"(?:is|are|was|were|has|have|had)\s{_ADVERBS}{_GONE}",
    rf"(?:absent|unlikely|resolved|negative|none|nil|no){_ENDS}",
    rf"(?:{_BE}\s|(?<=xx:\s)|(?<=(?:count|total):\s))(?:zero|0){_ENDS}",
)
_UNCERTAIN_BEFORE = (
    rf"(?:{_CANT}|not|n't|unable\sto|(?:difficult|hard|impossible|insufficient)\sto)\s{_ADVERBS}"
    rf"(?:{_EXCLUDE}|excluding|ruling\sout)",
    rf"not\s{_ADVERBS}(?:able|sufficient|enough|adequate|possible)\sto\s(?:\w{{2,20}}ly\s)?{_EXCLUDE}",
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
_SUPPOSED = (r"if|unless|until|whether|should(?=\s\w{2,30}\s(?:develop|occur|persist|worsen|recur))",)
_PAST = (r"(?:past\s)?(?:history|hx)\sof|h/o|status\spost|s/p",)
_ABSENT_BEFORE = (
    r"(?:not|n't)\s(?:think|believe|feel|see|find|suspect)",
    _ZERO,
    rf"(?:{_CAN}|(?:able|sufficient|enough|adequate)\sto\s(?:\w{{2,20}}ly\s)?){_EXCLUDE}",
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
_NO_LIST = r"\s(?!(?:(?!,\s(?:no|not|without|but)\b)[^.;]){0,80}(?:\bn?or\b|/))"
_CLAUSE = rf"{_AND}(?=(?:the|this|these|it){_NO_LIST})"
_DEGREE = (
    r"(?:\d{1,3}(?:\.\d)?\s?[mc]m|(?:very\s)?(?:small|moderate|medium|large)(?:-sized)?|tiny|trace|minimal|mild|slight|subtle|"
    r"severe|marked|extensive|massive|multiple|several|numerous|(?:minimal|mild|slight|moderate|severe|marked)ly|stable|"
    r"unchanged|persistent|residual|chronic|old|increased|(?:[1-9]\d{0,2}|two|three|four|five)(?=\s(?:\w{3,20}\s)?xx))"
)
_ITEM = rf"(?:{_AND}|,\swith\s)(?=(?:an?|{_DEGREE}){_NO_LIST})"
# "No pneumothorax with small effusion": what has a size or a degree is there. An article alone says too little.
_BESIDE = (
    r"(?<!consistent)(?<!compatible)(?<!associated)(?<!keeping)(?<!line)(?<!agreement)(?<!accordance)"
    rf"\swith\s(?=(?:an?\s)?{_DEGREE}{_NO_LIST})"
)
# What is denied without being a finding, so that the comma behind it stands between no adjectives.
_NOUNS = (
    *("cause", "change|injury", "process|disease|finding|changes|anomaly", "findings|injuries", "abnormality"),
    *("processes|pathology|deformity|anomalies", "complication", "complications|abnormalities"),
)
_NOUN = "|".join(rf"(?<=\s(?:{nouns}),)" for nouns in _NOUNS)
# A subject and a verb behind a comma: "no effusion, cardiomegaly is present".
_OWN = (
    r"\s(?:and\s)?(?=(?:(?!(?:and|n?or|that|which|who|whose|where|when|if|as|to)\b)[^\s,;:/()]{1,30}\s){1,8}?"
    r"(?:is|are|was|were|remains?|appears?|persists?|measures?|continues?|has|have|had|shows?|demonstrates?|reveals?|"
    r"exhibits?|contains?)\b)"
)
_VERBS = r"is|are|was|were|remains|appears|persists|measures"
# Verbs with an object, which a denied subject denies: "no view shows a fracture", "no longer has a mass".
_ACTIVE = (
    r"has|(?<!not\s)(?<!n't\s)(?<!to\s)have|had|shows|showed|demonstrates|demonstrated|reveals|revealed|exhibits|contains|"
    r"indicates"
)


def _one_of(kind: str, phrases: Sequence[str], more: str = "") -> str:
    return rf"(?P<{kind}>(?<![\w/])(?:{'|'.join(phrases)})(?!\w){more})"


EVENTS = re.compile(
    "|".join(
        (
            _one_of("pseudo", _PSEUDO),
            _one_of("uncertain_behind", _UNCERTAIN_BEHIND),
            _one_of("excluded_behind", _EXCLUDED_BEHIND),
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
            rf"(?P<beside>{_BESIDE})",
            rf"(?P<own>,(?:{_NOUN}){_OWN})",
            rf"(?P<own_or_list>,{_OWN})",
            _one_of("verb", (_VERBS,)),
            _one_of("active", (_ACTIVE,)),
            r"(?P<comma>,)",
            r"(?P<join>\b(?:and|or|nor)\b)",
            r"(?P<asked>\?)",
        )
    ),
    re.IGNORECASE,
)
"""The kind of an event is the name of its group; the first that matches at a place counts."""
