"""Numbers in texts, however they are set: digits of any script, thousands and signs of any typography, fractions, LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

GAP = "\u202f"  # stands for every space that is narrow or not to be broken at
AS_TYPED = str.maketrans(
    dict.fromkeys("−–‒﹣－", "-")
    | dict.fromkeys("．٫", ".")
    | dict.fromkeys("，٬", ",")
    | dict.fromkeys("’ʼ＇", "'")
    | dict.fromkeys("⁄∕", "/")
    | dict.fromkeys("\u00a0\u2005\u2006\u2007\u2008\u2009\u200a", GAP)
    | {"＄": "$", "％": "%", "＃": "#"}
)
LATEX_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|,?\{?\\[,;:! ]\}?|~)(?=\d{2,3}(?!\d))")
BRACED_FRACTION = re.compile(r"(\d?)\s*\\[dtc]?frac\s*\{\s*(-?\d[\d,.]*)\s*\}\s*\{\s*(\d[\d,.]*)\s*\}")
BARE_FRACTION = re.compile(r"(\d?)\s*\\[dtc]?frac\s*(\d)\s*(\d)")
ONE_CHARACTER_FRACTION = re.compile(r"(\d?)([¼-¾⅐-⅞])")
SUPERSCRIPT = re.compile("[⁰¹²³⁴-⁹]+")

CODES = "USD|EUR|GBP|INR|CHF|JPY|CNY|CAD|AUD|Rs|Kč|kr"
CURRENCY = rf"(?:\\?[$€£¥₹₩₽₺฿] | (?:US|CA|AU|NZ|HK|R)\\?\$ | (?:{CODES})\b\.? | (?:{CODES})\.?(?=\d))"
NUMBER = re.compile(
    rf"""
    (?: (?<![\w)\]}}])(?P<minus>-)\s?(?={CURRENCY}) | \b(?<!\d[ ])(?P<word>negative|minus)\s+ )?
    (?: {CURRENCY}[ {GAP}]? | (?<![A-Za-z\d]) ) (?<![A-Za-z]_)(?<![A-Za-z]_{{)(?<!\^)(?<!\^{{)
    (?P<sign>(?<![\w)\]}}])-(?=[\d.]))?
    (?:
        (?: (?P<mixed>\d+)[ {GAP}] )? (?<!/)(?P<over>\d+(?:,\d{{3}})*)/(?P<under>\d+(?:,\d{{3}})*)(?![\d/]|\.\d)
      | (?P<dotted>\d{{1,3}}(?:\.\d{{3}}){{2,}}(?:,\d+)?(?![\d.]*\d) | \d{{1,3}}(?:\.\d{{3}})+,\d{{1,2}}(?!\d)
          | \d+,\d{{2}}(?=[ {GAP}]?(?:€|EUR|euro)) | (?<=€)\d+,\d{{2}}(?![\d,]) )
      | (?P<value>
          (?: \d{{1,3}}(?P<mark>[,'_{GAP}])\d{{3}}(?:(?P=mark)\d{{3}})*(?!\d)
            | \d{{1,3}}(?:[ ]\d{{3}})+(?![\w-])
            | \d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?!\d)
            | \d+ ) (?:\.\d+)?
          | (?<![\w.])\.\d+ ) (?!\d)
    )
    (?!(?:st|nd|rd|th)\b)
    (?: (?:[eE](?P<exponent>[+-]?\d{{1,3}})(?!\w)) | \s*(?:[x×*·]|\\times|\\cdot)\s*10\s*\^\s*\{{?\s*(?P<power>-?\d{{1,3}})(?!\d)
      | [ {GAP}]?(?P<unit>thousand|million|billion|trillion)\b )?
    """,
    re.VERBOSE,
)  # fmt: skip
LOOSE = re.compile(r"(?P<value>\d+(?:\.\d+)?)")
UNITS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}


@dataclass(frozen=True, slots=True)
class Found:
    """A number in a text, and where it stands."""

    value: Decimal
    start: int
    end: int


def typed(text: str) -> str:
    """A text with its numbers as a keyboard has them."""
    text = re.sub(r"\d", lambda digit: str(unicodedata.decimal(digit[0])), text.translate(AS_TYPED))
    text = SUPERSCRIPT.sub(lambda match: f"^{{{unicodedata.normalize('NFKC', match[0])}}}", text)
    text = ONE_CHARACTER_FRACTION.sub(
        lambda match: f"{match[1]}{' ' if match[1] else ''}{unicodedata.normalize('NFKC', match[2]).replace('⁄', '/')}", text
    )
    for fraction in (BRACED_FRACTION, BARE_FRACTION):
        text = fraction.sub(lambda match: f"{match[1]}{' ' if match[1] else ''}{match[2]}/{match[3]}", text)
    return LATEX_THOUSANDS.sub(",", text)


def numbers(text: str) -> list[Found]:
    """Those of a typed() text, in order. Digits that belong to a word, an exponent or an ordinal are none, unless there are no others."""
    return list(found(NUMBER, text)) or list(found(LOOSE, text))


def found(pattern: re.Pattern[str], text: str) -> Iterator[Found]:
    for match in pattern.finditer(text):
        yield Found(value(match.groupdict()), match.start(), match.end())


def value(parts: dict[str, str | None]) -> Decimal:
    if parts.get("over"):
        over, under = whole(parts["over"]), whole(parts["under"])
        amount = over / under if under else over
        amount += whole(parts["mixed"]) if parts["mixed"] and amount < 1 else 0  # 2 1/2
    elif parts.get("dotted"):
        amount = Decimal(parts["dotted"].replace(".", "").replace(",", "."))
    else:
        amount = whole(parts["value"])
    if power := int(parts.get("exponent") or parts.get("power") or UNITS.get(parts.get("unit") or "", 0)):
        amount = amount.scaleb(power)
    return -amount if any(parts.get(name) for name in ("minus", "word", "sign")) else amount


def whole(digits: str) -> Decimal:
    """1,008 is 1008, and so is 1'008."""
    return Decimal(re.sub(rf"[,'_ {GAP}]", "", digits))
