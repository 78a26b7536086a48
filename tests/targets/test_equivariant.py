"""Equivariant maps: within their L2 bound, equal to the grid function off the ramps, and refusals that say why."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headsmith as hs
from headsmith.refusal import Refusal


def centred(X):
    return X - X.mean(-2, keepdim=True)


def waves(X):
    return torch.sin(2 * X) / 4 + torch.cos(X).mean(-2, keepdim=True) / 2


def compiled(f=waves, tokens=2, features=1, lipschitz=1.0, domain=(0, 1), eps=0.05, **options):
    return hs.compile(hs.target.EquivariantMap(f, tokens, features, lipschitz), domain=domain, eps=eps, **options)


def measured(net, count=20000, seed=0):
    """(int |network - f|^2)^(1/2), by Monte Carlo."""
    (lo, hi), t = net.certificate.domain["X"], net.target
    shape = (count, t.tokens, t.features)
    X = lo + (hi - lo) * torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    square = (net(X.to(net.dtype)).double() - t.function(X)).square().sum((1, 2)).mean()
    return math.sqrt(float(square) * (hi - lo) ** (t.tokens * t.features))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tokens, features, eps", [(1, 1, 0.02), (2, 1, 0.05), (3, 1, 0.1), (2, 2, 0.2)])
def test_within_its_bound(tokens, features, eps, dtype):
    net = compiled(tokens=tokens, features=features, eps=eps, dtype=dtype)
    assert measured(net) <= net.certificate.bound <= eps
    assert (net.certificate.norm, net.certificate.kind) == ("L2", "conditional")


@settings(max_examples=5)
@given(
    tokens=st.integers(1, 3),
    low=st.floats(-3, 3),
    side=st.floats(0.1, 4),
    pitch=st.floats(0.1, 3),
    cells=st.integers(2, 6),
)
def test_any_box(tokens, low, side, pitch, cells):
    def f(X):
        return 0.9 * (torch.sin(pitch * X) / pitch + X.sum(-2, keepdim=True) / tokens)

    eps = 2 * side ** (tokens / 2 + 1) * math.sqrt(tokens / 12) / cells
    net = compiled(f, tokens, lipschitz=2.0, domain=(low, low + side), eps=1.05 * eps)
    assert measured(net, 2000) <= net.certificate.bound <= 1.05 * eps


def test_the_value_at_the_centre_of_the_cell():
    net = compiled(tokens=3, eps=0.1)
    cells, ends = net.plan.design.cells[0], net.certificate.domain["X"]
    X = torch.rand(3000, 3, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    place = torch.searchsorted(torch.from_numpy(cells.left.copy()), X)
    off = (X - torch.from_numpy(cells.left.copy())[(place - 1).clamp(min=0)] >= 1 / cells.slope[0]) | (place == 0)
    kept = off.flatten(1).all(1)
    assert kept.float().mean() > 0.9
    grid = waves(torch.from_numpy(cells.centres(ends))[place])
    assert float((net(X) - grid)[kept].abs().max()) <= 1e-15


def test_the_error_halves_when_the_cells_double():
    errors = [measured(compiled(eps=eps)) for eps in (0.08, 0.04, 0.02, 0.01)]
    assert all(1.8 < a / b < 2.2 for a, b in pairwise(errors))


def test_tokens_change_places():
    net = compiled(tokens=3, features=1, eps=0.1)
    X = torch.rand(200, 3, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for order in ([1, 0, 2], [2, 0, 1]):
        assert torch.equal(net(X)[:, order], net(X[:, order]))


def test_equal_tokens_are_served():
    net = compiled(tokens=3, eps=0.1)
    X = torch.tensor([[0.3], [0.3], [0.8]], dtype=torch.float64)
    out = net(X)
    assert torch.equal(out[0], out[1]) and float((out - waves(X)).norm()) < 0.1


def test_a_file_keeps_the_norm(tmp_path):
    net = compiled()
    again = hs.load(net.save(tmp_path / "waves.safetensors"))
    for found in (again, again.plan.build()):
        assert found.certificate.norm == "L2" and "L2 error at most" in found.certificate.title()
    assert "L2 bound" in dict(again.plan.rows()) and "bound" not in dict(again.plan.rows())


def test_its_sentence_holds_the_condition():
    net = compiled(domain=(0.25, 1.5), eps=0.5)
    assert net.certificate.statement == (
        "(integral of |network(X) - waves(X)|^2 over all X in [0.25, 1.5]^(2 x 1))^(1/2) <= bound, the network being "
        "given the nearest float64 to each entry, if waves commutes with permutations of the tokens and |waves(X) - "
        "waves(Y)| <= 1 |X - Y|, all norms being 2-norms of all entries"
    )
    assert "L2 error at most" in net.certificate.title()


def test_outside_the_box_it_refuses():
    with pytest.raises(Refusal, match="outside the certified domain"):
        compiled()([[0.5], [1.25]])


def places(X):
    return X + torch.arange(2.0, dtype=torch.float64)[:, None]


def steep(X):
    return 3 * X


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"f": places}, "places is not equivariant: .* hs.target.SequenceMap takes any map"),
        ({"f": steep}, "rises with slope 3, so 1 is no Lipschitz constant; give at least 3"),
        ({"f": torch.rand_like}, "answers differently when it is asked twice"),
        ({"f": "x1"}, "x1 is the name of a function: give the function itself"),
        ({"lipschitz": 0}, "lipschitz must be a positive number"),
        ({"lipschitz": math.nan}, "lipschitz must be a positive number"),
        ({"tokens": 0}, "tokens must be a whole number"),
        ({"method": "printed"}, "eq. 60"),
        ({"domain": None}, "needs a domain"),
        ({"eps": None}, "eps is missing"),
    ],
)
def test_refusals(asked, said):
    with pytest.raises(Refusal, match=said):
        compiled(**asked)


def test_an_eps_that_can_be_had():
    with pytest.raises(Refusal, match=r"too many contexts of 3 tokens; eps = [\d.e-]+ can be had") as refused:
        compiled(tokens=3, features=2, eps=0.05)
    eps = float(str(refused.value).split("eps = ")[1].split(" ")[0])
    assert compiled(tokens=3, features=2, eps=eps).certificate.bound <= eps


def test_a_file_speaks_of_the_same_norm(tmp_path):
    again = hs.load(compiled(eps=0.5).save(tmp_path / "map.safetensors"))
    assert again.certificate.norm == "L2" and "L2 error at most" in again.certificate.title()


def test_a_name_that_looks_like_a_sentence():
    """U+3164 is a letter, and looks like a blank."""

    def f(X):
        return X.clone()

    f.__name__ = "f,\u3164exactly".replace(",", "")
    assert hs.target.EquivariantMap(f, 2, 1, 1.0).f == "f" and f.__name__.isidentifier()
    assert hs.target.SequenceMap(f, 2, 1, 1.0).f == "f"


def test_cells_are_no_narrower_than_floats_allow():
    """Refused at once, where every finer grid would have been built and would have failed."""
    with pytest.raises(Refusal, match="more than 0 cells an axis are too narrow"):
        compiled(torch.clone, 1, 2, domain=(-1e5, -1e5 + 0.003), eps=1e-9, dtype="float32")
    with pytest.raises(Refusal, match=r"more than 2 cells an axis are too narrow; eps = .* can be had"):
        compiled(torch.clone, 1, 1, domain=(2.0**20, 2.0**20 + 1), eps=1e-3, dtype="float32")
