"""Everything that is lowered, on one small frozen block: one hash, and each value near what the program says."""

import math

import pytest
import torch
from torch import nn

import headsmith as hs
from headsmith import Refusal, prompt

from ..data import random
from .test_lowering import heads, layer, mlp_of, normed
from .test_modules import encoder_layer

X, Y = random(20, 3, seed=1), random(20, seed=2)
UNEVEN = random(40, 24, seed=3) * torch.linspace(0, math.log(600) / 2, 40).exp()[:, None]
TOKENS = random(2, 7, 24, seed=5)
PROGRAMS = {
    "head": (heads(24, 1, 6, 1), TOKENS, 2e-12),
    "causal heads": (heads(24, 6, 6, 1, causal=True), TOKENS, 2e-12),
    "wide head, tanh": (prompt.head(*(random(24, 24, seed=i) / 5 for i in range(3)), activation="tanh"), TOKENS, 2e-12),
    "mlp": (prompt.chain(*mlp_of(24, 60, "gelu", 3)), TOKENS, 2e-12),
    "norm": (normed(24, 1), UNEVEN, 1e-9),
    "post-LN": (prompt.chain(*(layer(24, 4, 40, pre=False, seed=i) for i in (1, 50))), TOKENS, 1e-9),
    "pre-LN, causal": (layer(24, 4, 40, pre=True, causal=True, activation="gelu", seed=2), TOKENS, 1e-9),
    "mean": (prompt.chain(normed(24, 1), prompt.pool(), prompt.linear(random(2, 24, seed=4) / 5)), TOKENS, 1e-9),
    "ols": (prompt.descent(X, Y, steps=40), None, 1e-12),
    "ridge": (prompt.descent(X, Y, l2=0.1, steps=40), None, 1e-12),
    "lasso path": (prompt.descent(X, Y, l1=[0.01, 0.1, 0.3], momentum=0.3, steps=40), None, 1e-12),
    "huber": (prompt.descent(X, Y, "huber", delta=0.5, steps=40), None, 1e-12),
    "logistic": (prompt.descent(X, (Y > 0).double(), "logistic", steps=40), None, 1e-12),
    "rule": (prompt.rule("tanh(t)", X, Y, 0.2, 40), None, 1e-12),
}


@pytest.fixture(scope="module")
def vm():
    return hs.machine.Tape(slot=24, slots=7, heads=4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_block_runs_all_programs(vm, name):
    program, x, floor = PROGRAMS[name]
    before = vm.weight_hash
    result = vm(vm.host(program, sample=x), x)
    wanted = result.program.source.reference(x)
    assert result.value.shape == wanted.shape
    assert float((result.value - wanted).abs().max()) <= floor
    assert torch.equal(result.value == 0, wanted == 0)
    assert vm.weight_hash == before


@pytest.mark.parametrize("causal", [False, True])
def test_a_module_gets_a_block_of_its_own(causal):
    module = encoder_layer(activation="gelu", norm_first=True)
    vm, program = hs.machine.host(module, tokens=9, causal=causal)
    x = random(5, 24, seed=6)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64) if causal else None
    with torch.no_grad():
        wanted = module.double()(x, mask, is_causal=causal)
    result = vm(program, x)
    assert float((result.value - wanted).abs().max()) < 1e-9 and len(program) == 6 == result.passes
    assert vm.domain == program.domain and vm.norm == program.norm


def test_data_get_a_block_of_their_own():
    for given in (prompt.descent(X, Y, l1=0.1, steps=10), prompt.rule("tanh(t)", X, Y, 0.2, 10)):
        vm, program = hs.machine.host(given)
        assert float((vm(program).value - given.reference()).abs().max()) < 1e-12
        assert torch.equal(vm(program, looped=True).value, vm(program, rows="all").value)


def test_what_fits_no_block_is_refused_by_name(vm):
    with pytest.raises(Refusal, match="a norm over 25 numbers, a slot of this block holds 24"):
        vm.host(normed(25, 1))
    with pytest.raises(Refusal, match=r"hs\.machine\.Solver solves it, and hs\.prompt\.descent"):
        vm.host(prompt.ols(X, Y))
