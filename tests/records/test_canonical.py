import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headsmith.records import content_hash, from_json, to_json

text = st.text('ab~"\\\n é', max_size=6)
leaves = st.none() | st.booleans() | st.integers() | text | st.floats(allow_nan=False)
keys = text | st.sampled_from(["~float", "~array", "~tensor", "~~float"])
records = st.recursive(leaves, lambda r: st.lists(r) | st.dictionaries(keys, r), max_leaves=10)


def same(a, b):
    """Equal, and floats equal in every bit: 0.0 is not -0.0 and 1 is not 1.0."""
    if isinstance(a, float):
        return type(b) is float and a.hex() == b.hex()
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@given(records)
def test_every_record_comes_back_bit_for_bit(record):
    assert same(record, from_json(to_json(record)))


@given(st.dictionaries(keys, leaves, min_size=2))
def test_the_order_of_keys_does_not_change_the_hash(record):
    turned = dict(reversed(record.items()))
    assert list(turned) != list(record)
    assert content_hash(turned) == content_hash(record)


@pytest.mark.parametrize("special", [math.inf, -math.inf, math.nan])
def test_special_floats_are_strict_json(special):
    def reject(name):
        raise AssertionError(name)

    json.loads(to_json([special]), parse_constant=reject)
    [back] = from_json(to_json([special]))
    assert back == special or (math.isnan(back) and math.isnan(special))


def test_the_spelling_is_fixed():
    assert to_json({"b": 3.0, "a": (1, None)}) == '{"a":[1,null],"b":{"~float":"0x1.8000000000000p+1"}}'


def test_an_integer_and_a_float_hash_differently():
    assert content_hash({"a": 1}) != content_hash({"a": 1.0})


@pytest.mark.parametrize("scalar", [np.float32(0.1), np.float64(0.1), np.int32(-3), np.bool_(True)])
def test_numpy_scalars_become_plain_numbers(scalar):
    back = from_json(to_json(scalar))
    assert back == scalar and type(back) in (float, int, bool)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool]
)
def test_tensors_keep_dtype_shape_and_bits(dtype):
    tensor = (torch.randn(2, 3, generator=torch.Generator().manual_seed(0)) * 3).to(dtype)
    for original in (tensor, tensor[0, 0], tensor[:0]):
        back = from_json(to_json({"w": original}))["w"]
        assert back.dtype == dtype and back.shape == original.shape and torch.equal(back, original)


def test_arrays_stay_arrays():
    array = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    back = from_json(to_json(array))
    assert isinstance(back, np.ndarray) and back.dtype == np.float32 and (back == array).all()


@pytest.mark.parametrize("bad", [1j, {1: 2}, object(), {1, 2}, np.array([1j]), np.longdouble(1) / 3])
def test_what_has_no_exact_spelling_is_refused(bad):
    with pytest.raises(TypeError):
        to_json(bad)
