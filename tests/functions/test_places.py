import math

import pytest

from headsmith.functions import Places, parse
from headsmith.refusal import Refusal


@pytest.mark.parametrize(
    ("text", "lo", "hi", "expected"),
    [
        ("abs(abs(abs(x)-1)-0.5)", -2, 2, Places(kinks=(-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5))),
        ("clip(x, -1, 1)", -3, 3, Places(kinks=(-1.0, 1.0))),
        ("max(sin(x), 0.3)", 0, 6, Places(kinks=(math.asin(0.3), math.pi - math.asin(0.3)))),
        ("relu(x) + abs(relu(x))", -1, 1, Places(kinks=(0.0,))),
        ("abs(x - 1e-20)", -1, 1, Places(kinks=(1e-20,))),
        ("abs(x^2) + max(x, x)", -1, 1, Places()),
        ("abs(x)", 0, 1, Places()),
        ("sign(x)*x", -1, 1, Places(kinks=(0.0,))),
        ("floor(3*x)", 0, 0.9, Places(jumps=((1 / 3, 1.0), (2 / 3, 1.0)))),
        ("5*sign(x - 0.5)", 0, 1, Places(jumps=((0.5, 10.0),))),
        ("step(x)", 0, 1, Places()),
        ("1/x", -1, 1, Places(poles=(0.0,))),
        ("1/x", 1, 2, Places()),
        ("1/x^2 + x^-1", -1, 1.5, Places(poles=(0.0,))),
        ("tan(x)", 0, 5, Places(poles=(math.pi / 2, 3 * math.pi / 2))),
        ("1/(x^2 - 2)", -2, 2, Places(poles=(-math.sqrt(2), math.sqrt(2)))),
        ("sin(x)/x", -1, 1, Places(removable=(0.0,))),
        ("sin(x)/x^2", -1, 1, Places(poles=(0.0,))),
        ("(x - 1)/(x^2 - 1)", -0.5, 2, Places(removable=(1.0,))),
        ("sqrt(x)", 0, 1, Places(singularities=(0.0,))),
        ("x*log(x) + x^0.5", 0, 1, Places(singularities=(0.0,))),
        ("sqrt(1 - x^2)", -1, 1, Places(singularities=(-1.0, 1.0))),
        ("log(x)", 0, 1, Places(poles=(0.0,))),
        ("1/sqrt(x)", 0, 1, Places(poles=(0.0,))),
        ("sqrt(x)", -1, 1, Places(singularities=(0.0,), undefined=((-1.0, 0.0),))),
        ("log(x - 2)", 0, 1, Places(undefined=((0.0, 1.0),))),
        ("sqrt(-1)*x", 0, 1, Places(undefined=((0.0, 1.0),))),
        ("exp(-x^2)*cos(4*x) + 2^-x + 1/(1+1000*x^2)", -3, 3, Places()),
    ],
)
def test_places(text, lo, hi, expected):
    found = parse(text).places(lo, hi)
    for kind, places in vars(expected).items():
        assert len(getattr(found, kind)) == len(places), (kind, found)
        for one, other in zip(getattr(found, kind), places, strict=True):
            assert one == pytest.approx(other, rel=4e-16, abs=0)


def test_many_kinks_are_all_found():
    found = parse("abs(sin(100*x))").places(-1, 1).kinks
    assert len(found) == 63
    assert max(abs(k * 100 / math.pi - round(k * 100 / math.pi)) for k in found) < 1e-13


def test_two_close_kinks_are_told_apart():
    assert parse("abs(x*(x - 1e-7))").places(-1, 1).kinks == (0.0, 1e-7)


def test_several_variables_have_no_places():
    with pytest.raises(Refusal, match="one variable"):
        parse("x*y").places(0, 1)
