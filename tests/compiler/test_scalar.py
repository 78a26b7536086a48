"""Heads for one function of one variable: exact, gates, one key or a table; proved on the numbers that are stored."""

import numpy as np
import pytest

from headsmith.compiler.scalar import ScalarTask, solve, total
from headsmith.constructions.design import Short
from headsmith.functions import parse


def task(text, eps, domain=(-1.0, 1.0), dtype="float64", **options):
    return ScalarTask(parse(text), domain, eps, dtype, **options)


def gap(proof):
    z = np.linspace(*proof.part.domain, 4001)
    return float(np.abs(proof.part(z) - proof.part.target(z)).max())


@pytest.mark.parametrize(
    ("text", "eps", "heads", "keys"),
    [
        ("2*tanh(x) + 3", 1e-12, 1, 2),  # exact
        ("abs(x - 0.25)", 1e-9, 2, 4),  # gates
        ("5", 1e-9, 1, 1),
        ("sin(x)", 0.9, 1, 1),  # the middle of its range is near enough
        ("sin(x)", 1e-2, 1, 4),
    ],
)
def test_the_cheapest_way_is_taken_and_keeps_its_promise(text, eps, heads, keys):
    proof = solve(task(text, eps))
    assert len(proof.part.heads) == heads and proof.part.keys <= keys
    assert gap(proof) <= total(proof, "float64") <= eps


def test_a_table_is_one_head_even_where_gates_are_cheaper():
    proof = solve(task("abs(x)", 1e-2), "table")
    assert len(proof.part.heads) == 1 and not proof.part.heads[0].attends_to_itself
    assert gap(proof) <= total(proof, "float64") <= 1e-2


def test_the_proof_is_about_numbers_of_the_dtype():
    proof = solve(task("tanh(x/3) + 0.1", 1e-5, dtype="float32"))
    numbers = np.concatenate([c for h in proof.part.heads for c in (h.slopes, h.offsets, h.values, h.lines)])
    for x in (numbers, np.array([proof.part.bias])):
        assert np.array_equal(x, x.astype(np.float32))
    assert proof.part.bias != 0 and gap(proof) <= total(proof, "float32") <= 1e-5


def test_a_constant_that_may_not_be_a_bias_is_a_key():
    free, held = solve(task("tanh(x) + 3", 1e-9)), solve(task("tanh(x) + 3", 1e-9, may_bias=False))
    assert free.part.bias != 0
    assert held.part.bias == 0 and held.part.keys == free.part.keys + 1
    assert gap(held) <= total(held, "float64") <= 1e-9


@pytest.mark.parametrize(("text", "eps"), [("tanh(x)", 1e-12), ("sin(x)", 1e-12)])
def test_what_float32_cannot_do_is_short_of_an_eps_above(text, eps):
    with pytest.raises(Short) as short:
        solve(task(text, eps, dtype="float32"))
    assert eps < short.value.best < 1e-2 and "float32" in short.value.reason


def test_kinks_in_a_curve_are_followed():
    proof = solve(task("abs(x) + x^2", 0.1))
    assert gap(proof) <= total(proof, "float64") <= 0.1
