import numpy as np

import headsmith as hs
from headsmith.views.recall import POINTS, memory_picture

IDS, LABELS = [[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]


def test_gaps_and_labels_are_drawn():
    net = hs.compile(hs.target.Recall(IDS, LABELS))
    gaps, labels = memory_picture(net).axes
    shown = gaps.collections[0].get_offsets()
    assert len(shown) == 4 and (shown[:, 1] > 0).all() and gaps.get_yscale() == "log"
    assert [line.get_ydata()[0] for line in gaps.lines][1] == net.certificate.min_gap
    assert sorted(labels.collections[0].get_offsets()[:, 1]) == [0, 1, 2, 7, 8]
    assert labels.get_ylabel() == "label" and net.plot().axes[0].get_title() == gaps.get_title()


def test_one_label_has_no_gap_to_show():
    gaps, _ = memory_picture(hs.compile(hs.target.Recall([[1, 2]], [[5, 5]]))).axes
    assert len(gaps.lines) == 1


def test_of_many_ids_a_share_is_drawn(monkeypatch):
    monkeypatch.setattr("headsmith.views.recall.POINTS", 3)
    tokens = np.arange(20).reshape(4, 5)
    gaps, labels = memory_picture(hs.compile(hs.target.Recall(tokens, np.stack([tokens, tokens], 2)))).axes
    assert len(gaps.collections[0].get_offsets()) == len(labels.collections[0].get_offsets()) == 3
    assert labels.get_ylabel() == "label (the first number)" and POINTS == 20_000
