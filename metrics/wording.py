"""The words by which answers announce, deny, affirm and join options. Every quantifier over text is bounded."""

import re

_LINK = (
    r"(?:\s?(?:[:=]|-+>|→|=>)|\s-(?=\s)|"
    r"\s(?:is|was|are|would|should|must|will|has|seems|appears|to|be|most|likely|probably|clearly|definitely|"
    r"therefore|thus|option|choice|letter)\b)"
)
MARKER = (
    r"\b(?:final\s|correct\s|best\s)?(?:answer|ans|response|choice|option|selection|conclusion|diagnosis)\b\.?"
    rf"[\"'*_)\]`]{{0,4}}(?:\s?\([^()\n]{{0,30}}\))?(?:{_LINK}[\"'*_`]{{0,4}}){{1,8}}"
    r"|\b(?:final\s|correct\s)?answer[\"'*_#:`]{0,6}(?=\n)"
    r"|\b(?:i|we|i'd|i'll|we'd|would|will)\s(?:\w+\s){0,2}(?:choose|pick|select|go\swith|opt\sfor|say|answer|vote\sfor)\b"
    r"|\b(?:choose|choosing|pick|picking|select|selecting|going\swith|selected|chose|chosen)\b"
    r"|(?:正确|最终|最佳)?的?(?:答案|选项|诊断)(?:应该|应当|应)?(?:是|为|选择|选|[:=\s])+"
    r"|(?:故|应|应该|我|因此|所以|综上|正确)?选(?:择|项)?[:\s]?(?=[\"'(\[*]{0,4}[A-Za-z])"
)
DENIAL = (
    r"\b(?:not(?!\s(?:only|just)\b)|never|no(?!\s(?:doubt|question)\b)|neither|nor|without|rul(?:e|es|ed|ing)\sout|"
    r"exclud(?:e|es|ed|ing)|eliminat(?:e|es|ed|ing)|reject(?:s|ed|ing)?|rather\sthan|instead\sof|unlike(?:ly)?|"
    r"(?:as\s)?opposed\sto|other\sthan|except|cannot|incorrect|wrong|false)\b|n't\b|"
    r"而不是|并不是|并非|不是|不选|不属于|而非|排除|没有|❌|✗|✘"
)
CONTRAST = (
    r"\b(?:but|however|instead(?!\sof)|rather(?!\sthan)|yet|whereas|while|therefore|thus|hence|so|it's|it\sis|this\sis|"
    r"that\sis|making)\b|而是|应该是|因此|所以"
)
CANNOT = re.compile(r"\b(?:cannot|can't|can\snot|couldn't|could\snot)\s(?:be\s)?(?:\w+\s)?\Z", re.IGNORECASE)

# What may follow a mention and judges it.
_COPULA = (
    r"(?:(?:is|are|was|were|seems?|appears?|looks?|remains?|would\sbe|must\sbe|should\sbe|can\sbe|could\sbe)\s"
    r"(?:to\sbe\s)?)"
)
_CLOSERS = r"[\"'*)\]`_]{0,6}\s?(?:\([^()\n]{0,60}\)\s?)?(?:answer\s|option\s)?"
DENYING = re.compile(
    _CLOSERS + r"(?:"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|should|would|will)(?:\snot|n't)\b"
    r"(?!\s(?:only|just|be\s(?:\w+\s)?(?:ruled|excluded|eliminated)))"
    r"|cannot\b(?!\sbe\s(?:\w+\s)?(?:ruled|excluded|eliminated))"
    rf"|(?:[:=(-]\s?|{_COPULA})(?:\w+ly\s|also\s|both\s|then\s|the\s){{0,2}}(?:wrong|incorrect|false|unlikely|impossible|"
    r"ruled\sout|excluded|eliminated|inconsistent|implausible|less\slikely|inappropriate|not\b|no\b)"
    r"|[:=(-]?\s?(?:❌|✗|✘)"
    r"|(?:选项|项)?(?:是|都是|为)?(?:错误|不正确|不对|错的|不符合|不是|被排除|可以排除|可排除))",
    re.IGNORECASE,
)
AFFIRMING = re.compile(
    _CLOSERS + r"(?:"
    rf"(?:[:=(-]\s?|{_COPULA})(?:the\s)?(?:\w+\s){{0,2}}?(?:correct|best|true|accurate|answer|most\s(?:likely|appropriate|"
    r"consistent|accurate|probable|suitable)|right\b(?!\s\w))\b"
    r"|(?:\w+ly\s)?(?:fits|matches|describes|explains|represents)\s(?:\w+\s){0,3}?best\b"
    r"|best\s(?:fits|matches|describes|explains|represents|answers|corresponds)\b"
    r"|[:=(-]?\s?(?:✓|✔|✅|☑)"
    r"|(?:选项|项)?(?:是|为)?(?:最)?(?:正确|对的|合适|符合))",
    re.IGNORECASE,
)

# Where a letter stands for an option. Left: the start of a line or clause, a choosing word or a bracket.
LEFT = re.compile(
    r"(?:\A|[\n.;:!?,。、/&|=(\[{<\"'*_`#>$\\•·]|-+>|→|\s-|\A-|\n-|[\u4e00-\u9fff])\s?\Z"
    r"|\b(?:option|choice|answer|letter|label|is|be|are|was|choose|choosing|pick|select|selecting|selected|say|with|for|"
    r"therefore|thus|hence|so|not|but|either|neither|between|both|than|of|that|think|believe|out|exclude|eliminate|"
    r"'s|because|since|while|whereas|instead|rather|hence|only|as)\s[\"'*(\[`]{0,4}\Z",
    re.IGNORECASE,
)
STRONG_LEFT = re.compile(
    r"(?:\b(?:option|choice|answer|letter)\s|选项\s?|[(\[{<*`\"'])[\"'*(\[`]{0,4}\Z", re.IGNORECASE
)
LINE_START = re.compile(r"(?:\A|\n)[\s\"'*_`#>$\\(\[{<•·-]{0,8}\Z")
JOINED_LEFT = re.compile(r"(?:\b(?:and|or|nor)\s|[&/])[\"'*(\[`]{0,4}\Z", re.IGNORECASE)
RIGHT = re.compile(
    r"[\"'*_`)\]}>$\\]{0,6}(?:\s?\Z|\s?[.,;:!?()\[\]}/&=\n。、|<]|\s?-+>?(?=\s)|\s?→|[\u4e00-\u9fff]"
    r"|\s(?:is|was|are|were|because|since|as|and|or|nor|but|would|could|can|cannot|can't|should|must|will|seems?|appears?|"
    r"looks?|rather|not|instead|based|due|given|which|has|have|does|doesn't|isn't|best\s(?:fits|matches|describes|explains|"
    r"represents|answers|corresponds)|fits|matches|describes|represents|corresponds|therefore|over|than|here|if)\b)",
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
BODY_ENDS = re.compile(r"[\"'*_`)\]}]{0,4}(?:\s?\Z|[.,;:!?)\n。])")
DIRECT = re.compile(
    r"[\s\"'*_`#:>$\\()\[\]{}<~.=-]{0,12}(?:(?:the|an?|in|option|choice|letter|answer|most|likely|clearly|probably|definitely|that|"
    r"选项|是|为)[\s\"'*_`#:()\[\]{}]{0,6}){0,4}",
    re.IGNORECASE,
)
