"""Transformers are Deep Optimizers: its figures, with the controls that the paper leaves out, and its errata."""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS = {
    "figure-1": ("figures_1_2", "R^2 rises with the number of examples", 6),
    "figure-2": ("figures_1_2", "R^2 rises with the number of examples", 7),
    "figure-3": ("figures_3_4", "R^2 rises with the number of examples, whatever the parameters", 6),
    "figure-4": ("figures_3_4", "R^2 rises with the number of examples, whatever the parameters", 6),
    "figure-5": ("figure_5", "deeper is better: pooled R^2 rises with the number of blocks", 5),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_experiments",)
"""Modules that register errata."""
