import math

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import read_dtype, read_eps, read_method
from headsmith.refusal import Refusal


@pytest.mark.parametrize("eps", [0, -1e-6, math.nan, math.inf, "small", [1e-3]])
def test_eps_must_be_positive(eps):
    with pytest.raises(Refusal, match="positive number"):
        read_eps(eps)


def test_a_missing_eps_is_said():
    with pytest.raises(Refusal, match="eps is missing"):
        read_eps(None)


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


def test_a_truth_is_no_tolerance():
    with pytest.raises(Refusal, match="positive number"):
        hs.compile("sin(x)", domain=(-1, 1), eps=True)


def test_a_domain_where_proofs_overflow_is_refused_at_once():
    with pytest.raises(Refusal, match="beyond 1e\\+60"):
        hs.compile(hs.target.Clip([[1.0]], [0.0]), domain=(-1e300, 1e300), eps=0.1)


@pytest.mark.parametrize("path", [None, 5, 1.5])
def test_what_is_no_path_is_refused_in_a_sentence(path):
    net = hs.compile("tanh(x)", domain=(-1, 1), eps=1e-3)
    for do in (hs.load, hs.certify, net.save):
        with pytest.raises(Refusal):
            do(path)
