"""Transformers are Deep Optimizers: its figures, with the controls that the paper leaves out, and its errata."""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS = {
    "figure-1": ("figures_1_2", "R^2 rises with the number of examples", 6),
    "figure-2": ("figures_1_2", "R^2 rises with the number of examples", 7),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ()
"""Modules that register errata."""
