"""Columns that name people: by what they are called, and by what their values look like.

A patient's name that many rows share would pass for a category, and go out with every value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dalenius.data.check_digits import checked_numbers
from dalenius.data.given_names import GIVEN

PEEK = 1000
"""Values that are looked at."""
MOSTLY = 0.9
"""Share of the values that must look alike."""
SEVERAL = 10
"""Up to so many different values are answers ("phone: yes, no"), whatever the column is called."""
_OF = r"(full|first|last|given|family|middle|maiden|birth|patient|person|customer|client|employee|contact)"
CALLED = {
    "a person's name": rf"({_OF}[_ .-]?)?names?|(sur|fore|last|first)[_ .-]?name|nachname|vorname|(etter|for)?navn"
    r"|(efter|för)?namn|(pre)?nom|nombre|apellidos?|cognome",
    "an e-mail address": r"(.*[_ .-])?e[_ .-]?mail([_ .-]?addr(ess)?)?",
    "a telephone number": r"(.*[_ .-])?(tele|mobile|cell)?[_ .-]?(phone|fax|mobile)([_ .-]?(nr|no|number))?"
    r"|telefon(nummer|nr)?|mobil(nummer|nr)?|tlf|handy",
    "an address": r"(home|street|postal|mailing|contact)?[_ .-]?address|street|adresse?|adr|anschrift|stra(ß|ss)e",
    "a bank account": r"(.*[_ .-])?iban|konto(nummer|nr)",
    "a personal number": r"ssn|social[_ .-]?security([_ .-]?(no|nr|number))?|person(al)?[_ .-]?(nummer|nr|number)|fnr"
    r"|f(ø|oe|o)dselsnummer|cpr([_ .-]?nr)?|pesel|bsn|nino|nhs[_ .-]?(no|nr|number)|passport([_ .-]?(no|nr|number))?"
    r"|national[_ .-]?id(entity)?([_ .-]?(no|nr|number))?",
}
FEW = 100
"""Up to so many different values are answers: an address within one of them goes out with it."""
BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
MAIL = r"[^@\s]{1,64}@[^@\s]{1,255}\.[A-Za-z]{2,}"
"""Lengths are those of RFC 5321: without them a long text takes time that grows with its square."""
LOOKS = {
    "an e-mail address": MAIL,
    "a telephone number": r"(\+|00)\d[\d ()/.-]{6,18}\d|\(\d{2,5}\) ?\d[\d /.-]{3,12}\d|0\d{2,4}[ /-]\d[\d -]{4,10}\d"
    r"|\d{3}[-. ]\d{3}[-. ]\d{4}",
    "a bank account": r"[A-Z]{2}\d{2}( ?[A-Z0-9]){11,30}",
    "an internet address": rf"(?:{BYTE}\.){{3}}{BYTE}|(?:[0-9a-fA-F]{{1,4}}:){{7}}[0-9a-fA-F]{{1,4}}",
    "a personal number": r"\d{3}-\d{2}-\d{4}|[0-3]\d[01]\d{3}-\d{4}",
}
WORD = r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?"
FULL_NAME = rf"{WORD}(?: {WORD}){{1,3}}|{WORD}(?: {WORD})?, ?{WORD}(?: {WORD})?"
"""Two to four words, or a surname, a comma and given names."""
TITLE = r"(?i)^((dr|prof|mr|mrs|ms|miss|herr|frau|mme|m)\b\.? *)+"
KNOWN = 0.3
"""Share of full names with a given name that is known; of single words twice as many."""
WAYS = (
    r"(?i)(str(aße|asse|\.)|weg|platz|allee|gasse|ring|damm|ufer|gat(a|e|en|an)|vei(en)?|vej(en)?|väg(en)?|straat|laan|plein|tie"
    r"|katu|utca|\b(street|st|road|rd|avenue|ave|lane|ln|drive|dr|court|ct|square|close|way|boulevard|blvd|rue|chemin|place|quai"
    r"|via|viale|piazza|corso|calle|avenida|plaza|paseo|rua|travessa|ul|ulica|aleja)\b)"
)
NUMBERED = r"\D{3,60}[ ,]\d{1,5} ?[A-Za-z]?(,.*)?|\d{1,5} ?[A-Za-z]?,? \D{3,60}(,.*)?"


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
    >>> names_people("remark", ["none", "write to eva@example.org"])
    'holds an e-mail address'
    """
    texts = [str(value).strip() for value in values[:PEEK]]
    for what, pattern in LOOKS.items():
        alike = [text for text in texts if re.fullmatch(pattern, text)]
        if what == "a bank account":
            alike = [text for text in alike if _adds_up(text)]
        if alike and len(alike) >= MOSTLY * len(
            texts
        ):  # also of three physicians: it is they whom one can call
            return f"looks like {what}"
    if len(texts) <= FEW and any(re.search(MAIL, text) for text in texts):
        return "holds an e-mail address"
    if len(texts) <= SEVERAL:
        return "looks like a person's name" if _few_names(texts) else None
    reason = checked_numbers(texts) or _names(texts) or _addresses(texts)
    return f"looks like {reason}" if reason else _called(name)


def numbers_people(name: str, numbers: Sequence[int]) -> str | None:
    """Why a column of whole numbers is taken to name people, from its name and some different numbers.

    Examples
    --------
    >>> numbers_people("ssn", range(123456789, 123456889))
    'called like a personal number'
    >>> numbers_people("income", range(1000, 2000)) is None
    True
    """
    if len(numbers) <= SEVERAL or min(numbers) < 0:
        return None
    what = checked_numbers([int(number) for number in numbers[:PEEK]])
    return f"looks like {what}" if what else _called(name)


def _called(name: str) -> str | None:
    for what, pattern in CALLED.items():
        if re.fullmatch(pattern, name.strip(), re.I):
            return f"called like {what}"
    return None


def _names(texts: Sequence[str]) -> str | None:
    """People's names: words in capitals of which many are given names, alone or with a surname."""
    words = [re.findall(r"[^\W\d_]+", text) for text in texts]
    known = sum(any(word.lower() in GIVEN and word[0].isupper() for word in each) for each in words)
    full = sum(bool(re.fullmatch(FULL_NAME, text)) and text[0].isupper() for text in texts)
    if full >= MOSTLY * len(texts) and known >= KNOWN * len(texts):
        return "a person's name"
    single = sum(len(each) == 1 and each[0][0].isupper() for each in words)
    if single >= MOSTLY * len(texts) and known >= 2 * KNOWN * len(texts):
        return "a person's name"
    return None


def _few_names(texts: Sequence[str]) -> bool:
    """Full names of a few people (physicians of a ward): nearly all begin with a given name, so no towns or streets."""
    plain = [re.sub(TITLE, "", text) for text in texts]
    full = [text for text in plain if re.fullmatch(FULL_NAME, text) and text[0].isupper()]
    given = [text.rpartition(",")[2].split()[0].lower() in GIVEN for text in full]
    return len(texts) > 1 and len(full) >= MOSTLY * len(texts) and sum(given) >= 2 * KNOWN * len(texts)


def _addresses(texts: Sequence[str]) -> str | None:
    """Streets with numbers of houses."""
    numbered = [text for text in texts if re.fullmatch(NUMBERED, text)]
    ways = sum(bool(re.search(WAYS, text)) for text in numbered)
    return "an address" if len(numbered) >= MOSTLY * len(texts) and ways >= len(texts) / 2 else None


def _adds_up(account: str) -> bool:
    """Whether the check digits of an IBAN are right (ISO 13616: the remainder by 97 is 1)."""
    plain = account.replace(" ", "")
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1
