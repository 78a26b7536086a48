"""Power series in balls: the elementary functions that flint does not have, and division at removable points.

Every function below takes a series u = u0 + d, d without constant term, and splits the value at u0 off:
tanh(u0 + d) = t + s T/(1 + t T) with t = tanh u0, s = 1 - t^2, T = tanh d, and softplus(u0 + d) = softplus
u0 + log(1 + sigmoid(u0) (e^d - 1)). So u0 may be a ball as wide as one likes (its image is the hull of two
ends), and nothing overflows or cancels.
"""

from typing import Any

from flint import arb, arb_series

from headsmith.functions.balls import Unresolved, increasing

Series = Any  # arb | arb_series: flint's own types do not mix in its annotations


def _split(u: arb_series) -> tuple[arb, arb_series]:
    return u[0], arb_series([0, *list(u)[1:]], u.prec)


def tanh(u: Series) -> Series:
    """tanh(u0 + d) = t + (1 - t^2) T/(1 + t T),  t = tanh u0,  T = tanh d: no cancellation where t is near 1."""
    if isinstance(u, arb):
        return increasing(arb.tanh, u)
    u0, d = _split(u)
    t, T = tanh(u0), 1 - 2 / ((2 * d).exp() + 1)
    return t + _sech_squared(u0) * (T / (1 + t * T))


def _sech_squared(u: arb) -> arb:
    """1/cosh^2 falls away from 0: the hull of its values at the least and the greatest |u|."""
    return (1 / u.abs_lower().cosh() ** 2).union(1 / u.abs_upper().cosh() ** 2)


def sigmoid(u: Series) -> Series:
    """1/(1 + e^-u) = (1 + tanh(u/2))/2."""
    return (1 + tanh(u / 2)) / 2


def softplus(u: Series) -> Series:
    """log(1 + e^u) = max(u, 0) + log1p(e^-|u|)."""
    if isinstance(u, arb):
        return increasing(lambda v: (v if v > 0 else arb(0)) + (-abs(v)).exp().log1p(), u)
    u0, d = _split(u)
    return softplus(u0) + (1 + sigmoid(u0) * (d.exp() - 1)).log()


def gelu(u: Series) -> Series:
    """u (1 + erf(u/sqrt 2))/2."""
    return u * (1 + (u / arb(2).sqrt()).erf()) / 2


def gelu_tanh(u: Series) -> Series:
    """u (1 + tanh(sqrt(2/pi) (u + 0.044715 u^3)))/2, the decimal constant taken exactly."""
    inner = (2 / arb.pi()).sqrt() * (u + arb(44715) / 1_000_000 * u * u * u)
    return u * (1 + tanh(inner)) / 2


def silu(u: Series) -> Series:
    """u/(1 + e^-u)."""
    return u * sigmoid(u)


def power(u: Series, n: int) -> Series:
    """u^n by squaring. An even power of a ball around 0 is told to be nonnegative."""
    if n < 0:
        return 1 / nonzero(power(u, -n))
    if n == 0:
        return 0 * u + 1
    result: Series = None
    square, left = u, n
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    if n % 2 == 0 and isinstance(u, arb_series) and u[0].contains(0):
        result = arb_series([arb(0).union(u[0].abs_upper() ** n), *list(result)[1:]], result.prec)
    return result


def positive(u: Series) -> Series:
    """u, once it is sure that it is positive over the cell."""
    if not (u if isinstance(u, arb) else u[0]) > 0:
        raise Unresolved("the argument of a root or logarithm is not surely positive here")
    return u


def nonzero(v: Series) -> Series:
    """v, once it is sure that it has no zero in the cell."""
    if (v if isinstance(v, arb) else v[0]).contains(0):
        raise Unresolved("a divisor may vanish here")
    return v


def zeros(u: Series) -> int:
    """The number of leading coefficients that are exactly 0."""
    if isinstance(u, arb):
        return 0
    return next((k for k in range(u.prec) if not u[k].is_zero()), u.prec)


def shift(u: Series, m: int) -> arb_series:
    """u / y^m: the coefficients from the m-th on."""
    if isinstance(u, arb) or u.prec <= m:
        raise Unresolved("a quotient is removable to too high an order")
    return arb_series(list(u)[m:], u.prec - m)
