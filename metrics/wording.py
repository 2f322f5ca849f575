"""The words by which answers announce, deny, affirm and join options. Every quantifier over text is bounded."""

import re

_LINK = (
    r"(?:\s?(?:[:=]|-+>|→|=>)|\s-(?=\s)|"
    r"\s(?:is|was|are|would|should|must|will|has|seems|appears|to|be|most|likely|probably|clearly|definitely|"
    r"therefore|thus|option|choice|letter)\b)"
)
MARKER = (
    r"\b(?:final\s|correct\s|best\s)?(?:answer|ans|response|choice|option|selection|conclusion|diagnosis)\b\.?"
    rf"[\"'*_)\]`]{{0,4}}(?:\s?\([^()\n]{{2,30}}\))?(?:{_LINK}[\"'*_`]{{0,4}}){{1,8}}"
    r"|\b(?:final\s|correct\s)?answer[\"'*_#:`]{0,6}(?=\n)"
    r"|\b(?:i|we|i'd|i'll|we'd|would|will)\s(?:\w{1,20}\s){0,2}"
    r"(?:choose|pick|select|go\swith|opt\sfor|say|answer|vote\sfor)\b"
    r"|\b(?:choose|choosing|chose|chosen|pick|picking|select|selecting|selected|going\swith|lean(?:ing)?\stowards?|"
    r"settle\son|favou?r)\b"
    r"|\b(?:correct|prediction|output|result|solution)(?:\s(?:one|option|choice))?[*_]{0,3}\s?:"
    r"|[【\[(](?:最终|正确)?答案[】\])]"
    r"|(?:正确|最终|最佳)?的?(?:答案|选项|诊断)(?:应该|应当|应)?(?:是|为|选择|选|[:=\s])+"
    r"|(?:故|应|应该|我|因此|所以|综上|正确)?选(?:择|项)?[:\s]?(?=[\"'(\[*]{0,4}[A-Za-z])"
)
DENIAL = (
    r"\b(?:not(?!\s(?:only|just)\b)|never|no(?!\s(?:doubt|question)\b)|neither|nor|without|rul(?:e|es|ed|ing)\sout|"
    r"exclud(?:e|es|ed|ing)|eliminat(?:e|es|ed|ing)|reject(?:s|ed|ing)?|rather\sthan|instead\sof|unlike(?:ly)?|"
    r"(?:as\s)?opposed\sto|other\sthan|except|cannot|incorrect|wrong|false)\b|n't\b|\bnon-|"
    r"而不是|并不是|并非|不是|不选|不属于|而非|排除|没有|❌|✗|✘"
)
CONTRAST = (
    r"\b(?:but|however|instead(?!\sof)|rather(?!\sthan)|yet|whereas|while|therefore|thus|hence|so|it's|it\sis|this\sis|"
    r"that\sis|making)\b|而是|应该是|因此|所以"
)
CANNOT = re.compile(r"\b(?:cannot|can't|can\snot|couldn't|could\snot)\s(?:be\s)?(?:\w{1,20}\s)?\Z", re.IGNORECASE)

# What may follow a mention and judges it.
_COPULA = (
    r"(?:(?:is|are|was|were|seems?|appears?|looks?|remains?|would\sbe|must\sbe|should\sbe|can\sbe|could\sbe)\s"
    r"(?:to\sbe\s)?)"
)
_CLOSERS = r"[\"'*)\]`_]{0,6}\s?(?:\([^()\n]{0,60}\)\s?)?(?:answer\s|option\s)?"
_VERDICT = rf"(?:[:=(-][*_\"'`]{{0,4}}\s?|{_COPULA})"  # "B: wrong", "B is wrong"
DENYING = re.compile(
    _CLOSERS + r"(?:"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|should|would|will)(?:\snot|n't)\b"
    r"(?!\s(?:only|just|be\s(?:\w{1,20}\s)?(?:ruled|excluded|eliminated)))"
    r"|cannot\b(?!\sbe\s(?:\w{1,20}\s)?(?:ruled|excluded|eliminated))"
    r"|" + _VERDICT + r"(?:\w{1,20}ly\s|also\s|both\s|then\s|the\s){0,2}"
    r"(?:wrong|incorrect|false|unlikely|impossible|ruled\sout|excluded|eliminated|inconsistent|implausible|less|least|"
    r"inappropriate|not\b|no\b)"
    r"|[:=(-]?\s?(?:❌|✗|✘)"
    r"|(?:选项|项)?(?:是|都是|为)?(?:错误|不正确|不对|错的|不符合|不是|被排除|可以排除|可排除))",
    re.IGNORECASE,
)
_GOOD = (
    r"(?:the\s(?:\w{1,20}\s){0,3}?(?:choice|option|one|diagnosis)|(?:the\s)?(?:\w{1,20}\s){0,2}?"
    r"(?:correct|best|true|accurate|answer|(?:most|more)\s(?:likely|appropriate|consistent|accurate|probable|suitable)|"
    r"right\b(?!\s\w)))\b"
)
AFFIRMING = re.compile(
    rf"{_CLOSERS}(?:{_VERDICT}{_GOOD}"
    r"|(?:\w{1,20}ly\s)?(?:fits|matches|describes|explains|represents)\s(?:\w{1,20}\s){0,3}?best\b"
    r"|best\s(?:fits|matches|describes|explains|represents|answers|corresponds)\b"
    r"|[:=(-]?\s?(?:✓|✔|✅|☑)"
    r"|(?:选项|项)?(?:是|为)?(?:最)?(?:正确|对的|合适|符合))",
    re.IGNORECASE,
)

# What may stand before a letter that means an option, brackets and mark-up left out (`mentions._before`).
OPENERS = " \"'*_`#>$\\([{<·•~"
QUOTING = frozenset("\"'*`([{<")
CLAUSE_STARTS = frozenset("\n.;:!?,)。、/&|=→】✓✔✅☑❌✗✘")
JOINING = frozenset({"and", "or", "nor"})
LABELLING = frozenset({"option", "choice", "answer", "letter"})
_CHOOSING = (
    "label is be are was choose choosing pick select selecting selected say with for therefore thus hence so not "
    "but either neither between both than of that think believe guess out exclude eliminate because since while "
    "whereas instead rather only as probably likely possibly presumably maybe perhaps definitely clearly it's "
    "that's leaves leaving matches fits to towards favor favour"
)
CHOOSING = LABELLING | frozenset(_CHOOSING.split())
LINE_START = re.compile(r"(?:\A|\n)[\s\"'*_`#>$\\(\[{<•·-]{0,8}\Z")
RIGHT = re.compile(
    r"[\"'*_`)\]}>$\\]{0,6}(?:\s?\Z|\s?[.,;:!?()\[\]}/&=\n。、|<]|\s?-+>?(?=\s)|\s?[→✓✔✅☑❌✗✘]|[\u4e00-\u9fff]"
    r"|\s(?:is|was|are|were|because|since|as|and|or|nor|but|would|could|can|cannot|can't|should|must|will|seems?|appears?|"
    r"looks?|rather|not|instead|based|due|given|which|likely|probably|has|have|does|doesn't|isn't|"
    r"(?:best\s)?(?:fits|matches|describes|represents|corresponds)|best\s(?:explains|answers)|therefore|over|than|here|if)\b)",
    re.IGNORECASE,
)
PUNCTUATION_RIGHT = re.compile(r"[\"'*_`)\]}>$\\]{0,6}(?:\s?\Z|\s?[.,;:!?)\]}\n。、])")
SEPARATED_RIGHT = re.compile(r"[)\].:]")

# What may stand between mentions of one group.
GAP = re.compile(
    r"[\"'*_`)\]}]{0,4}\s?(?P<link>,|/|&|\+|[.:=(\[-]|and|or|nor|as\swell\sas|及|和|、|或|)\s?(?P<then>and|or|nor)?\s?"
    r"(?:also\s|the\s|an?\s|both\s|option\s|choice\s|answer\s|letter\s|in\sthe\s|of\sthe\s){0,2}[\"'*_`(\[{]{0,4}",
    re.IGNORECASE,
)
SINGULAR_VERB = re.compile(r"[\"'*_`)\]}]{0,4}\s(?:is|was|has|does|shows|appears|seems|looks|remains)\b", re.IGNORECASE)
BODY_ENDS = re.compile(r"[\"'*_`)\]}]{0,4}(?:\s?\Z|[.,;:!?)\n。]|\s-\s)")
DIRECT = re.compile(
    r"[\s\"'*_`#:>$\\()\[\]{}<~.=-]{0,12}"
    r"(?:(?:the|an?|in|option|choice|letter|answer|most|likely|clearly|probably|definitely|that|选项|是|为)"
    r"[\s\"'*_`#:()\[\]{}]{0,6}){0,4}",
    re.IGNORECASE,
)
