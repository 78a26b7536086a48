"""Inputs are promoted exactly or refused, and so is arithmetic that is not the network's."""

import numpy as np
import pytest
import torch

from headsmith.network.inputs import accept
from headsmith.refusal import Refusal

CPU = torch.device("cpu")


def taken(x, dtype=torch.float64):
    return accept(x, dtype, CPU)


@pytest.mark.parametrize(
    "x",
    [torch.tensor([0.5], dtype=torch.float16), torch.tensor([1]), 0.5, [0.5, 1], np.float32(0.1), np.array([0.25])],
)
def test_narrower_inputs_are_promoted_exactly(x):
    wide = torch.as_tensor(np.asarray(x), dtype=torch.float64)
    assert taken(x).dtype == torch.float64 and torch.equal(taken(x), wide)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.tensor([0.1], dtype=torch.float64), "float64 but the network holds float32"),
        (np.float64(0.1), "float64 but the network holds float32"),
        (0.1, "0.1 is not a float32 number: round it yourself"),
        (torch.tensor(2**24 + 1), "integers that float32 cannot represent"),
        (torch.tensor([True]), "real numbers"),
        (torch.tensor([1j]), "real numbers"),
        (float("nan"), "NaN or infinity"),
        ([float("inf")], "NaN or infinity"),
        ("half", "must be numbers or a tensor, not str"),
    ],
)
def test_what_float32_does_not_hold_is_refused(x, words):
    with pytest.raises(Refusal, match=words):
        taken(x, torch.float32)


def test_integers_that_float32_holds():
    assert float(taken(torch.tensor(2**24), torch.float32)) == 2**24


def test_other_arithmetic_is_refused():
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(Refusal, match="autocast"):
        taken(0.5)
    precision = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with pytest.raises(Refusal, match='set_float32_matmul_precision\\("highest"\\)'):
            taken(0.5, torch.float32)
        assert taken(0.5) == 0.5
    finally:
        torch.set_float32_matmul_precision(precision)


@pytest.mark.skipif(np.longdouble(0).itemsize == 8, reason="no wider float on this machine")
def test_numbers_that_torch_does_not_hold_are_refused():
    with pytest.raises(Refusal, match="give float64 numbers"):
        taken(np.ones(2, dtype=np.longdouble))
