import pytest

from headsmith.papers.printed import FOLDERS, PAPERS, names, paper_title, papers_in, short_name
from headsmith.refusal import Refusal


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_is_known_by_all_its_names(paper):
    assert PAPERS[paper] in names(paper) and paper in names(paper)
    for name in names(paper):
        assert short_name(name) == short_name(name.upper()) == paper
        assert paper_title(name) == PAPERS[paper]
        assert papers_in(f"see {name}, Thm 1") == {paper}


def test_no_name_means_two_papers():
    every = [name.lower() for paper in PAPERS for name in names(paper)]
    assert len(every) == len(set(every))


def test_a_name_within_a_word_is_none():
    assert papers_in("emulations of universality-like maps") == set()


def test_our_own_results_and_unknown_papers():
    assert paper_title("ours") == "Headsmith" and short_name("ours") == "ours"
    assert set(FOLDERS) <= {"ours", *PAPERS}
    with pytest.raises(Refusal, match="there is no paper 'nature'; the papers are softmax-universality"):
        short_name("nature")
