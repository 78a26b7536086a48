"""Targets: the weights carry the algorithm. Every kind is imported here, and so known to files."""

from headsmith.targets import callables, formula, perceptron, public

__all__ = ["callables", "formula", "perceptron", "public"]
