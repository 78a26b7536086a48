"""Figures 2 to 4 on a GPU, in calls that end in time: `python -m headsmith.papers.universality.gpu --minutes 9`.

What a call does is said in `papers/driver.py`. All seeds of a setting train at once; --only names one figure.
"""

from __future__ import annotations

from headsmith.papers.repeated import Study
from headsmith.papers.repeated import main as drive
from headsmith.papers.universality import figure_2, figure_3, figure_4

__all__ = ["main"]

STUDIES: dict[str, Study] = {"figure-2": figure_2.STUDY, "figure-3": figure_3.STUDY, "figure-4": figure_4.STUDY}


def main(argv: list[str] | None = None) -> int:
    """Train, measure and write; or probe; or report."""
    return drive("headsmith.papers.universality.gpu", str(__doc__), figure_2.PAPER, STUDIES, argv)


if __name__ == "__main__":
    raise SystemExit(main())
