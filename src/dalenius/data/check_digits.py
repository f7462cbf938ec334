"""Numbers of people, cards and accounts that carry check digits: by these they are known, whatever a column is called.

One number in ten or eleven passes by chance, so that a column in which nearly all pass is no chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MOSTLY = 0.9
"""Share of the different values that must pass."""
SIGNS = re.compile(r"[ ./-]")
Rule = Callable[[str], bool]


def weighted(number: str, weights: Sequence[int]) -> int:
    """Sum of the first digits, each times its weight.

    Examples
    --------
    >>> weighted("123", (3, 1))
    5
    """
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=False))


def luhn(number: str) -> bool:
    """The rule of payment cards (ISO/IEC 7812), of Swedish and Canadian personal numbers.

    Examples
    --------
    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    twice = [int(digit) * (1 + i % 2) for i, digit in enumerate(reversed(number))]
    return sum(value - 9 if value > 9 else value for value in twice) % 10 == 0


def _norway(number: str) -> bool:
    first = weighted(number, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1))
    return first % 11 == 0 and weighted(number, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _germany(number: str) -> bool:
    """ISO 7064, modulo 11 and 10."""
    product = 10
    for digit in number[:-1]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(number[-1])


def _austria(number: str) -> bool:
    return weighted(number, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11 == int(number[3])


def _belgium(number: str) -> bool:
    return any(97 - int(century + number[:9]) % 97 == int(number[9:]) for century in ("", "2"))


def _dated(number: str) -> bool:
    """Whether a number begins with a day of a year, written in either way."""
    return _day(number[2:4], number[4:6]) or _day(number[2:4], number[:2])


def _day(month: str, day: str) -> bool:
    return (
        1 <= int(month) <= 12 and 1 <= int(day) % 60 <= 31
    )  # Swedish and Finnish stand-ins add 60 to the day


def _finland(number: str) -> bool:
    plain = re.sub(r"[-+A-FU-Y](?=\d{3})", "", number)
    return len(plain) == 10 and "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(plain[:9]) % 31] == plain[9]


DIGITS: Sequence[tuple[str, int, Rule]] = (
    ("a personal number", 11, _norway),
    ("a personal number", 11, lambda n: weighted(n, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0),  # PESEL
    ("a personal number", 11, _germany),
    ("a personal number", 11, _belgium),
    ("a personal number", 10, _austria),
    ("a personal number", 10, lambda n: luhn(n) and _dated(n)),  # personnummer
    ("a personal number", 12, lambda n: luhn(n[2:]) and _dated(n[2:])),
    ("a personal number", 10, lambda n: weighted(n, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0),  # NHS number
    ("a personal number", 9, lambda n: weighted(n, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0),  # BSN
    ("a personal number", 9, luhn),  # Canada
    ("a personal number", 13, lambda n: n[:3] == "756" and weighted(n, (1, 3) * 6 + (1,)) % 10 == 0),  # AHV
    ("a personal number", 15, lambda n: 97 - int(n[:13]) % 97 == int(n[13:])),  # NIR
    ("a card number", 16, luhn),
    ("a card number", 15, luhn),
)
"""What it is, how many digits it has, and its rule."""
LETTERS: Sequence[tuple[str, str, Rule]] = (
    ("a personal number", r"\d{8}[A-Z]", lambda n: "TRWAGMYFPDXBNJZSQVHLCKE"[int(n[:8]) % 23] == n[8]),  # DNI
    ("a personal number", r"\d{6}[-+A-FU-Y]?\d{3}[0-9A-FHJ-NPR-Y]", _finland),
    ("a personal number", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", lambda n: True),  # codice fiscale
    ("a personal number", r"[A-CEGHJ-PR-TW-Z]{2}\d{6}[A-D]", lambda n: True),  # national insurance
)
"""Numbers with letters, by their form and rule."""


def checked_numbers(values: Sequence[object]) -> str | None:
    """What different values are whose check digits are right; None where they are not.

    Whole numbers lose the zeros in front of them, which are put back.

    Examples
    --------
    >>> cards = [4111111111111111 + 10 * i for i in range(200)]
    >>> checked_numbers([card for card in cards if luhn(str(card))])
    'a card number'
    >>> checked_numbers(cards) is None
    True
    """
    lone = isinstance(values[0], int) if len(values) else False
    texts = [str(value) if lone else SIGNS.sub("", str(value).strip()).upper() for value in values]
    enough = MOSTLY * len(texts)
    longest = max(map(len, texts), default=0)
    if sum(text.isdecimal() and text.isascii() for text in texts) >= enough:
        for what, size, rule in DIGITS:
            if longest != size:
                continue
            full = [text.zfill(size) if lone else text for text in texts]
            if sum(len(text) == size and text.isdecimal() and rule(text) for text in full) >= enough:
                return what
        return None
    for what, form, rule in LETTERS:
        if sum(bool(re.fullmatch(form, text)) and rule(text) for text in texts) >= enough:
            return what
    return None
