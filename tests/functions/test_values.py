import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from headsmith.functions import parse

from .formulas import reference


@pytest.mark.parametrize(
    "text",
    ["sin(3*x)", "exp(-x^2)*cos(4*x)", "gelu(x)", "gelu_tanh(x)", "softplus(9*x)", "silu(x)",
     "1/(1+25*x^2)", "clip(2*x, -1, 1) + min(x, 0.3)", "2^-x", "abs(tanh(x)) - sigmoid(-x)", "-x^3",
     "tan(x/2) + erf(x) + relu(x)"],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors_agree_with_mpmath(text, dtype):
    f = parse(text)
    x = torch.linspace(-2, 2, 41, dtype=dtype).reshape(1, 41)
    found = f(x)
    assert found.shape == x.shape and found.dtype == dtype
    true = torch.tensor([[float(reference(f, float(v))) for v in x[0]]], dtype=torch.float64)
    assert (found.double() - true).abs().max() < (1e-14 if dtype == torch.float64 else 4e-6) * (1 + true.abs().max())


@pytest.mark.parametrize(
    ("text", "limit"),
    [("sin(x)/x", 1), ("(exp(x)-1)/x", 1), ("(1-cos(x))/x^2", 0.5), ("log(1+x)/x", 1), ("x/tanh(x)", 1),
     ("(x-sin(x))/x^3", 1 / 6), ("tanh(x)/sin(2*x)", 0.5), ("sin(sin(x)/x - 1)/x^2", -1 / 6)],
)  # fmt: skip
def test_removable_points(text, limit):
    f = parse(text)
    x = torch.tensor([0.0, 1e-12, -1e-9, 1e-6], dtype=torch.float64, requires_grad=True)
    assert torch.allclose(f(x), torch.full_like(x, limit), atol=1e-6, rtol=0)
    assert abs(f(0.0) - limit) < 1e-15
    assert abs(float(f.at(0.0)) - limit) < 1e-15
    f(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_removable_points_elsewhere():
    assert parse("(x^2-1)/(x-1)")(1.0) == 2
    assert abs(parse("sin(x - 1.25)/(x - 1.25)")(1.25) - 1) < 1e-15
    assert math.isnan(parse("abs(x)/x")(0.0))


def test_x_log_x_starts_at_zero():
    for text in ("x*log(x)", "log(x)*x", "2*x*log(x)", "-(x*(2*log(x)))", "x^2*log(x)"):
        assert parse(text)(0.0) == 0
        assert parse(text)(torch.tensor([0.5], dtype=torch.float64)).isfinite().all()


def test_arrays_numbers_and_several_variables():
    f = parse("x*y + 0.5")
    assert isinstance(f(x=np.ones((2, 1)), y=np.arange(3.0)), np.ndarray)
    assert f(x=np.ones((2, 1)), y=np.arange(3.0)).tolist() == [[0.5, 1.5, 2.5]] * 2
    assert f(x=2.0, y=3.0) == 6.5
    assert f.at(x=2.0, y=3.0) == 6.5
    assert parse("7")(torch.zeros(2, 3)).tolist() == [[7.0] * 3] * 2
    with pytest.raises(TypeError, match="by name"):
        f(1.0)


def test_large_arguments_do_not_overflow():
    x = torch.tensor([-800.0, 800.0], dtype=torch.float64)
    assert parse("softplus(x)")(x).tolist() == [0, 800]
    assert parse("sigmoid(x)")(x).tolist() == [0, 1]
    for text in ("softplus(x)", "sigmoid(x)", "tanh(x)", "silu(x)", "gelu(x)", "gelu_tanh(x)"):
        for ends in ((-900, 900), (800, 900), (-900, -800)):
            assert parse(text).range(*ends).is_finite()


def test_gradients_flow():
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(parse("exp(sin(2*x))/(2 + x^2) + gelu(x)"), x)


def test_a_value_brings_no_computer_algebra():
    """torch.broadcast_shapes imports sympy, which takes longer than most answers."""
    script = (
        "import sys, torch; from headsmith.functions import parse; parse('x*y')(x=torch.zeros(2, 1), y=torch.ones(3));"
        "sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
