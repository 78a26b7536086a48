"""Are Transformers with One Layer Self-Attention Using Low-Rank Weight Matrices Universal Approximators?"""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS = {"figure-1": ("figure_1", "one layer of rank 1 passes what words alone say", 11)}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA: tuple[str, ...] = ()
"""Modules that register errata."""
