"""Figures 1 to 23 and tables 1 and 2 of "In-Context Linear Regression Demystified", each by name.

`headsmith papers run icl-linear-regression/figure-4b --preset smoke`; presets smoke, good and paper (T =
5e5).
"""

from headsmith.papers.icl import activations, covariance, errata, lengths, multitask, patterns, theory

__all__ = ["activations", "covariance", "errata", "lengths", "multitask", "patterns", "theory"]
