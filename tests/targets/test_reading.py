"""Numbers of targets: copied, frozen, or refused in one sentence."""

import math

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.refusal import Refusal
from headsmith.targets.reading import check_sizes, read_ends, read_numbers


def test_numbers_are_copied_and_frozen():
    given = np.array([[1.0, 2.0]])
    read = read_numbers(given, "A", 2)
    given[0, 0] = 9.0
    assert read.tolist() == [[1.0, 2.0]] and read.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        read[0, 0] = 9.0


def test_numbers_come_from_lists_and_from_tensors_that_are_trained():
    weight = torch.tensor([0.1, 2.0], requires_grad=True)
    assert read_numbers(weight, "b", 1).tolist() == [float(np.float32(0.1)), 2.0]
    assert read_numbers([0.1, 2], "b", 1).tolist() == [0.1, 2.0]


@pytest.mark.parametrize(
    "given", ["abc", [[1.0], [1.0, 2.0]], [1j], np.array([1 + 1j]), torch.tensor([1j]), [None, "a"]]
)
def test_what_holds_no_real_numbers(given):
    with pytest.raises(Refusal, match="A must be an array of real numbers"):
        read_numbers(given, "A", 1)


@pytest.mark.parametrize("given", [1.0, [1.0, 2.0], [[]], [[[1.0]]]])
def test_arrays_of_other_shapes(given):
    with pytest.raises(Refusal, match="A must be a finite array with 2 axes"):
        read_numbers(given, "A", 2)


@pytest.mark.parametrize("given", [[[math.nan]], [[math.inf, 0.0]]])
def test_arrays_without_an_end(given):
    with pytest.raises(Refusal, match="A holds NaN or infinity"):
        read_numbers(given, "A", 2)


def test_sizes_are_whole_numbers_from_one():
    check_sizes(features=1, samples=10**6)
    for wrong in (0, -1, 2.0, "2", None):
        with pytest.raises(Refusal, match="samples must be a whole number of at least 1"):
            check_sizes(features=1, samples=wrong)


def test_ends_of_a_range():
    assert read_ends(-1, np.float32(0.5)) == (-1.0, 0.5)
    for wrong in ((1, 1), (1, -1), (math.nan, 1), (-math.inf, 1), ("a", 1), (None, 1)):
        with pytest.raises(Refusal, match="finite low < high"):
            read_ends(*wrong)
    with pytest.raises(Refusal, match="finite low < high, not \\[2, 1\\]"):
        hs.target.Clip([[1.0]], [0.0], 2, 1)
