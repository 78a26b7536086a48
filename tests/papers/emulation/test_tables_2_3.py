"""Tables 2 and 3: whose error is whose, and what "no worse" means."""

from headsmith.papers.emulation import tables_2_3
from headsmith.papers.emulation.tables_2_3 import compared, replicas, role


def test_four_models_of_every_seed():
    assert replicas(2) == tuple(range(8))
    assert [role(i) for i in (0, 3, 5)] == [(0, (0, 1, 2)), (0, (2,)), (1, (0,))]


def test_every_model_is_asked_about_its_own_algorithm():
    scores = [[1.0, 2.0, 3.0], [0.1, 9, 9], [9, 0.2, 9], [9, 9, 0.3]]
    scores += [[3.0, 2.0, 1.0], [0.3, 9, 9], [9, 0.2, 9], [9, 9, 0.1]]
    m = compared(scores)
    assert m["frozen"] == [2.0, 2.0, 2.0] and m["frozen spread"] == [1.0, 0.0, 1.0]
    assert m["baseline"] == [0.2, 0.2, 0.2] and [round(v, 9) for v in m["baseline spread"]] == [0.1, 0.0, 0.1]


def test_no_worse_means_within_two_standard_errors():
    others, ridge = tables_2_3.as_well("1 against 1")
    m = {"steps": 10**6, "seeds": 4, "baseline": [1.0] * 3, "baseline spread": [0.0] * 3, "frozen spread": [0.2] * 3}
    assert others.verdict(m | {"frozen": [1.19, 9.0, 0.5]}) == "holds"
    assert others.verdict(m | {"frozen": [1.0, 1.0, 1.21]}) == "fails"
    assert ridge.verdict(m | {"frozen": [9.0, 1.1, 9.0]}) == "holds"
    assert ridge.verdict(m | {"frozen": [1.0, 1.3, 1.0]}) == "fails"
    assert ridge.verdict(m | {"frozen": [1.0] * 3, "steps": 10}) == "too short to tell"
    assert ridge.verdict(m | {"frozen": [1.0] * 3, "seeds": 1}) == "too short to tell"


def test_rows_show_print_and_ours():
    m = compared([[1.0, 2.0, 3.0]] * 4) | {"seeds": 1}
    printed = {kind: dict.fromkeys(tables_2_3.ALGORITHMS, (0.5, 0.1)) for kind in ("baseline", "frozen")}
    first = tables_2_3.rows(m, printed, ["zero"] * 3)[0]
    assert first.printed == "0.5 ± 0.1" and first.ours == "1 ± 0" and first.baseline == "zero"
