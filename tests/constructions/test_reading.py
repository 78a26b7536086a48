"""Heads read back from tensors are the heads that were written."""

import numpy as np
import pytest
import torch

from headsmith.constructions.assemble import assemble
from headsmith.constructions.gate import gate, line
from headsmith.constructions.reading import heads_of
from headsmith.constructions.units import LEAD, always, folded, unit_layer, width
from headsmith.network import Attention, Dense
from headsmith.proof.stack import Linear
from headsmith.proof.statement import Head, Part
from headsmith.refusal import Refusal

TABLE = Head.table([-1.0, 0.0, 2.0], [0.5, 0.0, -1.0], [3.0, -4.0, 0.25])
GATE = gate((7.0, -2.0), (1.5, 0.5))


def same(a: Head, b: Head) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in Head.__dataclass_fields__)


@pytest.mark.parametrize("heads", [(TABLE,), (GATE,), (TABLE, GATE), (line(3.0, 1.0), GATE)], ids=len)
def test_parts(heads):
    built = assemble([Part("x", "out", None, (-1, 1), tuple(heads))])
    found = heads_of(built.layers["level1"], 1)
    assert len(found) == len(heads) and all(map(same, found, heads))


@pytest.mark.parametrize("heads", [(TABLE,), (gate((9.0, 0.0), (1.0, 0.0)),), (always(1.0, 2.0), GATE)], ids=len)
def test_units(heads):
    layer = unit_layer(heads, Linear(np.ones((2, 5)), np.zeros(2)), torch.float64)
    found = heads_of(layer, width(5) - 1)
    assert len(found) == 5 * len(heads) + 1
    for g, head in enumerate(heads):
        assert all(same(found[g * 5 + k], head) for k in range(5))
    assert max(found[-1].slopes.max(), found[-1].offsets.max()) == LEAD  # the head that carries `one`


def test_unit_layer_computes_what_it_says():
    weight, bias = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]), np.array([0.25, -1.0])
    z = np.array([0.3, -1.2, 2.0])
    stream = torch.zeros(1, width(3), dtype=torch.float64)
    stream[0, :3], stream[0, -1] = torch.tensor(z), 1.0
    for heads in ((TABLE,), (always(0.5, 1.0), GATE)):
        out = unit_layer(heads, Linear(weight, bias), torch.float64)(stream)[0]
        assert out[:2].numpy() == pytest.approx(weight @ sum(h(z) for h in heads) + bias, abs=1e-14)
        assert out[-1] == 1.0


def test_folding_keeps_the_function():
    z = np.linspace(-3, 3, 50)
    heads = (line(0.5), gate((20.0, 0.0), (2.0, 0.0)))
    assert sum(h(z) for h in folded(heads, 0.75)) == pytest.approx(0.75 + sum(h(z) for h in heads), abs=1e-15)
    assert folded((TABLE,), 2.0)[0](z) == pytest.approx(TABLE(z) + 2.0, abs=1e-14)


def test_other_layers_are_refused():
    three = Dense(torch.ones(1, 3, 4, dtype=torch.float64))
    value = Dense(torch.ones(1, 1, 4, dtype=torch.float64))
    odd = Attention(three, three, value, Dense(torch.ones(1, 4, 1, dtype=torch.float64)), visible="self")
    with pytest.raises(Refusal, match="scalar"):
        heads_of(odd, 1)
