"""One step of gradient descent in the paper's own 2N + 4 layers (Transformers are Deep Optimizers, Thm 1 and 5,
repaired).

    forward j   p(j) = sum_m c_m relu(a_m v_jk . p(j-1) + b_m)      ReLU attention, a head for each unit and term   N
    slopes      r'(j) the same, all layers at once                  ReLU attention                                  1
    loss        q = loss'(p(N), y), 0 for who is absent             MLP                                             1
    backward j  delta(j) = r'(j) (V_{j+1}' delta(j+1)),  r'(N) q    a token attends to itself, linearly             N
    descend     w <- w - pace (1/n) sum_i delta_i p_i'              ReLU attention                                  1
    clean       w <- box(w), scratch <- 0                           MLP                                             1

Every token holds all weights (`sheet`), so that every key gives a head the same score, and the sum over keys undoes the
1/T of the attention. What the paper leaves out or has otherwise: attention in its vector form (E7), sums that hold on
all of R (E3, E4), a box in place of balls (E8), scratch that is wiped (E9), a start that is not 0 and a read-out. The
paper's element-wise multiplication, <q_i, k_i> v_i without relu, is two ReLU heads that see their own token alone.

What is proved. Each step is gradient descent on a gradient that is off by e. The sums are off by what is proved of
them, and that is handed on from layer to layer as the tokens of the step have it (`proof.perturbation`); rounding may
leave tokens with weights that differ by a few units of roundoff, and that is seen and charged too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from headsmith.constructions.design import Altered, Short, Tally
from headsmith.constructions.training.compact import losses
from headsmith.constructions.training.form import ENFORCED, Form, Variable
from headsmith.constructions.training.sheet import Sheet
from headsmith.constructions.training.sums import IDENTITY, STRAIGHT, Sums, curve_of, kinked_sums, smooth_sums
from headsmith.functions.smooth import SMOOTH
from headsmith.network import Attention, Layer, Network, Select, Sparse
from headsmith.network.hidden import SIGNS, Hidden, Terms, everyone, heads, itself, mlp, scaled
from headsmith.proof.certificate import Bound
from headsmith.proof.curves import Slip, Smoothness
from headsmith.proof.perturbation import Counts, Law
from headsmith.proof.relu_sums import ReluSum
from headsmith.proof.summed import Summed

if TYPE_CHECKING:
    from headsmith.compiler.request import Request

GROWS = (64, 8)  # times the error of a sum that of a gradient may be; the second where the first takes too many ReLUs
COUNTS = Counts(row=0, column=0, gradient=8, onto=True)
"""A gradient: the rate thrice, as told; pace delta, 1/T, T/n twice, a product with p, and a sum with its products."""


@dataclass(frozen=True, eq=False)
class PrintedTraining(Form):
    """2N + 4 layers a step; the numbers are those of the sums of a smooth activation."""

    name, asked = "printed training", "printed"
    plain = "plain gradient descent on the squared or the Huber loss"
    steps: int
    units: tuple[int, ...]
    bent: tuple[int, ...]
    sums: Sums  # of layers with the activation

    def _sums(self, j: int) -> Sums:
        return self.sums if j in self.bent else IDENTITY

    @property
    def tally(self) -> Tally:
        sums, depth = [self._sums(j + 1) for j in range(len(self.units))], len(self.units)
        heads = sum(n * (len(s.value) + len(s.slope) + 4) for n, s in zip(self.units, sums, strict=True))
        return Tally(sum(self.units), heads, (2 * depth + 2) * self.steps + depth)

    def method(self, target: Any) -> str:
        blocks = 2 * len(self.units) + 4
        terms = f", {len(self.sums.value)} and {len(self.sums.slope)} ReLUs a unit" if self.approximates(target) else ""
        return f"printed, {blocks} layers a step and {len(self.units)} to read out{terms}"

    def approximates(self, target: Any) -> bool:
        """Sums of smooth activations do."""
        return _is_smooth(target)

    @property
    def instead(self) -> str:
        """Sums are as fine as eps asks for: another eps would not help."""
        return "take smaller weights or data, or method='auto', which does without sums of ReLUs"

    @staticmethod
    def stream(target: Any) -> Sheet:
        """All weights in every token."""
        matrices = target.matrices
        return Sheet(matrices.widths, matrices.biases, matrices.bent, target.samples)

    def block(self, target: Any, dtype: str) -> Iterator[tuple[str, Layer]]:
        sheet, kind = self.stream(target), getattr(torch, dtype)
        for j in sheet.layers:
            yield f"forward{j}", summing(sheet, [(j, self._sums(j).value)], "p", kind)
        yield "slopes", summing(sheet, [(j, self._sums(j).slope) for j in sheet.layers], "slope", kind)
        yield "loss", mlp(losses(sheet, target.slopes, sheet.activation(sheet.depth)), sheet.width, kind)
        for j in reversed(sheet.layers):
            yield f"backward{j}", backward(sheet, j, kind)
        yield "descend", update(sheet, kind)
        yield "clean", mlp(cleaning(sheet, target.project), sheet.width, kind)

    def variables(self, stream: Any, j: int, layers: Sequence[str]) -> Iterator[Variable]:
        """Of z nothing is stored."""
        at, samples = f"layer {j} / ", slice(0, stream.samples)
        yield at + "activation", (f"forward{j}", stream.data, stream.slices[f"p {j}"])
        yield at + "slope", ("slopes", stream.data, stream.slices[f"slope {j}"])
        yield at + "delta", (f"backward{j}", samples, stream.slices[f"delta {j}"])
        yield at + "weights", ("clean", 0, stream.layer(j))

    def reach(self, target: Any) -> float:
        """Sums are proved on all of R."""
        return math.inf

    @classmethod
    def beyond(cls, target: Any) -> str:
        """The paper has no moments and no decay, and losses whose slope is a sum of ReLUs."""
        asked = {"optimizer=": target.optimizer != "gd", "decay=": target.decay > 0, "loss='logistic'": target.squashed}
        return next((word for word, used in asked.items() if used), "")

    def prove(self, target: Any, request: Request) -> Bound:
        """By sums that stand for this activation, which is asked before any prompt is seen."""
        curve_of(target.activation, self.sums, request.dtype)
        return super().prove(target, request)

    def law(self, target: Any, request: Request) -> Law:
        """Each ReLU works out z by itself: a dot product, 1/T, and the sum over tokens."""
        sheet, dtype = self.stream(target), request.dtype
        adds = sheet.fan + sheet.tokens + 2
        curve = Summed(
            curve_of(target.activation, self.sums, dtype), self.sums.value, self.sums.slope, adds, together=False
        )
        straight = Summed(Smoothness(STRAIGHT, Slip(), Slip()), IDENTITY.value, IDENTITY.slope, adds, together=False)
        return self._law(target, request, curve, counts=COUNTS, straight=straight)

    def watched(self, network: Network) -> tuple[str, str, str]:
        """The gradient is known when all are handed back."""
        return "backward1", "descend", "clean"

    @classmethod
    def of(cls, target: Any, request: Request) -> PrintedTraining:
        """Sums of as many terms as eps asks for."""
        return cls(target.steps, target.matrices.widths[1:], target.matrices.bent, sums_of(target, request))

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> PrintedTraining:
        if not _is_smooth(target):
            return cls.of(target, request)
        matrices, bent = target.matrices, target.matrices.bent
        straight = sum(matrices.widths[j] for j in matrices.layers if j not in bent)
        value = _read(network, "forward1", matrices.widths[1], 0)
        slope = _read(network, "slopes", matrices.units - straight, straight)
        return cls(target.steps, matrices.widths[1:], bent, Sums(value, slope))


def _is_smooth(target: Any) -> bool:
    return target.activation in SMOOTH and bool(target.matrices.bent)


def sums_of(target: Any, request: Request) -> Sums:
    """What an activation takes; of eps each of D weights has its share."""
    if not target.matrices.bent:
        return IDENTITY
    if not _is_smooth(target):
        return kinked_sums(target.activation, request.dtype)
    share = ENFORCED * request.eps / math.sqrt(target.matrices.parameters)
    try:
        return smooth_sums(target.activation, share / GROWS[0], request.dtype)
    except Short:
        return smooth_sums(target.activation, share / GROWS[1], request.dtype)


def _read(network: Network, name: str, units: int, others: int) -> ReluSum:
    """The sum of the first unit of a layer of heads of so many units, and a few others behind them."""
    layer = dict(network.layers).get(name)
    if not isinstance(layer, Attention) or not isinstance(layer.query, Sparse) or not isinstance(layer.value, Sparse):
        raise Altered(f"the layer {name} holds no sums of ReLUs")
    terms = slice((layer.heads - others) // units)
    query, value = (part.coefficient.detach()[terms, :, 0].double().numpy() for part in (layer.query, layer.value))
    return ReluSum(query[:, 0], query[:, -1], value[:, 0])


# attention: sums over all tokens, which hold the same weights


def summing(sheet: Sheet, sums: Sequence[tuple[int, ReluSum]], write: str, dtype: torch.dtype) -> Attention:
    """write(j)[k] += sum_m c_m relu(a_m v_jk . p(j-1) + b_m): a token asks with (a p, b), every key is (v_jk, 1)."""
    [one], units = sheet.rows("one"), [(j, k, found) for j, found in sums for k in range(sheet.widths[j])]
    most = max(len(sheet.reads(j)) for j, _ in sums)
    query: list[list[Terms]] = []
    keys, values, writes = list[list[int]](), list[list[Terms]](), list[list[int]]()
    for j, k, found in units:
        reads, row = sheet.reads(j), sheet.row(j, k)
        spare = most - len(row)
        for a, b, c in found:
            query.append([*scaled(reads, a), *[{one: 0.0}] * spare, {one: b}])
            keys.append([*row, *[-1] * spare, one])
            values.append([{one: c}])
            writes.append([sheet.rows(f"{write} {j}")[k]])
    asks, answers = (heads(rows, sheet.width, dtype) for rows in (query, values))
    return everyone(asks, Select(keys, sheet.width), answers, writes, sheet.width)


def update(sheet: Sheet, dtype: torch.dtype) -> Attention:
    """w -= pace (1/n) sum_i delta_i[k] p_i(j-1): every token asks with pace, samples have delta as key and answer p."""
    [pace], share = sheet.rows("pace"), sheet.tokens / sheet.samples
    each = [(j, k, sign) for j in sheet.layers for k in range(sheet.widths[j]) for sign in SIGNS]
    keys = Select([[sheet.rows(f"delta {j}")[k]] for j, k, _ in each], sheet.width)
    values = heads([scaled(sheet.reads(j), -sign * share) for j, _, sign in each], sheet.width, dtype)
    asks = heads([[{pace: sign}] for *_, sign in each], sheet.width, dtype)
    return everyone(asks, keys, values, [sheet.row(j, k) for j, k, _ in each], sheet.width)


# what a token does by itself


def backward(sheet: Sheet, j: int, dtype: torch.dtype) -> Attention:
    """delta(j)[k] = r'(j)[k] <column k of V_{j+1}, delta(j+1)>, of layer N r'(N) q."""
    asks, keys = sheet.factors(j)
    query = heads([scaled(ask, sign) for sign in SIGNS for ask in asks], sheet.width, dtype)
    value = heads([[{row: sign}] for sign in SIGNS for row in sheet.rows(f"slope {j}")], sheet.width, dtype)
    writes = [[row] for row in sheet.rows(f"delta {j}")] * 2
    return itself(query, Select([keys] * len(writes), sheet.width), value, writes, sheet.width)


def cleaning(sheet: Sheet, box: tuple[float, float] | None) -> Iterator[Hidden]:
    """w is cut off at the ends of the box; all scratch <- 0."""
    if box is not None:
        for w in sheet.rows("w"):
            yield Hidden({w: 1.0}, {w: -1.0}, bias=-box[1])
            yield Hidden({w: -1.0}, {w: 1.0}, bias=box[0])
    for row in sheet.scratch():
        for sign in SIGNS:
            yield Hidden({row: sign}, {row: -sign})
