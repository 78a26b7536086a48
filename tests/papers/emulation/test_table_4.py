"""Table 4: errors fall as printed, claims can fail, and so can the self-check."""

import torch

from headsmith.papers.emulation import table_4

GOOD = {
    "P": [20, 30, 40, 60, 80], "printed": list(table_4.PRINTED.values()),
    "float32": list(table_4.PRINTED.values()), "float64": [4e-1, 2e-2, 6e-4, 6e-9, 5e-16],
    "entries": [0.4, 0.1, 1.6e-2, 5e-5, 1.2e-8], "alias": [0.8, 0.12, 1.6e-2, 5e-5, 1.2e-8],
    "ours": [1e-24] * 5, "proof interval": [0.5] * 5, "samples": 1,
}  # fmt: skip
BAD = {
    "float64": [4e-1] * 5, "float32": [1.0] * 5, "entries": [1.0] * 5, "ours": [1.0] * 5,
    "proof interval": [0.0] * 5,
}  # fmt: skip


def test_the_error_falls_as_printed():
    steps = (40, 60, 80)
    ours = [table_4.squared_error(20.0, p, torch.float32, samples=2) for p in steps]
    for p, found in zip(steps, ours, strict=True):
        assert table_4.PRINTED[p] / 10 < found < table_4.PRINTED[p] * 10
    assert table_4.squared_error(20.0, 80, torch.float64, samples=2) < 0.1 * ours[-1]


def test_claims_can_fail():
    assert {claim.verdict(GOOD) for claim in table_4.CLAIMS} == {"holds"}
    assert {claim.verdict(GOOD | BAD) for claim in table_4.CLAIMS} == {"fails"}


def test_the_self_check_sees_a_wrong_theory_and_a_wrong_emulator(monkeypatch):
    assert table_4.self_check()
    with monkeypatch.context() as patched:
        patched.setattr(table_4, "alias", lambda kappa: 10.0)
        assert not table_4.self_check()
    monkeypatch.setattr(table_4, "BETA", 0.02)  # too flat for its lattice
    assert not table_4.self_check()
