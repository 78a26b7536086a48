"""Tables 1 to 3 and Sec 5.1 on a GPU, in calls that end in time: `python -m headsmith.papers.emulation.gpu`.

What a call does is said in `papers/driver.py`; it takes nine minutes unless --minutes says otherwise. All seeds of a
setting train at once, in Tables 2 and 3 with all four models; --only names one of them. Table 3 reads the file that
HEADSMITH_AMES names (see `ames.py`).
"""

from __future__ import annotations

from headsmith.papers.emulation import section_5_1, table_1, table_2, table_3
from headsmith.papers.repeated import Study
from headsmith.papers.repeated import main as drive

__all__ = ["main"]

STUDIES: dict[str, Study] = {
    "table-1": table_1.STUDY, "section-5.1": section_5_1.STUDY, "table-2": table_2.STUDY, "table-3": table_3.STUDY,
}  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Train, measure and write; or probe; or report."""
    return drive("headsmith.papers.emulation.gpu", str(__doc__), table_1.PAPER, STUDIES, argv)


if __name__ == "__main__":
    raise SystemExit(main())
