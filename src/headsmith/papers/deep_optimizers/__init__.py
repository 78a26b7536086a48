"""Transformers are Deep Optimizers: figures, with the controls that the paper leaves out, a score network, errata."""

PRESETS = ("smoke", "good", "full")

EXPERIMENTS = {
    "figure-1": ("figures_1_2", "R^2 rises with the number of examples", 6),
    "figure-2": ("figures_1_2", "R^2 rises with the number of examples", 7),
    "figure-3": ("figures_3_4", "R^2 rises with the number of examples, whatever the parameters", 6),
    "figure-4": ("figures_3_4", "R^2 rises with the number of examples, whatever the parameters", 6),
    "figure-5": ("figure_5", "deeper is better: pooled R^2 rises with the number of blocks", 5),
    "bounds": ("perturbed", "the a posteriori bound is at least what is measured, on every draw", 8),
    "precision": ("low_precision", "float64 ends within 1e-13 of the way that autograd goes", 6),
    "score": ("score", "test R^2 is at least 0.97 after training in the forward pass, 1-D and 2-D", 6),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA = ("errata_construction", "errata_layers", "errata_bounds", "errata_ranges", "errata_experiments")
"""Modules that register errata."""
