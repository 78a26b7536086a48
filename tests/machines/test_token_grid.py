"""Thm 4.1 with any number of heads: its certificate, each term of it, and Remark 4.1."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith import Refusal
from headsmith.machines.token_grid import TokenGrid

from .data import filled

HEAD = hs.prompt.head([[1.0]], [[1.0]], [[1.0]])
grid = cache(TokenGrid)


@pytest.mark.parametrize("heads", [1, 2, 5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_head_is_within_its_certificate_and_the_promise(heads, seed):
    program, x = filled(seed, domain=1.0, tokens=6, features=3, rows=2)
    most = max(float((x.abs() @ w.abs().mT).max()) for w in program.weights)
    vm = grid(3, 2, 6, 1.0, heads)
    result = vm(program, x)
    error = float((result.value - program.reference(x)).abs().max())
    assert error <= result.certificate.bound and result.certificate.kind == "proved"
    assert most > 1 or result.certificate.bound <= vm.certificate.bound


def test_more_heads_are_a_finer_staircase_and_one_head_is_smooth():
    """H = O(1/eps) heads as printed; the tokens as one smooth lattice are better than twelve of them."""
    errors = [grid(3, 2, 6, 1.0, heads).entry.total for heads in (2, 4, 8)]
    assert all(1.7 < a / b < 2.8 for a, b in pairwise(errors))
    assert grid(3, 2, 6, 1.0, 1).entry.total < errors[-1] / 10


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_the_error_of_an_entry_is_attained(heads):
    """K, Q and V of one feature: z sweeps the range, token by token."""
    vm, worst, exceeded = grid(1, 1, 6, 1.0, heads), 0.0, 0.0
    layer = vm.network.layers["read"]
    tables = list(vm.tables.values())
    for z in torch.linspace(-1, 1, 6 * 400, dtype=torch.float64).reshape(400, 6, 1):
        found = layer(vm._layout().encode(HEAD, z))[:, 0]
        worst = max(worst, float((found - z[:, 0]).abs().max()))
        exact = sum(table(z[:, 0].numpy().astype(np.longdouble)) for table in tables)
        exceeded = max(exceeded, float(np.abs(found.numpy() - exact).max()))
    assert 0.9 * vm.entry.approximation <= worst <= vm.entry.total
    assert 0 < exceeded <= vm.entry.rounding < 1e-9


def test_rounding_grows_with_the_sums_behind_an_entry():
    """Large terms that cancel: K is small, its products are not."""
    vm = grid(2, 1, 6, 1.0, 2)
    program = hs.prompt.head([[1e6, -1e6]], [[0.5, 0.0]], [[0.5, 0.0]])
    x = torch.linspace(-1, 1, 6, dtype=torch.float64)[:, None].repeat(1, 2)
    small = hs.prompt.head([[0.0, 0.0]], [[0.5, 0.0]], [[0.5, 0.0]])
    wide, narrow = (vm(p, x).certificate.rounding for p in (program, small))
    assert wide > 1e4 * narrow


@pytest.mark.parametrize("heads", [1, 3])
def test_exchanged_columns_of_x_are_exchanged_columns_of_the_output(heads):
    """Remark 4.1: X alone is permuted; the weights and the positions of the prompt stay where they are."""
    program, x = filled(5, domain=1.0, tokens=6, features=3, rows=2)
    vm = grid(3, 2, 6, 1.0, heads)
    before = vm(program, x)
    for seed in range(4):
        order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
        after = vm(program, x[order]).value
        assert float((after - before.value[order]).abs().max()) <= 2 * before.certificate.rounding
        assert float((after - before.value[order]).abs().max()) < 1e-12
    tokens = vm._layout().encode(program, x)
    tokens[:, -6:] = tokens[:, -6:].flip(0)  # positions alone: keys lose their place in the grid
    assert float((vm.network(tokens) - before.value).abs().max()) > 0.1


def test_what_does_not_fit_is_refused():
    vm = grid(3, 2, 6, 1.0, 2)
    program, x = filled(1, domain=1.0, tokens=6, features=3, rows=2)
    with pytest.raises(Refusal, match=r"K\[\d\] of token \d has size"):
        vm(program, 3 * x)
    with pytest.raises(Refusal, match="without biases"):
        vm(hs.prompt.head(*program.weights, biases=([1.0, 0.0], None, None)), x)
    with pytest.raises(Refusal, match="exactly 6 tokens"):
        vm(program, x[:5])
    with pytest.raises(Refusal, match="take 66 heads or fewer"):
        TokenGrid(3, 2, 6, 1.0, 67)
    with pytest.raises(Refusal, match="at least 3 of them"):
        TokenGrid(3, 2, 2, 1.0, 1)
