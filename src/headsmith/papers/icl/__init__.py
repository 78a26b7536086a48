"""Figures 1 to 23 and tables 1 and 2 of "In-Context Linear Regression Demystified", each by name.

`headsmith papers run icl-linear-regression/figure-4b --preset smoke`; the preset paper trains for T = 5e5 steps.
"""

PRESETS = ("smoke", "good", "paper")

EXPERIMENTS = {
    "figure-1a": ("patterns", "KQ is diagonal, OV reads the response alone", 5),
    "figure-1b": (
        "patterns",
        "|omega| rises, turns and falls; the weight of the positive heads ends at its highest",
        3,
    ),
    "figure-2": ("patterns", "a full layer with these patterns answers as the (omega, mu) formula", 1),
    "figure-3a": ("patterns", "KQ is diagonal, OV reads the response alone", 3),
    "figure-3b": ("patterns", "omega and mu of every active head have the same sign", 3),
    "figure-3c": ("patterns", "omega and mu of every active head have the same sign", 2),
    "figure-4a": ("lengths", "one head has the highest risk at every length", 3),
    "figure-4b": ("lengths", "each number is within 0.02 of the notebooks' at every length >= 15", 3),
    "figure-5": ("patterns", "the pattern is there early: off-diagonal below 0.05 from the fourth frame on", 1),
    "figure-6": ("theory", "for omega <= 0.09 and mu <= 2 the two losses differ by less than 0.02", 2),
    "figure-7": ("theory", "(1 + d lambda) mu.omega reaches 1 within 4 % and stays", 1),
    "figure-8": ("lengths", "linear attention gets worse beyond the length of training", 3),
    "figure-9": ("activations", "every activation ends with one positive and one negative head, signs matching", 1),
    "figure-10": (
        "activations",
        "|omega| rises, turns and falls; the weight of the positive heads ends at its highest",
        1,
    ),
    "figure-11": (
        "activations",
        "from the trained length on each activation is within 6 % of debiased descent at its own rate, or below it",
        1,
    ),
    "figure-12": (
        "covariance",
        "the effective preconditioner is within 2 % of the derived optimum (Sigma + (tr Sigma + d noise)/L I)^-1",
        2,
    ),
    "figure-13": (
        "patterns",
        "two, three and four heads end on the valley: mu+ / mu_gamma = 1 within 5 % (8 % after a short run)",
        1,
    ),
    "figure-14": ("patterns", "removing a dummy head changes the risk by less than 0.01", 1),
    "figure-15": (
        "covariance",
        "the inverse of the effective preconditioner has cosine above 0.99 with the derived matrix and with Sigma",
        1,
    ),
    "figure-16": ("multitask", "one smoother with larger weights on the overlap", 1),
    "figure-17": (
        "multitask",
        "one pair shared by both responses: rates 0.90 on the overlap and 0.82 beside it (closed form), within 0.03",
        1,
    ),
    "figure-18": (
        "multitask",
        "each response gets its own step: rates 0.90 on its support (closed form), below 0.06 off it",
        1,
    ),
    "figure-19": (
        "multitask",
        "each response gets its own step: rates 0.90 on its support (closed form), below 0.06 off it",
        1,
    ),
    "figure-20": (
        "theory",
        "|p|^2 falls towards 0 with the length for fixed d, and for d/L = 1/8 when omega shrinks like sqrt(log L / d)",
        2,
    ),
    "figure-21": (
        "theory",
        "trained heads and descent on the approximate loss take the same path: up, turn, down the valley",
        1,
    ),
    "figure-22": ("theory", "rho peaks where the integrated flow says", 3),
    "figure-23": ("theory", "rho peaks where the integrated flow says", 3),
    "table-1": (
        "activations",
        "the effective rate is about 0.88 for exp and 1 + Cx, about 1.01 for 1 + tanh and (1 + Cx)^2",
        3,
    ),
    "table-2": ("multitask", "the printed parameters add up: 0.90 to 0.93 on the support, below 0.01 off it", 2),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata",)
"""Modules that register errata."""
