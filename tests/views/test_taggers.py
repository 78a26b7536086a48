"""Curves of wrong tags, and lines that nobody can pass."""

from itertools import pairwise

import numpy as np
import pytest

from headsmith.views.taggers import LINES, curves

M = {
    "words": 1000, "context": 100, "at": [1.0, 2.0], "depths": [1, 3],
    "curves": {
        "rank-1 attention, 1 layer": {"all": [[0.9, 0.98], [0.9, 0.96]], "context": [[0.5, 0.8], [0.5, 0.8]]},
        "rank-1 attention, 3 layers": {"all": [[0.9, 1.0], [0.9, 1.0]], "context": [[0.5, 1.0], [0.5, 1.0]]},
        "no attention, 1 layer": {"all": [[0.9, 0.9], [0.9, 0.9]], "context": [[0.5, 0.5], [0.5, 0.5]]},
    },
    "ceilings": {
        "all": dict(zip(LINES, (0.8, 0.97, 0.99, 1.0, 1.0), strict=True)),
        "context": dict(zip(LINES, (0.3, 0.6, 0.6, 1.0, 1.0), strict=True)),
    },
}  # fmt: skip


def test_curves_are_means_over_seeds_and_none_wrong_is_drawn_at_half_a_word():
    left, right = curves(M).axes
    lines = {line.get_label(): line for line in left.lines}
    assert np.allclose(lines["rank-1 attention, 1 layer"].get_ydata(), [0.1, 0.03])
    assert np.allclose(lines["rank-1 attention, 3 layers"].get_ydata(), [0.1, 0.5 / 1000])
    assert left.get_title() == "all words (1 000)" and right.get_title() == "words that need context (100)"


def test_depths_differ_in_style_and_kinds_in_colour():
    lines = {line.get_label(): line for line in curves(M).axes[0].lines}
    one, three, none = (lines[name] for name in M["curves"])
    assert one.get_color() == three.get_color() != none.get_color()
    assert one.get_linestyle() == none.get_linestyle() != three.get_linestyle()


def test_ceilings_of_one_height_share_a_line_and_those_without_errors_have_none():
    left, right = curves(M).axes
    assert [t.get_text() for t in left.texts] == [f"sees {name}" for name in LINES[:3]]
    assert [t.get_text() for t in right.texts] == ["sees nothing", "sees word or word, position"]


def test_the_printed_number_is_a_level_of_all_words():
    left, right = curves(M | {"printed": [0.95, 800]}).axes
    assert [t.get_text() for t in left.texts if "printed" in t.get_text()] == ["printed (800 epochs)"]
    assert len(left.lines) == len(curves(M).axes[0].lines) + 1 and not [
        t for t in right.texts if "printed" in t.get_text()
    ]


def test_the_legend_is_ordered_by_kind_and_depth_whatever_the_order_of_the_record():
    mixed = M | {"curves": dict(sorted(M["curves"].items()))}
    assert [text.get_text() for text in curves(mixed).legends[0].get_texts()] == list(M["curves"])


def test_names_of_levels_do_not_lie_on_each_other():
    close = M | {
        "ceilings": {
            part: dict(zip(LINES, (0.8, 0.97, 0.971, 0.972, 0.973), strict=True)) for part in ("all", "context")
        }
    }
    for ax in curves(close).axes:
        heights = [t.get_position()[1] for t in ax.texts]
        assert all(low < 0.8 * high for high, low in pairwise(heights)) and heights[1] == pytest.approx(0.03)


def test_one_seed_has_no_band():
    alone = {name: {part: rows[:1] for part, rows in found.items()} for name, found in M["curves"].items()}
    assert len(curves(M | {"curves": alone}).axes) == 2
