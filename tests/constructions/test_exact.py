import numpy as np
import pytest

from headsmith.constructions.exact import exact_terms
from headsmith.functions import parse

Z = np.linspace(-3, 3, 301)


@pytest.mark.parametrize(
    ("formula", "keys"),
    [
        ("tanh(x)", 2),
        ("sigmoid(3*x - 1)", 2),
        ("-2*tanh(x/2 + pi)/3", 2),
        ("silu(x)", 2),
        ("x*sigmoid(1.702*x)", 2),
        ("(2*x - 1)*sigmoid(x)", 2),
        ("3*x - 2", 1),
        ("tanh(x) + sigmoid(3*x) - 0.5*x + e", 5),
        ("7", 0),
        ("x - x", 0),
    ],
)
def test_nothing_is_left_over(formula, keys):
    f = parse(formula)
    terms = exact_terms(f)
    assert not terms.rest
    assert sum(head.keys for head in terms.all_heads()) == keys
    ours = terms.bias + sum((head(Z) for head in terms.all_heads()), np.zeros_like(Z))
    assert np.allclose(ours, f(Z), atol=5e-15, rtol=1e-15)


@pytest.mark.parametrize("formula", ["x^2", "x*tanh(x)", "x*silu(x)", "tanh(x^2)", "tanh(x)*sigmoid(x)", "x*x", "1/x"])
def test_what_is_no_head_is_left_over(formula):
    assert len(exact_terms(parse(formula)).rest) == 1


def test_mixed_formulas_are_split_at_their_plus_signs():
    terms = exact_terms(parse("sin(x) + 2*tanh(x) - x + 1"))
    assert [str(e) for e in terms.rest] == ["sin(x)"]
    assert terms.slope == -1.0 and len(terms.heads) == 1
    assert terms.bias == -1.0  # 1 - 2: tanh is 2 sigmoid - 1
