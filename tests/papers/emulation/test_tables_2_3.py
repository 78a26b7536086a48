"""Tables 2 and 3: prompts hold the weights of their algorithm, and a self-check that sees shuffled responses."""

import torch

from headsmith.papers.emulation import tables_2_3


def test_the_self_check_sees_shuffled_responses(monkeypatch):
    assert tables_2_3.check_synthetic()
    synthetic = tables_2_3.synthetic

    def shuffled(*args):
        x, w, y = synthetic(*args)
        return x, w, y.roll(1, -1)

    monkeypatch.setattr(tables_2_3, "synthetic", shuffled)
    assert not tables_2_3.check_synthetic()


def test_ridge_prompts_hold_ridge_weights():
    x, w, y = tables_2_3.synthetic("ridge", torch.Generator().manual_seed(0), 3)
    assert torch.allclose(y, (x @ w.unsqueeze(-1)).squeeze(-1))
    _, sparse, _ = tables_2_3.synthetic("lasso", torch.Generator().manual_seed(0), 50)
    assert 0.4 < float((sparse == 0).double().mean()) < 0.6


def test_real_rows_are_split_and_fitted():
    source, features, reach = tables_2_3.real("diabetes")
    x, w, y = source("linear", torch.Generator().manual_seed(0), 64, True)
    assert features == 10 and float((x @ w[0]).abs().max()) <= reach
    fitted, zero = float(((x @ w[0]) - y).square().mean()), float(y.square().mean())
    assert fitted < 0.7 * zero


def test_claims_can_fail():
    m = {"steps": 10**5, "frozen": [1.0], "baseline": [0.4], "constructed": [1e-11], "own fit": [1e-12]}
    claims = {*tables_2_3.CLAIMS_2, *tables_2_3.CLAIMS_3}
    assert {claim.verdict(m) for claim in claims} == {"fails"}
    assert tables_2_3.LIKE_BASELINE.verdict(m | {"steps": 5}) == "too short to tell"
