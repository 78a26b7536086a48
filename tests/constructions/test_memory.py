"""The proof of a memory: every condition that it rests on, broken one at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headsmith as hs
from headsmith.compiler.request import Request
from headsmith.constructions.design import Altered, Short
from headsmith.constructions.memory import HIGHEST, RankOneMemory, smallest_gap, stream
from headsmith.constructions.rank_one import Steps, inside
from headsmith.proof.approximation import Unprovable
from headsmith.proof.context_ids import Enclosed
from headsmith.refusal import Refusal

TABLE = np.random.default_rng(0).normal(size=(6, 2))
IDS, LABELS = [[3, 1, 4], [1, 5]], [[0, 1, 2], [7, 8]]


def made(dtype="float64", **options):
    """(target, request, design) of a small memory."""
    target = hs.target.Recall(IDS, LABELS, **options)
    request = Request.read(target, None, None, dtype, "auto")
    return target, request, RankOneMemory.of(target, request)


def changed(design, **arrays):
    """The design with these arrays of its head, its steps or its own."""
    parts = {}
    for name in ("head", "steps"):
        own = getattr(design, name)
        new = {key: value for key, value in arrays.items() if key in own.__dataclass_fields__}
        parts[name] = replace(own, **new)
    tables = {key: value for key, value in arrays.items() if key in ("table", "places")}
    return replace(design, **parts, **tables)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("options", [{}, {"positions": True}, {"embedding": TABLE}, {"mask": "causal"}])
def test_what_is_stored_is_what_was_built(dtype, options):
    target, request, design = made(dtype, **options)
    network = design.network(target, dtype)
    again = RankOneMemory.stored(target, network, request, {})
    assert str(again) == str(design)  # every array, entry by entry
    assert again.prove(target, request) == design.prove(target, request)


def test_nothing_is_proved_of_labels_that_the_table_lacks():
    target, request, design = made()
    levels = design.steps.levels.copy()
    levels[2] += 1
    with pytest.raises(Unprovable, match="may fall outside of where the table has its label"):
        changed(design, levels=levels).prove(target, request)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_ramp_that_reaches_an_id_is_found(side):
    """The ids lie in their enclosures: a ramp may begin at the end of one, and no earlier."""
    target, request, design = made()
    found = design.seen(target, request).enclosed(design.head.output, design.head.read, request.format)
    low, high = (np.sort(end) for end in inside(found, "float64"))
    left, slope = high[:-1].copy(), np.nextafter(1 / (low[1:] - high[:-1]), np.inf)
    changed(design, left=left, slope=slope).prove(target, request)
    left[1] = np.nextafter(left[1], -np.inf) if side < 0 else left[1]
    slope[1] /= 1 if side < 0 else 1 + 1e-9
    with pytest.raises((Unprovable, Refusal)):
        changed(design, left=left, slope=slope).prove(target, request)


def test_the_skip_must_be_above_what_the_stream_brings():
    target, request, design = made()
    with pytest.raises(Unprovable, match="brings more than the layer takes away"):
        changed(design, skip=np.abs(design.steps.skip) / 16).prove(target, request)
    with pytest.raises(Unprovable, match="brings more"):
        changed(design, skip=-design.steps.skip).prove(target, request)


def test_what_the_head_writes_is_brought_too():
    target, request, design = made()
    seen, loud = design.seen(target, request), changed(design, output=2.0**20 * design.head.output)
    with pytest.raises(Unprovable, match="brings more than the layer takes away"):
        loud._left_over(target, seen, request.format)


def test_a_skip_or_a_label_so_large_that_rounding_shows_is_refused():
    target, request, design = made()
    with pytest.raises(Short, match=r"labels up to 8 beside vectors up to .* cannot be told apart in float64"):
        changed(design, skip=np.full(1, 2.0**50)).prove(target, request)
    changed(design, skip=np.full(1, 2.0**49)).prove(target, request)
    for bits, dtype in ((50, "float64"), (21, "float32")):
        for power, kept in ((bits, True), (bits + 1, False)):
            target = hs.target.Recall(IDS, [[0, 1, 2], [7, 2**power]])
            if kept:
                net = hs.compile(target, dtype=dtype)
                assert net(IDS) == [[0, 1, 2], [7, 2**power]]
            else:
                with pytest.raises(Refusal, match=f"cannot be told apart in {dtype}"):
                    hs.plan(target, dtype=dtype)


def test_tables_that_the_target_does_not_have_are_no_memory():
    target, request, design = made()
    for arrays in ({"table": None}, {"places": np.zeros((3, 2))}, {"table": design.table[:5]}):
        with pytest.raises(Altered):
            changed(design, **arrays).prove(target, request)
    target, request, design = made(positions=True)
    with pytest.raises(Altered):
        changed(design, places=None).prove(target, request)


def test_the_users_embeddings_are_kept():
    target, request, design = made("float32", embedding=TABLE)
    assert np.array_equal(design.table, TABLE.astype(np.float32))
    moved = design.table.copy()
    moved[0, 0] += 2.0**-10  # no token has it
    with pytest.raises(Altered, match="not those of the target"):
        changed(design, table=moved).prove(target, request)


def test_vectors_of_another_width_are_no_memory():
    _, request, design = made()
    target = hs.target.Recall([np.ones((2, 3))], [[1, 1]])
    request = Request.read(target, None, None, "float64", "auto")
    with pytest.raises(Altered, match="another width"):
        changed(design, table=None).prove(target, request)


def test_numbers_so_large_that_hidden_tokens_could_overflow_are_refused():
    target, request, design = made()
    table = design.table.copy()
    table[0] = 2 * HIGHEST  # the row of padding, which no token has
    with pytest.raises(Short, match="where nobody sees it"):
        changed(design, table=table).prove(target, request)
    for number in (np.nan, np.inf):
        table[0] = number
        with pytest.raises((Unprovable, Short)):
            changed(design, table=table).prove(target, request)


def test_numbers_that_the_dtype_lacks_prove_nothing():
    target, request, design = made("float32")
    for arrays in ({"query": design.head.query * 1e60}, {"key": design.head.key * (1 + 1e-12)}):
        with pytest.raises(Unprovable, match="beyond the range of float32"):
            changed(design, **arrays).prove(target, request)


def test_the_stream_is_that_of_the_network_to_the_bit():
    for dtype in ("float64", "float32"):
        target, _, design = made(dtype, positions=True, embedding=TABLE)
        network = design.network(target, dtype)
        kind = network.dtype
        ids = torch.tensor([[3.0], [1.0], [4.0]], dtype=kind)
        seen = network.trace(ids)["blocks.1.hook_resid_pre"]
        tokens = stream(target, design.table, design.places, dtype)
        assert np.array_equal(seen.double().numpy(), tokens[:3])


def test_the_smallest_gap_is_below_every_executed_one():
    ids = Enclosed(np.array([0.0, 1.0, 1.5, 4.0]), np.array([0.25, 0.125, 0.125, 1.0]))
    assert 0.62 < smallest_gap(ids, np.array([0, 1, 1, 1])) < 0.625
    assert 1.37 < smallest_gap(ids, np.array([0, 0, 0, 1])) < 1.375
    assert smallest_gap(ids, np.zeros(4)) == np.inf
    wide = Enclosed(np.array([0.0, 1.0, 2.0]), np.array([1.75, 0.125, 0.125]))
    assert 0.12 < smallest_gap(wide, np.array([0, 0, 1])) < 0.125


def test_one_label_needs_one_idle_ramp():
    target = hs.target.Recall([[1, 2]], [[5, 5]])
    design = hs.plan(target).design
    assert isinstance(design.steps, Steps) and design.steps.levels.tolist() == [[5.0], [5.0]]


def test_a_table_of_other_width_than_labels():
    """Two equal columns agree with one label, and one column with two equal labels."""
    target, request, design = made()
    steps = design.steps
    wide = changed(design, levels=np.repeat(steps.levels, 2, 1), skip=np.repeat(steps.skip, 2))
    pairs = hs.target.Recall(IDS, [[[y, y] for y in row] for row in LABELS])
    twin = RankOneMemory.of(pairs, request)
    narrow = changed(twin, levels=twin.steps.levels[:, :1], skip=twin.steps.skip[:1])
    for of, forged in ((target, wide), (pairs, narrow)):
        with pytest.raises(Altered, match="more or fewer numbers than a label has"):
            forged.prove(of, request)
