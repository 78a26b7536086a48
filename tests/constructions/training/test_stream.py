"""Matrices as one vector and back, and what all streams have in common."""

import pytest
import torch

from headsmith.constructions.training.stream import Matrices
from headsmith.constructions.training.tape import TrainingTape


@pytest.mark.parametrize("biases", [False, True])
def test_matrices_are_one_vector_row_by_row(biases):
    known = Matrices((2, 3, 4, 1), biases, (1, 2))
    w = torch.arange(2 * known.parameters).double().reshape(2, -1)
    parts = known.split(w)
    assert [part.shape[-2:] for part in parts] == [torch.Size(size) for size in known.sizes]
    assert torch.equal(known.flat(parts), w) and parts[0][0, 1].tolist() == [
        float(k) for k in range(2 + biases, 4 + 2 * biases)
    ]
    assert (known.depth, known.units, known.fan) == (3, 8, 4 + biases)


def test_activations_are_where_a_layer_leaves_them():
    stream = TrainingTape((2, 3, 1), True, (1,), samples=4)
    assert [stream.activation(j) for j in (0, 1, 2)] == ["x", "p 1", "z 2"]
    assert stream.reads(2) == stream.rows("p 1") + stream.rows("one")
    assert (stream.handed(1), stream.handed(2)) == ("delta 1", "delta 2")
    other = TrainingTape((2, 3, 1), True, (1,), samples=4, extra=(("q 1", 3),))
    assert other.handed(1) == "q 1" and [*other.features()][-1] == "q 1.2"


def test_who_does_not_count_is_absent():
    stream = TrainingTape((2, 3, 1), False, (1,), samples=4)
    tokens = torch.zeros(stream.tokens, stream.width)
    stream.excuse(tokens, torch.tensor([1.0, 0.0, 0.0, 1.0]))
    assert tokens[:5, stream.slices["absent"]].flatten().tolist() == [0, 1, 1, 0, 1]
