"""One softmax head of rank 1 and one ReLU layer recall a data set (low-rank-memorization, Theorem 2, Cor 1 and 2).

    H = x + o z,   z = sum_l p_l (v . x_l),   p = softmax of (k . x_l)(q . x)        W_K = k^T, W_Q = q^T, W_V = v^T
    label(a . H): a sorted table of ramps, one where the label changes along the sorted ids

The printed scale of q and the printed knots make gaps that no float holds; here directions, scale and mix are drawn and
checked on the data (`search.separation`), tokens may repeat (Lemma M), and positions are small random vectors. A ramp
lies inside the gap between two labels, away from both by more than rounding can move an id. Tokens that come as ids get
a table of embeddings that is ours to choose (`search.vocabulary`), unless the user brings one.

The residual stream brings x to the features where the label is written. One more unit for each takes that away, up to
rounding far below 1/2, so a label is read by rounding to a whole number, and then it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headsmith.constructions.assemble import tensor
from headsmith.constructions.design import Altered, Design, Short, Tally, many
from headsmith.constructions.rank_one import Steps, array, cast, ramps, rank_one_layer, stored_head, stored_steps
from headsmith.network import Affine, Embedding, Layer, Network, Select
from headsmith.proof.approximation import Unprovable
from headsmith.proof.certificate import Bound
from headsmith.proof.context_ids import HIGHEST, Enclosed, RankOne, Seen
from headsmith.proof.rounding import INFLATE, Format
from headsmith.proof.statement import Floats
from headsmith.search.separation import LEAST, Draft, Occurrences, axes_of, free, power_of_two, separated
from headsmith.search.vocabulary import FEATURES, owned_table, random_places

if TYPE_CHECKING:
    from headsmith.compiler.request import Request
    from headsmith.targets.recall import Recall

SIZED = 4096  # tokens from which coordinates are chosen
ROOM = 0.45  # what a label may be off by before it is rounded to a whole number


@dataclass(frozen=True, eq=False)
class RankOneMemory(Design):
    """The five directions, the table of labels, and the tables of embeddings and of places where there are any."""

    name, serves = "rank-one memory", "recall"
    tally = Tally(keys=0, heads=1, layers=1)  # no key is stored: the tokens are the keys
    head: RankOne
    steps: Steps
    table: Floats | None = None
    places: Floats | None = None

    @classmethod
    def of(cls, target: Recall, request: Request) -> RankOneMemory:
        """The best of many draws."""
        drawn = _Draws(target, request.dtype)
        try:
            draft = separated(drawn.occurrences, request.format)
        except Unprovable as failure:
            raise Short(str(failure)) from None
        if draft.margin < LEAST:
            raise Short(_nearest(target, draft, request))
        table, places, _ = drawn.parts(draft.draw)
        tokens = stream(target, table, places, request.dtype)
        bound = np.abs(tokens).max() + np.abs(draft.head.output).max() * np.abs(tokens @ draft.head.value).max()
        skip = np.full(target.levels.shape[1], 2 * power_of_two(1.01 * float(bound) or 1.0))
        return cls(draft.head, ramps(draft.ids, target.codes, target.levels, skip, request.dtype), table, places)

    def method(self, target: Recall) -> str:
        how = "the user's embeddings" if target.embedding is not None else "an embedding table chosen with it"
        return "one softmax head of rank 1, one ReLU layer (Theorem 2)" + (f", {how}" if target.by_id else "")

    def size(self) -> str:
        return f"1 head of rank 1, {many(self.steps.units, 'hidden unit')}, width {len(self.head.read)}"

    def rows(self, target: Recall) -> list[tuple[str, str]]:
        d, c = len(self.head.read), self.steps.units
        told = {
            "structured": 5 * d + self.steps.numbers,
            "dense": 4 * d + c * (2 * d + 1) + d,
            "the paper's 4(s + d) + d(2nN + d)": 4 * (1 + d) + d * (2 * len(target.tokens) + d),
        }
        tables = sum(part.size for part in (self.table, self.places) if part is not None)
        beside = f", and {many(tables, 'number')} of embeddings and places" if tables else ""
        return [("parameters", ", ".join(f"{name} {_spaced(count)}" for name, count in told.items()) + beside)]

    def network(self, target: Recall, dtype: str) -> Network:
        """Embedding or lift, places, one attention layer, one ReLU layer, read."""
        kind = getattr(torch, dtype)
        d, written = len(self.head.read), len(self.steps.skip)
        table, places = (part if part is None else tensor(part, kind) for part in (self.table, self.places))
        layers: dict[str, Layer] = {} if target.by_id else {"lift": Affine(Select([*range(d)], d))}
        if table is not None or places is not None:
            layers["embed"] = Embedding(table, places)
        layers["attend"] = rank_one_layer(self.head, kind, target.mask or "all")
        layers["recall"] = self.steps.layer(self.head.read, kind)
        layers["read"] = Affine(Select([*range(written)], d))
        n = target.longest
        return Network(
            layers,
            tokens=[f"token.{i}" for i in range(n)],
            features=[f"x.{i}" for i in range(d)],
            variables={"label": ("recall", slice(0, n), slice(0, written))},
        )

    @classmethod
    def stored(cls, target: Any, network: Network, request: Request, record: dict[str, Any]) -> RankOneMemory:
        layers: Any = dict(network.layers)
        attend, recall, embed = layers["attend"], layers["recall"], layers.get("embed")
        tables = (None if embed is None else getattr(embed, name) for name in ("table", "places"))
        held = (part if part is None else array(part) for part in tables)
        return cls(stored_head(attend, recall), stored_steps(recall), *held)

    def prove(self, target: Recall, request: Request) -> Bound:
        """Every id in its enclosure has its label in the table, whatever the order of sums."""
        self._check(target, request)
        seen = self.seen(target, request)
        found = seen.enclosed(self.head.output, self.head.read, request.format)
        self._recalled(target, found, request.dtype)
        self._left_over(target, seen, request.format)
        return Bound(0.0, 0.0, min_gap=smallest_gap(found, target.codes))

    def seen(self, target: Recall, request: Request) -> Seen:
        """The means of all positions of the data."""
        tokens = stream(target, self.table, self.places, request.dtype)
        return Seen(tokens, self.head.key, self.head.query, self.head.value, target.lengths, target.causal)

    def _check(self, target: Recall, request: Request) -> None:
        d, parts = len(self.head.read), (self.head, self.steps)
        arrays = [getattr(part, name) for part in parts for name in part.__dataclass_fields__]
        tables = [part for part in (self.table, self.places) if part is not None]
        if not all(np.array_equal(cast(part, request.dtype), part) for part in (*arrays, *tables)):
            raise Unprovable(f"a number is beyond the range of {request.dtype}")
        if (self.places is not None) != target.positions or (self.table is not None) != target.by_id:
            raise Altered("the network has other tables than the target needs")
        if target.by_id and (self.table is None or len(self.table) <= target.tokens.max()):
            raise Altered("a token has no row in the table of embeddings")
        if target.embedding is not None and not np.array_equal(tables[0], cast(target.embedding, request.dtype)):
            raise Altered("the stored embeddings are not those of the target")
        if not target.by_id and target.tokens.shape[1] != d:
            raise Altered("the network has another width than the vectors")
        if self.steps.levels.shape[1] != target.levels.shape[1]:
            raise Altered("the table holds more or fewer numbers than a label has")
        if not sum(np.abs(part).max() for part in tables) * np.abs(self.head.value).sum() <= HIGHEST:
            raise Short("a value so large that 0 times it may be no number, where nobody sees it")

    def _recalled(self, target: Recall, found: Enclosed, dtype: str) -> None:
        """The table has the label at both ends of each enclosure, behind one full ramp or before the first."""
        levels, certain = self.steps.recalled(found, self.head.read, dtype)
        missed = ~(certain & (levels == target.levels).all(1))
        if missed.any():
            at = int(missed.argmax())
            raise Unprovable(f"the id of {target.named(at)} may fall outside of where the table has its label")

    def _left_over(self, target: Recall, seen: Seen, fmt: Format) -> None:
        """|x + ((level - relu(x + B)) + B) - level| <= u (3 |level| + 5 B) where |x| <= B: it must round away."""
        written = len(self.steps.skip)
        z = seen.sized[0] + seen.off(fmt)
        brought = seen.sizes[:, :written] + np.abs(self.head.output[:written]) * z[:, None]
        if not (brought * INFLATE * (1 + 4 * fmt.unit) <= self.steps.skip).all():
            raise Unprovable("the residual stream brings more than the layer takes away")
        most = float((3 * np.abs(self.steps.levels).max(0) + 5 * self.steps.skip).max())
        if not most * fmt.unit * (1 + 8 * fmt.unit) <= ROOM:
            size, labels = float(brought.max()), np.abs(target.levels).max()
            raise Short(f"labels up to {labels:g} beside vectors up to {size:.2g} cannot be told apart in {fmt.name}")


def stream(target: Recall, table: Floats | None, places: Floats | None, dtype: str) -> Floats:
    """The tokens that the attention layer reads, to the bit: rows or vectors, plus places, one rounding each."""
    x = (target.vectors if table is None else table[target.tokens]).astype(dtype)
    if places is not None:
        x = x + places.astype(dtype)[target.at]
    return x.astype(np.float64)


def smallest_gap(found: Enclosed, codes: np.ndarray) -> float:
    """The least distance of two ids with different codes, anywhere in their enclosures, rounded down.

    >>> ids = Enclosed(np.array([0.0, 1.0, 1.5]), np.array([0.125, 0.125, 0.125]))
    >>> smallest_gap(ids, np.array([0, 1, 1])) <= 0.75
    True
    """
    order = np.argsort(found.ids, kind="stable")
    ids, radius = found.ids[order], found.radius[order]
    low, high = np.nextafter(ids - radius, -np.inf), np.nextafter(ids + radius, np.inf)
    at, before, after = free(low, high, codes[order])
    return float(np.nextafter(after - before, -np.inf).min()) if len(at) else np.inf


class _Draws:
    """The i-th tokens and directions, always the same."""

    def __init__(self, target: Recall, dtype: str) -> None:
        self.target, self.dtype = target, dtype

    def occurrences(self, i: int) -> tuple[Occurrences, tuple[Floats, Floats, Floats]]:
        """What `separated` asks for."""
        table, places, axes = self.parts(i)
        target = self.target
        return Occurrences(stream(target, table, places, self.dtype), target.lengths, target.codes, target.causal), axes

    def parts(self, i: int) -> tuple[Floats | None, Floats | None, tuple[Floats, Floats, Floats]]:
        """(table, places, directions) of the i-th draw."""
        target, generator = self.target, np.random.default_rng(i)
        if target.by_id and target.embedding is None:
            features = max(FEATURES, target.levels.shape[1])
            table: Floats | None = owned_table(target.tokens, target.codes, features, generator)
            eye = np.eye(features)
            axes = eye[0], eye[1], eye[1]
        else:
            table = target.embedding
            rows = target.vectors if table is None else table[np.unique(target.tokens)]
            axes = axes_of(rows[:: max(1, len(rows) // SIZED)], generator, single=i % 2 == 0)
        table = None if table is None else cast(table, self.dtype)
        if not target.positions:
            return table, None, axes
        rows = target.vectors if table is None else table
        size = float(np.sqrt((rows**2).sum(1).mean())) or 1.0
        places = random_places(target.longest, size, axes[0].astype(self.dtype).astype(np.float64), generator)
        return table, cast(places, self.dtype), axes


def _nearest(target: Recall, draft: Draft, request: Request) -> str:
    """Which two tokens are too near each other, in the best draw of all."""
    first, second = draft.nearest
    ids, radius = draft.ids.ids, draft.ids.radius
    return (
        f"in the best of many draws {many(draft.lost, 'pair')} of labels lie too near each other for {request.dtype}, "
        f"such as {target.named(first)} and {target.named(second)}, whose ids differ by "
        f"{abs(ids[first] - ids[second]):.1e} while rounding may move them by {radius[first] + radius[second]:.1e}"
    )


def _spaced(count: int) -> str:
    """1 234 567."""
    return f"{count:,}".replace(",", " ")
