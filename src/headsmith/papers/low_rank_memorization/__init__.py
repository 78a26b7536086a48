"""One-layer attention of rank 1 as a memory: what fails as printed, and figure 1 with the controls it lacks."""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS = {"figure-1": ("figure_1", "one layer of rank 1 passes what words alone say", 11)}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_attention", "errata_lookup", "errata_approximation")
"""Modules that register errata."""
