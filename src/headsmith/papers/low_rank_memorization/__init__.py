"""One-layer attention of rank 1 as a memory: what fails as printed, and the data of its experiment."""

PRESETS = ("smoke", "full")

EXPERIMENTS: dict[str, tuple[str, str, int]] = {}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_attention", "errata_lookup", "errata_approximation")
"""Modules that register errata."""
