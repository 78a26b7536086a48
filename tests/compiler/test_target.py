"""What every target has from its fields: sentences, samples, and files that hold them exactly."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from headsmith.compiler.request import Request
from headsmith.compiler.target import Input, Target, as_expression
from headsmith.functions import Expression, parse
from headsmith.proof.domain import Domain, Finite
from headsmith.refusal import Refusal


@dataclass(frozen=True, eq=False)
class Toy(Target):
    """No kind of its own: it stands in no list of kinds, and tests put it there for as long as they last."""

    size_: int
    scale: float
    formulas: tuple[Expression, ...]
    A: Any
    word: str = "a"
    code: Any = field(default=None, metadata={"stored": False})

    @property
    def inputs(self):
        return {"x": Input((2,)), "y": Input(), "mask": Input(optional=True)}

    def claim(self):
        return "x y"

    def exact(self, *inputs):
        return [0]

    def designs(self, request):
        return iter(())

    def encode(self, *inputs):
        return inputs[0]

    def decode(self, tokens):
        return tokens


TOY = Toy(3, -0.1, (parse("sin(3*x)"), parse("0.1")), np.array([[1 / 3, -0.0]]), "b", print)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(Target.kinds, "toy", Toy)


def test_a_kind_registers_and_a_class_without_one_does_not(monkeypatch):
    monkeypatch.setattr(Target, "kinds", dict(Target.kinds))
    assert Toy not in Target.kinds.values()

    class Named(Toy):
        kind = "named"

    class Heir(Named):
        pass

    assert Target.kinds["named"] is Named and Heir not in Target.kinds.values()


def test_a_record_brings_every_field_back_but_code(known):
    record, tensors = TOY.record()
    again = Target.from_record("toy", json.loads(json.dumps(record)), tensors)
    assert (again.size_, again.scale, again.word, again.code) == (3, -0.1, "b", None)
    assert [str(f) for f in again.formulas] == ["sin(3*x)", "0.1"]
    assert again.formulas[1].at().overlaps(parse("1/10").at()) and again.formulas[1].exact == parse("0.1").exact
    assert again.A.tobytes() == TOY.A.tobytes() and again.A.shape == (1, 2)


def drop(record, tensors):
    del record["word"]


def add(record, tensors):
    record["more"] = 1


def leave(record, tensors):
    tensors["B"] = torch.zeros(1)


def retag(record, tensors):
    record["scale"] = {"decimal": "0.1"}


@pytest.mark.parametrize(
    ("change", "words"),
    [(drop, "has A, formulas"), (add, "more"), (leave, "tensors that it does not use"), (retag, "'decimal' where")],
)
def test_what_it_could_not_have_written_is_refused(known, change, words):
    record, tensors = TOY.record()
    change(record, tensors)
    with pytest.raises(Refusal, match=words):
        Target.from_record("toy", record, tensors)


def test_unknown_kinds_and_fields_that_no_file_holds_are_refused(known):
    with pytest.raises(Refusal, match=r"no target is called 'joy'; this version knows .*toy"):
        Target.from_record("joy", {}, {})
    with pytest.raises(Refusal, match="holds set, which a file does not store"):
        Toy(1, 1.0, (), {1, 2}).record()


def test_the_statement_names_inputs_dtype_and_the_whole_domain():
    request = Request(1e-3, Domain({"x": (-0.1, 1.0), "y": Finite((0.0, 1.0))}), "float32")
    assert TOY.arguments == ["x", "y"]
    assert TOY.statement(request) == ("|network(x, y) - x y| <= bound for every float32 x in [-0.1, 1], y in {0, 1}")


def test_samples_fill_the_domain_and_leave_it_nowhere():
    domain = Domain({"x": (-0.1, 0.3), "y": Finite((0.0, 1.0))})
    x, y = TOY.sample(domain, 2000, torch.Generator().manual_seed(0))
    assert x.shape == (2000, 2) and y.shape == (2000,) and x.dtype == y.dtype == torch.float64
    domain.check("x", x)
    assert x.min() < -0.09 and x.max() > 0.29 and set(y.tolist()) == {0.0, 1.0}


def test_text_and_expressions_are_formulas():
    f = parse("x^2")
    assert as_expression(f) is f and str(as_expression("x^2")) == "x^2"
