import math

import numpy as np
import pytest

from headsmith import lab
from headsmith.lab.theory.approximate import Problem
from headsmith.lab.theory.flow import late_law, printed_law
from headsmith.refusal import Refusal

DEFAULT = Problem(5, 40, 0.1)


@pytest.mark.parametrize("d, time, height", [(5, 7.687, 0.5763), (10, 6.986, 0.4548)])
def test_the_peak_of_the_flow(d, time, height):
    found = lab.flow([1e-3, -1e-3], [1e-3, -1e-3], until=20, features=d, samples=1500)
    assert found.peak == (pytest.approx(time, abs=2e-3), pytest.approx(height, abs=1e-4))
    tau1, tau2 = found.phases
    assert tau1 == pytest.approx(math.log(1 / (2e-3 * math.sqrt(d))), abs=0.12)
    assert tau1 < tau2


def test_the_late_law_is_a_sixth_root():
    found = lab.flow([1e-3, -1e-3], [1e-3, -1e-3], until=1e7, samples=1000)
    rho = np.interp([1e6, 1e7], found.times, found.omega[:, 0])
    assert rho.tolist() == pytest.approx([0.06461, 0.04402], abs=2e-5)
    assert found.exponent(1e6, 1e7) == pytest.approx(-1 / 6, abs=2e-4)
    assert float(late_law(1e7, DEFAULT)) == pytest.approx(0.04402, abs=1e-5)
    assert float(printed_law(1e6, *found.peak[::-1], DEFAULT)) == pytest.approx(0.0009, abs=1e-4)
    assert found.effective_rate[-1] == pytest.approx(DEFAULT.rate, abs=1e-5)
    assert np.all(np.diff(found.loss) <= 1e-9)


@pytest.mark.slow
def test_the_flow_of_the_exact_loss_has_a_later_and_higher_peak():
    found = lab.flow([1e-3, -1e-3], [1e-3, -1e-3], "exact", until=15, samples=60)
    time, height = found.peak
    assert 8.5 < time < 9.8 and 0.58 < height < 0.66


def test_flow_refuses_an_unknown_loss():
    with pytest.raises(Refusal):
        lab.flow([0.1], [0.1], "other")
