"""The sentence, word for word as the pipeline derives it."""

import pytest

from headsmith.compiler.request import Request
from headsmith.functions import parse
from headsmith.proof.checker import statements
from headsmith.proof.checker.verdict import Rejected
from headsmith.proof.rounding import ASSUMPTIONS
from headsmith.targets.formula import Formula
from headsmith.targets.perceptron import MLP

from .helpers import matrix

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


MLPS = [
    ([[[0.5, -2.0, 1e-9]]], [[0.1]], []),
    ([[[1.0]] * 2, [[-0.0, 3.0]] * 3], [[0.0, 1.0], [1.0] * 3], ["relu(x)"]),
    ([[[1.0]]] * 3, [[0.5]] * 3, ["x*sigmoid(1.702*x)", "gelu(x)"]),
    ([[[1.0]]] * 3, [[0.5]] * 3, ["tanh(x)", "tanh(x)"]),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("weights, biases, texts", MLPS, ids=str)
def test_both_say_the_same_of_perceptrons(weights, biases, texts, dtype):
    target = MLP(tuple(weights), tuple(biases), tuple(map(parse, texts)))
    request = Request.read(target, 1e-3, (-0.1, 2), dtype, "auto")
    matrices = [matrix(rows, bias) for rows, bias in zip(weights, biases, strict=True)]
    sigmas = statements.listed_formulas(target.record()[0]["activations"])
    ends = statements.domain_of(request.record(), ["x"])["x"]
    assert statements.of_perceptron(matrices, sigmas, ends, dtype) == target.statement(request)


def test_each_weight_is_in_the_sentence():
    """So is its sign, its place, and which of two matrices has it."""
    weights = ([[1.0, 2.0]], [[2.0, 1.0]], [[1.0], [2.0]], [[-1.0, 2.0]], [[1.0, 2.0 + 2.0**-51]])
    said = {statements.of_perceptron([matrix(rows)], [], (-1.0, 1.0), "float64") for rows in weights}
    assert len(said) == len(weights)


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
