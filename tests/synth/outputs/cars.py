"""Published inputs of the paper's experiments: coefficients, distributions and two tables (Elliot et al. 2024)."""

from __future__ import annotations

from dalenius.synth.outputs import CrossTab, Metadata, Regression, Variable

ROWS = 4027
AGES = tuple(range(50, 96))
COEFS = {
    "constant": 6.4034, "AGE": -0.0787, ("AREAP", 48): -0.0239, ("AREAP", 49): -0.0398, ("AREAP", 50): -0.0650,
    ("SEX", 2): -0.5501, ("ETHGROUP", 2): -0.8254, ("LTILL", 1): -0.2033, ("TENURE", 2): 0.1788,
    ("TENURE", 3): -1.6399, ("TENURE", 4): -1.7013, ("TENURE", 5): -0.7950, ("TENURE", 6): -1.8219,
    ("TENURE", 7): -1.9224,
}  # fmt: skip
REFERENCES = {"AREAP": 51, "SEX": 1, "ETHGROUP": 1, "LTILL": 2, "TENURE": 1}
META = Metadata(
    (
        Variable("AREAP", (48, 49, 50, 51), (0.1716, 0.2210, 0.1838, 0.4236)),
        Variable("AGE", AGES, tuple(96 - a for a in AGES), numeric=True),
        Variable("SEX", (1, 2), (0.4527, 0.5473)),
        Variable("ETHGROUP", (1, 2), (0.9878, 0.0122)),
        Variable("LTILL", (1, 2), (0.3700, 0.6300)),
        Variable("TENURE", (1, 2, 3, 4, 5, 6, 7), (0.3650, 0.2131, 0.0055, 0.0358, 0.0117, 0.0204, 0.3486)),
        Variable("CARS", (0, 1), (0.4726, 0.5274)),
    ),
    ROWS,
)
TENURE = [(470, 1000), (162, 696), (15, 7), (105, 39), (22, 25), (64, 18), (1065, 339)]
ETHNIC = [(1880, 2098), (23, 26)]
LOGIT = Regression("CARS", COEFS, REFERENCES)
BY_TENURE = CrossTab(
    "TENURE",
    "CARS",
    {(t, c): n for t, pair in enumerate(TENURE, 1) for c, n in enumerate(pair)},
    source="Table 5",
)
BY_ETHNIC = CrossTab(
    "ETHGROUP",
    "CARS",
    {(t, c): n for t, pair in enumerate(ETHNIC, 1) for c, n in enumerate(pair)},
    source="Table 6",
)
