"""Where a text states an option letter: its statements, and the letters it shows without one.

Emphasis, quotes, dollar signs and braces are blanked first, so that `**C**`, `\\(C\\)` and `\\text{C}` read alike. A
bare letter counts only before the end of a phrase ("C.", "C because", "C (mercury)"); before anything else it is the
beginning of a phrase or a formula ("A gas", "E > 0"). Every pattern is possessive or bounded: time is linear.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import NamedTuple

_SIGNS = str.maketrans(
    dict.fromkeys('*`$"“”{}~', " ")
    | dict(zip("（）［］：．，→⇒…", "()[]:.,::.", strict=True))
    | {chr(ord(letter) + 0xFEE0): letter for letter in "ABCDEFGHIJ"}  # of full width
)
_MARKUP = re.compile(
    r"\\[()\[\]]|\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathsf|boldsymbol|boxed|fbox)(?![A-Za-z])"
    r"|(?<!\w)['‘’]|['’](?!\w)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
)
_REASON = r"(?:because|since|as|and|but|for|due|based|which|with|where|rather|instead|not|here|given|so|in|by|from)\b"
_ENDS = (  # a letter is one by itself
    r"(?=\s*+(?:\Z|[,;:!?)\]](?!\w)|\.(?![A-Za-z0-9])|</|"
    rf"(?<=\s)[-–—]{{1,3}}\s+[A-Za-z]{{2}}|(?<=\s)\(|(?i:{_REASON}))|[ \t]*+\n)"
)
_HELD = r"[(\[]\s{0,9}(?P<held>[A-Ja-j])\s{0,9}[)\]](?!\w)(?!\s{0,9}[=^+>×·])"
_TARGET = rf"(?:{_HELD}|[(\[]?\s{{0,9}}(?P<bare>[A-J]){_ENDS})"
_ADVERB = r"(?:\s+(?:therefore|thus|hence|clearly|definitely|indeed|actually|likely|most|probably|simply))"
_VERB = (
    rf"(?:(?P<no>can(?:not|['’]t)\s+be|(?:is|was)(?:n['’]t|{_ADVERB}?\s+(?:not|never)\b)(?:\s+be\b)?)"
    rf"|(?:is|was|(?:would|must|should|will|has\s+to)\s+be){_ADVERB}*+|(?=[:=]))"
)
_WORDS = r"(?i:(?:the|correct|right|option|choice|answer|letter|is|should\s+be)\s+){0,5}+"  # before a letter
_NOUN = re.compile(r"\b(?:answer|ans|option|choice)\b", re.I)
_STATED = re.compile(  # after a noun
    rf"(?:\s+(?i:to|for)(?:\s+[a-z]{{1,9}}){{1,3}}?)?\s*+(?i:{_VERB})\s*+[:=]?\s*+{_WORDS}" + _TARGET
)
_HEADING = re.compile(r"[oOcC][a-zA-Z]{5}\s{0,9}[:=]")  # `option:` heads a list, unless something makes it the answer
_ANSWERS = re.compile(r"(?:(?:correct|right|best|final|my)\s{1,9}|(?:^|\n)[ \t]{0,9})\Z", re.I)
_IS_ONE = re.compile(r"\b(?:is|be)\s{1,9}(?:[a-z]{1,12}\s{1,9})?(?:the|correct|right)\b", re.I)
_FIRST = re.compile(
    r"(?:^|[.,;:!?\n]|\b(?i:option|choice|answer|letter|so|thus|hence|therefore|that))[ \t]*+"
    rf"(?:{_HELD}|(?P<bare>[A-J]))\s+(?i:is|must\s+be|would\s+be)(?i:{_ADVERB})?\s+"
    r"(?i:the\s+(?:correct\s+|right\s+|best\s+|final\s+)?(?:answer|option|choice|one)\b"
    r"|(?:the\s+)?(?:correct|right)(?=\s*(?:[.,;:!)\n]|\Z|(?:because|since|as|and|for)\b)))"
)
# the sentence ends with the letter
_STOP = r"(?=\s*+(?:\Z|[.!](?![A-Za-z0-9])|,\s{1,3}not\s{1,3}[(\[]?[A-J]\b)|[ \t]*+\n)"
_CUES = re.compile(
    r"\b(?:therefore|thus|hence|so|consequently|it|that|choose|select|pick|going\s+with|go\s+with|opt\s+for)\b", re.I
)
_WEAK = re.compile(
    r"(?:\b(?i:therefore|thus|hence|so|consequently)\s{0,3},?\s{0,3}(?i:(?:it\s+is|it['’]s)\s+)?"
    rf"|\b(?i:it|that)(?i:['’]s|\s+(?:is|must\s+be|has\s+to\s+be|should\s+be))(?i:{_ADVERB}){{0,2}}\s+"
    r"|\b(?i:choose|select|pick|go\s+with|going\s+with|opt\s+for)\s+)"
    rf"(?i:(?:option|choice|answer|letter)\s+)?(?:{_HELD}|(?P<bare>[A-HJ])){_STOP}"
)


def _instead(words: str) -> re.Pattern[str]:
    """Return the pattern of another letter that takes back the statement directly before it."""
    return re.compile(
        rf"[\s.?!,;:…)\]]{{0,12}}(?i:(?:{words})\b[\s,:]{{0,9}}){{1,3}}{_WORDS}"
        rf"(?:[(\[]\s{{0,9}}(?P<held>[A-Ja-j])\s{{0,9}}[)\]]|(?P<bare>[A-J])){_ENDS}"
    )


_CORRECTION = _instead(r"no|wait|sorry|correction|actually|i\s+mean|or\s+rather")
_CONTRAST = _instead(r"no|wait|sorry|actually|but|rather|it\s+is|it['’]s")
_TAGGED = re.compile(rf"<answer>\s*+(?i:(?:option|choice|letter)\s+)?(?:{_TARGET}|(?P<low>[a-j])\s*+</answer>)")
_BOXED = re.compile(rf"\s*+{_WORDS}:?\s*+(?:{_TARGET}|(?P<low>[a-j])\s*+\Z)")
_JOIN = (
    r"\s{0,9}(?:,\s{0,9})?(?:[;,/&]|\b(?:and/or|or|and|plus|then|(?:as\s+well\s+as|(?:al|t)\w+\s+with))\b)\s{0,9}"
    r"(?i:(?:maybe|perhaps|possibly|also|option)\s{1,9})?"
)
_PARENS = r"[(\[]\s{0,9}[A-J]\s{0,9}[)\]]"
_ALSO = r"(?=\s{1,9}(?:are|both|or|depending)\b|\s{0,9}[/&])"
_HEDGE = r"(?i:or|maybe|perhaps|possibly|alternatively|else|otherwise|might|may|could|also)\b"
_HEDGED = re.compile(
    rf"\s{{0,9}}[)\]]?[\s,;:(\[—–-]{{0,6}}(?:(?i:and|but|though|although|it|is|be)\s+){{0,3}}(?:{_HEDGE}[\s,]{{1,4}}"
    rf"(?:(?i:it|is|be|the|answer|option|choice|even|also|have|been|if)\s+){{0,5}}){{1,3}}[(\[]?\s?[A-J]\s?"
    rf"(?:[)\]]|{_ENDS}|(?=\s+(?i:could|might|may|is|would|too|if|when|depending)\b))"
    r"|\s{0,9}[)\]]?[\s,;:—–-]{1,6}(?i:and|but|though|although|while)\s+[(\[]?\s?[A-J]\s?[)\]]?\s+"
    r"(?i:could|may|might)\b"
    r"|\s{0,9}[)\]]?[\s,.;:(—–-]{1,6}(?i:(?:and|but|though|although|while)\s+)?[(\[]?\s?[A-J]\s?[)\]]?\s+"
    r"(?i:(?:(?:is|would\s+be|would|works?|fits?)\s+)?(?:also|equally|just\s+as|as\s+well|too)\b"
    r"(?!\s+(?:an?\s+|the\s+)?(?:wrong|incorrect|false|not|im\w+|in\w+|un\w+|eliminated|excluded|ruled|out|bad|far)\b))"
)
_VOIDED = re.compile(  # "(B), which is wrong"
    r"\s{0,9}[)\]]?[\s.,;:—–-]{0,6}(?:(?:but|and|which|that|this|it|however|answer|option|choice)[\s,]{1,3}){0,4}"
    r"(?:(?:is|was|seems|looks|turns\s+out\s+(?:to\s+be)?|would\s+be|must\s+be|['’]s)\s{1,3}"
    r"(?:(?:clearly|obviously|definitely|actually|of\s+course)\s+)?"
    r"(?:wrong|incorrect|false|impossible|invalid|(?:not\s+(?:the\s+)?(?:correct|right|true|answer|best|possible)))"
    r"|(?:isn['’]t|wasn['’]t|cannot\s+be|can['’]t\s+be)\s+(?:the\s+)?(?:correct|right|true|answer|best))"
    r"|\s{0,9}[)\]]?[\s.,;:—–-]{1,6}(?:no|nope|not\s+(?:really|quite)|just\s+kidding|wrong)\s{0,3}[.!,]",
    re.I,
)
_APART = re.compile(
    r"\b(?:not|than|instead|because|since|while|wrong|whereas|unlike|but|so|though)\b|[.!?]\s+[A-Z]", re.I
)
_NEXT = re.compile(r"[(\[]\s?([A-Ja-j])\s?[)\]]")
_MORE = re.compile(
    rf"\s{{0,9}}[)\]]?(?:{_JOIN}(?:{_PARENS}|[A-J](?!\w))(?:{_ENDS}|{_ALSO})|\s{{0,9}}{_PARENS}{_ENDS}|\s*\n\s*[A-J]\s*</)"
)
_PAIR = re.compile(rf"\s{{0,9}}[(\[]?[A-J][)\]]?{_JOIN}[(\[]?[A-J](?!\w)")
_TWO_BOXES = re.compile(r"\}\s*\$?\s*(?:or|and|and/or|,|/|&|;)?\s*\$?\s*\Z")

_CLAUSE = re.compile(r"[,;:.!?\n]|\b(?:so|thus|hence|therefore|but|then|because|and)\b", re.I)
_DOUBT = re.compile(
    r"n['’]t\b|\b(?:not|never|cannot|doubt\w*|unlikely|if|perhaps|maybe|possibly|might|suppos\w+|assum\w+|whether|unless|were|eliminat\w+|exclud\w+"
    r"|reject\w*|discard\w*|rul(?:e|ed|ing)\s+out|neither|nor|(?:false|untrue)\s+that"
    r"|some\s+(?:\w{1,12}\s+){0,2}(?:say|think|claim|argue|believe))\b|\b(?:wrong|incorrect|false|worst|tempting)\s+(?:answer|option|choice|\Z)",
    re.I,
)
_REJECTED = re.compile(
    r"\s{0,9}(?:(?:is|was|seems|looks|would\s+be|must\s+be)?\s{0,9}(?:n['’]t|not\b|wrong|incorrect|false|out\b|impossible"
    r"|eliminated|excluded|ruled|unlikely|invalid)|cannot|can['’]t|does(?:n['’]t|\s+not)|\?)",
    re.I,
)
_MARK = r"[ \t>#-]{0,30}+"  # what may precede an answer on its line
_LINE = re.compile(
    rf"^{_MARK}(?:\(\s{{0,9}}(?P<a>[A-J])\s{{0,9}}\)|(?P<b>[A-HJ])[ \t]{{0,9}}[.)](?!\w)|(?P<c>[A-J])[.)]?(?=[ \t]*+$)"
    r"|(?P<d>I)\)(?!\w))",
    re.M,
)
_INLINE = re.compile(r"(?<!\w)\(\s{0,9}([A-J])\s{0,9}\)(?!\w)(?!\s{0,9}[=^+>×·])")
_CUE = re.compile(r"\b(?:is|be|option|choice|choose|select|pick|so|thus|hence|therefore)\s+\Z", re.I)
_RIGHT = re.compile(r"\s{0,9}is\s+(?:the\s+)?(?:correct|right)\b", re.I)
_AROUND = 40  # characters around a sign
_ITEM = 80  # characters of an option in a list
_MOST = 400  # places that are looked at: the last statements; a text that shows more letters shows none


class Statement(NamedTuple):
    """A letter stated at a place of the text; "" where the statement names two. `denied`: that it is not the answer."""

    start: int
    letter: str
    denied: bool = False


def blank(text: str) -> str:
    """Return a text of the same length without markup."""
    return _MARKUP.sub(lambda found: " " * len(found[0]), text).translate(_SIGNS)


def statements(plain: str) -> list[Statement]:
    """Return the last statements of a blanked text, in its order."""
    stated: list[Statement] = []
    for noun in deque(_NOUN.finditer(plain), _MOST):
        found = _STATED.match(plain, noun.end())
        heading = _HEADING.match(plain, noun.start())
        if found and (not heading or _ANSWERS.search(plain, max(0, noun.start() - 20), noun.start())):
            stated += _with_correction(noun.start(), found, plain)
    for found in _near(_IS_ONE, _FIRST, plain):
        if not doubted(plain, found.start() + 1) and not _asked(found, plain):
            stated.append(Statement(found.start(), _one(found, plain)))
    stated += [Statement(found.start(), _one(found, plain)) for found in deque(_TAGGED.finditer(plain), _MOST)]
    return sorted(stated)


def weak_statements(plain: str) -> list[Statement]:
    """Return the letters that end a sentence like `Therefore, C.` or `It's B.`; if nothing is stated."""
    return [
        Statement(found.start(), _one(found, plain))
        for found in _near(_CUES, _WEAK, plain)
        if not doubted(plain, found.start()) and not doubted(plain, found.start("held" if found["held"] else "bare"))
    ]


def boxed(text: str, start: int, content: str) -> str | None:
    """Return the letter of a box that starts at a place of a text, "" if it names several, None if it names none."""
    plain = blank(content)
    found = _BOXED.match(plain)
    if found is None:
        return "" if _PAIR.match(plain) else None
    before = text[max(0, start - 20) : start]
    return "" if _TWO_BOXES.search(before) else _one(found, plain)


def shown(plain: str) -> str:
    """Return the only letter that a blanked text shows as its choice, "" if there is none or another one beside it."""
    lines, inline = (list(islice(pattern.finditer(plain), _MOST + 1)) for pattern in (_LINE, _INLINE))
    if len(lines) + len(inline) > _MOST:
        return ""
    chosen = {found[found.lastgroup or 0] for found in lines if not _REJECTED.match(plain, found.end())}
    others: set[str] = set()
    for found in inline:
        if not _REJECTED.match(plain, found.end()) and not doubted(plain, found.start()):
            cue = _CUE.search(plain, max(0, found.start() - 12), found.start()) or _RIGHT.match(plain, found.end())
            (chosen if cue else others).add(found[1])
    return chosen.pop() if len(chosen) == 1 and others <= chosen else ""


def doubted(plain: str, place: int) -> bool:
    """Return whether the clause before a place denies or only supposes what follows."""
    before = plain[max(0, place - 60) : place]
    ends = [found.end() for found in _CLAUSE.finditer(before)]
    return _DOUBT.search(before, ends[-1] if ends else 0) is not None


def denies(plain: str, place: int) -> bool:
    """Return whether the word just before a place denies what follows."""
    return re.search(r"\b(?:not|never)\s+\Z", plain[max(0, place - 12) : place], re.I) is not None


def _near(sign: re.Pattern[str], pattern: re.Pattern[str], plain: str) -> list[re.Match[str]]:
    """Return the matches of a pattern around the last places where its sign stands."""
    found: dict[int, re.Match[str]] = {}
    for place in deque(sign.finditer(plain), _MOST):
        for match in pattern.finditer(plain, max(0, place.start() - _AROUND), place.end() + _AROUND):
            found[match.start()] = match
    return [found[start] for start in sorted(found)]


def _with_correction(start: int, found: re.Match[str], plain: str) -> list[Statement]:
    """Return a statement, and the one that takes it back directly after ("A? No, B", "not A, it is B")."""
    denied = found["no"] is not None or _VOIDED.match(plain, found.end()) is not None
    void = doubted(plain, start) or _asked(found, plain)
    stated = [] if void else [Statement(start, _letter(found) if denied else _one(found, plain), denied)]
    other = (_CONTRAST if denied or void else _CORRECTION).match(plain, found.end())
    return stated if other is None else [*stated, Statement(other.start(), _letter(other))]


def _asked(found: re.Match[str], plain: str) -> bool:
    return re.match(r"\s{0,9}\?", plain[found.end() : found.end() + 10]) is not None


def _one(found: re.Match[str], plain: str) -> str:
    """Return the letter of a match, "" where another one is joined to it or it is a question."""
    more = any(pattern.match(plain, found.end()) for pattern in (_MORE, _HEDGED)) or _listed(found, plain)
    return "" if more or _asked(found, plain) else _letter(found)


def _listed(found: re.Match[str], plain: str) -> bool:
    """Return whether the next letter of the alphabet follows in brackets, as in a list of all options."""
    after = _NEXT.search(plain, found.end(), found.end() + _ITEM)
    letter = found.groupdict().get("held")
    if after is None or letter is None or ord(after[1]) != ord(letter) + 1:
        return False
    between = plain[found.end() : after.start()]
    return re.search(r"\w", between) is not None and _APART.search(between) is None


def _letter(found: re.Match[str]) -> str:
    groups = found.groupdict()
    return (groups.get("held") or groups.get("bare") or groups.get("low") or "").upper()
