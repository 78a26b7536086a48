"""python -m headsmith.proof.checker FILE: exit 0 proved, 1 altered or false, 2 cannot be repeated."""

from __future__ import annotations

import sys

from headsmith.proof.checker import check

ALONE = "This checker reads numbers and proves; `headsmith certify` also rebuilds the network and compares. Use both."


def main(arguments: list[str]) -> int:
    """Prints the verdict on one file."""
    if len(arguments) != 1:
        print("usage: python -m headsmith.proof.checker FILE")
        return 2
    verdict = check(arguments[0])
    print(verdict.reason)
    print(ALONE)
    return verdict.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
