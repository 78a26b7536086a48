"""Programs: parts that feed parts, the tolerance shared out so that the whole keeps it."""

import numpy as np
import pytest

from headsmith.compiler.program import forge
from headsmith.constructions.design import Short
from headsmith.constructions.printed import is_printed
from headsmith.functions import parse


def run(parts, z):
    """The variables of the residual stream, as numpy computes them."""
    stream = {parts[0].input: z}
    for part in parts:
        stream[part.output] = stream.get(part.output, 0.0) + part(stream[part.input])
    return stream["out"]


def gap(text, parts, domain=(-1.0, 1.0)):
    z = np.linspace(*domain, 2001)
    return float(np.abs(run(parts, z) - parse(text)(z)).max())


def test_a_kink_around_a_curve_is_two_parts_that_keep_eps_together():
    parts = forge(parse("2*abs(sin(x)) + 1"), (-1.0, 1.0), 0.1, "float64")
    assert [(p.input, p.output) for p in parts] == [("x", "mid1"), ("mid1", "out")]
    assert gap("2*abs(sin(x)) + 1", parts) <= 0.1
    assert parts[1].keys <= 4 and parts[1].heads[0].attends_to_itself  # gates, whatever eps is


def test_what_is_magnified_gets_less_of_the_tolerance():
    rough, fine = (
        forge(parse(f"{factor}*abs(sin(x))"), (-1.0, 1.0), 0.5, "float64", "composition") for factor in ("1", "50")
    )
    z = np.linspace(-1, 1, 501)
    loose, tight = (float(np.abs(parts[0](z) - np.sin(z)).max()) for parts in (rough, fine))
    assert 50 * tight < 0.5 < 50 * loose and gap("50*abs(sin(x))", fine) <= 0.5


def test_a_part_is_meant_for_all_values_that_its_input_takes():
    parts = forge(parse("abs(sin(x))"), (-1.0, 1.0), 0.1, "float64")
    lo, hi = parts[1].domain
    values = parts[0](np.linspace(-1, 1, 2001))
    assert lo <= values.min() and values.max() <= hi and lo <= np.sin(-1) and np.sin(1) <= hi


@pytest.mark.parametrize("text", ["x^2", "abs(x)", "sin(x)*cos(x)"])
def test_without_anything_inside_there_is_nothing_to_compose(text):
    with pytest.raises(Short, match="nothing to compose"):
        forge(parse(text), (-1.0, 1.0), 0.1, "float64", "composition")


def test_methods_decide_what_is_built():
    [table] = forge(parse("abs(x)"), (-1.0, 1.0), 0.1, "float64", "table")
    [gates] = forge(parse("abs(x)"), (-1.0, 1.0), 0.1, "float64")
    [printed] = forge(parse("x"), (0.0, 1.0), 0.1, "float64", "printed")
    assert len(table.heads) == 1 and len(gates.heads) == 2
    assert is_printed(printed) and not is_printed(table)


def test_the_variable_of_the_formula_is_the_input():
    [part] = forge(parse("tanh(t)"), (-1.0, 1.0), 1e-6, "float64")
    assert (part.input, part.output) == ("t", "out")


def test_an_eps_that_no_way_meets_is_short_of_a_larger_one():
    with pytest.raises(Short) as short:
        forge(parse("exp(sin(x))"), (-1.0, 1.0), 1e-9, "float32")
    assert 1e-9 < short.value.best < 1e-2
