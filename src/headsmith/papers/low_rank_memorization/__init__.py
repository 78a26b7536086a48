"""One-layer attention of rank 1 as a memory: data sets memorised without training, and what fails as printed."""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "conll": ("memorised", "every token is recalled, but for labels that contradict others", 5),
    "stress": ("memorised", "every token is recalled, but for labels that contradict others", 4),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_attention", "errata_lookup", "errata_approximation")
"""Modules that register errata."""
