"""The five papers by their short names."""

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


def paper_title(paper: str) -> str:
    """The title behind a short name.

    >>> paper_title("deep-optimizers")
    'Transformers are Deep Optimizers'
    """
    if paper == "ours":
        return "Headsmith"
    if paper not in PAPERS:
        raise Refusal(f"there is no paper {paper!r}; the papers are {', '.join(PAPERS)}")
    return PAPERS[paper]
