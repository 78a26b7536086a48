"""The layer that reads a program out of tokens."""

import torch

from headsmith.machines.attention import Attention
from headsmith.machines.reading import Reading

from .data import filled


def test_the_structured_layer_is_the_textbook_one():
    vm = Attention(features=4, head_dim=4, tokens=12, domain=2.0, eps=1e-3)
    program, x = filled(5, tokens=4)
    prompt = vm.encode(program, x)
    layer = vm.network.layers["read"]
    dense = prompt
    for part in layer.dense(prompt.shape[-2]):
        dense = part(dense)
    grouped = Reading(
        layer.slopes, layer.offsets, layer.anchors, rows=layer.rows, features=4, carried=layer.carried, grouped=True
    )
    assert torch.allclose(dense, layer(prompt), atol=1e-12)
    assert torch.allclose(grouped(prompt), layer(prompt), atol=1e-12)
    assert sum(p.numel() for p in layer.parameters()) == 3 * layer.keys
