"""Where everything is if every token holds all weights, and that what is written can be read."""

import pytest
import torch

from headsmith.constructions.training.sheet import Sheet


def sheet(biases=False, **options):
    return Sheet(widths=(2, 3, 4, 1), biases=biases, bent=(1, 2), samples=5, **options)


def started(s, batch=()):
    g = torch.Generator().manual_seed(0)
    sizes = (5, 2), (5, 1), (2,), (s.parameters,)
    given = [torch.randn(*batch, *size, generator=g, dtype=torch.float64) for size in sizes]
    return given, s.start(*given)


@pytest.mark.parametrize("biases", [False, True])
def test_families_fill_the_stream_without_overlap(biases):
    s = sheet(biases, extra=(("z 1", 3),))
    assert [row for name in s.slices for row in s.rows(name)] == [*range(s.width)]
    assert len([*s.features()]) == s.width and len(s.names()) == s.tokens == 6
    owned = [row for j in s.layers for k in range(s.widths[j]) for row in s.row(j, k)]
    assert owned == s.rows("w") and len(s.row(2, 1)) == len(s.reads(2))
    assert [s.layer(j).stop - s.layer(j).start for j in s.layers] == [a * b for a, b in s.sizes]


@pytest.mark.parametrize("biases", [False, True])
def test_every_token_holds_the_weights(biases):
    s = sheet(biases)
    (_, y, _, w), stream = started(s, batch=(2,))
    assert torch.equal(s.flat(s.weights(stream)), w)
    assert torch.equal(stream[..., s.slices["w"]], w[:, None].expand(2, 6, -1))
    assert torch.equal(stream[:, :5, s.slices["y"]], y) and not stream[:, 5, s.slices["y"]].any()
    assert not stream[..., s.scratch()].any() and bool((stream[..., s.slices["one"]] == 1).all())


def test_it_is_seen_how_far_tokens_disagree():
    s = sheet()
    _, stream = started(s)
    assert not any(part.any() for part in s.apart(stream))
    stream[3, s.slices["w"].start + 1] += 0.5
    stream[5, s.slices["w"].start + 1] -= 0.75
    stream[4, s.layer(2).start] += 0.25
    apart = s.apart(stream)
    assert float(apart[0][0, 1]) == pytest.approx(0.75) and float(apart[1][0, 0]) == pytest.approx(0.25)
    assert float(sum(part.sum() for part in apart)) == pytest.approx(1.0)


def test_instructions_say_who_counts_and_how_far_to_go():
    s = sheet()
    _, stream = started(s)
    s.instruct(stream, torch.tensor(0.5).double(), torch.tensor([1.0, 0, 0, 1, 0]).double(), (1.0, 1.0))
    assert stream[:, s.slices["absent"]].flatten().tolist() == [0, 1, 1, 0, 1, 1]
    assert stream[:, s.slices["pace"]].flatten().tolist() == [1.25] * 6
