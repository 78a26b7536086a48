"""Named sets: printed exactly, checked to the last bit, read as the user means them."""

import json
import math

import numpy as np
import pytest
import torch

from headsmith.proof.domain import Domain, Finite, Listed, read_domain, read_interval
from headsmith.refusal import Refusal

MIXED = Domain({"x": (-0.1, 1 / 3), "y": Finite((0.0, 1.0))})


def test_what_is_printed_reads_back_as_the_very_ends():
    lo, hi = read_interval((-0.1, 1 / 3), "float32")
    text = str(Domain({"x": (lo, hi)}))
    assert text.startswith("x in [") and tuple(map(float, text[6:-1].split(", "))) == (lo, hi)
    assert str(Domain({"x": (-2.0, 2.0), "y": Finite((0.0, 1.0))})) == "x in [-2, 2], y in {0, 1}"


def test_ends_are_checked_to_the_last_bit():
    for end in (-0.1, 1 / 3):
        inside = torch.tensor([0.0, end], dtype=torch.float64)
        MIXED.check("x", inside)
        with pytest.raises(Refusal, match=r"x .* lies outside the certified domain"):
            MIXED.check("x", torch.nextafter(inside, 2 * inside.sign()))
    MIXED.check("x", torch.zeros(0))


def test_finite_sets_hold_their_numbers_and_no_other():
    MIXED.check("y", torch.tensor([[0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(Refusal, match=r"every y must be one of \{0, 1\}"):
        MIXED.check("y", torch.tensor([0.0, 0.5]))
    assert MIXED["y"] == (0.0, 1.0) and MIXED.size("y") == 1.0 and "z" not in MIXED


def test_a_record_brings_every_bit_back():
    again = Domain.from_record(json.loads(json.dumps(MIXED.record())))
    assert again == MIXED and hash(again) == hash(MIXED) and isinstance(again.sets["y"], Finite)
    assert Domain({"x": (-0.1, math.nextafter(1 / 3, 1)), "y": Finite((0.0, 1.0))}) != MIXED


def test_one_pair_is_for_all_variables_and_names_are_put_in_order():
    assert read_domain((-1, 2), ["x", "y"], "float64", "x*y").sets == {"x": (-1.0, 2.0), "y": (-1.0, 2.0)}
    by_name = read_domain({"y": (0, 1), "x": (-1, 1)}, ["x", "y"], "float64", "x*y")
    assert by_name.names == ("x", "y") and by_name.box(["y", "x"]) == ((0.0, 1.0), (-1.0, 1.0))
    assert by_name.plain() == {"x": (-1.0, 1.0), "y": (0.0, 1.0)}
    assert read_domain((-1, 2), ["x"], "float64", "x").plain() == (-1.0, 2.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, 'x*y needs a domain, such as domain={"x": (-1, 1), "y": (-1, 1)}'),
        ({}, "the domain names nothing, but x*y has"),
        ("01", "must be two numbers lo < hi"),
        ({"x": (0, 1)}, "the domain names x, but x*y has the variables x, y"),
        ({"x": (0, 1), "y": (0, 1), "z": (0, 1)}, "the domain names x, y, z"),
        ({"x": (0, 1), "y": (1, 0)}, "empty"),
    ],
)
def test_a_domain_that_does_not_fit_is_refused(given, words):
    with pytest.raises(Refusal) as found:
        read_domain(given, ["x", "y"], "float64", "x*y")
    assert words in str(found.value)


@pytest.mark.parametrize("domain", [(1, 1), (2, -2)])
def test_empty_domains(domain):
    with pytest.raises(Refusal, match="empty"):
        read_interval(domain, "float64")


@pytest.mark.parametrize("domain", [(0, math.inf), (-math.inf, 0), (math.nan, 1)])
def test_infinite_domains(domain):
    with pytest.raises(Refusal, match="not finite"):
        read_interval(domain, "float64")


@pytest.mark.parametrize("domain", [1, "ab", (1, 2, 3), (None, 1), ()])
def test_shapeless_domains(domain):
    with pytest.raises(Refusal, match="two numbers"):
        read_interval(domain, "float64")


def test_domains_are_widened_to_the_dtype():
    lo, hi = read_interval((-0.1, 0.3), "float32")
    assert lo <= -0.1 and hi >= 0.3
    assert float(np.float32(lo)) == lo and float(np.float32(hi)) == hi
    assert hi - 0.3 < 1e-7 and -0.1 - lo < 1e-7
    assert read_interval((-0.1, 0.3), "float64") == (-0.1, 0.3)


def test_a_domain_beyond_float32():
    with pytest.raises(Refusal, match="beyond the range of float32"):
        read_interval((0, 1e39), "float32")


def test_a_tiny_domain_does_not_become_empty_in_float32():
    lo, hi = read_interval((1.0, 1.0 + 1e-12), "float32")
    assert lo == 1.0 < hi


def test_a_list_too_long_to_print_is_named_by_its_hash():
    listed = Domain({"sequences": Listed(3, "ab12")})
    assert str(listed) == "sequences in the 3 listed of SHA-256 ab12" and "sequences" in listed
    assert Domain.from_record(json.loads(json.dumps(listed.record()))) == listed
    assert listed != Domain({"sequences": Listed(3, "ab13")}) and listed != Domain({"sequences": Listed(4, "ab12")})
    assert listed.plain() == {"sequences": Listed(3, "ab12")}
    listed.check("sequences", torch.tensor([9.0]))  # whoever holds the list does
    with pytest.raises(Refusal, match="sequences has no range: the certificate speaks of the 3 listed"):
        listed.size("sequences")
