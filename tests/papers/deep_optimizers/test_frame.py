"""Scores as the table shows them."""

import math

from headsmith.papers.deep_optimizers.frame import above, judged, near, rises, rows, value

ONE = {"pooled": [0.9, None], "pooled_error": [0.01, None], "within": [0.5, None], "within_error": [0.02, None]}
M = {
    "examples": [5, 20],
    "cases": ["a"],
    "scores": {"a": {"ReLU attention": ONE, "ridge": ONE}},
    "targets": {"a": {"flag": ""}},
}


def test_a_score_is_read_at_its_number_of_examples():
    assert value(M, "a", "ridge", "within", 5) == (0.5, 0.02)
    assert math.isnan(value(M, "a", "ridge", "within", 20)[0])


def test_rows_say_what_was_trained_and_what_is_flagged():
    ours, ridge = rows(M, [5])
    assert ours.seeds == 1 and ridge.seeds is None and ours.ours == "0.900 ± 0.010, within prompts 0.500 ± 0.020"
    flagged = M | {"targets": {"a": {"flag": "answers 12 times as large as in training"}}}
    assert rows(flagged, [5])[0].ours.endswith("(flagged: answers 12 times as large as in training)")
    [row] = rows(
        {"examples": [5], "cases": ["a"], "scores": {"a": {}}, "targets": {"a": {"flag": "100% are constant"}}}, [5]
    )
    assert row.ours == "not asked: 100% are constant" and row.seeds is None


def test_rows_come_in_the_order_of_cases_and_depths():
    names = ["ridge", "softmax attention, 4 blocks", "ReLU attention, 10 blocks", "ReLU attention, 4 blocks"]
    m = {"examples": [5], "cases": ["b", "a"], "scores": {"a": {"ridge": ONE}, "b": dict.fromkeys(names, ONE)}}
    m["targets"] = {"a": {"flag": ""}, "b": {"flag": ""}}
    last = [row.name.split(": ")[1] for row in rows(m, [5])]
    assert last == [names[3], names[2], names[1], "ridge", "ridge"]


def test_claims_look_at_the_judged_cases_and_at_transformers_alone():
    def table(*pooled):
        few = [0.01] * len(pooled)
        return {"pooled": list(pooled), "pooled_error": few, "within": list(pooled), "within_error": few}

    good, bad = table(0.5, 0.9), table(0.5, 0.5)
    scores = {"a": {"ReLU attention": good, "ridge": bad}, "b": {"softmax attention, 2 blocks": bad, "ridge": good}}
    m = {"examples": [5, 20], "length": 20, "scores": scores, "judged": ["a"]}
    assert judged(m) == [("a", "ReLU attention")]
    assert rises(m) and near("ridge")(m) and above("ridge", "within", m, 20) and not above("ridge", "within", m, 5)
    both = m | {"judged": ["a", "b"]}
    assert not rises(both) and not near("ridge")(both) and not above("ridge", "pooled", both, 20)
