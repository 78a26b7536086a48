"""The README names every paper that has experiments, and shows pictures that exist and are small."""

import re
from pathlib import Path

import headsmith.papers
from headsmith.papers.printed import paper_title

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_experiment_stands_in_the_row_of_its_paper():
    for id, *_ in headsmith.papers.contents():
        paper, item = id.split("/")
        row = next(line for line in README.splitlines() if line.startswith(f"| {paper_title(paper)} |"))
        assert re.search(rf"\b{re.escape(item)}\b", row), id


def test_the_experiments_of_the_table_exist():
    known = {id for id, *_ in headsmith.papers.contents()}
    shown = re.findall(r"\| `headsmith papers run ([^`]+)` \|", README)
    assert shown and set(shown) <= known


def test_links_and_pictures_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert picture.stat().st_size < 200_000
