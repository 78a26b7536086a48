"""Our own experiments: how many keys a certified error costs, how far single precision goes, one machine for all."""

PRESETS = ("smoke", "full")

EXPERIMENTS = {
    "anchors": ("anchors", "every certified bound meets its eps", 5),
    "float32": ("float32", "sin(3*x) is certified within 0.0001 in float32", 7),
    "several-variables": ("several_variables", "every certified bound meets its eps", 5),
    "one-machine": ("one_machine", "every program runs on one hash", 5),
    "six-regressions": ("six_regressions", "every program runs on one hash, in any order", 4),
}
"""Item -> its module, its first claim, how many claims it has."""

ERRATA: tuple[str, ...] = ()
"""Modules that register errata."""
