"""From a rule f to the table of its layer: exact, searched, fine lines, or printed."""

import numpy as np
import pytest

from headsmith.compiler.request import Request
from headsmith.compiler.rules import tabulate
from headsmith.constructions.design import Short
from headsmith.constructions.printed import is_printed
from headsmith.functions import parse
from headsmith.proof.domain import Domain
from headsmith.proof.residuals import Ranges
from headsmith.proof.statement import Part

RANGES = Ranges(x=1.0, y=1.0, w=1.0, residual=2.0)
DOMAIN = Domain({"x": (-1.0, 1.0), "y": (-1.0, 1.0), "w": (-1.0, 1.0), "z": (-2.0, 2.0)})


def table(text, eps, dtype="float64", method="auto"):
    f = parse(text)
    head = tabulate(f, RANGES, 3, eps, Request(eps, DOMAIN, dtype, method))
    z = np.linspace(-2, 2, 2001)
    assert not head.lines.any()  # every key carries level x: nothing but constants
    return head, float(np.abs(head(z) - f(z)).max())


def test_what_is_a_softmax_of_two_keys_stays_it():
    head, gap = table("2*tanh(t/2) + 1", 0.5)
    assert head.keys == 2 and gap < 1e-14


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_other_functions_are_searched_and_stored_in_the_dtype(dtype):
    head, gap = table("sin(t)", 0.1, dtype)
    assert 1e-4 < gap <= 0.1 and head.keys <= 8
    if dtype == "float32":
        assert all(np.array_equal(c, c.astype(np.float32)) for c in (head.slopes, head.offsets, head.values))


def test_lines_near_the_precision_are_lattices_with_small_values():
    head, gap = table("3*t - 1", 1e-10)
    assert gap <= 1e-10 and np.abs(head.values).max() < 200


def test_a_coarse_line_needs_fewer_keys_than_a_fine_one():
    assert table("t", 1e-3)[0].keys < table("t", 1e-10)[0].keys


def test_printed_is_the_staircase():
    head, gap = table("t", 0.25, method="printed")
    reach = RANGES.residuals(3, Request(0.25, DOMAIN).format).widened()
    assert is_printed(Part("z", "f", parse("t"), reach, (head,))) and gap <= 0.25


def test_below_the_roundings_it_is_short_of_an_eps_above():
    with pytest.raises(Short, match=r"64 roundings in float32 cost 3.8e-06") as short:
        table("sin(t)", 1e-7, "float32")
    assert short.value.best >= 3.8e-6
