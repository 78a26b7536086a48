"""BERT-style encoders as programs: a state dict and a configuration, as Hugging Face writes them.

    norm | x -> norm(x + W_O heads(x)), x -> norm(x + W_2 f(W_1 x)) in each layer

Its tokens are the sums of word, position and type embeddings; its value is the last hidden state. Weights are data:
nothing is run, no class of another package is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headsmith.machines.prompts.heads import FUNCTIONS, HeadProgram, LinearProgram, head, linear
from headsmith.machines.prompts.layers import ChainProgram, NormProgram, ResidualProgram, norm
from headsmith.network import load_tensors
from headsmith.refusal import Refusal

KINDS = ("bert", "roberta", "xlm-roberta", "camembert")
PROBE = "encoder.layer.0.attention.self.query.weight"
WORDS = {"hidden_size", "num_hidden_layers", "num_attention_heads", "hidden_act", "layer_norm_eps"}
ACTIVATIONS = {**{name: name for name in FUNCTIONS if name != "identity"}, "swish": "silu"}


def bert(weights: Mapping[str, Tensor], config: Any) -> ChainProgram:
    """The encoder of a state dict; `config` is its config.json as a mapping, or an object with `to_dict`."""
    told = config.to_dict() if hasattr(config, "to_dict") else config
    if not isinstance(weights, Mapping) or not isinstance(told, Mapping):
        raise Refusal("a BERT-style model is given as (state dict, config): two mappings")
    _check(told)
    start = next((name.removesuffix(PROBE) for name in weights if name.endswith(PROBE)), None)
    if start is None:
        raise Refusal(f"the state dict holds no {PROBE}: it is not laid out as Hugging Face lays out BERT")
    return _Encoder(weights, told, start).chain()


def read_folder(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """(state dict, config) of a folder with model.safetensors and config.json."""
    try:
        config = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refusal(f"{path} holds no readable config.json ({error})") from None
    return load_tensors(Path(path) / "model.safetensors")[0], config


def embedded(weights: Mapping[str, Tensor], count: int) -> Tensor | None:
    """Tokens as the model sees them: words at random, each with its place; none where the tables are missing."""
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    found = [next((t for n, t in weights.items() if n.endswith(f"embeddings.{name}.weight")), None) for name in names]
    words, places, types = (None if table is None else table.detach().cpu().double() for table in found)
    if words is None or places is None or types is None:
        return None
    ids = torch.randint(len(words), (min(count, len(places)),), generator=torch.Generator().manual_seed(0))
    return words[ids] + places[-len(ids) :] + types[0]


def _check(config: Mapping[str, Any]) -> None:
    missing = WORDS - set(config)
    if missing:
        raise Refusal(f"the config lacks {', '.join(sorted(missing))}")
    kind = config.get("model_type", "bert")
    if kind not in KINDS:
        raise Refusal(f"the config is that of {kind}; a tape reads encoders of the kinds {', '.join(KINDS)}")
    if config["hidden_act"] not in ACTIVATIONS:
        raise Refusal(
            f"the block does not hold {config['hidden_act']}; it holds {', '.join(ACTIVATIONS)}, GELU exactly"
        )
    places = config.get("position_embedding_type", "absolute")
    if places != "absolute":
        raise Refusal(f"positions are {places} in this model: they enter its attention, which a tape does not hold")
    if config.get("add_cross_attention"):
        raise Refusal("this model attends to another sequence as well, which a tape does not hold")


class _Encoder:
    """The parts of the encoder, by the names that Hugging Face gives them."""

    def __init__(self, weights: Mapping[str, Tensor], config: Mapping[str, Any], start: str) -> None:
        self.weights, self.config, self.start = weights, config, start

    def chain(self) -> ChainProgram:
        """The norm of the embeddings, and all layers."""
        stages: list[Any] = [self.norm("embeddings.LayerNorm", "embedding norm")]
        for i in range(self.config["num_hidden_layers"]):
            at, name = f"encoder.layer.{i}", f"layer {i}"
            first = self.linear(f"{at}.intermediate.dense", f"{name} W_1", ACTIVATIONS[self.config["hidden_act"]])
            out = self.linear(f"{at}.attention.output.dense", f"{name} W_O")
            second = self.linear(f"{at}.output.dense", f"{name} W_2")
            stages += [
                ResidualProgram(f"{name} attention", (self.heads(f"{at}.attention.self", f"{name} heads"), out)),
                self.norm(f"{at}.attention.output.LayerNorm", "norm"),
                ResidualProgram(f"{name} mlp", (first, second)),
                self.norm(f"{at}.output.LayerNorm", "norm"),
            ]
        return ChainProgram(str(self.config.get("model_type", "bert")), tuple(stages))

    def tensor(self, name: str) -> Tensor:
        """A weight in float64."""
        found = self.weights.get(self.start + name)
        if not isinstance(found, Tensor):
            raise Refusal(f"the state dict lacks {self.start}{name}")
        return found.detach().cpu().to(torch.float64)

    def norm(self, at: str, name: str) -> NormProgram:
        """A layer norm."""
        gamma, beta = self.tensor(f"{at}.weight"), self.tensor(f"{at}.bias")
        return replace(norm(gamma, beta, float(self.config["layer_norm_eps"])), name=name)

    def linear(self, at: str, name: str, activation: str = "identity") -> LinearProgram:
        """A linear map, and what follows it."""
        return replace(linear(self.tensor(f"{at}.weight"), self.tensor(f"{at}.bias"), activation), name=name)

    def heads(self, at: str, name: str) -> HeadProgram:
        """All heads of a layer, their scale folded into the queries."""
        count = self.config["num_attention_heads"]
        size = self.config["hidden_size"] // count
        k, q, v = (self.tensor(f"{at}.{part}.weight") for part in ("key", "query", "value"))
        if not k.shape == q.shape == v.shape or len(k) != count * size:
            raise Refusal(f"{self.start}{at} has other sizes than {count} heads of {size} numbers")
        biases = [self.tensor(f"{at}.{part}.bias").reshape(count, size) for part in ("key", "query", "value")]
        k, q, v = (part.reshape(count, size, -1) for part in (k, q, v))
        causal = bool(self.config.get("is_decoder", False))
        program = head(k, q, v, f"1/sqrt({size})", (biases[0], biases[1], biases[2]), causal=causal)
        return replace(program, name=name)
