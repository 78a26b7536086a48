"""The sentence, word for word as the pipeline derives it."""

import pytest

from headsmith.compiler.request import Request
from headsmith.proof.checker import statements
from headsmith.proof.checker.verdict import Rejected
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.targets.formula import Formula

SAID = [
    ("-x^2 + 1e-7*x", (-2, 0.1)),
    (["sin(x)", "2^-x"], (1.0000004, 2)),
    ("x*y - t", {"t": (0, 1e-9), "x": (-1, 1), "y": (-1e22, 3)}),
    (["x", "y"], (-1, 1)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("given, domain", SAID, ids=str)
def test_both_say_the_same(given, domain, dtype):
    target = Formula.read(given, domain)
    request = Request.read(target, 1e-3, domain, dtype, "auto")
    goals, names, vector = statements.formulas_of(target.record()[0] | {"variables": list(target.variables)})
    found = statements.of_formulas(goals, names, vector, statements.domain_of(request.record(), names), dtype)
    assert found == target.statement(request)
    assert list(ASSUMPTIONS) == statements.ASSUMPTIONS


X = {"formula": ["var", "x"]}
TARGETS = [
    {"formulas": [X], "variables": ["x"]},
    {"formulas": [X], "variables": [], "vector": False},
    {"formulas": [X], "variables": ["y"], "vector": False},
    {"formulas": [X], "variables": ["y", "x"], "vector": False},
    {"formulas": [X, X], "variables": ["x"], "vector": False},
    {"formulas": [X], "variables": ["x"], "vector": 1},
    {"formulas": [], "variables": ["x"], "vector": True},
    {"formulas": [{"text": "x"}], "variables": ["x"], "vector": False},
]


@pytest.mark.parametrize("target", TARGETS)
def test_other_targets_are_rejected(target):
    with pytest.raises(Rejected):
        statements.formulas_of(target)


@pytest.mark.parametrize(
    "ends", [["0x1p0", "0x1p0"], ["0x1p1", "0x1p0"], ["nan", "0x1p0"], ["0x0p0"], ["-inf", "0x0p0"]]
)
def test_other_domains_are_rejected(ends):
    with pytest.raises(Rejected):
        statements.domain_of({"domain": {"x": ends}}, ["x"])
