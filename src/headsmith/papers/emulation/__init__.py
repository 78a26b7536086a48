"""The experiments of "In-Context Algorithm Emulation in Fixed-Weight Transformers", constructed and trained.

`headsmith papers run algorithm-emulation/table-4 --preset smoke`; full has the printed sizes.
"""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "section-5.1": ("section_5_1", "a trained head explains most of the target", 2),
    "table-1": ("table_1", "trained models get better with more heads (twelve are twice as good as one)", 2),
    "table-2": ("tables_2_3", "one frozen trained model is as good as one model for each algorithm (factor 2)", 2),
    "table-3": ("tables_2_3", "one frozen trained model is as good as one model for each algorithm (factor 2)", 2),
    "table-4": ("table_4", "the error falls super-exponentially, to about 1e-13 at P = 80", 6),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_machines", "errata_rules")
"""Modules that register errata."""
