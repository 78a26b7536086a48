"""The five papers: their short names, titles and folders, and the labels under which an appendix restates a theorem."""

import re

from headsmith.refusal import Refusal

PAPERS: dict[str, str] = {
    "softmax-universality": "Universal Approximation with Softmax Attention",
    "algorithm-emulation": "In-Context Algorithm Emulation in Fixed-Weight Transformers",
    "deep-optimizers": "Transformers are Deep Optimizers",
    "low-rank-memorization": (
        "Are Transformers with One Layer Self-Attention Using Low-Rank Weight Matrices Universal Approximators?"
    ),
    "icl-linear-regression": "In-Context Linear Regression Demystified",
}
"""Short name -> title. Results of this project itself go under ``ours``."""

FOLDERS: dict[str, str] = {
    "ours": "ours",
    "algorithm-emulation": "emulation",
    "softmax-universality": "universality",
    "icl-linear-regression": "icl",
    "deep-optimizers": "deep_optimizers",
    "low-rank-memorization": "low_rank_memorization",
}
"""Short name -> the folder of its experiments and errata, in the order in which they are listed."""

RESTATED: dict[str, dict[str, str]] = {
    "softmax-universality": {
        "Lemma G.1": "Lemma F.1", "Thm G.2": "Thm 3.4", "Thm G.8": "Thm 3.9", "Thm G.13": "Lemma 3.11",
        "Lemma G.15": "Lemma 3.12", "Lemma G.19": "Lemma 3.13", "Thm G.20": "Thm 3.14", "Thm G.23": "Thm F.2",
        "Thm G.25": "Thm D.1", "Thm D.4": "Thm 4.2", "Thm G.26": "Thm 4.2",
    },
    "algorithm-emulation": {
        "Thm D.2": "Thm 3.1", "Cor D.2.1": "Cor 3.1.2", "Thm D.3": "Cor 3.1.3", "Thm D.4": "Cor 3.1.4",
        "Thm D.5": "Thm 4.1", "Thm D.6": "Thm 4.2", "Thm D.7": "Cor 4.2.1",
    },
    "deep-optimizers": {
        "Lemma 8": "Lemma 1", "Lemma 9": "Lemma 2", "Lemma 10": "Lemma 3", "Lemma 11": "Lemma 4",
        "Lemma 12": "Lemma 5", "Lemma 13": "Lemma 6", "Thm 4": "Thm 1", "Cor 4.1": "Cor 1.1", "Lemma 18": "Lemma 16",
    },
    "icl-linear-regression": {"Prop C.1": "Prop 4.1"},
}  # fmt: skip
"""Paper -> the label of a restatement -> the label under which the statement is first made."""


def names(paper: str) -> list[str]:
    """What a paper is called: its title, the title up to " in ", its short name and its folder, longest first.

    >>> names("algorithm-emulation")[1:]
    ['In-Context Algorithm Emulation', 'algorithm-emulation', 'emulation']
    """
    title = PAPERS[paper]
    called = {title, title.split(" in ")[0], paper, FOLDERS.get(paper, paper)}
    return sorted(called, key=len, reverse=True)


def papers_in(text: str) -> set[str]:
    """The papers that a text names, by any of their names.

    >>> papers_in("Thm 3.4 of Universal Approximation with Softmax Attention")
    {'softmax-universality'}
    """
    return {p for p in PAPERS if any(re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", text, re.I) for n in names(p))}


def short_name(paper: str) -> str:
    """The short name of a paper that is called by any of its names.

    >>> short_name("emulation")
    'algorithm-emulation'
    """
    called = [p for p in PAPERS if paper.lower() in (name.lower() for name in names(p))]
    if paper == "ours" or called:
        return called[0] if called else paper
    raise Refusal(f"there is no paper {paper!r}; the papers are {', '.join(PAPERS)}")


def paper_title(paper: str) -> str:
    """The title behind a name.

    >>> paper_title("deep-optimizers")
    'Transformers are Deep Optimizers'
    """
    paper = short_name(paper)
    return "Headsmith" if paper == "ours" else PAPERS[paper]
