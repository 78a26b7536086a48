"""The five papers under test: experiments with verdicts, errata that run, and where each statement lives.

An experiment states its claim as a predicate before it runs; an erratum runs what was printed beside what
works. Each paper has a folder, whose contents are listed in its ``__init__``: asking for one experiment imports
that paper alone, and listing them all imports none.
"""

from collections.abc import Iterator
from importlib import import_module

from headsmith.papers.printed import FOLDERS

__all__ = ["contents", "errata_modules", "load"]


def contents() -> Iterator[tuple[str, str, str, int, tuple[str, ...]]]:
    """(id, module, first claim, number of claims, presets) of every experiment, without importing any.

    >>> next(contents())[0]
    'ours/anchors'
    """
    for paper, folder in FOLDERS.items():
        listed = import_module(f"headsmith.papers.{folder}")
        for item, (module, claim, count, *own) in listed.EXPERIMENTS.items():
            yield f"{paper}/{item}", f"{listed.__name__}.{module}", claim, count, own[0] if own else listed.PRESETS


def errata_modules() -> dict[str, tuple[str, ...]]:
    """The modules that register the errata of each paper."""
    listed = {paper: import_module(f"headsmith.papers.{folder}") for paper, folder in FOLDERS.items()}
    return {paper: tuple(f"{m.__name__}.{name}" for name in m.ERRATA) for paper, m in listed.items()}


def load() -> None:
    """Import every module that registers an experiment or an erratum."""
    experiments = [module for _, module, *_ in contents()]
    errata = [module for modules in errata_modules().values() for module in modules]
    for module in dict.fromkeys(experiments + errata):
        import_module(module)
