"""Scores as the table shows them."""

import math

from headsmith.papers.deep_optimizers.frame import beyond, rows, value

ONE = {"pooled": [0.9, None], "pooled_error": [0.01, None], "within": [0.5, None], "within_error": [0.02, None]}
M = {"examples": [5, 20], "scores": {"a": {"ReLU attention": ONE, "ridge": ONE}}, "flat": {"a": 0.0}}


def test_a_score_is_read_at_its_number_of_examples():
    assert value(M, "a", "ridge", "within", 5) == (0.5, 0.02)
    assert math.isnan(value(M, "a", "ridge", "within", 20)[0])


def test_beyond_means_two_standard_errors():
    assert beyond((0.5, 0.03), (0.39, 0.04)) and not beyond((0.5, 0.03), (0.41, 0.04))
    assert not beyond((math.nan, 0.0), (0.1, 0.0))


def test_rows_say_what_was_trained_and_what_has_no_score():
    ours, ridge = rows(M, [5])
    assert ours.seeds == 1 and ridge.seeds is None and ours.ours == "0.900 ± 0.010, within prompts 0.500 ± 0.020"
    assert "100% of the targets are constant" in rows(M | {"flat": {"a": 1.0}}, [5])[0].ours
