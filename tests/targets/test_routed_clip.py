"""Thm 3.4 with a general G: rows for intervals, right away from the borders and nowhere else."""

import pytest
import torch

import headsmith as hs

W, T = [[1.0, 0.5], [0.3, -1.0]], [0.1, 0.2]
SORTED = {"edges": [-0.3, 0.4, 0.7], "into": [0, 2, 1, 0], "margin": 0.05}
Routed = hs.target.RoutedClip


@pytest.mark.parametrize(("dtype", "eps"), [("float64", 0.02), ("float64", 1e-3), ("float32", 0.02)])
def test_every_row_is_within_the_certificate(dtype, eps):
    net = hs.compile(Routed(W, T, **SORTED), domain=(-1, 1), eps=eps, dtype=dtype)
    [x] = net.target.sample(net.certificate.domain, 400, torch.Generator().manual_seed(0))
    x = x.to(net.dtype)
    assert float(net.certify(x).max()) <= net.certificate.bound <= eps and net(x).shape == (400, 2, 3)
    z = (x.double() * torch.tensor(W)).sum(-1) + torch.tensor(T)
    row = torch.tensor(SORTED["into"])[torch.searchsorted(torch.tensor(SORTED["edges"]).double(), z)]
    truth = torch.nn.functional.one_hot(row, 3) * z.clamp(-1, 1)[..., None]
    assert float((net(x).double() - truth).abs().max()) <= net.certificate.bound


def test_the_sum_of_all_rows_is_range_everywhere():
    """Half in one row and half in another: at a border the sum is as good as where there is none."""
    one = Routed([[1.0]], [0.0], edges=[0.4], into=[1, 0], margin=0.05)
    net = hs.compile(one, domain=(-2, 2), eps=0.02)
    z = torch.linspace(-2, 2, 2001, dtype=torch.float64)[:, None, None]
    rows = net.network(z)[:, 0]
    assert float((rows.sum(-1) - z[:, 0, 0].clamp(-1, 1)).abs().max()) < 0.02
    truth = torch.where(z[:, 0] > 0.4, torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])) * z[:, 0].clamp(-1, 1)
    assert float((rows - truth).abs().max()) > 0.15


def test_intervals_of_one_row_have_no_border_between_them():
    both = Routed([[1.0]], [0.0], edges=[-0.5, 0.5], into=[0, 0, 1], margin=0.1)
    net = hs.compile(both, domain=(-1, 1), eps=0.05)
    assert both.borders.tolist() == [0.5] and both.count == 2
    assert abs(float(net([[-0.5]])[0, 0]) + 0.5) <= 0.05
    assert both.intervals((-1.0, 1.0), 0.1) == [(-1.0, 0.4), (0.6, 1.0)]


def test_a_token_near_a_border_is_refused():
    net = hs.compile(Routed([[1.0]], [0.0], edges=[0.25], into=[0, 1], margin=0.125), domain=(-1, 1), eps=0.1)
    assert net([[0.375 + 1e-12]]).shape == (1, 2) and net([[0.0]]).shape == (1, 2)
    for near in (0.3, 0.25, 0.3749, 0.1251):
        with pytest.raises(hs.Refusal, match=r"nearer than 0\.125 to a border"):
            net([[near]])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"edges": [0.4, 0.1]}, "must increase"),
        ({"edges": [2.0]}, "must increase"),
        ({"into": [0, 1]}, "give each a row"),
        ({"into": [0, 1, -1]}, "give each a row"),
        ({"into": [0, 1, 1e12]}, "give each a row, from 0 to 1000"),
        ({"into": [0, 1, 0.5]}, "give each a row"),
        ({"margin": 0.0}, "margin must be"),
        ({"margin": "wide"}, "margin must be"),
        ({"t": [0.0, 1.0]}, "one of each"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, says):
    given = {"W": [[1.0]], "t": [0.0], "edges": [-0.5, 0.5], "into": [0, 1, 0], "margin": 0.1}
    with pytest.raises(hs.Refusal, match=says):
        Routed(**given | wrong)


def test_too_small_a_margin_is_refused():
    with pytest.raises(hs.Refusal, match=r"asks for \d+ keys"):
        hs.plan(Routed([[1.0]], [0.0], edges=[0.0], into=[0, 1], margin=1e-3), domain=(-1, 1), eps=0.1)
