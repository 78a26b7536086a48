"""Figure 3: where a head looks, and a self-check that sees a head without anchors."""

import numpy as np
import pytest

from headsmith.papers.universality import figure_3


def test_the_self_check_sees_a_head_that_looks_everywhere(monkeypatch):
    monkeypatch.setattr(figure_3, "train", lambda *args: 0.1)  # nothing is trained here
    assert figure_3.self_check()
    constructed = figure_3.constructed
    monkeypatch.setattr(figure_3, "constructed", lambda width, z: np.full_like(constructed(width, z), 1 / 30))
    assert not figure_3.self_check()


def test_a_saturated_token_looks_at_an_end():
    pattern = figure_3.constructed(1.0, np.array([-4.0, 4.0]))
    assert pattern[0, 0] > 0.99 and pattern[1, -1] > 0.99
    assert figure_3.ends(pattern) == pytest.approx(1.0, abs=0.01)


def test_labels_are_clipped():
    _, y, z = figure_3.data(0.5, 20)
    assert float(y.abs().max()) == 0.25 and float(z.abs().max()) > 0.25
