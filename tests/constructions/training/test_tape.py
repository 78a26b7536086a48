"""Where everything is, and that what is written can be read."""

import pytest
import torch

from headsmith.constructions.training.tape import TrainingTape


def tape(biases=False, widths=(2, 3, 4, 1), **options):
    return TrainingTape(widths=widths, samples=5, biases=biases, bent=(1, 2), **options)


def drawn(t, batch=()):
    g = torch.Generator().manual_seed(0)
    sizes = (5, t.widths[0]), (5, t.widths[-1]), (t.widths[0],), (t.parameters,)
    return [torch.randn(*batch, *size, generator=g, dtype=torch.float64) for size in sizes]


@pytest.mark.parametrize("biases", [False, True])
def test_families_fill_the_stream_without_overlap(biases):
    t = tape(biases, extra=(("odds", 1),))
    rows = [row for name in t.slices for row in t.rows(name)]
    assert rows == [*range(t.width)] and len([*t.features()]) == t.width
    owned = [i for j in t.layers for i in range(*t.owners(j).indices(t.tokens))]
    assert owned == [*range(6, t.tokens)] and len(t.names()) == t.tokens


@pytest.mark.parametrize("biases", [False, True])
def test_weights_come_back_as_they_were_written(biases):
    t = tape(biases)
    x, y, query, w = drawn(t, batch=(2,))
    stream = t.start(x, y, query, w)
    assert torch.equal(t.flat(t.weights(stream)), w)
    assert torch.equal(t.flat(t.split(w)), w)
    assert [m.shape[-2:] for m in t.weights(stream)] == [torch.Size(size) for size in t.sizes]
    assert torch.equal(stream[:, :5, t.slices["x"]], x) and torch.equal(stream[:, 5, t.slices["x"]], query)
    assert not stream[:, 5, t.slices["y"]].any() and not stream[..., t.scratch()].any()


def test_one_start_serves_a_batch_of_data():
    t = tape()
    x, y, query, w = drawn(t)
    stream = t.start(x.expand(3, 5, 2), y, query, w)
    assert stream.shape == (3, t.tokens, t.width) and torch.equal(t.flat(t.weights(stream))[2], w)


def test_instructions_say_who_counts_and_how_far_to_go():
    t = tape(extra=(("fade", 8),))
    stream = t.start(*drawn(t))
    t.instruct(stream, torch.tensor(0.5).double(), torch.tensor([1.0, 0, 0, 1, 0]).double(), (1.0, 1.0))
    assert stream[:6, t.slices["absent"]].flatten().tolist() == [0, 1, 1, 0, 1, 1]
    for j in t.layers:
        own = stream[t.owners(j)]
        assert torch.equal(own[:, t.slices[f"ask {j}"]], 1.25 * own[:, t.slices[f"unit {j}"]])
    assert torch.equal(stream[6:, t.slices["fade"]], 0.5 * torch.eye(8).double())
