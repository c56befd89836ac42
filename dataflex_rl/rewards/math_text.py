"""Answers of mathematics as text: spacing and fonts removed, exact numbers, units that are declared as such."""

from __future__ import annotations

import re
from fractions import Fraction

from dataflex_rl.rewards.notation import marked, tidy

MAX_TEXT = 2000  # characters; a longer answer is left as it is
_MAX_DIGITS = 60  # of a number that is compared exactly here
_SPACING = re.compile(r"(?:\\[,;:! ]|\\(?:q?quad|thinspace|left|right|displaystyle)(?![A-Za-z])|[\s~$])+")
_FONT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|textrm|textit|mbox|operatorname)\{([^{}]*)\}")
_SUBSCRIPT = re.compile(r"_\{(\w)\}(?!\w)")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_FRACTION = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d+(?= \d|\\) ?)?"
    r"(?:\\frac(?:\{(?P<top>[+-]?\d+)\}|(?P<t>\d))(?:\{(?P<bottom>\d+)\}|(?P<b>\d))|(?P<a>\d+)/(?P<c>\d+))"
)
_POWER = r"(?:\{(?P<braced>[+-]?\d{1,3})\}|\((?P<held>[+-]?\d{1,3})\)|(?P<digit>\d(?!\d)|-\d{1,3}))"
_SCIENTIFIC = re.compile(
    rf"(?P<factor>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:(?:\\times|\\cdot|\*)10\^{_POWER}|[eE](?P<e>[+-]?\d{{1,3}}))"
    rf"|(?P<sign>[+-]?)10\^{_POWER.replace('?P<', '?P<own_')}"
)
_SIGN = re.compile(r"(?<=[\d}])(?:\\?%|\\circ|\^\\circ|\^\{\\circ\}|\\degree)$")
_PERCENT = re.compile(r"(?:%|(?:percent(?:age)?|pct)\W*)$", re.I)
_UNIT = re.compile(
    r"(?P<unit>(?:(?:[\s~/]|\\[,;: ]|\\cdot)*\\(?:text|textrm|textbf|textit|mbox|mathrm)\{[^{}]*\}"
    r"(?:\^(?:\{-?\d\}|\d))?)+)(?:[\s.]|\\[,;: ])*$"
)
_PLAIN_UNIT = re.compile(r"(?<=[\d}])\s+(?P<unit>[A-Za-z]{3,}(?:\s[A-Za-z]{3,}){0,2})[\s.]*$")
_SYMBOL_UNIT = re.compile(
    r"(?<=[\d}])\s*(?P<unit>(?:k?m|cm|ft)/(?:s|h|hr|min)(?:\^\{?2\}?)?|[kcm]m|k?g/mol|k?Pa|[km]g|m[lL]|k?Hz|[kM]?eV|k[JWN]|mph)"
    r"(?P<power>\^(?:\{[23]\}|[23]))?[\s.]*$"
)
_COUNT = re.compile(r"(?<!\^)(?<!\^\{)(?<!\^\{-)\d|[?,;=<>]")
_DEGREE = re.compile(r"(?<=[\d}])\s*(?:\^\s*\\circ)\s*$")
_NO_UNIT = re.compile(  # what changes or denies a number, or makes a sentence of it
    r"\b(?:is|isn|are|was|be|not|no|nor|or|and|but|if|then|than|else|wrong|false|incorrect|true|correct|at|most|least"
    r"|about|approx\w*|roughly|nearly|almost|around|more|less|over|under|up|down|to|from|by|of|between|through|versus|vs"
    r"|times|plus|minus|divided|half|halves|double|twice|quarter|dozens?|tens|hundreds?|thousands?|millions?|billions?"
    r"|trillions?|bn|lakhs?|crores?|(?:third|(?:four|fif|six|seven|eigh|nin|ten|hundred|thousand|million)th)s?"
    r"|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)(?!-)"
    r"|mod|modulo|pi|tau|phi|theta|alpha|beta|gamma|delta|lambda|mu|rho|sigma|omega|sqrt|root|sin|cos|tan|log|ln|exp"
    r"|inf|infinity|prime|factorial|choose|inverse|squared|cubed|for|when|where|with|base|remainder|maybe|perhaps"
    r"|possibly|probably|alternatively|either|neither|unless|never|except|i|e|(?-i:[knqxyz]))\b",
    re.I,
)


def squeeze(text: str) -> str:
    """Return an answer without spacing and fonts; a space stays between two digits, for "1 2" is not 12."""
    if len(text) > MAX_TEXT:
        return text
    text = _FONT.sub(r"\1", tidy(text))
    text = _SPACING.sub(_space, text).rstrip(".")
    text = _SUBSCRIPT.sub(r"_\1", text)
    return text.casefold() if text.isalpha() else text


def _space(run: re.Match[str]) -> str:
    before, after = run.string[: run.start()][-1:], run.string[run.end() : run.end() + 1]
    return " " if before.isdigit() and after.isdigit() and run[0] != "\\!" else ""


def normalize(text: str) -> str:
    """Return a squeezed answer without the thousands separators of one number and without a trailing unit sign."""
    if len(text) > MAX_TEXT:
        return text
    return merge_thousands(_SIGN.sub("", squeeze(text)))


def without_sign(text: str) -> str:
    """Return a tidy answer without a trailing degree or percent sign, its spacing kept, its primes part of names."""
    return marked(_SIGN.sub("", tidy(text).rstrip(". ")))


def merge_thousands(text: str) -> str:
    """Return a text without thousands separators; within brackets a comma always separates two items."""
    if any(bracket in text for bracket in ("(", "[", "\\{")):
        return text
    return _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)


def as_number(text: str) -> Fraction | None:
    """Return the exact value of a normalised integer, decimal, plain or mixed fraction, None for anything else."""
    if len(text) > _MAX_DIGITS or not text.isascii():
        return None
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    found = _FRACTION.fullmatch(text)
    if found is None:
        return None
    top, bottom = int(found["top"] or found["t"] or found["a"]), int(found["bottom"] or found["b"] or found["c"])
    if bottom == 0 or (found["whole"] and not 0 <= top < bottom):
        return None
    value = int(found["whole"] or 0) + Fraction(top, bottom)
    return -value if found["sign"] == "-" else value


def as_scientific(text: str) -> Fraction | None:
    """Return the exact value of `6.6\\times10^{-34}`, `10^{-9}` or `4.5e33`, squeezed; None for anything else."""
    found = _SCIENTIFIC.fullmatch(text) if len(text) <= _MAX_DIGITS and text.isascii() else None
    if found is None:
        return None
    names = ("braced", "held", "digit", "e", "own_braced", "own_held", "own_digit")
    power = next(found[name] for name in names if found[name])
    return Fraction(found["factor"] or f"{found['sign']}1") * Fraction(10) ** int(power)


def is_percent(text: str) -> bool:
    """Return whether a percent sign, or the word, ends an answer."""
    return _PERCENT.search(squeeze(text)) is not None


def split_unit(text: str) -> tuple[str, str]:
    """Return a tidy answer without the unit that ends it, and that unit, "" if there is none.

    A unit is declared as one: up to six words and signs in a text font after anything, a word of three letters or a
    symbol of several after a number, or `^\\circ`. A letter is an unknown.
    Words that change or deny the number are no units ("is wrong", "million"), nor is what has a digit.
    """
    text = tidy(text)
    if _DEGREE.search(text):
        return _DEGREE.sub("", text), "degree"
    for pattern in (_UNIT, _PLAIN_UNIT, _SYMBOL_UNIT):
        found = pattern.search(text)
        if found is not None and text[: found.start()].strip():
            unit = _SPACING.sub(" ", _FONT.sub(r" \1 ", found["unit"] + (found.groupdict().get("power") or "")))
            if len(unit.split()) <= 6 and not _NO_UNIT.search(unit) and not _COUNT.search(unit):
                return text[: found.start()].strip(), _plain_unit(unit)
            return text, ""
    return text, ""


def _plain_unit(unit: str) -> str:
    """Return a unit as it is compared: long words in small letters and without the plural's s."""
    words = re.findall(r"[A-Za-z]+|[^A-Za-z\s~\\,;:.{}]+", unit.replace("\\cdot", ""))
    return " ".join(word if len(word) < 4 else word.casefold().removesuffix("s") for word in words)
