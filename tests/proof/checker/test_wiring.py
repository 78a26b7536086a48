"""Heads from a wiring: what an honest file holds is read as it was built, and nothing else is read at all."""

import pytest

import headsmith as hs
from headsmith.compiler.files import read
from headsmith.proof.checker.rounding import FORMATS
from headsmith.proof.checker.verdict import Rejected
from headsmith.proof.checker.wiring import same, scalar_wires, tensor

from .helpers import held, keys_of


def opened(net, tmp_path):
    manifest, tensors = read(net.save(tmp_path / "net.safetensors"))
    return manifest["network"], held(tensors)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("formula", ["abs(x - 0.3)", "silu(x)", "exp(-abs(x))"])
def test_heads_are_read_as_they_were_built(tmp_path, formula, dtype):
    net = hs.compile(formula, domain=(-1, 1), eps=1e-2, dtype=dtype)
    wires = scalar_wires(*opened(net, tmp_path))
    built = {}
    for part in net.plan.design.parts:
        built.setdefault((part.input, part.output), []).extend(keys_of(head) for head in part.heads)
    assert wires.heads == {place: heads for place, heads in built.items() if heads}
    assert sum(wires.bias.values()) == sum(part.bias for part in net.plan.design.parts)


def test_numbers_that_are_none_are_rejected():
    with pytest.raises(Rejected, match="not finite"):
        tensor({"shape": [1], "data": b"\x00" * 6 + b"\xf8\x7f"}, FORMATS["F64"])


def test_a_tensor_without_its_bytes_is_an_error():
    with pytest.raises(Exception, match="buffer"):
        tensor({"shape": [2], "data": b"\x00" * 8}, FORMATS["F64"])


def test_what_python_calls_equal_is_not_the_same():
    assert same({"a": [1, True, "x"], "b": None}, {"b": None, "a": [1, True, "x"]})
    for other in ([True], [1.0], ["1"], [[1]], [None], []):
        assert not same(other, [1])
