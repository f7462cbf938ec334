"""Columns that name people: by what they are called, and by what their values look like.

A patient's name that many rows share would pass for a category, and go out with every value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PEEK = 1000
"""Values that are looked at."""
MOSTLY = 0.9
"""Share of the values that must look alike."""
SEVERAL = 10
"""Up to so many different values are answers ("phone: yes, no"), whatever the column is called."""
_OF = r"(full|first|last|given|family|middle|maiden|birth|patient|person|customer|client|employee|contact)"
CALLED = {
    "a person's name": rf"({_OF}[_ .-]?)?names?|(sur|fore|last|first)[_ .-]?name|nachname|vorname",
    "an e-mail address": r"(.*[_ .-])?e[_ .-]?mail([_ .-]?addr(ess)?)?",
    "a telephone number": r"(.*[_ .-])?(tele|mobile|cell)?[_ .-]?(phone|fax|mobile)([_ .-]?(nr|no|number))?",
    "an address": r"(home|street|postal|mailing|contact)?[_ .-]?address|street",
    "a bank account": r"(.*[_ .-])?iban",
}
LOOKS = {
    "an e-mail address": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "a telephone number": r"(\+|00)\d[\d ()/.-]{6,18}\d|\(\d{2,5}\) ?\d[\d /.-]{3,12}\d|0\d{2,4}[ /-]\d[\d -]{4,10}\d"
    r"|\d{3}[-. ]\d{3}[-. ]\d{4}",
    "a bank account": r"[A-Z]{2}\d{2}( ?[A-Z0-9]){11,30}",
}


def names_people(name: str, values: Sequence[object]) -> str | None:
    """Why a column is taken to name people, from its name and its different values; None if it is not.

    Examples
    --------
    >>> names_people("contact", [f"ann{i}@example.org" for i in range(20)])
    'looks like an e-mail address'
    >>> names_people("surname", [f"Doe {i}" for i in range(20)])
    "called like a person's name"
    >>> names_people("phone", ["yes", "no"]) is None
    True
    """
    texts = [str(value).strip() for value in values[:PEEK]]
    if len(texts) <= SEVERAL:
        return None
    for what, pattern in LOOKS.items():
        alike = [text for text in texts if re.fullmatch(pattern, text)]
        if what == "a bank account":
            alike = [text for text in alike if _adds_up(text)]
        if len(alike) >= MOSTLY * len(texts):
            return f"looks like {what}"
    for what, pattern in CALLED.items():
        if re.fullmatch(pattern, name.strip(), re.I):
            return f"called like {what}"
    return None


def _adds_up(account: str) -> bool:
    """Whether the check digits of an IBAN are right (ISO 13616: the remainder by 97 is 1)."""
    plain = account.replace(" ", "")
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1
