"""Which roles a final answer states: `Ann is a knight`, `Bob: knave`, `Ann and Bob are liars`, `Knights: Ann, Bob`.

A person has a role only if nothing but a copula stands between the two ("is a", "must be the", ":"), perhaps with one
"not". Who is given both roles has none, unless a word between takes the first one back ("No: Ann is a knight").
Anything else ("might be", "says that Bob is", "the opposite of a knight") states nothing, nor does the rest of a
sentence after "if", "suppose", "says", "either" and the like.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

KNIGHT = r"knights?|truth[-\s]?tellers?"
ROLE = rf"(?:{KNIGHT}|knaves?|liars?)"
_NOT = r"(?:\b(?:not|never|no|cannot|can\s+not|cant|isnt|arent)\b|\bnon\b|\b(?:is|are|ca)n[’']t\b)"
_SKIP = re.compile(r"(?:[\s,&*_:|\-]|\band\b|\bnor\b|\bboth\b|\bof\b)*", re.I)  # between names that share a role
_COPULA = re.compile(
    r"(?:[\s,*_:=|(\"“'’`\-–—>→&$~]|\\[a-z]+\{|\b(?:is|are|was|be|s|must|has|have|to|an?|the|both|all|each|role|a|of"
    r"|indeed|therefore|thus|hence|then|so|also|clearly|definitely|certainly|surely|necessarily|obviously|truly|actually"
    r"|turns?|out|who|only|one)\b)*",
    re.I,
)
_LONGEST = 80  # characters between a name and its role
_HEADS = re.compile(r"[\s*]{0,6}(?:(?P<colon>[:=])|is\b|are\b)", re.I)  # after a role: the names that have it follow
_OWN_ROLE = re.compile(r"[ \t*_]{0,6}(?:[:=(|→–—-]|is\b|are\b|isn|aren|cannot\b|must\b|has\b)", re.I)  # after a name
_DENIED = re.compile(
    r"[\s*_]{0,4}(?:\?|(?:[:=(]|\bis\b|would\s+be\b|→|->)[\s*_]{0,4}(?:false|untrue|wrong|incorrect|impossible"
    rf"|not(?!\s+(?:an?\s+|the\s+)?{ROLE})"
    r"|no(?=\s{0,4}(?:[.,;)\n]|$)))(?!\w))",
    re.I,
)
_NOBODY = re.compile(r"\b(?:neither(?:\s+of)?|none\s+of)[\s:*]{0,6}\Z", re.I)
_UNSURE = (  # the rest of the sentence states nothing
    r"\b(?:if|suppos\w+|assum\w+|unless|when|whether|either|maybe|perhaps|possibly|probably|might|may|could|would|were"
    r"|say|says|said|saying|claim\w*|think\w*|believ\w*|accus\w*|false|untrue|wrong|impossible|opposite|unlikely|none"
    r"|neither|nobody|xor|iff|guess\w*)\b"
)
_OR = r"\bor\b|\bwith\s+probability\b|(?<!\d)\d{1,2}\s?%"  # what was stated just before is not certain
_SWAPPED = (  # nor anything that was stated
    r"\b(?:or\s+)?vice\s+versa\b|\bother\s+way\s+a?round\b|\bor\s+(?:conversely|(?:the\s+)?(?:exact\s+)?(?:reverse|opposite))\b"
    r"|\b(?:reverse|opposite)\s+(?:holds|is\s+(?:true|the\s+case|right|correct))\b"
)
_EVERYONE = r"\b(?:every(?:one|body)|all(?:\s+of\s+them)?)\s+(?:is|are)\b"
_BOTH = r"|\b(?:both(?:\s+of\s+them)?\s+are|they\s+(?:are\s+both|both\s+are))\b"  # of two people


_ALIKE = str.maketrans({"\u0131": "i", "\u0130": "I", "\u212a": "K", "\u017f": "s"})
_CORRECTION = r"\b(?:no\b(?=\s{0,4}[:,.;!—–-])|(?:wait|actually|correction|sorry|oops|i\s+mean|second\s+thoughts?)\b)"
_GRAMMAR = re.compile(  # words that a person may be called as well: such a name is read in its own case alone
    rf"\w|{ROLE}|an|the|no|not|nor|or|and|both|all|each|only|may|might|will|is|are|was|be|has|true|false|role|answer",
    re.I,
)
_CALLED = (
    r"(?=[\s*_)]{0,4}(?:[:=(|,→–—-]|(?:is|are|isn|aren|was|must|has|cannot|and|nor)\b))"  # after a name like a role
)


@lru_cache(maxsize=1024)
def tokens(people: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of everything that matters in a final answer about these people."""
    article = r"[\s*_]{0,4}(?:\b(?:an?|the)\b[\s*_]{0,4})?"
    space = r"\s{0,9}"
    return re.compile(
        rf"(?P<either>\b{ROLE}\b{space}(?:,?{space}\b(?:or|and)\b|[/|&,–-]){space}(?:also\s{{1,9}})?(?:an?\s{{1,9}})?{ROLE}\b"
        rf"(?!{space}(?:[:=]|is\b|are\b)))"
        rf"|(?P<other>{_NOT}(?:\s+be\b)?[\s*_-]{{0,4}}{article}{ROLE}\b)"
        rf"|(?P<aside>\b(?:rather\s+than|instead\s+of)\s+{article}{ROLE}\b)"
        rf"|(?P<everyone>(?:{_EVERYONE}{_BOTH if len(people) == 2 else ''})(?={article}{ROLE}\b))"
        rf"|(?P<likewise>\b(?:so|as)\s+(?:is|are)\s+(?={names(people)}))|(?P<swapped>{_SWAPPED})"
        rf"|(?P<name>{names(people)})|(?P<role>\b{ROLE}\b)|(?P<correction>{_CORRECTION})"
        rf"|(?P<or>{_OR})|(?P<unsure>\b(?:neither(?:\s+of)?|none\s+of)[\s:*]{{0,6}}(?={names(people)})|{_UNSURE})"
        rf"|(?P<negation>\b(?:not|never|cannot)\b|n[’']t\b)|(?P<end>(?<!\d)[.;!?](?=\s|$)|\}})|(?P<line>\n)|(?P<comma>,)",
        re.I,
    )


@lru_cache(maxsize=1024)
def names(people: tuple[str, ...]) -> str:
    """Return the pattern of these people's names, a longer one before one within it."""
    ordered = sorted((fold(name) for name in people), key=len, reverse=True)
    return r"(?<!\w)(?:" + "|".join(map(_name_pattern, ordered)) + r")(?!\w)"


def _name_pattern(name: str) -> str:
    pattern = re.escape(name).replace(r"\ ", r"\s+")
    if not _GRAMMAR.fullmatch(name):
        return pattern
    role_like = re.fullmatch(ROLE, name, re.I) is not None
    return rf"(?-i:(?<!\ba )(?<!\bthe ){pattern})(?!\w)" + (_CALLED if role_like else rf"(?!\s+{ROLE}\b)")


def fold(text: str) -> str:
    """Return a text in which letters that a pattern takes for i, k and s in either case (Turkish, Kelvin) are those."""
    return text.translate(_ALIKE)


class Reader:
    """Reads one final answer, token by token; `stated` is the role of each person that nothing contradicts."""

    def __init__(self, text: str, people: Sequence[str]) -> None:
        self.text = fold(text)
        self.people = {_key(name): name for name in people}
        self.pattern = tokens(tuple(people))
        self.stated: dict[str, str] = {}
        self.contradicted: set[str] = set()
        self.replaceable: set[str] = set()  # stated before a word that takes back
        self.skipped = ""  # "clause" or "sentence": what is not read
        self._end_sentence()

    def read(self) -> dict[str, str]:
        """Return {person: "knight" or "knave"}."""
        for found in self.pattern.finditer(self.text):
            kind = found.lastgroup or ""
            if kind == "end":
                self._end_sentence()
            elif kind == "line" or (kind == "comma" and self.skipped == "clause"):
                self.skipped = ""
            elif kind != "comma" and not self.skipped:
                getattr(self, f"_{kind}")(found)
        return {name: given for name, given in self.stated.items() if name not in self.contradicted}

    def _state(self, people: Sequence[str], given: str) -> None:
        """Note a role; another one than before is a contradiction, unless a word between takes back what was said."""
        for name in people:
            if name in self.replaceable:
                self.replaceable.discard(name)
                self.contradicted.discard(name)
            elif self.stated.get(name, given) != given:
                self.contradicted.add(name)
            self.stated[name] = given

    def _correction(self, found: re.Match[str]) -> None:
        self.replaceable = set(self.stated)

    def _end_sentence(self) -> None:
        self.waiting: list[str] = []  # named, role still to come
        self.given: list[str] = []  # who was given the last role
        self.last_end = 0  # of the last name that waits
        self.heading = ""  # `Knights:`, names still to come
        self.last_role = ""  # that `so is Bob` repeats
        self.nobody = False  # `neither Ann nor Bob`
        self.skipped = ""

    def _name(self, found: re.Match[str]) -> None:
        name = self.people.get(_key(found[0]))
        if name is None:
            return
        if self.heading and not _OWN_ROLE.match(self.text, found.end()):
            self._state([name], self.heading)
            return
        self.heading = ""
        joined = bool(self.waiting) and _SKIP.fullmatch(self.text, self.last_end, found.start()) is not None
        self.waiting = [*self.waiting, name] if joined else [name]
        if not joined:
            before = self.text[max(0, found.start() - 20) : found.start()]
            self.nobody = _NOBODY.search(before) is not None
        self.last_end = found.end()

    def _role(self, found: re.Match[str], *, negated: bool = False) -> None:
        heads = _HEADS.match(self.text, found.end())
        denied = _DENIED.match(self.text, found.end())
        if heads and not denied and not negated and not (heads["colon"] and self.waiting):
            self.waiting, self.heading = [], role(found[0], negated=False)
            return
        self.heading = ""
        if denied:
            self._drop(self.waiting)
        elif self.waiting and self._has_copula(found) and not (negated and self.nobody):
            self.last_role = role(found[0], negated=negated or self.nobody)
            self._state(self.waiting, self.last_role)
        self.given, self.waiting, self.nobody = self.waiting, [], False

    def _everyone(self, found: re.Match[str]) -> None:
        if not self.waiting:
            self.waiting, self.last_end, self.heading = list(self.people.values()), found.end(), ""

    def _likewise(self, found: re.Match[str]) -> None:
        self.heading = self.last_role

    def _swapped(self, found: re.Match[str]) -> None:
        self.contradicted |= set(self.stated)

    def _other(self, found: re.Match[str]) -> None:
        if self.waiting:
            self._role(found, negated=True)

    def _aside(self, found: re.Match[str]) -> None:
        return

    def _either(self, found: re.Match[str]) -> None:
        self._drop(self.waiting)
        self.waiting, self.heading = [], ""

    def _or(self, found: re.Match[str]) -> None:
        self._drop(self.given)
        self.skipped = "sentence"

    def _unsure(self, found: re.Match[str]) -> None:
        if not _NOBODY.search(found[0]) or not re.match(r"\w", self.text[found.end() : found.end() + 1]):
            self.skipped = "sentence"

    def _negation(self, found: re.Match[str]) -> None:
        self.waiting, self.skipped = [], "clause"

    def _drop(self, people: Sequence[str]) -> None:
        for name in people:
            self.stated.pop(name, None)

    def _has_copula(self, found: re.Match[str]) -> bool:
        start = found.start()
        return start - self.last_end <= _LONGEST and _COPULA.fullmatch(self.text, self.last_end, start) is not None


def role(word: str, *, negated: bool) -> str:
    """Return the role that ends a text, or the other one."""
    knight = re.search(rf"\b(?:{KNIGHT})\Z", word, re.I) is not None
    return "knight" if knight != negated else "knave"


def _key(name: str) -> str:
    return re.sub(r"\s+", " ", fold(name)).casefold()
