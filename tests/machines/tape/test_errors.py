"""Each pass stays within what it is said to cost, and every term of that is met by a case that it alone covers.

Terms are tested on tables of made-up worth, one at a time: an adversary moves what a term allows to be moved, in
whichever direction hurts, and comes near to the bound. Rounding is tested in a format that is coarse enough for that.
"""

import math
from dataclasses import replace

import pytest
import torch

from headsmith.machines.bending import ACTIVATIONS
from headsmith.machines.lattices import Lattice
from headsmith.machines.tape import errors as module
from headsmith.machines.tape.errors import Errors
from headsmith.machines.tape.instruction import Instruction, Rows, Sizes
from headsmith.machines.tape.passes import PassRun, run
from headsmith.machines.tape.ranges import BlockRanges
from headsmith.machines.tape.tables import Worth
from headsmith.proof.rounding import Format, gamma

from ..data import random
from .exact import every_instruction, exact, far, program, small, state

COARSE = Format("coarse", 2.0**-12, 2.0**-1022)
FREE = dict.fromkeys(ACTIVATIONS, (0.0, 0.0, 1.0))


def errors(entry=(0.0, 0.0), root=(0.0, 0.0), bends=FREE, slot=8, norm=(2.0**-6, 64.0)):
    return Errors(BlockRanges(Sizes(slot, 3, 2), 256.0, norm), Worth(Lattice(*entry), Lattice(*root), bends))


# what is measured, against exact arithmetic


@pytest.mark.parametrize("way", ["named", "all"])
@pytest.mark.parametrize("line", [*every_instruction(40)], ids=lambda line: f"{line.name} {line.unit}")
def test_no_pass_costs_more_than_is_certified(line, way):
    given = state()
    [done] = small().running.passes(program(line), given, way)
    bound = small().errors.a_posteriori(done)
    assert far(done.after, exact(line, given, small().sizes)) <= bound.total < 1e-9
    promised = small().errors.promises()
    kind = "unit" if line.unit and line.view == "self" else {"causal": "heads"}.get(line.view, line.view)
    assert bound.total <= promised[kind].total


def worst_instructions():
    """Rows at the ends of the domain, long and short vectors, keys that are far apart."""
    eye, end = torch.eye(8, dtype=torch.float64), 255.0
    yield "the ends", Instruction("ends", (Rows("V", {0: end * eye}, torch.zeros(8).double()),), put={1: "set"})
    ramp = torch.linspace(-end, end, 8).double()
    yield "a ramp", Instruction("ramp", (Rows("V", {}, ramp),), put={1: "set"})
    for length in (0.1251, 7.99):
        rows = (Rows("V", {0: length / math.sqrt(8) * eye.abs()}, torch.zeros(8).double()),)
        yield f"a norm of {length}", Instruction("norm", rows, unit=True, put={1: "add"})
    for view in ("heads", "whole", "causal"):
        parts = tuple(Rows(part, {0: 12 * eye}, torch.zeros(8).double()) for part in "KQV")
        yield f"sharp {view}", Instruction(view, parts, view=view, put={1: "set"})
        parts = (*parts[:2], Rows("V", {0: 250 * eye}, torch.zeros(8).double()))
        yield f"wide {view}", Instruction(view, parts, "gelu", view=view, put={1: "add"})


@pytest.mark.parametrize("way", ["named", "all"])
@pytest.mark.parametrize(("name", "line"), worst_instructions(), ids=lambda x: x if isinstance(x, str) else "")
def test_the_worst_instructions_stay_within_their_bounds(name, line, way):
    given = state()
    given[:, :8] = random(4, 8, seed=1).sign()
    [done] = small().running.passes(program(line), given, way)
    assert far(done.after, exact(line, given, small().sizes)) <= small().errors.a_posteriori(done).total


def test_the_approximation_of_a_row_is_attained():
    """Somewhere in the domain a row is as far off as its table, which leaves nothing to halve."""
    z = torch.linspace(-255, 255, 4001).double()
    given = torch.zeros(len(z), 25, dtype=torch.float64)
    given[:, 0], given[:, -1] = z, 1.0
    line = Instruction("row", (Rows("V", {0: torch.ones(1, 1).double()}, torch.zeros(1).double()),), put={1: "set"})
    done = run(line, given, small().sizes, small().tables)
    bound = small().errors.a_posteriori(done)
    assert 0.7 * bound.approximation < float((done.after[:, 8] - z).abs().max()) <= bound.total


# rows


def test_an_entry_costs_its_table_and_the_sum_that_it_is_read_from(monkeypatch):
    monkeypatch.setattr(module, "FLOAT", COARSE)
    assert errors(entry=(1.0, 2.0)).entry(0.0, False) == 1.0
    assert errors(entry=(1.0, 2.0)).entry(0.0, True) == 3.0
    terms = 25  # of a row: each product and each sum is off by a unit, all in one direction
    executed = 0.0
    for _ in range(terms):
        executed = (executed + (1 + COARSE.unit)) * (1 + COARSE.unit)
    assert 0.45 * errors().entry(float(terms), True) < executed - terms <= errors().entry(float(terms), True)
    first = (1 + COARSE.unit) ** (terms + 1) - 1  # of the first term alone, if it is all there is
    assert 0.85 * errors().entry(1.0, True) < first <= errors().entry(1.0, True)


def test_an_activation_costs_its_slope_its_table_and_its_rounding():
    bends = {**FREE, "gelu": (1.0, 2.0, 1.5)}
    assert errors(bends=bends).bent("gelu", 0.1, False) == pytest.approx(1.15)
    assert errors(bends=bends).bent("gelu", 0.1, True) == pytest.approx(3.15)
    assert errors(bends=bends).bent("gelu", 0.13, True) == math.inf  # beyond what activations are proved for


# norms


def unit(c, g=0.0, off=0.0):
    """A norm of c, its square executed as |c|^2 + g + off."""
    c = torch.tensor([c], dtype=torch.float64)
    square = c.square().sum(-1, keepdim=True) + g + off
    line = Instruction("norm", (), unit=True)
    return PassRun(line, c, {}, {}, c, square, c / square.sqrt(), c, c)


def push(c, moved, g=0.0, less=0.0):
    """How far c_0 / sqrt(c.c + g) moves when c becomes `moved` and g gains."""
    before = c[0] / math.sqrt(sum(x * x for x in c) + g)
    return abs(moved[0] / math.sqrt(sum(x * x for x in moved) + g + less) - before)


def test_a_norm_is_moved_by_its_own_entry_and_by_the_length():
    """Every entry the same, the first pushed up and all others down: both terms are met, half of the bound each."""
    c, e = [0.1] * 400, 1e-7
    worst = push(c, [0.1 + e, *[0.1 - e] * 399])
    assert 0.97 * errors()._unit_met(unit(c), e, 0.0, False) < worst <= errors()._unit_met(unit(c), e, 0.0, False)


def test_many_entries_of_nothing_make_a_length():
    """Second order, but of thousands of entries: 8000 zeros, each off by 0.005."""
    c, e = [1.0, *[0.0] * 7999], 0.005
    bound = errors()._unit_met(unit(c, 3.0), e, 0.0, False)
    assert 0.8 * bound < push(c, [1 - e, *[e] * 7999], 3.0) <= bound


def test_an_eps_that_is_read_wrong_moves_a_norm():
    bound = errors()._unit_met(unit([1.0], 3.0), 0.0, 1e-3, False)
    assert 0.98 * bound < push([1.0], [1.0], 3.0, -1e-3) <= bound


def test_a_short_vector_is_bounded_from_below():
    """What is known is off by a third of the square: the bound is taken at the short end of it."""
    bound = errors()._unit_met(unit([1.0]), 0.0, 0.3, False)
    assert 0.75 * bound < push([1.0], [1.0], 0.0, -0.3) <= bound
    assert errors()._unit_met(unit([1.0]), 0.0, 1.1, False) == math.inf


def test_the_table_of_a_norm_is_multiplied_by_the_vector():
    done = unit([-5.0, 2.0])
    assert errors(root=(0.1, 0.3))._unit_met(done, 0.0, 0.0, False) == pytest.approx(0.5)
    assert errors(root=(0.1, 0.3))._unit_met(done, 0.0, 0.0, True) == pytest.approx(2.0, rel=1e-6)


def test_a_sum_that_the_table_does_not_reach_is_bounded_by_nothing():
    for size in (2.0**-6, 64.0):
        inside, outside = unit([0.0], size), unit([0.0], size * (2.0 if size > 1 else 0.5))
        assert errors()._unit_met(inside, 1e-9, 1e-9, True) < 1e-6
        assert errors()._unit_met(outside, 1e-9, 1e-9, True) == math.inf


def test_the_rounding_of_a_norm(monkeypatch):
    """d products and sums of the square, all off in one direction; the product with the root once more."""
    monkeypatch.setattr(module, "FLOAT", COARSE)
    d, u = 100, COARSE.unit
    c = [1.0, *[0.0] * (d - 1)]
    square = (1 + u) ** d  # the first square goes through d sums
    bound = errors(slot=d)._unit_met(unit(c, 0.0, square - 1), 0.0, 0.0, True)
    executed = 1 / math.sqrt(square) * (1 - u)
    assert 0.8 * bound < 1 - executed <= bound
    one = errors(slot=1, norm=(1.0, 1e7))._unit_met(
        unit([1e-4], 1e6, 1e6 * u), 0.0, 0.0, True
    )  # one sum, one product with the root
    executed = 1e-4 / math.sqrt(1e6 * (1 + u)) * (1 - u)
    assert 0.7 * one < 1e-7 - executed <= one


# views and slots


def attended(k, q, v, view="whole", rounds=False, e=(1e-3, 1e-3, 1e-3)):
    """The bound of a view whose parts were read as k, q, v, entries off by e: made of one worth for all three."""
    n = len(k)
    line = Instruction("view", (), view=view, put={})
    done = PassRun(line, torch.zeros(n, 25), {}, {"K": k, "Q": q}, v, None, v, v, torch.zeros(n, 25))
    return errors(entry=(e[0], 0.0))._met(done, rounds)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("view", ["whole", "heads", "causal"])
def test_errors_of_keys_queries_and_values_reach_the_output(seed, view):
    e = 1e-3
    k, q, v = (random(5, 8, seed=3 * seed + part) for part in range(3))
    bound = attended(k, q, v, view, e=(e, e, e))
    line = Instruction("view", (), view=view)
    near = module_attended(line, k, q, v)
    for turn in range(20):
        moved = [t + e * random(5, 8, seed=100 * seed + 3 * turn + part).sign() for part, t in enumerate((k, q, v))]
        assert float((module_attended(line, *moved) - near).abs().max()) <= bound


def module_attended(line, k, q, v):
    from headsmith.machines.tape.passes import _attended

    return _attended(line, {"K": k, "Q": q}, v, Sizes(8, 3, 2))


def test_two_keys_pushed_apart_by_keys_alone_and_by_queries_alone():
    """Queries and keys of one number, values at the ends: the shift of a score is met, for keys and for queries."""
    e, v = 1e-4, torch.tensor([[1.0], [-1.0]]).double()
    for k, q in (([0.0, 0.0], [5.0, 5.0]), ([5.0, -5.0], [0.0, 0.0])):
        keys, queries = (torch.tensor(t, dtype=torch.float64)[:, None] for t in (k, q))
        bound = attended(keys, queries, v, e=(e, e, e))
        line, sign = Instruction("view", (), view="whole"), torch.tensor([[1.0], [-1.0]]).double()
        moved = module_attended(line, keys + e * sign, queries + e, v + e) - module_attended(line, keys, queries, v)
        assert 0.9 * bound < float(moved.abs().max()) <= bound


def test_a_causal_view_pays_for_no_later_key():
    k, q = torch.zeros(2, 1).double(), torch.ones(2, 1).double()
    v = torch.tensor([[0.0], [1000.0]]).double()
    first = Instruction("view", (), view="causal")
    assert module_attended(first, k, q, v)[0, 0] == 0.0
    bounds = [
        module.bounds.a_posteriori(k, q, v, (1e-3, 1e-3, 0.0), "float64", causal=causal)[0][0, 0]
        for causal in (True, False)
    ]
    assert float(bounds[0]) < 1e-12 and float(bounds[1]) > 0.4
    undecided, far = torch.tensor([[0.0], [1.0]]).double(), torch.tensor([[0.0], [40.0]]).double()
    assert attended(far, undecided, v, "causal") < 0.01 * attended(far, undecided, v, "heads")


def test_the_softmax_of_a_view_rounds():
    k, q, v = (random(5, 8, seed=part) for part in range(3))
    for view in ("heads", "causal", "whole"):
        assert attended(k, q, v, view, e=(0.0,) * 3) == 0.0
        assert 1e-16 < attended(k, q, v, view, rounds=True, e=(0.0,) * 3) < 1e-13


def test_adding_to_a_slot_rounds_once(monkeypatch):
    monkeypatch.setattr(module, "FLOAT", COARSE)
    line = Instruction("add", (Rows("V", {}, torch.zeros(1).double()),), put={2: "add", 1: "set"})
    given = state()
    given[1, 17], given[0, 9] = 100.0, 200.0
    done = run(line, given, small().sizes, small().tables)
    assert errors().a_posteriori(done).rounding == pytest.approx(100.0 * COARSE.unit, rel=1e-6)
    assert errors().a_posteriori(replace(done, instruction=replace(line, put={1: "set"}))).rounding == 0.0


def test_what_rows_sum_to_is_the_most_of_all_parts():
    rows = (
        Rows("V", {0: torch.ones(1, 8).double()}, torch.zeros(1).double()),
        Rows("V", {}, torch.tensor([9.0]).double(), 1),
    )
    done = run(Instruction("sum", rows), state(), small().sizes, small().tables)
    most = max(float(state()[:, :8].abs().sum(-1).max()), 9.0)
    assert errors()._size(done, "V") == pytest.approx(most) and errors()._size(done, "K") == 0.0


# for every state


def test_promises_hold_at_the_ends_and_not_much_below():
    """Each is compared with a state that costs nearly that much."""
    e, own = 1e-9, errors(entry=(1e-9, 0.0))
    assert own.promises()["self"].approximation == pytest.approx(e, rel=1e-6)
    first = (1 + 1 / math.sqrt(8)) / 2  # of the square: one entry, the others alike
    spread = unit([2.0**-3 * math.sqrt(first), *[2.0**-3 * math.sqrt((1 - first) / 7)] * 7])
    short = unit([2.0**-3, *[0.0] * 7])
    for done, v, g in ((spread, e, 0.0), (short, 0.0, e)):
        met, promised = own._unit_met(done, v, g, False), own._unit_a_priori(v, g, False)
        assert 0.95 * promised < met <= promised
    both = own._unit_a_priori(e, e, False)
    assert own.promises()["unit"].approximation == pytest.approx(both, rel=1e-6)
    table = errors(root=(1e-6, 0.0))
    met = table._unit_met(unit([8.0, *[0.0] * 7]), 0.0, 0.0, False)
    assert 0.9 * table.promises()["unit"].approximation < met <= table.promises()["unit"].approximation


def test_promises_round_as_much_as_any_state(monkeypatch):
    monkeypatch.setattr(module, "FLOAT", Format("fine", 2.0**-40, 2.0**-1022))
    own = errors(slot=64)
    met = own._unit_met(unit([1.0, *[0.0] * 63]), 0.0, 0.0, True)
    slip = gamma(65, 2.0**-40)
    assert 0.3 * slip < met <= own._unit_a_priori(0.0, 0.0, True) < own.promises()["unit"].rounding
    reads = gamma(64 * 3 + 5, 2.0**-40) * 256
    assert own.promises()["self"].rounding == pytest.approx(reads + 2 * 256 * (1 + 2.0**-10) * 2.0**-40, rel=1e-6)


def test_promises_of_views_are_those_of_the_widest_keys():
    """Keys and values at the ends of the domain, everything pushed apart."""
    own = errors(entry=(1e-9, 0.0), slot=2)
    k = torch.tensor([[256.0], [-256.0]]).double().expand(2, 2)
    q = torch.zeros(2, 2).double()
    near, moved = (module_attended(Instruction("view", (), view="whole"), k, t, k) for t in (q, q + 1e-9))
    assert 0.3 * own.promises()["whole"].approximation < float((moved - near).abs().max())
    assert float((moved - near).abs().max()) <= own.promises()["whole"].approximation
    assert own.promises()["heads"].approximation < own.promises()["whole"].approximation
    coarse = errors(entry=(1e-9, 0.0), root=(1e-3, 0.0), slot=2)  # a norm that costs more than its weights
    assert coarse.promises()["whole"].approximation > coarse.promises()["unit"].approximation


def test_a_block_that_nothing_is_known_of_promises_nothing():
    assert errors(entry=(1.0, 0.0)).promises()["self"].approximation == math.inf
    assert errors(entry=(1e-4, 0.0)).promises()["unit"].approximation == math.inf
