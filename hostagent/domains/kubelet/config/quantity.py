"""Quantities of Kubernetes as a kubelet's own code reads, compares and prints them: ``500m``, ``1Gi``, ``1e3``."""

from typing import NamedTuple

from hostagent.domains.kubelet.placement.quantity import POWERS_OF_2, POWERS_OF_10

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX = "unable to parse quantity's suffix"
_DECIMAL_NAMES = {exponent: name for name, exponent in POWERS_OF_10.items()}
_BINARY_NAMES = {0: ""} | {exponent // 10: name for name, exponent in POWERS_OF_2.items()}
_LETTERS = frozenset("eEinumkKMGTP")
_DIGITS = frozenset("0123456789")
_MAX_INT64 = 2**63 - 1
#: Further digits count as zeros: no real quantity differs only there.
_MAX_DIGITS = 400
#: A power of ten beyond this is as good as any.
_MAX_EXPONENT = 1000


class Quantity(NamedTuple):
    """mantissa x 10**exponent."""

    mantissa: int
    exponent: int
    form: str  # decimal, binary, exponent
    text: str = ""  # as it was written, where Kubernetes prints it so
    quick: bool = False  # Kubernetes holds it as a whole number and a power of ten

    def __str__(self) -> str:
        return self.text or _canonical(self)

    def scaled(self, places: int) -> int:
        """In units of 10**-places, rounded away from zero."""
        exponent = min(self.exponent, _MAX_EXPONENT) + places
        if exponent >= 0:
            return self.mantissa * int(10**exponent)
        size = int(10 ** min(-exponent, _MAX_EXPONENT))
        whole, rest = divmod(abs(self.mantissa), size)
        return (whole + bool(rest)) * (-1 if self.mantissa < 0 else 1)

    def plus(self, other: "Quantity") -> "Quantity":
        form = self.form if self.mantissa else other.form
        low = max(min(self.exponent, other.exponent), -9)
        return Quantity(self.scaled(-low) + other.scaled(-low), low, form)

    def is_whole(self) -> bool:
        """Kubernetes can take it for a whole number of 64 bits."""
        return self.quick and self.exponent >= 0 and -(2**63) <= self.scaled(0) <= _MAX_INT64


class _Parts(NamedTuple):
    """A quantity's text."""

    negative: bool
    number: str  # without zeros in front
    fraction: str
    form: str
    power: int  # of two or of ten

    def exponent(self) -> int:
        return (0 if self.form == "binary" else self.power) - len(self.fraction)

    def quick(self) -> bool:
        if self.form == "binary":
            return not self.fraction and 15 - len(self.number) - int(self.power * 3 / 10) - 1 >= 0
        return len(self.number) + len(self.fraction) <= 18 and self.exponent() >= -9

    def kept(self, text: str, mantissa: int) -> str:
        """The text itself, where Kubernetes takes it as canonical without parsing; else ""."""
        if not self.quick():
            return ""
        if self.form == "binary":
            return text if mantissa & 7 else ""
        digits = self.number + self.fraction
        return text if self.exponent() % 3 == 0 and not digits.endswith("000") and digits[0] != "0" else ""


ZERO = Quantity(0, 0, "decimal")


def parse_quantity(text: str) -> Quantity:
    """Raises ``ValueError`` in the words of Kubernetes.

    >>> [str(parse_quantity(text)) for text in ("1Gi", "1.5Gi", "1024Mi", "0.5", "1e3", "2000m", "100")]
    ['1Gi', '1536Mi', '1Gi', '500m', '1e3', '2', '100']
    """
    if not text:
        raise ValueError(WRONG_FORMAT)
    number, fraction, suffix = _split(text, 1 if text[0] in "+-" else 0)
    parts = _Parts(text[0] == "-", number, fraction, *_meaning(suffix))
    if text == "0":
        return Quantity(0, 0, "decimal", "0", quick=True)
    digits = number + fraction
    shift = max(0, len(digits) - _MAX_DIGITS)
    mantissa = int(digits[: len(digits) - shift] or "0") * 10 ** min(shift, _MAX_EXPONENT)
    kept, sign = parts.kept(text, mantissa), -1 if parts.negative else 1
    if parts.form == "binary":
        value, places, form = _binary(mantissa, len(fraction), parts.power)
        return Quantity(sign * value, -places, form, kept, parts.quick())
    exponent = parts.exponent()
    if exponent < -9:  # rounded up to a billionth
        mantissa, exponent = -(-mantissa // 10 ** min(-9 - exponent, _MAX_EXPONENT)), -9
    return Quantity(sign * mantissa, exponent, parts.form, kept, parts.quick())


def _split(text: str, start: int) -> tuple[str, str, str]:
    """Digits, digits after the point, suffix."""
    end, at = len(text), start
    while at < end and text[at] in _DIGITS:
        at += 1
    number, fraction = text[start:at].lstrip("0") or "0", ""
    if at < end and text[at] == ".":
        first = at = at + 1
        while at < end and text[at] in _DIGITS:
            at += 1
        fraction = text[first:at]
    first = at
    while at < end and text[at] in _LETTERS:
        at += 1
    if at < end and text[at] in "+-":
        at += 1
    while at < end and text[at] in _DIGITS:
        at += 1
    if at < end:
        raise ValueError(WRONG_FORMAT)
    return number, fraction, text[first:]


def _meaning(suffix: str) -> tuple[str, int]:
    if suffix in POWERS_OF_10:
        return "decimal", POWERS_OF_10[suffix]
    if suffix in POWERS_OF_2:
        return "binary", POWERS_OF_2[suffix]
    digits = suffix[2:] if suffix[1:2] in {"+", "-"} else suffix[1:]
    if suffix[:1] not in {"e", "E"} or not digits.isdecimal() or len(digits.lstrip("0")) > 18:
        raise ValueError(_SUFFIX)
    power = int(suffix[1:])
    return "exponent", (power + 2**31) % 2**32 - 2**31


def _binary(mantissa: int, places: int, power: int) -> tuple[int, int, str]:
    """Value, decimal places, form."""
    value = mantissa << power
    places = min(places, _MAX_DIGITS + _MAX_EXPONENT)
    if places > 9:
        value, places = -(-value // 10 ** (places - 9)), 9
    if value > _MAX_INT64 * 10**places:
        return _MAX_INT64, 0, "binary"
    return value, places, "decimal" if 0 < value < 10**places else "binary"


def _canonical(quantity: Quantity) -> str:
    mantissa, exponent, form = quantity.mantissa, quantity.exponent, quantity.form
    if not mantissa:
        return "0"
    if form == "binary":
        size = 10 ** max(-exponent, 0)
        if abs(mantissa) >= 1024 * size and mantissa % size == 0:
            value, times = mantissa // size * 10 ** max(exponent, 0), 0
            while abs(value) >= 1024 and value % 1024 == 0:
                value, times = value // 1024, times + 1
            return f"{value}{_BINARY_NAMES.get(times, '')}"
        form = "decimal"
    while mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    mantissa, exponent = mantissa * 10 ** (exponent % 3), exponent - exponent % 3
    if form == "exponent":
        return f"{mantissa}e{exponent}" if exponent else f"{mantissa}"
    return f"{mantissa}{_DECIMAL_NAMES.get(exponent, '')}"
