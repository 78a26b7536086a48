import numpy as np
import pytest

import headsmith as hs
from headsmith.views.recall import id_gaps, memory_picture, sorted_gaps

IDS, LABELS = [[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]
MEASURED = {
    "ids": 4,
    "tokens": 5,
    "gaps": {"place": [0, 1, 2], "gap": [1e-3, 2e-2, 5e-2], "changes": [True, False, True], "range": 1.0,
             "rounding": 1e-9, "proved": 9e-4},
}  # fmt: skip


def test_points_and_lines_are_those_of_the_record():
    [axis] = sorted_gaps(MEASURED).axes
    same, another = (points.get_offsets().tolist() for points in axis.collections)
    assert same == [[1.0, 2e-2]] and another == [[0.0, 1e-3], [2.0, 5e-2]]
    assert [line.get_ydata()[0] for line in axis.get_lines()] == [9e-4, 1e-9]
    assert axis.get_yscale() == "log" and "4 context ids of 5 tokens" in axis.get_title()


def test_bounds_are_rounded_the_safe_way():
    texts = [t.get_text() for t in sorted_gaps(MEASURED).legends[0].get_texts()]
    assert "proved where labels differ: 0.000899" in texts and "rounding: 1.1e-9" in texts


def test_gaps_and_labels_are_drawn():
    net = hs.compile(hs.target.Recall(IDS, LABELS))
    gaps, labels = memory_picture(net).axes
    shown = gaps.collections[0].get_offsets()
    assert len(shown) == 4 and (shown[:, 1] > 0).all() and gaps.get_yscale() == "log"
    assert next(line.get_ydata()[0] for line in gaps.lines) == net.certificate.min_gap
    assert sorted(labels.collections[0].get_offsets()[:, 1]) == [0, 1, 2, 7, 8]
    assert labels.get_ylabel() == "label" and net.plot().axes[0].get_title() == gaps.get_title()


def test_gaps_are_those_between_executed_ids():
    net = hs.compile(hs.target.Recall(IDS, LABELS))
    found, read = id_gaps(net), [table.number for x in IDS for table in net.explain(x).tables]
    assert found["gap"] == pytest.approx(np.diff(sorted(read)), abs=found["rounding"])
    assert found["rounding"] < found["proved"] <= min(found["gap"]) and found["range"] == pytest.approx(np.ptp(read))


def test_one_label_has_no_gap_to_show_and_one_token_no_point():
    gaps, _ = memory_picture(hs.compile(hs.target.Recall([[1, 2]], [[5, 5]]))).axes
    assert len(gaps.lines) == 1 and len(gaps.collections) == 1
    gaps, labels = memory_picture(hs.compile(hs.target.Recall([[0]], [[5]]))).axes
    assert not gaps.collections and gaps.get_title() == "1 context id of 1 token, in order"
    assert [y for y in labels.get_yticks() if 4.5 < y < 5.5] == [5.0]


def test_of_many_ids_a_share_and_the_smallest_are_drawn(monkeypatch):
    for name, count in (("POINTS", 3), ("SMALLEST", 2), ("LABELS", 5)):
        monkeypatch.setattr(f"headsmith.views.recall.{name}", count)
    tokens = np.arange(20).reshape(4, 5)
    net = hs.compile(hs.target.Recall(tokens, np.stack([tokens, tokens], 2)))
    gaps, labels = memory_picture(net).axes
    shown = gaps.collections[0].get_offsets()
    assert len(shown) < 7 and len(labels.collections[0].get_offsets()) == 5
    monkeypatch.undo()
    assert shown[:, 1].min() == min(id_gaps(net)["gap"])
    assert labels.get_ylabel() == "label (the first number)"
