"""Torch modules as programs, and what makes a module something else than its type says."""

import pytest
import torch
from torch import nn

from headsmith import Refusal
from headsmith.machines.tape.host import hosted
from headsmith.machines.tape.instruction import Sizes
from headsmith.machines.tape.modules import program_of

from ..data import random

SIZES, NORM = Sizes(32, 12, 4), (2.0**-20, 2.0**20)


def encoder_layer(**options):
    torch.manual_seed(3)
    given = {"d_model": 24, "nhead": 4, "dim_feedforward": 40, "batch_first": True, **options}
    layer = nn.TransformerEncoderLayer(**given).eval()
    with torch.no_grad():  # torch starts with biases of zero, which would hide where they go
        for name, weight in layer.named_parameters():
            if name.endswith("bias"):
                weight.normal_()
            elif "norm" in name:
                weight.uniform_(0.5, 1.5)
    return layer


def apart(module, wide, x, causal=False):
    tape = hosted(module, SIZES, NORM, 1e6, causal=causal)
    with torch.no_grad():
        if causal:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[-2], dtype=torch.float64)
            value = wide(x, mask, is_causal=True)
        else:
            value = wide(x)
    return float((tape.reference(x) - value).abs().max())


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", nn.SiLU(), torch.tanh])
@pytest.mark.parametrize("causal", [False, True])
def test_an_encoder_layer(norm_first, activation, causal):
    layer = encoder_layer(norm_first=norm_first, activation=activation).double()
    assert apart(layer, layer, random(2, 6, 24, seed=1), causal) < 1e-12


@pytest.mark.parametrize("norm", [None, nn.LayerNorm, nn.RMSNorm])
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_of_two_layers(norm_first, norm):
    def encoder(**options):
        final = norm and norm(24, **options)
        return nn.TransformerEncoder(encoder_layer(norm_first=norm_first, bias=norm is None), 2, final, False).eval()

    eps = {"eps": torch.finfo(torch.float32).eps} if norm is nn.RMSNorm else {}  # what float32 would take by itself
    assert apart(encoder(), encoder(**eps).double(), random(6, 24, seed=1)) < 1e-12


def test_the_mask_reaches_the_encoders_of_a_sequence():
    module = nn.Sequential(encoder_layer(), nn.Linear(24, 24), encoder_layer(norm_first=True)).double().eval()
    x, mask = random(6, 24, seed=1), nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    with torch.no_grad():
        wanted = module[2](module[1](module[0](x, mask, is_causal=True)), mask, is_causal=True)
    assert float((hosted(module, SIZES, NORM, 1e6, causal=True).reference(x) - wanted).abs().max()) < 1e-12


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(5, 3),
        nn.Linear(5, 3, bias=False),
        nn.LayerNorm(5),
        nn.LayerNorm(5, elementwise_affine=False),
        nn.RMSNorm(5, eps=1e-3),
        nn.Sequential(nn.Linear(5, 40), nn.GELU(), nn.Dropout(0.0), nn.Linear(40, 3), nn.Tanh(), nn.SiLU()),
        nn.Sequential(nn.LayerNorm(5), nn.ReLU(), nn.Sequential(nn.Linear(5, 4), nn.Identity()), nn.LayerNorm(4)),
        nn.Sequential(nn.Linear(5, 24), encoder_layer(), nn.LayerNorm(24), nn.GELU(), nn.Linear(24, 2)),
    ],
)
def test_modules(module):
    module = module.double().eval()
    assert apart(module, module, random(6, 5, seed=1)) < 1e-12


class Louder(nn.TransformerEncoderLayer):
    def forward(self, *args, **options):
        return 2 * super().forward(*args, **options)


class Named(nn.LayerNorm):
    pass


class Alike:
    """Says that it is ReLU, and is not."""

    def __hash__(self):
        return hash(nn.functional.relu)

    def __eq__(self, other):
        return True

    def __call__(self, x):
        return x if torch.is_grad_enabled() else torch.relu(x)


class Unhashed:
    __hash__ = None

    def __call__(self, x):
        return torch.relu(x)


def _hooked():
    layer = encoder_layer()
    layer.self_attn.register_forward_hook(lambda module, given, out: out)
    return layer


def _swapped():
    layer = encoder_layer()
    layer.norm1, layer.forward = layer.norm2, layer.forward
    return layer


def _parametrised():
    layer = encoder_layer()
    nn.utils.parametrizations.weight_norm(layer.linear1)
    return layer


def _training():
    layer = encoder_layer().train()
    layer.self_attn.dropout = 0.0
    return layer


def _with(name, value):
    layer = encoder_layer()
    setattr(layer, name, value)
    return layer


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (Louder(24, 4, 40).eval(), "Louder is a subclass of TransformerEncoderLayer"),
        (nn.Sequential(nn.Linear(2, 3), Named(3)), "Named is a subclass of LayerNorm"),
        (_hooked(), "MultiheadAttention has forward hooks"),
        (_swapped(), "forward of its own"),
        (_parametrised(), "parametrised"),
        (encoder_layer().train(), r"call \.eval\(\) first"),
        (_training(), r"call \.eval\(\) first"),
        (encoder_layer(device="meta"), "is torch.float32 on meta"),
        (nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5)), r"call \.eval\(\) first"),
        (encoder_layer(activation=nn.GELU("tanh")), r"does not hold GELU\(approximate='tanh'\); it holds tanh, silu"),
        (encoder_layer(activation=nn.Softplus()), "does not hold Softplus"),
        (encoder_layer(activation=lambda x: x), "activation <lambda> of an encoder layer"),
        (encoder_layer(activation=Alike()), "activation .* of an encoder layer"),
        (encoder_layer(activation=Unhashed()), "activation .* of an encoder layer"),
        (nn.Sequential(nn.Linear(2, 3), nn.RMSNorm(3, elementwise_affine=False)), "give it an eps"),
        (nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), "starts with ReLU"),
        (nn.Sequential(), "does nothing"),
        (nn.Conv1d(2, 2, 1), "Conv1d is nothing that a tape holds"),
        (nn.LayerNorm((2, 3)), r"not over shape \(2, 3\)"),
        (nn.MultiheadAttention(24, 4), "MultiheadAttention is nothing"),
        (_with("norm1", nn.BatchNorm1d(24)), "a norm of an encoder is a BatchNorm1d"),
        (_with("self_attn", nn.MultiheadAttention(24, 4, add_bias_kv=True)), "bias_k"),
        (_with("linear1", nn.Bilinear(2, 2, 2)), "a linear map of an encoder layer is a Bilinear"),
        (nn.TransformerEncoder(Louder(24, 4, 40).eval(), 1, None, False), "a layer of the encoder is a Louder"),
    ],
)
def test_what_may_compute_something_else_is_refused(module, words):
    with pytest.raises(Refusal, match=words) as refusal:
        program_of(module)
    assert "\n" not in str(refusal.value)
