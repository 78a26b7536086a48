"""One-layer attention of rank 1 as a memory: data sets built in and trained, and what fails as printed."""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "conll": ("memorised", "every token is recalled, but for labels that contradict others", 5),
    "figure-1": ("figure_1", "one layer of rank 1 passes what words alone say", 11, ("smoke", "good", "full")),
    "stress": ("memorised", "every token is recalled, but for labels that contradict others", 4),
}
"""Item -> its module, its first claim, how many claims it has, its presets where they are others."""

ERRATA = ("errata_attention", "errata_lookup", "errata_approximation")
"""Modules that register errata."""
