"""Sequences come as users have them, and answers go back in the same shape."""

import numpy as np
import pytest
import torch

from headsmith.refusal import Refusal
from headsmith.targets.ragged import read_ragged, whole

IDS = [[3, 1], [4, 1, 5]]
VECTORS = [np.ones((2, 3)), np.zeros((1, 3))]


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_a_list_of_sequences_of_ids(kind):
    given = [kind(s) for s in IDS]
    found = read_ragged(given, "sequences")
    assert found.flat.tolist() == [3, 1, 4, 1, 5] and found.lengths.tolist() == [2, 3]
    back = found.like(found.flat)
    assert type(back) is list and [list(map(int, part)) for part in back] == IDS
    assert isinstance(back[0], list if kind is list else torch.Tensor)


def test_one_array_of_sequences():
    for given in (np.array([[1, 2], [3, 4]]), torch.tensor([[1, 2], [3, 4]])):
        found = read_ragged(given, "sequences")
        assert found.lengths.tolist() == [2, 2] and found.like(found.flat).tolist() == [[1, 2], [3, 4]]
    found = read_ragged(np.ones((2, 3, 4)), "sequences")
    assert found.flat.shape == (6, 4) and found.like(found.flat[:, 0]).shape == (2, 3)


def test_what_is_read_is_a_copy():
    given = np.array([[1, 2], [3, 4]])
    given.setflags(write=False)
    read_ragged(given, "sequences").flat[0] = 9
    assert given[0, 0] == 1


def test_vectors():
    found = read_ragged(VECTORS, "sequences")
    assert found.flat.shape == (3, 3) and found.lengths.tolist() == [2, 1]
    assert [len(part) for part in found.like(torch.arange(3))] == [2, 1]
    nested = read_ragged([v.tolist() for v in VECTORS], "sequences")
    assert torch.equal(nested.flat, found.flat) and nested.like(torch.arange(3)) == [[0, 1], [2]]


def test_one_sequence_where_it_is_known_what_that_is():
    for given, axes, back in (([3, 1], 1, [3, 1]), ([[1.0, 2.0], [3.0, 4.0]], 2, [[1.0, 2.0], [3.0, 4.0]])):
        found = read_ragged(given, "sequences", axes)
        assert found.lengths.tolist() == [2] and found.like(found.flat) == back
    found = read_ragged(torch.tensor([3, 1]), "sequences", 1)
    assert torch.equal(found.like(found.flat), torch.tensor([3, 1]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "lists of whole numbers"),
        ([3, 1], "lists of whole numbers"),
        ("abc", "there are words in sequences"),
        (np.ones((2, 2, 2, 2)), "lists of whole numbers"),
        ([["a", "b"]], "there are words in sequences: number them from 0, as `headsmith compile FILE --as conll` does"),
        (["ab", "ba"], "there are words in sequences"),
        (np.array([["a", "b"]]), "there are words in sequences"),
        ([[0, "a"]], r"there are words in sequences\[0\]"),
        ([], "there is nothing in sequences: give one sequence or more"),
        ([[]], r"there is nothing in sequences\[0\]: leave it out"),
        (np.zeros((2, 0)), r"there is nothing in sequences\[0\]: leave it out"),
        ([[1, 10**30]], r"sequences\[0\] must be numbers of 64 bits"),
        ([[1, [2, 3]]], r"sequences\[0\] must be numbers of 64 bits, .* all rows have one length"),
        ([torch.tensor([True])], r"there is True or False in sequences\[0\]"),
        ([[1, None]], r"sequences\[0\] must be numbers"),
        ([[True, False]], r"there is True or False in sequences\[0\]: give whole numbers, such as 1 and 0"),
        ([[1j]], r"sequences\[0\] must be numbers"),
        ([[1], []], r"sequences\[1\] is empty"),
        ([np.zeros((2, 0))], r"there is nothing in sequences\[0\]"),
        (np.zeros((0, 2)), "there is nothing in sequences: give one"),
        ([[1], [[2]]], r"sequences\[1\] has shape \(1, 1\)"),
        ([np.ones((2, 3)), np.ones((2, 4))], r"sequences\[1\] has shape \(2, 4\)"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(Refusal, match=words):
        read_ragged(given, "sequences")


@pytest.mark.parametrize("one", [torch.zeros(0), np.zeros(0), [[]]])
def test_one_sequence_of_no_token(one):
    with pytest.raises(Refusal, match="there is nothing in sequences"):
        read_ragged(one, "sequences", 1)


@pytest.mark.parametrize("far", [np.array([2**64 - 1], np.uint64), np.array([1e19]), [2**53 + 2], [-(2**60)]])
def test_whole_numbers_that_no_int64_or_no_float_holds(far):
    """2^64 - 1 would be read as -1."""
    with pytest.raises(Refusal, match="up to 9,007,199,254,740,992"):
        whole(far, "labels")
    assert whole([2**53, -(2**53)], "labels").tolist() == [2**53, -(2**53)]


def test_whole_numbers():
    assert whole(torch.tensor([1.0, 2.0]), "ids").dtype == np.int64
    assert whole([-3, 2], "labels").tolist() == [-3, 2]
    for bad, least in (([0.5], -9), ([np.nan], -9), ([-1], 0), ([np.inf], 0)):
        with pytest.raises(Refusal, match="must be whole numbers from"):
            whole(np.array(bad), "ids", least)
