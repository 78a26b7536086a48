"""Modules are run and compared with what was read from them; what does not fit a block is refused by name."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from headsmith import Refusal
from headsmith.machines.tape.host import host, hosted, reach
from headsmith.machines.tape.instruction import Sizes

from ..data import random

SIZES, NORM, DOMAIN = Sizes(32, 12, 4), (2.0**-20, 2.0**20), 1e4
CONFIG = {
    "model_type": "bert",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def bert_weights(start="bert."):
    d, ff, weights = 24, 40, {}

    def linear(name, rows, columns, seed):
        weights[f"{start}{name}.weight"] = random(rows, columns, seed=seed).float() / columns**0.5
        weights[f"{start}{name}.bias"] = random(rows, seed=seed + 1).float()

    def norm(name, seed):
        weights[f"{start}{name}.weight"] = 1 + 0.2 * random(d, seed=seed).float()
        weights[f"{start}{name}.bias"] = random(d, seed=seed + 1).float()

    norm("embeddings.LayerNorm", 1)
    for i in range(2):
        at, s = f"encoder.layer.{i}", 100 * i + 10
        for k, part in enumerate(("self.query", "self.key", "self.value", "output.dense")):
            linear(f"{at}.attention.{part}", d, d, s + 2 * k)
        linear(f"{at}.intermediate.dense", ff, d, s + 20)
        linear(f"{at}.output.dense", d, ff, s + 30)
        norm(f"{at}.attention.output.LayerNorm", s + 40)
        norm(f"{at}.output.LayerNorm", s + 50)
    return weights


def hugging_face(weights, x):
    """The formulas of transformers' BertLayer, written out."""
    w = {name.removeprefix("bert."): value.double() for name, value in weights.items()}

    def linear(name, x):
        return x @ w[f"{name}.weight"].mT + w[f"{name}.bias"]

    def norm(name, x):
        return nn.functional.layer_norm(x, (24,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    x = norm("embeddings.LayerNorm", x)
    for i in range(2):
        at = f"encoder.layer.{i}"
        q, k, v = (
            linear(f"{at}.attention.self.{part}", x).unflatten(-1, (4, 6)).transpose(-3, -2)
            for part in ("query", "key", "value")
        )
        mixed = (torch.softmax(q @ k.mT / 6**0.5, -1) @ v).transpose(-3, -2).flatten(-2)
        x = norm(f"{at}.attention.output.LayerNorm", x + linear(f"{at}.attention.output.dense", mixed))
        inner = nn.functional.gelu(linear(f"{at}.intermediate.dense", x))
        x = norm(f"{at}.output.LayerNorm", x + linear(f"{at}.output.dense", inner))
    return x


def test_a_bert_of_hugging_face():
    weights, x = bert_weights(), random(7, 24, seed=5)
    tape = hosted((weights, CONFIG), SIZES, NORM, DOMAIN)
    assert float((tape.reference(x) - hugging_face(weights, x)).abs().max()) < 1e-12
    assert len(tape) == 1 + 2 * (3 + 2) + 1


def test_a_folder_of_hugging_face(tmp_path):
    save_file(bert_weights(""), tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    x = random(7, 24, seed=5)
    tape = hosted(tmp_path, SIZES, NORM, DOMAIN)
    assert float((tape.reference(x) - hugging_face(bert_weights(), x)).abs().max()) < 1e-12


def test_words_at_random_are_the_samples_of_a_state_dict():
    weights = bert_weights() | {
        "bert.embeddings.word_embeddings.weight": 1e-3 * random(50, 24, seed=8),
        "bert.embeddings.position_embeddings.weight": 1e-3 * random(16, 24, seed=9),
        "bert.embeddings.token_type_embeddings.weight": torch.zeros(2, 24),
    }
    small, unit = (hosted((w, CONFIG), SIZES, NORM, DOMAIN) for w in (weights, bert_weights()))
    assert small.scales[0] >= 2**8 * unit.scales[0] and len(small.scales) == len(unit.scales) == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden_act": "gelu_new"}, "does not hold gelu_new"),
        ({"model_type": "gpt2"}, "config is that of gpt2"),
        ({"position_embedding_type": "relative_key"}, "positions are relative_key"),
        ({"num_hidden_layers": 3}, "lacks bert.encoder.layer.2"),
        ({"num_attention_heads": 5}, "other sizes than 5 heads"),
        ({"add_cross_attention": True}, "another sequence"),
        ({"layer_norm_eps": None}, "lacks layer_norm_eps"),
    ],
)
def test_another_config_is_refused(change, words):
    config = {name: value for name, value in {**CONFIG, **change}.items() if value is not None}
    with pytest.raises(Refusal, match=words):
        hosted((bert_weights(), config), SIZES, NORM, DOMAIN)


def test_a_state_dict_of_something_else_is_refused(tmp_path):
    with pytest.raises(Refusal, match=r"holds no encoder\.layer\.0"):
        hosted(({"0.weight": random(2, 2, seed=1)}, CONFIG), SIZES, NORM, DOMAIN)
    with pytest.raises(Refusal, match=r"no readable config\.json"):
        hosted(tmp_path, SIZES, NORM, DOMAIN)


def test_a_module_with_a_patched_formula_is_found_out(monkeypatch):
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: x @ self.weight.mT)
    with pytest.raises(Refusal, match="was read as linear, but run on 64 tokens it computes something else"):
        hosted(nn.Linear(3, 3), SIZES, NORM, DOMAIN)


def test_a_row_beyond_the_domain_names_the_domain_that_holds_it():
    module, x = nn.Linear(3, 3).double(), 100 * random(5, 3, seed=1)
    with pytest.raises(Refusal, match=r"Tape\(domain=\d+\) holds it") as refusal:
        hosted(module, SIZES, NORM, 8.0, sample=x)
    domain = float(str(refusal.value).split("domain=")[1].split(")")[0])
    tape = hosted(module, SIZES, NORM, domain, sample=x)
    assert reach(tape, x) <= domain < 2 * reach(tape, x)


def test_what_no_block_holds_is_said_so():
    with pytest.raises(Refusal, match=r"no block holds more than \d+, measure the tokens in larger units"):
        hosted(nn.Linear(3, 3).double(), SIZES, NORM, 8.0, sample=1e8 * random(5, 3, seed=1))


def test_a_program_is_hosted_as_it_is():
    from headsmith import prompt

    tape = hosted(prompt.linear(random(3, 4, seed=1)), SIZES, NORM, DOMAIN)
    assert len(tape) == 1
    with pytest.raises(Refusal, match="causal=True is for torch modules"):
        hosted(prompt.linear(random(3, 4, seed=1)), SIZES, NORM, DOMAIN, causal=True)


@pytest.mark.parametrize("sample", [torch.zeros(3, 4), torch.zeros(3), [[float("nan")] * 3]])
def test_samples_that_do_not_fit_are_refused(sample):
    with pytest.raises(Refusal):
        hosted(nn.Linear(3, 3), SIZES, NORM, DOMAIN, sample=sample)


def test_a_map_to_zero_is_hosted():
    module = nn.Linear(3, 3, bias=False).double()
    with torch.no_grad():
        module.weight.zero_()
    vm, program = host(module)
    assert float(vm(program, random(4, 3, seed=0)).value.abs().max()) < 1e-14


def test_a_module_that_is_trained_on_stays_what_it_was():
    module = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)).double()
    vm, program = host(module)
    x, result = random(4, 3, seed=0), vm(program, random(4, 3, seed=0))
    with torch.no_grad():
        for weight in module.parameters():
            weight += 1
    assert torch.equal(vm(program, x).value, result.value) and result.prove().bound < 1e-10
