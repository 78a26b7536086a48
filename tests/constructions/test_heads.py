"""Scalar heads as one design: what is written into tensors is read back, and the worst component is the bound."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headsmith.compiler.request import Request
from headsmith.constructions.design import Altered
from headsmith.constructions.gate import gate
from headsmith.constructions.heads import ScalarHeads
from headsmith.functions import parse
from headsmith.proof.domain import Domain
from headsmith.proof.statement import Head, Part
from headsmith.targets.formula import Formula

DOMAIN = (-1.0, 1.0)
ASKED = Request(1.0, Domain({"x": DOMAIN}))
TABLE = Head.table([-1.0, 0.5, 2.0], [0.0, 0.25, -0.5], [-0.5, 0.25, 1.0])
ABS = (gate((50.0, 0.0), (2.0, 0.0)), gate((-50.0, 0.0), (-2.0, 0.0)))

SINE = Part("x", "out", parse("sin(x)"), DOMAIN, (TABLE,), 0.125)
NESTED = (
    Part("x", "mid1", parse("sin(x)"), DOMAIN, (TABLE,)),
    Part("mid1", "out", parse("2*abs(x)"), (-2.0, 2.0), ABS, 0.5),
)
CASES = {
    "one": (Formula.read("sin(x)", None), ScalarHeads(((SINE,),))),
    "nested": (Formula.read("2*abs(sin(x))", None), ScalarHeads((NESTED,))),
    "vector": (Formula.read(["sin(x)", "2*abs(sin(x))"], None), ScalarHeads(((SINE,), NESTED))),
}


def numbers(design):
    return [
        [(p.input, p.output, p.bias, [c.tolist() for h in p.heads for c in (h.slopes, h.offsets, h.values, h.lines)])]
        for parts in design.programs
        for p in parts
    ]


@pytest.mark.parametrize("name", CASES)
def test_what_the_network_holds_is_read_back(name):
    target, design = CASES[name]
    again = ScalarHeads.stored(target, design.network(target, "float64"), ASKED, design.record())
    assert numbers(again) == numbers(design)
    assert [str(p.target) for p in again.parts] == [str(p.target) for p in design.parts]


@pytest.mark.parametrize("name", CASES)
def test_the_network_computes_the_programs(name):
    target, design = CASES[name]
    z = torch.linspace(-1, 1, 21, dtype=torch.float64)
    found = target.decode(design.network(target, "float64")(target.encode(z))).reshape(21, -1).numpy()
    sine, mid = SINE(z.numpy()), TABLE(z.numpy())
    columns = {"one": [sine], "nested": [NESTED[1](mid)], "vector": [sine, NESTED[1](mid)]}[name]
    assert np.allclose(found, np.stack(columns, -1), rtol=0, atol=1e-13)


def test_the_worst_component_is_the_bound():
    alone = [ScalarHeads((parts,)).prove(None, ASKED).total for parts in ((SINE,), NESTED)]
    together = ScalarHeads(((SINE,), NESTED)).prove(None, ASKED)
    assert together.total == max(alone) > min(alone) and together.witness == ()


def test_a_head_alone_has_a_witness_of_its_error():
    bound = ScalarHeads(((SINE,),)).prove(None, ASKED)
    [at] = bound.witness
    assert abs(float(SINE(np.array(at))) - np.sin(at)) == pytest.approx(bound.least, rel=1e-6)
    assert 0.9 * bound.approximation <= bound.least <= bound.approximation


def test_sizes_are_sums_and_layers_are_levels():
    design = CASES["vector"][1]
    assert design.tally == (3 + 3 + sum(h.keys for h in ABS), 4, 2)
    assert CASES["one"][1].tally.layers == 1


def test_methods_are_told_from_the_heads():
    def told(text, *heads):
        return ScalarHeads(((Part("x", "out", parse(text), DOMAIN, heads),),)).method(Formula.read(text, None))

    assert told("sin(x)", TABLE) == "analytic" and told("abs(x)", TABLE) == "table"
    assert told("abs(x)", *ABS) == "gate" and told("abs(x) + x^2", *ABS, TABLE) == "gate + table"
    assert told("tanh(x)", TABLE) == "exact"
    assert CASES["nested"][1].method(CASES["nested"][0]) == "composition"
    assert CASES["vector"][1].method(CASES["vector"][0]) == "side by side"


def test_a_file_of_other_components_or_wires_is_no_such_design():
    target, design = CASES["one"]
    network = design.network(target, "float64")
    with pytest.raises(Altered, match="another number of components"):
        ScalarHeads.stored(CASES["vector"][0], network, ASKED, design.record())
    moved = ScalarHeads(((replace(SINE, bias=0.25),),))
    assert numbers(ScalarHeads.stored(target, network, ASKED, moved.record())) != numbers(design)
