"""Are Transformers with One Layer Self-Attention Using Low-Rank Weight Matrices Universal Approximators?"""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS: dict[str, tuple[str, str, int]] = {}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA: tuple[str, ...] = ()
"""Modules that register errata."""
