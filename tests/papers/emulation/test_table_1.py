"""Table 1: the verdicts, and a self-check that sees another head."""

import torch

from headsmith.papers.emulation import table_1
from headsmith.records import Record


def test_the_self_check_sees_another_head(monkeypatch):
    """The machine runs the program of seed 0; measured against that of seed 1 it is wrong."""
    assert table_1.self_check()
    program = table_1._program
    one, other = program(0), program(1)
    monkeypatch.setattr(table_1, "_program", lambda seed: _Mixed(one, other))
    monkeypatch.setattr(table_1, "Attention", _Machine)
    assert not table_1.self_check()


class _Mixed:
    def __init__(self, runs, means):
        self.runs, self.reference = runs, means.reference


class _Machine(table_1.Attention):
    def value(self, program, x):
        return super().value(program.runs, x)


def test_claims_wait_for_long_runs_and_can_fail():
    falls, exact = table_1.CLAIMS
    assert falls.verdict({"steps": 10}) == "too short to tell"
    assert falls.verdict({"steps": 78_000, "trained": [3.0, 1.0]}) == "holds"
    assert falls.verdict({"steps": 78_000, "trained": [3.0, 2.0]}) == "fails"
    assert [exact.verdict({"constructed": error}) for error in (1e-13, 1e-11)] == ["holds", "fails"]


def test_three_models_are_trained_on_keys_queries_and_values(tmp_path):
    error = table_1.trained(1, 0, 2, Record(tmp_path, {"kind": "test"}))
    k, q, v = table_1.Parts(2)(torch.zeros(1, table_1.N, table_1.D))
    assert error > 0.1 and k.shape == q.shape == (1, 20, 48) and v.shape == (1, 20, 24)
