import numpy as np
import pytest

from headsmith.functions import parse
from headsmith.papers.ours.functions import BY_FORMULA, CASES, EPS, FEW


def test_every_function_has_a_count_for_every_eps():
    assert all(len(case.prototype) == len(EPS) for case in CASES) and set(FEW) <= set(BY_FORMULA)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.formula)
def test_every_function_has_values_on_its_domain(case):
    lo, hi = case.domain
    assert lo < hi and np.isfinite(parse(case.formula)(np.linspace(lo, hi, 101)[1:-1])).all()


@pytest.mark.parametrize("case", [c for c in CASES if c.polynomial], ids=lambda case: case.formula)
def test_what_is_called_a_polynomial_is_one(case):
    z = np.linspace(*case.domain, 201)
    y = parse(case.formula)(z)
    assert np.abs(np.polyval(np.polyfit(z, y, 3), z) - y).max() < 1e-9
