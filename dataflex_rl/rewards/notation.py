"""The notations of mathematics that mean the same, in one table: Unicode signs, spellings of commands, numbers.

`tidy` writes an answer in plain LaTeX: `x²` is `x^{2}`, `√2` is `\\sqrt{2}`, `x ≤ 3` is `x \\le 3`, `\\frac 1 2` is
`\\frac{1}{2}`, `11,\\! 111` is `11111`, `0.\\overline{3}` is `\\frac{1}{3}`. It changes no meaning: what it does
not know stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from dataflex_rl.rewards.boxed import closing_brace

_SIGNS = {  # one character -> LaTeX
    **dict.fromkeys("\u2212\u2013\u2010\u2011\ufe63\uff0d", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2007\u3000", " "),
    **dict.fromkeys("\u2009\u202f\u2006\u2008\u200a", "\\,"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u2061\u2062", ""),
    **dict.fromkeys("\u00b7\u22c5\u2219\u2022", "\\cdot "),
    **dict.fromkeys("\u2217\uff0a", "*"),
    **dict.fromkeys("\u2223\uff5c", "|"),
    **dict.fromkeys("\u2018\u2019\u2032\u02b9", "'"),
    "\u2033": "''",
    "\u2034": "'''",
    **dict.fromkeys("\u2264\u2a7d\u2266", "\\le "),
    **dict.fromkeys("\u2265\u2a7e\u2267", "\\ge "),
    **dict.fromkeys("\u2044\u2215\uff0f", "/"),
    **dict.fromkeys("\u2248\u2243\u2245\u2250", "\\approx "),
    "\uff0b": "+",
    "\uff1d": "=",
    "\uff1c": "<",
    "\uff1e": ">",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0c": ",",
    "\u00d7": "\\times ",
    "\u00f7": "\\div ",
    "\u00b1": "\\pm ",
    "\u2213": "\\mp ",
    "\u2260": "\\ne ",
    "\u221e": "\\infty ",
    "\u00b0": "^\\circ",
    "\u2205": "\\emptyset ",
    "\u00d8": "\\emptyset ",
    "\u2208": "\\in ",
    "\u2209": "\\notin ",
    "\u222a": "\\cup ",
    "\u2229": "\\cap ",
    "\u2216": "\\setminus ",
    "\u2228": "\\vee ",
    "\u2227": "\\wedge ",
    "\u2192": "\\to ",
    "\u2261": "\\equiv ",
    "\u2220": "\\angle ",
    "\u230a": "\\lfloor ",
    "\u230b": "\\rfloor ",
    "\u2308": "\\lceil ",
    "\u2309": "\\rceil ",
    "\u2211": "\\sum ",
    "\u220f": "\\prod ",
    "\u222b": "\\int ",
    "\u2202": "\\partial ",
    "\u2206": "\\Delta ",
    "\u211d": "\\mathbb{R}",
    "\u2124": "\\mathbb{Z}",
    "\u2115": "\\mathbb{N}",
    "\u211a": "\\mathbb{Q}",
    "\u2102": "\\mathbb{C}",
    "\u2026": "\\ldots ",
    "\u00a2": "\\text{ cents}",
    "\u03f5": "\\epsilon ",
    "\u03d5": "\\phi ",
    "\u00b5": "\\mu ",
    **dict.fromkeys("\u20ac\u00a3\u00a5", ""),
}
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    " nu xi o pi rho sigma sigma tau upsilon phi chi psi omega"
)
_SIGNS |= {chr(0x3B1 + place): f"\\{name} " for place, name in enumerate(_GREEK.split()) if name != "o"}
_SIGNS |= {
    unicodedata.lookup(f"GREEK CAPITAL LETTER {name.replace('lambda', 'lamda').upper()}"): f"\\{name.capitalize()} "
    for name in ("gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "phi", "psi", "omega")
}
_CHARACTERS = str.maketrans(_SIGNS)
_HIGH = dict(
    zip(
        "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207d\u207e\u207f\u2071\u02e3",
        "0123456789+-()nix",
        strict=True,
    )
)
_LOW = dict(
    zip(
        "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u208a\u208b\u2099\u2093\u1d62\u2096",
        "0123456789+-nxik",
        strict=True,
    )
)
_HIGH_RUN = re.compile(f"[{''.join(_HIGH)}]+")
_LOW_RUN = re.compile(f"[{''.join(_LOW)}]+")
_ROOT = re.compile(r"(\d*)([\u221a\u221b\u221c])\s*(\d+(?:\.\d+)?|\\[A-Za-z]+|[A-Za-z]|(?=[({]))")
_ROOT_INDEX = {"\u221a": "", "\u221b": "[3]", "\u221c": "[4]"}
_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e]")
_SPELLINGS = tuple(  # (pattern, LaTeX); the order counts
    (re.compile(pattern, re.DOTALL), latex)
    for pattern, latex in (
        (r"\\(?:left|right|[bB]ig{1,2}[lrm]?)(?![A-Za-z])\s*(?:\.(?=\s*(?:\\|$)))?", ""),
        (r"\\(?:displaystyle|textstyle|limits|nolimits)(?![A-Za-z])", " "),
        (r"\\(?:thinspace|enspace|thickspace|medspace)(?![A-Za-z])", "\\\\,"),
        (
            r"[\[(]\s*\\begin\s*\{array\}\s*\{[clr|\s]*\}((?:(?!\\end).)*)\\end\s*\{array\}\s*[\])]",
            r"\\begin{pmatrix}\1\\end{pmatrix}",
        ),
        (r"\\[dtc]frac(?![A-Za-z])", r"\\frac"),
        (r"\\[dt]binom(?![A-Za-z])", r"\\binom"),
        (r"\\(?:leqslant|leqq|leq)(?![A-Za-z])|\\not\s*>|=<|<=", r"\\le "),
        (r"\\(?:geqslant|geqq|geq)(?![A-Za-z])|\\not\s*<|>=", r"\\ge "),
        (r"\\neq(?![A-Za-z])|\\not\s*=|!=|<>", r"\\ne "),
        (r"\\lt(?![A-Za-z])", "<"),
        (r"\\gt(?![A-Za-z])", ">"),
        (r"\\(?:simeq|doteq|approxeq|thickapprox|cong)(?![A-Za-z])", r"\\approx "),
        (r"\\not\s*\\in(?![A-Za-z])", r"\\notin "),
        (r"\\in(?![A-Za-z])\s*", r"\\in "),
        (r"\\(?:varnothing|O)(?![A-Za-z])|\\\{\s*\\\}|\\lbrace\s*\\rbrace", r"\\emptyset "),
        (r"\\lbrace(?![A-Za-z])", r"\\{"),
        (r"\\rbrace(?![A-Za-z])", r"\\}"),
        (r"\\(?:lvert|rvert|vert|mid)(?![A-Za-z])", "|"),
        (r"\\(?:backslash|smallsetminus)(?![A-Za-z])", r"\\setminus "),
        (r"\\(?:R|Reals|reals)(?![A-Za-z])", r"\\mathbb{R}"),
        (r"\\(?:textnormal|textup|textsf|texttt|mbox|hbox)(?![A-Za-z])", r"\\text"),
        (r"\\(?:mathrm|mathbf|mathit|mathsf|boldsymbol|bm)\s*\{\s*([A-Za-z])\s*\}", r" \1 "),
        (
            r"\\operatorname\*?\s*\{\s*(sin|cos|tan|cot|sec|csc|ln|log|exp|arcsin|arccos|arctan|gcd|lcm|max|min)\s*\}",
            r"\\\1 ",
        ),
        (r"\\(?:tg)(?![A-Za-z])", r"\\tan "),
        (r"\\(?:ctg)(?![A-Za-z])", r"\\cot "),
        (r"\\(?:degree|textdegree)(?![A-Za-z])", r"^\\circ"),
        (r"\^\s*\{\s*\\circ\s*\}", r"^\\circ"),
        (r"\\dots[bcmio]?(?![A-Za-z])|\\cdots(?![A-Za-z])|\.\.\.", r"\\ldots "),
        (r"\\[lr]angle(?![A-Za-z])", lambda found: "(" if found[0][1] == "l" else ")"),
        (r"(?<![\w)}\]])\+\s*(?=\\infty)", ""),
        (r"\\(?:imath|mathrm i)(?![A-Za-z])", " i "),
        (r"\\text\s*\{\s*\}", " "),
        (r"\\(?:bf|rm|it|bfseries|tiny|small|normalsize|[lL]arge|LARGE|[hH]uge|underline)(?![A-Za-z])", " "),
        (r"\\(?:text)?color\s*\{[^{}]*\}", " "),
        (r"\{\s*([^{}\\]+?)\s*\\choose(?![A-Za-z])\s*([^{}\\]+?)\s*\}", r"\\binom{\1}{\2}"),
        (r"\\log\s*_\s*(\d)(?:\s|~|\\[,;: ])+(?=\d)", r"\\log_{\1} "),  # the base ends with its digit
        (r"(\^\\circ)\s*([CF])(?![A-Za-z])", r"\1\\text{\2}"),
        (r"\{:\}", ":"),
        (r"(?<![\w)}])\((\d+)\)\s*(?=_)", r"\1"),  # `(21)_3` is `21_3`
    )
)
_TWICE = re.compile(r"\\\\(?=[A-Za-z]{2})")  # a backslash that was escaped; in a matrix it ends a row
_DOLLAR = re.compile(r"\\\$|\\[()]")
_GAP = r"(?:\{,\}|,?\s*\\!|\\,|~|\{\\,\})\s*"
_GROUPING = re.compile(rf"(?<=\d){_GAP}(?=\d{{3}}(?!\d))")  # a comma or space within one number, not a list
_SPACED = re.compile(r"(?<![\d.,])(?<!\d )([1-9]\d{0,2}(?: \d{3})+)(?![\d])(?! \d)")
_REPEATING = re.compile(
    r"(?<![\d.])(\d*)\.(\d*)(?:\\(?:overline|bar|overbar|dot)\s*\{(\d+)\}|\\(?:overline|bar|dot)\s*(\d)(?!\d)|\((\d+)\))(?!\d)"
)
_GOES_ON = re.compile(r"(\d*\.\d*?)(\d{1,6}?)\2{2,}\s*\\ldots\s*$")
_SPACE = re.compile(r"\s*")
_ARGUMENT = re.compile(r"\\[A-Za-z]+|[^\s{}\\&]")
_TAKES = re.compile(r"\\(frac|binom|sqrt)(?![A-Za-z])")
_PRIMES = re.compile(r"(?<=[A-Za-z)}])(?:\s*\^\s*(?:\\prime(?![A-Za-z])|\{\s*(?:\\prime\s*)+\})|\s*'+)")


def tidy(text: str) -> str:
    """Return a text in plain LaTeX: the notations of the table, without dollar signs and marks within one number."""
    text = _ROOT.sub(_root, _DOLLAR.sub("", text).replace("$", " "))
    text = _HIGH_RUN.sub(lambda run: "^{" + "".join(_HIGH[sign] for sign in run[0]) + "}", text)
    text = _LOW_RUN.sub(lambda run: "_{" + "".join(_LOW[sign] for sign in run[0]) + "}", text)
    text = _VULGAR.sub(lambda found: " " + unicodedata.normalize("NFKC", found[0]).replace("\u2044", "/"), text)
    text = text.translate(_CHARACTERS)
    if "\\begin" not in text:
        text = _TWICE.sub(r"\\", text)
    for pattern, latex in _SPELLINGS:
        text = pattern.sub(latex, text)
    text = _SPACED.sub(lambda found: found[1].replace(" ", ""), _GROUPING.sub("", text))
    text = _GOES_ON.sub(_going_on, text.strip().rstrip("\\"))
    return braced(_REPEATING.sub(_repeating, text)).strip()


def marked(text: str) -> str:
    """Return a tidy text whose primes are part of their letter's name: `y''` is not y."""
    return _PRIMES.sub(lambda run: f"_{{prime{run[0].count(chr(39)) + run[0].count('prime')}}}", text)


def braced(text: str) -> str:
    """Return LaTeX whose fractions, binomials and roots have their arguments in braces: `\\frac12`, `\\sqrt 2`."""
    parts, place = [], 0
    for found in _TAKES.finditer(text):
        if found.start() < place:
            continue
        end, arguments = _arguments(text, found.end(), 1 if found[1] == "sqrt" else 2)
        if end:
            parts += [text[place : found.start()], found[0], arguments]
            place = end
    return "".join([*parts, text[place:]])


def _arguments(text: str, place: int, count: int) -> tuple[int, str]:
    """Return (where they end, the next arguments in braces); (0, "") where there are fewer."""
    made = ""
    if count == 1 and text[place : place + 1] == "[":
        close = text.find("]", place)
        if close < 0:
            return 0, ""
        made, place = text[place : close + 1], close + 1
    for _ in range(count):
        place = _end(_SPACE.match(text, place), place)
        if text[place : place + 1] in ("{", "("):  # `\\sqrt(2)` is how some write it
            end = closing_brace(text, place, text[place])
            if end is None:
                return 0, ""
            made, place = f"{made}{{{braced(text[place + 1 : end])}}}", end + 1
        elif (single := _ARGUMENT.match(text, place)) is not None and single[0] not in ("\\frac", "\\sqrt", "\\binom"):
            made, place = f"{made}{{{single[0]}}}", single.end()
        else:
            return 0, ""
    return place, made


def _going_on(found: re.Match[str]) -> str:
    """Return a decimal whose last digits repeat three times before the dots as one with a bar."""
    return f"{found[1]}\\overline{{{found[2]}}}"


def _end(found: re.Match[str] | None, place: int) -> int:
    return found.end() if found else place


def _root(found: re.Match[str]) -> str:
    index = _ROOT_INDEX[found[2]]
    return f"{found[1]}\\sqrt{index}" + (f"{{{found[3]}}}" if found[3] else "")


def _repeating(found: re.Match[str]) -> str:
    """Return a repeating decimal as the fraction it is: 0.1666... is (16 - 1) / 90."""
    whole, fixed = found[1] or "0", found[2]
    period = found[3] or found[4] or found[5]
    if len(fixed) + len(period) > 30:
        return found[0]
    value = Fraction(int(whole + fixed + period) - int(whole + fixed), 10 ** len(fixed) * (10 ** len(period) - 1))
    return f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
