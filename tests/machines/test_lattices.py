"""Tables that return what they read: their cost is proved, the shortest is taken, the printed one has its length."""

import numpy as np
import pytest

from headsmith.machines.lattices import (
    LONGEST,
    HeadSizes,
    numbers_of,
    printed_entry,
    printed_table,
    proved,
    shortest,
    smooth,
    two_key,
)
from headsmith.proof.certificate import SLACK, Bound
from headsmith.proof.statement import Head
from headsmith.refusal import Refusal

Z = np.linspace(-1, 1, 2001)


def promise(head):
    found = proved(head, 1.0, "float64")
    return Bound(3 * found.approximation, 3 * found.rounding)


@pytest.mark.parametrize("eps", [1e-2, 1e-6])
def test_what_is_proved_of_a_table_is_met_and_little_more(eps):
    head = two_key(1.0, eps)
    gap, found = np.abs(head(Z) - Z).max(), proved(head, 1.0, "float64")
    assert 0.99 * found.approximation <= gap <= found.total <= eps
    assert found.total == found.approximation + found.rounding


@pytest.mark.parametrize(
    ("radius", "eps", "most"), [(5.0, 1e-3, 10), (6.0, 1e-12, 24), (64.0, 1e-9, 21), (64.0, 1e-12, 26)]
)
def test_smooth_tables_are_short_and_proved(radius, eps, most):
    head = smooth(radius, eps)
    z = np.linspace(-radius, radius, 4001)
    bound = proved(head, radius, "float64").approximation
    assert head.keys <= most and bound <= 1.01 * eps and np.abs(head(z) - z).max() <= bound + 1e-13 * radius


def test_smooth_tables_are_refused_where_numbers_are_too_coarse():
    with pytest.raises(Refusal, match="numbers are not that fine"):
        smooth(1.0, 1e-19)
    with pytest.raises(Refusal, match="rounding the table costs"):
        smooth(1.0, 1e-12, "float32")


def test_two_keys_meet_their_bound():
    head = two_key(2.0, 1e-6)
    assert head.keys == 2 and 0.9e-6 < proved(head, 2.0, "float64").approximation <= 1e-6


def test_float32_rounds_more_and_a_wider_range_costs_more():
    head = two_key(1.0, 1e-3).cast("float32")
    assert proved(head, 1.0, "float32").rounding > 1e6 * proved(head, 1.0, "float64").rounding
    assert proved(head, 2.0, "float64").approximation > 7 * proved(head, 1.0, "float64").approximation


def test_a_head_is_known_by_all_its_numbers():
    gate = Head(*(np.array(column) for column in ([1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0])))
    assert numbers_of(gate) == ((1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0))


def test_the_first_table_whose_promise_meets_eps():
    head = shortest("two-key", 1.0, "float64", 1e-3, 3.0, promise, "this")
    assert head.keys == 2 and promise(head).total * SLACK <= 1e-3
    assert promise(head).total > 0.5e-3  # no finer than was asked
    coarse = shortest("two-key", 1.0, "float64", 1e-3, 0.5, promise, "this")  # a gain that is too small is made up for
    assert promise(coarse).total * SLACK <= 1e-3


@pytest.mark.slow
def test_a_refused_eps_names_one_that_can_be_had():
    with pytest.raises(Refusal, match="this cannot promise 1e-16 in float64, for rounding") as found:
        shortest("two-key", 1.0, "float64", 1e-16, 3.0, promise, "this")
    assert "with method=auto" in str(found.value)
    named = float(str(found.value).split("eps = ")[1].split()[0])
    assert promise(shortest("auto", 1.0, "float64", named, 3.0, promise, "this")).total <= named


def test_the_printed_table_is_refused_where_it_is_too_long():
    assert np.abs(printed_table(1.0, "float64", 1.0, 0.1)(Z) - Z).max() <= 0.1
    with pytest.raises(
        Refusal, match=r"keys a head; tables of up to 1,025 are built: ask for eps = \S+ or more"
    ) as found:
        printed_table(1.0, "float64", 1.0, 1e-3)
    assert LONGEST == 1024 and float(str(found.value).split("eps = ")[1].split()[0]) == pytest.approx(4.0, rel=0.05)


def test_entries_of_the_printed_proof():
    """Through values at most eps/2, through softmax n B (e^(2t) - 1) with t = d (2B + 1) e: together eps."""
    assert printed_entry(1.0, 0.5, 1, 1) <= 0.5
    for eps, domain, d, n in ((1e-3, 2.0, 4, 12), (1e-1, 1.0, 2, 3)):
        e = printed_entry(eps, domain, d, n)
        assert e < eps / 2 and 0 < n * domain * (np.exp(2 * d * (2 * domain + 1) * e) - 1) < eps
        assert printed_entry(eps, domain, d, 2 * n) < e and printed_entry(2 * eps, domain, d, n) > e


def test_sizes_show_what_was_asked_and_the_papers_own():
    text = str(HeadSizes(2, 3, 4, 0.1, 1e-3, "float32", 5, 1e-6, 6, 70, 80))
    assert "3 x 2 heads on up to 4 tokens" in text and "up to 0.1, float32" in text
    assert "6 heads of 5 keys" in text and "70 heads (Thm 4.1), 80 keys" in text
