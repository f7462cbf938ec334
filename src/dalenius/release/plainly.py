"""Each method in words that need no training, for people who get a file or decide about one."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.synth import SYNTHESIZERS

PLAIN: Mapping[str, str] = {
    "cart": "The program learns which answers go together and makes up new people answer by answer, each answer drawn "
    "from a small group of similar real people.",
    "ctree": "The program learns which answers clearly go together and makes up new people answer by answer, each "
    "answer drawn from a group of similar real people.",
    "forest": "The program learns many times over which answers go together and makes up new people answer by answer.",
    "parametric": "The program writes each answer as a formula of the answers before it, with some chance, and makes "
    "up new people by these formulas.",
    "loglinear": "The program learns how often each pair of answers occurs together, and makes up new people who agree "
    "with these counts and with nothing else.",
    "saturated": "The program counts every combination of answers, numbers put into groups, and makes up new people by "
    "these counts.",
    "poisson": "The program counts every combination of answers, numbers put into groups, and replaces each count by a "
    "random one near it.",
    "syndiffix": "The program blurs counts of groups of people, leaves out groups that are too small, and makes up new "
    "people from what remains.",
    "mst": "The program adds chance to counts of pairs of answers, so that no single person shows, and makes up new "
    "people from the blurred counts.",
    "aim": "The program adds chance to those counts that matter most, so that no single person shows, and makes up new "
    "people from the blurred counts.",
    "independent": "The program mixes the answers to each question among all people, so that nothing goes together any "
    "more.",
}


def plainly(method: str) -> str:
    """What a method does, in plain words; its own description where there are none.

    Examples
    --------
    >>> plainly("independent")[:38]
    'The program mixes the answers to each '
    """
    return PLAIN.get(method) or SYNTHESIZERS[method].info.meaning


def promise(method: str, private: bool) -> str:
    """What the method itself promises, before anything is measured.

    Examples
    --------
    >>> promise("cart", private=False)
    'The method itself promises nothing; how safe the file is was measured.'
    """
    if private:
        return (
            "The method comes with a mathematical promise (differential privacy): whatever comes out would hardly "
            "change if any one person were not in the data. How strong it is stands in its privacy budget."
        )
    if method == "syndiffix":
        return (
            "The method leaves out what fewer than a handful of people share. It is not a mathematical "
            "promise; how safe the file is was also measured."
        )
    return "The method itself promises nothing; how safe the file is was measured."
