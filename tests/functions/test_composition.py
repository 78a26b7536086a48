"""A formula taken apart is the same formula: inner functions go into variables, outer ones read them."""

import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.functions.composition import decomposed, single, split, variable


def value(steps, z):
    stream = {steps[0][0]: z}
    for source, output, f in steps:
        read = stream[source]
        stream[output] = stream.get(output, 0.0) + (f(read) if f.variables else float(f.at().mid()))
    return stream["out"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("abs(sin(3*x)) + 1", 2),
        ("2*abs(sin(3*x)) + x^2 - 3", 3),
        ("abs(sin(x)) - exp(cos(x))/3 + 0.5", 4),
        ("-relu(x^2 - 0.25)", 2),
        ("max(sin(x), 0.5)", 2),
        ("x", 1),
        ("sin(x)*cos(x) + 2", 1),
    ],
)
def test_the_parts_make_the_formula(text, parts):
    z, steps = np.linspace(-1, 1, 41), decomposed(parse(text))
    assert len(steps) == parts and steps[-1][1] == "out"
    assert np.allclose(value(steps, z), parse(text)(z), rtol=0, atol=1e-14)


def test_every_variable_is_written_before_it_is_read():
    seen = {"x"}
    for source, output, _ in decomposed(parse("abs(sin(x)) + exp(cos(x)) + x^2")):
        assert source in seen
        seen.add(output)
    assert seen == {"x", "out", "mid1", "mid2"}


@pytest.mark.parametrize(
    ("text", "outer", "inner"),
    [
        ("2*abs(sin(3*x))", "2*abs(x)", "sin(3*x)"),
        ("-exp(x^2)/3", "-exp(x)/3", "x^2"),
        ("exp(abs(sin(x)))", "exp(x)", "abs(sin(x))"),
    ],
)
def test_a_term_splits_below_its_outermost_function(text, outer, inner):
    found = split(parse(text))
    assert found is not None and [str(f) for f in found] == [outer, inner]


@pytest.mark.parametrize("text", ["abs(2*x + 1)", "3*x", "sin(x)*cos(x)", "2*sin(x)", "5"])
def test_what_reads_a_line_or_two_things_does_not_split(text):
    assert split(parse(text)) is None


def test_one_part_and_its_variable():
    f = parse("sin(t)")
    assert single(f) == [("t", "out", f)] and variable(parse("5")) == "x"
