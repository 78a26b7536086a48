"""Fifteen programs on one block: claims that can fail, and a self-check that notices what is not what it says."""

import copy

import pytest
import torch

from headsmith.machines.tape.tape import Tape
from headsmith.papers.ours import one_machine

ROW = {
    "name": "head", "sort": "rows", "error": 1e-12, "bound": 1e-9, "proved": 1.1e-12, "strays": 0.5, "zeros": True,
}  # fmt: skip


def sound():
    sorts = {"rows": 1e-12, "steps": 1e-13, "norm": 1e-10, "encoder": 1e-10, "text": 1e-12}
    rows = [{**ROW, "sort": sort, "error": error, "proved": 1.1 * error} for sort, error in sorts.items()]
    return {"programs": copy.deepcopy(rows), "hashes": 1}


def test_all_claims_hold_of_a_sound_run():
    assert [claim.verdict(sound()) for claim in one_machine.CLAIMS] == ["holds"] * 5


@pytest.mark.parametrize(
    ("claim", "sort", "change"),
    [
        (1, 0, {"error": 3e-12}),
        (1, 1, {"error": 2e-12}),
        (1, 4, {"error": 3e-11}),
        (2, 2, {"strays": 1.1}),
        (3, 3, {"proved": 2e-9}),
        (3, 4, {"proved": 3e-11}),
        (4, 1, {"zeros": False}),
    ],
)
def test_each_claim_can_fail(claim, sort, change):
    m = sound()
    m["programs"][sort] |= change
    verdicts = [one.verdict(m) for one in one_machine.CLAIMS]
    assert verdicts[claim] == "fails" and verdicts.count("fails") == 1


def test_a_second_hash_is_noticed():
    assert one_machine.CLAIMS[0].verdict(sound() | {"hashes": 2}) == "fails"


def test_the_self_check_runs_every_sort_of_program_but_texts():
    assert one_machine.self_check()
    found = [case.sort for case in one_machine.cases(one_machine.SMALL, 0)]
    assert {sort: found.count(sort) for sort in found} == {"rows": 4, "norm": 1, "steps": 7, "encoder": 2}


def test_a_machine_that_computes_something_else_is_noticed(monkeypatch):
    """A run whose value is moved by 1e-6 after the last pass."""
    run = Tape.__call__

    def moved(self, program, X=None, **options):
        result = run(self, program, X, **options)
        result.value.add_(1e-6)
        return result

    monkeypatch.setattr(Tape, "__call__", moved)
    monkeypatch.setattr(one_machine, "_row", lambda case, tape, result: _said(case, result))
    monkeypatch.setattr(one_machine, "_strays", lambda *_: 0.0)
    assert not one_machine.self_check()


def _said(case, result):
    want = case.want() if case.want is not None else case.program.reference(case.x)
    error = float((result.value - want).abs().max())
    return {"sort": case.sort, "error": error, "proved": error, "zeros": True}


def test_a_pass_that_strays_is_seen():
    vm = Tape(**one_machine.SMALL["block"])
    [case, *_] = one_machine.cases(one_machine.SMALL, 0)
    tape = vm.host(case.program, sample=case.x)
    result = vm(tape, case.x)
    assert 0 < one_machine._strays(vm, tape, result) < 1
    vars(result)["bounds"] = tuple(bound.__class__(0.0, 0.0) for bound in result.bounds)
    with pytest.raises(ZeroDivisionError):
        one_machine._strays(vm, tape, result)


def test_the_picture_has_a_cell_for_every_pass(monkeypatch):
    settings = {**one_machine.SMALL, "samples": 6}
    m = one_machine.measure(settings)
    tapes, errors = one_machine.one_machine(m).axes
    cells = [patch for patch in tapes.patches if type(patch).__name__ == "Rectangle"]
    assert len(cells) == sum(len(row["kinds"]) for row in m["programs"])
    assert [label.get_text() for label in tapes.get_yticklabels()] == [row["name"] for row in m["programs"]]
    dots = [line for line in errors.get_lines() if line.get_marker() == "."]
    assert [float(dot.get_xdata()[0]) for dot in dots] == [row["error"] for row in m["programs"]]
    assert torch.isfinite(torch.tensor([row["proved"] for row in m["programs"]])).all()
