import math

import numpy as np
import pytest
import torch

from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.refusal import Refusal


@pytest.mark.parametrize("eps", [0, -1e-6, math.nan, math.inf, "small", None, [1e-3]])
def test_eps_must_be_positive(eps):
    with pytest.raises(Refusal, match="positive number"):
        read_eps(eps)


@pytest.mark.parametrize("domain", [(1, 1), (2, -2)])
def test_empty_domains(domain):
    with pytest.raises(Refusal, match="empty"):
        read_domain(domain, "float64")


@pytest.mark.parametrize("domain", [(0, math.inf), (-math.inf, 0), (math.nan, 1)])
def test_infinite_domains(domain):
    with pytest.raises(Refusal, match="not finite"):
        read_domain(domain, "float64")


@pytest.mark.parametrize("domain", [1, "ab", (1, 2, 3), (None, 1), ()])
def test_shapeless_domains(domain):
    with pytest.raises(Refusal, match="two numbers"):
        read_domain(domain, "float64")


def test_domains_are_widened_to_the_dtype():
    lo, hi = read_domain((-0.1, 0.3), "float32")
    assert lo <= -0.1 and hi >= 0.3
    assert float(np.float32(lo)) == lo and float(np.float32(hi)) == hi
    assert hi - 0.3 < 1e-7 and -0.1 - lo < 1e-7
    assert read_domain((-0.1, 0.3), "float64") == (-0.1, 0.3)


def test_a_domain_beyond_float32():
    with pytest.raises(Refusal, match="beyond the range of float32"):
        read_domain((0, 1e39), "float32")


def test_a_tiny_domain_does_not_become_empty_in_float32():
    lo, hi = read_domain((1.0, 1.0 + 1e-12), "float32")
    assert lo == 1.0 < hi


@pytest.mark.parametrize("dtype", ["float64", torch.float32, "torch.float64", np.float64, np.dtype("float32")])
def test_known_dtypes(dtype):
    assert read_dtype(dtype) in ("float64", "float32")


@pytest.mark.parametrize("dtype", ["float16", torch.bfloat16, "int", None, 64])
def test_other_dtypes(dtype):
    with pytest.raises(Refusal, match="float64 or float32"):
        read_dtype(dtype)


def test_methods_are_named():
    assert read_method("auto", ("auto", "table")) == "auto"
    with pytest.raises(Refusal, match="auto, table"):
        read_method("magic", ("auto", "table"))
