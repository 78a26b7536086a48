"""The universality experiments and errata: their machinery works, and every erratum is confirmed."""

import numpy as np
import pytest
import torch

from headsmith.papers import errata, registry
from headsmith.papers.universality import errata_clip, figure_2, figure_3, figure_4, truncation
from headsmith.papers.universality.trained import Double, Single, clipped, regression, slope
from headsmith.views.universality import heatmaps, sequence, sweeps
from headsmith.views.universality import truncation as draw_truncation

PAPER = "softmax-universality"
OWN = [entry for entry in errata.errata.entries if entry.show.__module__ == errata_clip.__name__]


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: entry.item)
def test_printed_fails_and_repaired_works(entry):
    finding = entry.run()
    assert finding.printed_fails and finding.repaired_works, finding


def test_the_fatal_ones_are_there():
    items = " ".join(entry.item for entry in OWN)
    assert all(label in items for label in ("E1", "E4", "E5", "B2", "B4", "B8", "N3", "N4", "N5"))


@pytest.mark.parametrize(
    "module", [truncation, figure_2, figure_3, figure_4], ids=lambda m: m.__name__.rpartition(".")[2]
)
def test_self_checks(module):
    assert module.self_check()


def test_constructed_error_halves_where_the_mean_square_quarters():
    z = np.linspace(-30, 30, 20_001)
    small, large = (figure_2.constructed(p, 50, 1, z) for p in (60, 120))
    assert small["printed sup"] / large["printed sup"] == pytest.approx(2, rel=0.02)
    assert small["repaired"] / large["repaired"] == pytest.approx(4, rel=0.1)


def test_truncation_verdicts():
    """Thm 3.4 has its slopes; Thm 3.9 fails as printed and holds repaired."""
    m = truncation.measure(truncation.PRESETS["smoke"])
    verdicts = [claim.verdict(m) for claim in truncation.CLAIMS]
    assert verdicts == ["holds", "holds", "fails", "holds", "holds", "holds"]
    assert len(draw_truncation(m).axes) == 2


def test_models_append_tokens_and_read_the_first():
    x = torch.rand(3, 6, 5)
    for model in (Single(5, 8, 6, 9, 2), Double(5, 8, 6, 6, 4)):
        assert model(x).shape[:2] == (3, 6)
    assert Single(5, 8, 6, 9, 2).lift(x).shape == (3, 9, 8)


def test_baselines():
    *held, z = clipped(10, 0)
    assert float(held[3][..., 0].abs().max()) <= 5 and torch.equal(held[3][..., 0].double(), z.clamp(-5, 5))
    x = torch.rand(50, 3)
    line = (x[:40], x[:40] @ torch.ones(3, 1), x[40:], x[40:] @ torch.ones(3, 1))
    assert regression(line) < 1e-12
    assert slope([1, 2, 4], [1, 1 / 4, 1 / 16]) == pytest.approx(-2)


def test_pictures_are_drawn_from_plain_numbers():
    keys = ("trained", "spread", "printed", "repaired", "mean", "regression", "gates", "proved")
    panel = {key: [0.5, 0.25] for key in keys} | {"sizes": [1, 2]}
    slopes = {f"{kind}slope {axis}": -1.0 for kind in ("", "constructed ") for axis in ("p", "width", "heads")}
    assert len(sweeps({"panels": {axis: panel for axis in ("p", "width", "heads")}, **slopes}).axes) == 3
    assert len(sequence({"panels": {axis: panel for axis in ("p", "heads")}, **slopes}).axes) == 2
    one = [{"pattern": [[0.5, 0.5]], "ends": 1.0}] * 2
    assert len(heatmaps({"widths": [1, 2], "constructed": one, "trained": one}).axes) == 4


def test_registered():
    for item in ("truncation", "figure-2", "figure-3", "figure-4"):
        assert set(registry.registry.find(f"{PAPER}/{item}").presets) == {"smoke", "full"}
