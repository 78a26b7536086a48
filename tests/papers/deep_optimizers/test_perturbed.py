"""Claims that can fail, a self-check that can fail, and numbers that are what they are called."""

import copy

import pytest
import torch

from headsmith.papers.deep_optimizers import bounds, perturbed
from headsmith.papers.deep_optimizers.sums import apart, passed, tanh_slope
from headsmith.papers.registry import contents


@pytest.fixture(scope="module")
def measured():
    return perturbed.measure({"draws": 10})


def test_all_claims_hold(measured):
    assert [claim.verdict(measured) for claim in perturbed.CLAIMS] == ["holds"] * 8
    assert len(measured["cases"]) == 18 and {c["knots"] for c in measured["cases"]} == {65, 257, 1025}


@pytest.mark.parametrize(
    "broken, place, value",
    [
        (0, ("cases", 3, "ratio"), 0.99),
        (1, ("cases", 5, "norms of layers"), 1e-9),
        (2, ("cases", 6, "printed form mended"), 1e-9),
        (3, ("exceeded", "printed"), 1.0),
        (3, ("exceeded", "mended"), 1e-4),
        (3, ("exceeded", "norms of layers"), 1e-4),
        (4, ("cases", 7, "printed form mended"), 1e-1),
        (5, ("cases", 1, "measured"), 1e-2),
        (6, ("path", "told", "seen"), [1e-9] * 4),
        (6, ("path", "told", "certified"), [1.0, 1.0, 1e-9, 1.0]),
        (7, ("path", "moved"), 1e9),
        (7, ("path", "told", "printed"), [1.0] * 4),
    ],
)
def test_each_claim_can_fail(measured, broken, place, value):
    m = copy.deepcopy(measured)
    part = m
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    assert perturbed.CLAIMS[broken].verdict(m) == "fails"


def test_the_self_check_can_fail(monkeypatch):
    assert perturbed.self_check()
    monkeypatch.setattr(perturbed, "summed", lambda curve, end, knots: lambda z: curve(z) + 0.1)
    assert not perturbed.self_check()
    monkeypatch.undo()
    monkeypatch.setattr(perturbed.bounds, "printed", lambda *given: 1.0)
    assert not perturbed.self_check()


def test_draws_are_as_large_as_the_hypotheses_allow():
    h = perturbed.hypotheses(3)
    rows, x, y = perturbed.drawn(h, 20)
    assert [V.shape[-2] for V in rows] == [5, 5, 3] and float(y.abs().max()) <= h.y
    assert torch.allclose(x.norm(dim=-1), torch.full((20, 20), h.x, dtype=torch.float64))
    for V in rows:
        assert torch.allclose(V[::2].norm(dim=-1), torch.full(V[::2].shape[:-1], h.row, dtype=torch.float64))
        assert bool((V[1::2] >= 0).all()) and float(V[1::2].norm(dim=-1).max()) <= h.row


def test_no_gradient_moves_faster_than_its_hessian_says():
    """Between two near weights: the largest eigenvalue is attained along its own direction."""
    g = torch.Generator().manual_seed(1)
    rows = [torch.randn(*size, generator=g).double() for size in ((5, 3), (3, 5))]
    x, y = torch.randn(8, 3, generator=g).double(), torch.randn(8, 3, generator=g).double()
    steep, ratios = perturbed._steepest(rows, x, y), []
    at = passed(rows, x, y, torch.tanh, tanh_slope)
    direction = [torch.randn(V.shape, generator=g).double() for V in rows]
    for _ in range(200):  # power iteration on differences of gradients
        size = torch.cat([d.flatten() for d in direction]).norm()
        moved = passed(
            [V + 1e-6 * d / size for V, d in zip(rows, direction, strict=True)], x, y, torch.tanh, tanh_slope
        )
        ratios.append(float(apart(moved, at)) / 1e-6)
        direction = [b - a for a, b in zip(at.gradient, moved.gradient, strict=True)]
    assert max(ratios) <= steep * (1 + 1e-4) and ratios[-1] >= 0.999 * steep


def test_the_path_is_gradient_descent(measured):
    """The first gap is rate eps, and the exact path goes down."""
    path, h = measured["path"], perturbed.hypotheses(3)
    assert path["gaps"][0] == pytest.approx(path["told"]["seen"][0], rel=1e-9)
    assert path["eps"]["seen"] <= path["eps"]["certified"] and 0.1 < path["moved"] < 10
    assert path["told"]["printed"][1] == pytest.approx(
        bounds.printed_trajectory(path["eps"]["certified"], path["L_f"], 20, 10)
    )
    assert h.units == (5, 5, 3)


def test_the_table_has_a_row_for_every_bound():
    outcome = perturbed.run.run({"draws": 4}, None)
    names = [row.name for row in outcome.rows]
    assert len(names) == 18 + 4 + 6 + 1
    first, case = outcome.rows[0], outcome.measurements["cases"][0]
    assert first.name == "tanh, N = 2, 65 knots: gradient off by"
    assert (first.ours, first.printed) == (case["measured"], case["as printed"])
    assert first.baseline.startswith("a posteriori ") and "norms of layers" in first.baseline


def test_it_is_listed_as_it_is():
    listed = {id: (claim, count) for id, _, claim, count, _ in contents()}
    assert listed["deep-optimizers/bounds"] == (perturbed.CLAIMS[0].text, len(perturbed.CLAIMS))
