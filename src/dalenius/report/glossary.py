"""The words of the field that a report cannot do without, each in one plain sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape


@dataclass(frozen=True)
class Term:
    """A word, what it means, and how it may be spelt in a text."""

    word: str
    meaning: str
    spelt: str

    @property
    def mark(self) -> str:
        """Name of its place in a page."""
        return "word-" + re.sub(r"[^a-z]+", "-", self.word.lower()).strip("-")


TERMS = (
    Term("original", "the real, confidential data", r"\boriginal\b"),
    Term("record", "what the file says about one person: one line of the file", r"\brecords?\b"),
    Term("column", "one fact that is given about everybody, such as age", r"\bcolumns?\b"),
    Term(
        "synthetic or protected file",
        "the file that was made of the original and is to go out",
        r"\b(?:synthetic|protected)\b",
    ),
    Term(
        "candidate",
        "one of the files that were made on trial, of which at most one is released",
        r"\bcandidates?\b",
    ),
    Term(
        "intruder",
        "an imagined curious person who tries to learn about somebody from the file",
        r"\bintruders?\b",
    ),
    Term(
        "key",
        "something a curious person may know about somebody, such as sex, age or region",
        r"\bkeys?\b",
    ),
    Term(
        "target",
        "something that would hurt if it were learnt, such as a diagnosis or an income",
        r"\btargets?\b",
    ),
    Term(
        "policy",
        "the limits that the people responsible have set for a file before it may be released",
        r"\bpolicy\b",
    ),
    Term(
        "holdout",
        "real people who were kept out when the file was made; what the file seems to say about them is what anybody "
        "could guess",
        r"\bholdout\b",
    ),
    Term(
        "repU (replicated uniques)",
        "people who stand alone in the original with their keys and meet exactly one record of the file with the same "
        "keys, in per cent",
        r"\brepU\b|\breplicated uniques\b",
    ),
    Term(
        "DiSCO (disclosive in synthetic, correct in original)",
        "people for whom the file gives one answer for their keys, and the answer is right, in per cent",
        r"\bDiSCO\b",
    ),
    Term(
        "S_pMSE",
        "how far a table of the file is from the same table of the original; 1 is as close as chance allows, below 10 "
        "is close enough for most uses, above 30 is far off",
        r"\bS_pMSE\b",
    ),
    Term(
        "differential privacy",
        "a mathematical promise: what comes out would hardly change if any one person were not in the data",
        r"\bdifferential(?:ly)? priva\w+",
    ),
    Term(
        "privacy budget (ε)",
        "how much any one person may change what comes out; the smaller, the stronger the promise",
        r"\bprivacy budgets?\b|[εδ]",
    ),
    Term("utility", "how well results from the file agree with results from the original", r"\butility\b"),
    Term(
        "disclosure",
        "that somebody learns something about a person from a file that he did not know before",
        r"\bdisclos\w+",
    ),
    Term("seed", "a number that starts the random draws, so that they can be made again", r"\bseeds?\b"),
)


SHORT = {
    "S_pMSE": "distance of a table from the original's; 1 is as close as chance allows, above 30 is far off",
    "repU": "replicated uniques: people who stand alone with their keys and meet one record of the file",
    "DiSCO": "disclosive in synthetic, correct in original: people for whom the file gives one answer, a right one",
    "KS": "Kolmogorov-Smirnov: largest difference between two distributions; 0 is the same, 1 no overlap",
    "CAP": "correct attribution probability: how often the answer read off the file is right",
    "DCR": "distance to the closest record of the original",
    "AUC": "chance to tell a member from a stranger; 0.5 is a coin",
    "PCA": "principal components: the main directions in which records differ",
    "IMS": "identical match share: records of the original that are in the file as a whole",
    "UiO": "people who stand alone in the original with their keys",
    "ε": "epsilon, the privacy budget: how much any one person may change what comes out; smaller is stronger",
}
"""Abbreviations, explained where they stand."""
_SHORT = re.compile("|".join(rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in SHORT))


def explained(text: object) -> Markup:
    """A text whose abbreviations carry what they stand for.

    Examples
    --------
    >>> print(explained("mean S_pMSE < 3"))
    mean <abbr title="distance of a table ...">S_pMSE</abbr> &lt; 3
    """
    plain = str(escape(str(text)))
    return Markup(
        _SHORT.sub(lambda match: f'<abbr title="{escape(SHORT[match[0]])}">{match[0]}</abbr>', plain)
    )


INSIDE = {"seed", "candidate"}
"""Words of things a public report does not speak of."""


def glossary(public: bool) -> list[Term]:
    """The terms of a report.

    Examples
    --------
    >>> len(glossary(public=True)) < len(glossary(public=False))
    True
    """
    return [term for term in TERMS if not public or term.word not in INSIDE]


def used_terms(text: str) -> list[Term]:
    """Terms that occur in a text, in the order of the glossary.

    Examples
    --------
    >>> [term.word for term in used_terms("The keys of the intruder.")]
    ['intruder', 'key']
    """
    return [term for term in TERMS if re.search(term.spelt, text, re.IGNORECASE)]
