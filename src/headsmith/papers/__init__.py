"""The five papers under test: experiments with verdicts, errata that run, and where each statement lives.

An experiment states its claim as a predicate before it runs; an erratum runs what was printed beside what
works. Both register themselves when their module is imported, and the modules are listed here, so that
nothing is loaded before someone asks for it.
"""

from importlib import import_module

EXPERIMENTS: tuple[str, ...] = (
    "ours.anchors",
    "ours.float32",
    "ours.several_variables",
    "emulation.one_machine",
    "emulation.six_regressions",
    "emulation.section_5_1",
    "emulation.table_1",
    "emulation.tables_2_3",
    "emulation.table_4",
    "universality.truncation",
    "universality.figure_2",
    "universality.sequence_bumps",
    "universality.figure_3",
    "universality.figure_4",
    "icl",
)
"""Modules of this folder that register experiments."""

ERRATA: tuple[str, ...] = (
    "scalar_errata",
    "emulation.errata_machines",
    "emulation.errata_rules",
    "universality.errata_sequences",
    "universality.errata_clip",
)
"""Modules of this folder that register errata."""


def load() -> None:
    """Import every module that registers an experiment or an erratum."""
    for module in (*EXPERIMENTS, *ERRATA):
        import_module(f"headsmith.papers.{module}")
