"""The experiments of "In-Context Algorithm Emulation in Fixed-Weight Transformers", constructed and trained.

`headsmith papers run algorithm-emulation/table-4 --preset smoke`; full has the printed sizes.
"""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "section-5.1": ("section_5_1", "a trained head explains half of the target's square", 3),
    "table-1": ("table_1", "each larger number of heads has a smaller mean error", 4),
    "table-2": ("table_2", "on lasso and linear regression one frozen model is no worse than a model for each", 4),
    "table-3": ("table_3", "on lasso and linear regression one frozen model is no worse than a model for each", 5),
    "table-4": ("table_4", "the error falls super-exponentially, to about 1e-13 at P = 80", 6),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_machines", "errata_rules")
"""Modules that register errata."""
