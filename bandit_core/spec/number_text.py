"""Numbers as text: exactly, for what is read back, and with as many digits as mean something, for people."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from bandit_core.spec.errors import InputError, Issue, refuse_if

EXACT = 1e15  # whole numbers below are exact in a double
LEAST_EITHER = Decimal("0.1")  # from here to 1, a number without a sign may be a share or in percent
_GAPS = " '’\u00a0\u202f"  # between thousands
_TYPED = re.compile(rf"([+-]?[0-9.,{_GAPS}]*[0-9][.,]?)([eE][+-]?[0-9]{{1,3}})?\s?(%?)")
_DECIMAL = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)", re.ASCII)
_GROUPED = re.compile(rf"([+-]?[1-9]\d{{0,2}}(?:([{_GAPS}.,])\d{{3}})(?:\2\d{{3}})*)(?:(?!\2)[.,](\d*))?", re.ASCII)


def typed_numbers(text: str, whole: bool = False) -> tuple[list[Decimal], bool]:
    """What a number may be as people type it, none where it is none, and whether a percent sign follows.

    A comma or a point is the decimal sign, or groups thousands where three digits follow: a comma before ``000`` and
    in a ``whole`` number always, a point only where it may also be decimal: before ``000`` and in a ``whole`` number.

    >>> typed_numbers("−8 %"), typed_numbers("3,1"), typed_numbers("40 000"), typed_numbers("8 15")
    (([Decimal('-8')], True), ([Decimal('3.1')], False), ([Decimal('40000')], False), ([], False))
    >>> typed_numbers("50,000")[0], typed_numbers("50.000")[0], typed_numbers("3,125")[0]
    ([Decimal('50000')], [Decimal('50.000'), Decimal('50000')], [Decimal('3.125'), Decimal('3125')])
    """
    if (found := _TYPED.fullmatch(re.sub("[−–]", "-", text.strip()))) is None:
        return [], False
    digits, ways = found[1], list[str]()
    grouped, round_number = _GROUPED.fullmatch(digits), digits.endswith("000")
    if _DECIMAL.fullmatch(digits) and not ("," in digits and grouped and (whole or round_number)):
        ways.append(digits.replace(",", "."))
    if grouped and (whole or round_number or not ways or "," in digits):
        ways.append(re.sub(f"[{_GAPS}.,]", "", grouped[1]) + "." + (grouped[3] or ""))
    numbers = [Decimal(way + (found[2] or "")) for way in ways]
    return [number for number in numbers if not whole or number == number.to_integral_value()], bool(found[3])


def either(numbers: Sequence[Decimal], unit: str = "") -> str:
    """That a text has two readings, in words: ``may be 50 or 50,000; write 50 or 50000``."""
    said, plain = (" or ".join(f"{each.normalize():{form}}{unit}" for each in numbers) for form in (",f", "f"))
    return f"may be {said}; write {plain}"


def read_shares(name: str, *texts: str, asks: bool = True) -> list[float]:
    """A number, or the two ends of a range, as shares: 8%, 8 and 0.08 are the same.

    Without a sign, a number above 1 is in percent, and one below 0.1 is a share. From 0.1 to 1 it may be either: where
    the other end does not say which, only the author knows.

    Parameters
    ----------
    name
        Of what the texts say, for a message.
    asks
        Whether it may be either at all: a chance up to 1 is a share.

    Raises
    ------
    InputError
        Where a text is no number, or may be either.

    >>> read_shares("lift", "8"), read_shares("lift", "8%"), read_shares("lift", "0.08", "0.15")
    ([0.08], [0.08], [0.08, 0.15])
    """
    found = [typed_numbers(text) for text in texts]
    whole = "-".join(texts)
    for readings, percent in found:
        refuse_if(not readings, name, whole, "a number, or a percentage such as 8%")
        refuse_if(len(readings) > 1, name, whole, either(readings, "%" * percent))
    numbers = [(readings[0], percent) for readings, percent in found]
    signed = any(percent for _, percent in numbers)  # of a range the last sign is enough
    sizes = [abs(value) for value, _ in numbers]
    kinds = {size > 1 for size in sizes if size > 1 or 0 < size < LEAST_EITHER}
    if not signed and asks and (len(kinds) == 2 or (not kinds and any(sizes))):
        said = ["-".join(f"{value.scaleb(by):f}%" for value, _ in numbers) for by in (2, 0)]
        raise InputError([Issue(name, whole, f"may be {said[0]} or {said[1]}; write it with the sign")])
    percent = signed or (True in kinds)
    return [float(value.scaleb(-2) if percent else value) for value, _ in numbers]


def write_number(value: float) -> str:
    """The shortest text that reads back as the same number: ``1.0`` as 1, ten million as 1e7."""
    if isinstance(value, float) and value == 0:
        return "-0.0" if str(value).startswith("-") else "0"
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits)).rstrip("0") or "0"
    exponent += len(digits) - 1
    scientific = f"{'-' * sign}{mantissa[0]}{'.' * (len(mantissa) > 1)}{mantissa[1:]}e{exponent}"
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    if abs(value) >= EXACT:  # beyond, 25000000000000001 and 2.5e16 are different kinds of number
        return scientific if isinstance(value, float) else plain
    ordinary = 1e-4 <= abs(value) < 1e5
    return plain if ordinary or len(plain) <= len(scientific) else scientific


def number(value: float, digits: int = 3, whole: bool = False) -> str:
    """A number with sensible digits: 9,880 / 0.0312 / 1.23 million; with ``whole`` all digits before the point."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if whole and abs(value) >= 1e6:
        return f"{value / 1e6:,.4g} million"
    if not whole:
        value = float(f"{value:.{digits}g}")  # first the digits, then the unit: 999,999 is a million
    size = abs(value)
    if size >= 1e15:
        return f"{value:.{digits}g}"
    if size >= 1e9:
        return f"{value / 1e9:,.{digits + 6}g} billion"
    if size >= 1e6:
        return f"{value / 1e6:,.{digits + 3}g} million"
    return f"{value:,.0f}" if size >= 10 ** (digits - 1) else f"{value:.{digits}g}"


@lru_cache(maxsize=1024)  # sliders ask for all their positions at every change
def count(value: int) -> str:
    """A whole number with separators, large ones in words."""
    return number(value) if value >= 1e6 else f"{value:,}"


def percent(share: float) -> str:
    """``77.5%``, three digits."""
    return f"{100 * share:.3g}%"


def p_value(value: float) -> str:
    """``0.031``, ``< 0.001``; a dash where there is none."""
    return "< 0.001" if value < 1e-3 else number(value, 2)


def with_error(value: float, error: float, whole: bool = False) -> str:
    """``9,880 ± 120``, without the digits that the error makes meaningless; ``whole`` where there is no error."""
    if not math.isfinite(value) or not math.isfinite(error) or error <= max(1e-300, 1e-9 * abs(value)):
        return number(value, whole=whole)
    if max(abs(value), error) >= 1e6:
        return f"({with_error(value / 1e6, error / 1e6)}) million"
    place = math.floor(math.log10(error))
    place -= 0 if error / 10**place >= 3 else 1  # two digits of an error that begins with 1 or 2
    keep = 10.0**place
    decimals = max(0, -place)
    return f"{round(value / keep) * keep:,.{decimals}f} ± {round(error / keep) * keep:,.{decimals}f}"
