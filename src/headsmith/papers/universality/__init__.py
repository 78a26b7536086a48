"""Universal Approximation with Softmax Attention: its figures, trained and constructed side by side, and its errata."""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "figure-2": ("figure_2", "the trained error falls like 1/p: slope -1 +- 0.3", 8),
    "figure-3": ("figure_3", "constructed: the wider the range, the less attention on the first and last key", 6),
    "figure-4": ("figure_4", "the trained error falls like 1/p: slope -1 +- 0.3", 5),
    "sequence-bumps": ("sequence_bumps", "as printed the network misses by more than the size of f", 4),
    "truncation": ("truncation", "Thm 3.4: the error falls like 1/p (slope -1 +- 0.02)", 6),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_heads", "errata_sequences", "errata_clip", "errata_rules")
"""Modules that register errata."""
