"""The README names every paper that has experiments, and shows pictures that exist and are small."""

import re
from pathlib import Path

import headsmith.papers
from headsmith.papers.printed import paper_title
from headsmith.papers.registry import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_paper_with_experiments_has_a_row():
    headsmith.papers.load()
    listed = tuple(f"headsmith.papers.{module}" for module in headsmith.papers.EXPERIMENTS)
    for experiment in registry.experiments.values():
        if not experiment.run.__module__.startswith(listed):
            continue
        assert f"| {paper_title(experiment.source)} |" in README


def test_the_experiments_of_the_table_exist():
    headsmith.papers.load()
    for id in re.findall(r"\| `headsmith papers run ([^`]+)` \|", README):
        assert id in registry.experiments


def test_links_and_pictures_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert picture.stat().st_size < 200_000
