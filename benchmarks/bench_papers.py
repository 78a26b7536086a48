"""How long the papers' doors take: the list of experiments, and every self-check (two seconds each are meant)."""

import subprocess
import sys
import time

from headsmith.papers.registry import registry
from headsmith.views.tables import Table

LIST = "import sys; from headsmith.cli import main; sys.exit(main(['papers']))"


def bench_list() -> Table:
    """`headsmith papers` in a fresh interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", LIST], check=True, capture_output=True)
    return Table(
        "headsmith papers", ("experiments", "seconds"), [(len(registry.listed()), time.perf_counter() - start)]
    )


def bench_self_checks() -> Table:
    """Processor seconds of every self-check; what several of them share counts for the first."""
    rows = []
    for listing in registry.listed():
        entry = registry.find(listing.id)
        start = time.process_time()
        rows.append((listing.id, "holds" if entry.self_check() else "fails", time.process_time() - start))
    return Table("self-checks", ("experiment", "", "seconds"), rows)
