import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headsmith import lab
from headsmith.lab.read.mechanism import mechanism
from headsmith.lab.theory.approximate import Problem
from headsmith.lab.train.models import AttentionModel

PROBLEM = Problem(4, 40, 0.1)


NUMBERS = ("off_diagonal", "non_identity", "label_leak", "value_leak", "zero_sum", "homogeneity", "gamma", "mu_plus",
           "effective_rate", "pinning", "manifold_distance")  # fmt: skip


@settings(max_examples=10)
@given(st.integers(0, 1000), st.permutations(range(3)))
def test_metrics_ignore_the_gauge_and_the_order_of_heads(seed, order):
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    q, k, v, o = noise(3, 5, 5), noise(3, 5, 5), noise(3, 5, 5), noise(3, 1, 5)
    plain = AttentionModel(q, k, v, o, 4)
    a = torch.eye(5, dtype=torch.float64) + 0.2 * noise(3, 5, 5)
    moved = AttentionModel(
        (a @ q)[list(order)],
        (torch.linalg.inv(a).transpose(-1, -2) @ k)[list(order)],
        (a @ v)[list(order)],
        (o @ torch.linalg.inv(a))[list(order)],
        4,
    )
    before, after = (mechanism(*m.products(), 4, PROBLEM) for m in (plain, moved))
    for name in NUMBERS:
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-6, abs=1e-9)
    assert torch.allclose(after.preconditioner, before.preconditioner, atol=1e-8)
    assert tuple(before.head_classes[i] for i in order) == after.head_classes


def test_defects_are_seen():
    model = AttentionModel.from_reduced([0.2, -0.2], [2.0, -2.0], 5)
    with torch.no_grad():
        model.q[0, 0, 1] += 0.3
        model.q[:, 5, 0] += 0.3
        model.o[:, 0, 2] += 0.5
    found = lab.diagnose(model, prompts=500)
    assert found.off_diagonal > 0.01 and found.label_leak > 0.1 and found.value_leak > 0.1
