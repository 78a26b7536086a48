"""The experiments of algorithm-emulation: they check themselves, decide their claims, and draw what they measured."""

import pytest
import torch

from headsmith.papers.emulation import errata_machines, section_5_1, table_1, table_4, tables_2_3
from headsmith.papers.emulation.trained import Multihead, compare
from headsmith.papers.errata import errata
from headsmith.records import Run
from headsmith.views.machines import bars, drop, one_machine


@pytest.mark.parametrize(
    "check", [table_1.self_check, table_4.self_check, section_5_1.self_check, tables_2_3.check_synthetic]
)
def test_self_checks(check):
    assert check()


def test_table_4_falls_as_printed():
    steps = (40, 60, 80)
    ours = [table_4.squared_error(20.0, p, torch.float32, samples=2) for p in steps]
    for p, found in zip(steps, ours, strict=True):
        assert table_4.PRINTED[p] / 10 < found < table_4.PRINTED[p] * 10
    assert table_4.squared_error(20.0, 80, torch.float64, samples=2) < 0.1 * ours[-1]


def test_table_4_claims_can_fail():
    good = {
        "P": [20, 30, 40, 60, 80], "printed": list(table_4.PRINTED.values()),
        "float32": list(table_4.PRINTED.values()), "float64": [4e-1, 2e-2, 6e-4, 6e-9, 5e-16],
        "entries": [0.4, 0.1, 1.6e-2, 5e-5, 1.2e-8], "alias": [0.8, 0.12, 1.6e-2, 5e-5, 1.2e-8],
        "ours": [1e-24] * 5, "proof interval": [0.5] * 5, "samples": 1,
    }  # fmt: skip
    assert {claim.verdict(good) for claim in table_4.CLAIMS} == {"holds"}
    bad = good | {
        "float64": [4e-1] * 5,
        "float32": [1.0] * 5,
        "entries": [1.0] * 5,
        "ours": [1.0] * 5,
        "proof interval": [0.0] * 5,
    }
    assert {claim.verdict(bad) for claim in table_4.CLAIMS} == {"fails"}
    assert drop(good).axes


def test_a_short_comparison_runs_and_resumes(tmp_path):
    settings = {"steps": 2, "seeds": 1, "tests": 1, "heads": 2, "hidden": 8}
    record = Run(tmp_path, {"kind": "test"})
    first = compare(tables_2_3.synthetic, settings, tables_2_3.D, 120.0, record)
    again = compare(tables_2_3.synthetic, settings, tables_2_3.D, 120.0, record)
    assert first["frozen"] == again["frozen"] and max(first["constructed"]) <= 1e-12
    assert tables_2_3.LIKE_BASELINE.verdict(first) == "too short to tell"
    assert bars(first | {"title": "test"}).axes


def test_ridge_prompts_hold_ridge_weights():
    x, w, y = tables_2_3.synthetic("ridge", torch.Generator().manual_seed(0), 3)
    assert torch.allclose(y, (x @ w.unsqueeze(-1)).squeeze(-1))
    _, sparse, _ = tables_2_3.synthetic("lasso", torch.Generator().manual_seed(0), 50)
    assert 0.4 < float((sparse == 0).double().mean()) < 0.6


def test_the_trained_layer_mixes_tokens():
    model = Multihead(6, 3, 8, 2, 5, queries=4)
    x, q = torch.randn(2, 6, 3), torch.randn(2, 6, 4)
    assert model(x, q).shape == (2, 6, 5)
    moved = x.clone()
    moved[:, 0] += 1
    assert bool(((model(moved, q) - model(x, q))[:, 1:].abs() > 1e-6).any())


@pytest.mark.parametrize(
    "entry", [e for e in errata.entries if e.show.__module__ == errata_machines.__name__], ids=lambda e: e.item
)
def test_errata_are_confirmed(entry):
    assert entry.run().confirmed


def test_the_picture_of_one_machine():
    rows = [{"name": f"program {i}", "result": "1e-9"} for i in range(3)]
    fig = one_machine({"programs": rows, "numbers": 78, "hash": "0" * 64})
    assert "one frozen\nmachine" in {text.get_text() for text in fig.axes[0].texts}
