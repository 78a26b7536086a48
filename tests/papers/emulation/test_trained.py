"""What the trained experiments share: a layer that mixes tokens, and comparisons that resume."""

import torch

from headsmith.papers.emulation import tables_2_3
from headsmith.papers.emulation.trained import Columns, Multihead, compare
from headsmith.records import Record


def test_a_short_comparison_runs_and_resumes(tmp_path):
    settings = {"steps": 2, "seeds": 1, "tests": 1, "heads": 2, "hidden": 8}
    record = Record(tmp_path, {"kind": "test"})
    first = compare(tables_2_3.synthetic, settings, tables_2_3.D, 120.0, record)
    again = compare(tables_2_3.synthetic, settings, tables_2_3.D, 120.0, record)
    assert first["frozen"] == again["frozen"] and max(first["constructed"]) <= 1e-12


def test_the_trained_layer_mixes_tokens():
    model = Multihead(6, 3, 8, 2, 5, queries=4)
    x, q = torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    assert model(x, q).shape == (2, 6, 5)
    moved = x.clone()
    moved[:, 0] += 1
    assert bool(((model(moved, q) - model(x, q))[:, 1:].abs() > 1e-6).any())


def test_every_token_has_a_matrix_of_its_own():
    layer = Columns(3, 2, 2)
    out = layer(torch.ones(1, 3, 2))
    assert not torch.allclose(out[:, 0], out[:, 1])
