"""One value against what was asked for: |value - program(X)| <= bound, a theorem about this X.

    E = the program in balls, exact real arithmetic in the numbers that it was given      bound = max |value - E|

The value may come from anywhere: no machine, no order of summation and no rounding enters, so none can make it false.
What it costs is precision. Balls lose 23 bits an encoder layer, so the work is done in 64 + 24 layers bits, and once
more in twice as many if the balls are wider than a hundredth of the error. What then still has no value is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from headsmith.functions.balls import Unresolved, precision
from headsmith.machines.machine import whole
from headsmith.machines.prompts.layers import features
from headsmith.machines.tape.contraction import BALLS
from headsmith.network import digest
from headsmith.network.inputs import accept
from headsmith.proof.ball_matrix import BallMatrix
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain, Listed
from headsmith.records.shown import upper
from headsmith.refusal import Refusal

LAYER = 6  # programs in an encoder layer: heads, W_O, norm, two linear maps, norm
FINE = 0.01  # of the error: balls as wide as this say all there is to say
LEAST = 2.0**-64  # of the largest number of the value: there is no need to be finer, even where the error is 0
MOST = 2**14  # bits that can be asked for: a hundred encoder layers take a seventh of them


def prove(program: Any, X: Any, value: Tensor, bits: int | str = "auto") -> Certificate:
    """|value - program(X)| <= bound in every entry; refused where the balls have no value, or are wider than the error.

    >>> double = hs.prompt.linear([[2.0]])
    >>> prove(double, torch.tensor([[0.5]]), torch.tensor([[1.25]])).bound
    0.2505...
    """
    x = _tokens(program, X)
    answer = accept(value, torch.float64, torch.device("cpu"))
    found = _tried(program, x, answer, _precisions(program, bits))
    if found.vacuous:
        raise Refusal(_too_wide(program, found))
    bound = Bound(found.error, 0.0).with_slack()
    domain = Domain({} if x is None else {"X": Listed(1, digest({}, {"X": x}))})
    return Certificate.of(bound, _statement(program, x, found), domain, "float64", _hash(program, x, answer), BALLS)


def _tokens(program: Any, X: Any) -> Tensor | None:
    """X in float64, or none where the program carries its data."""
    if not hasattr(program, "enclosed"):
        raise Refusal(
            f"{program.name} has no value in balls: head, linear, norm, unit, residual, pool, chain, descent and rule "
            "of hs.prompt have one, and so has program.on(X) of an estimator"
        )
    if (X is None) != hasattr(program, "steps"):
        raise Refusal(f"{program.name} " + ("needs its X" if X is None else "carries its own data: leave X out"))
    if X is None:
        return None
    x, width = accept(X, torch.float64, torch.device("cpu")), features(program)
    if not x.numel() or width not in (None, x.shape[-1]):
        raise Refusal(f"{program.name} reads tokens (..., tokens, {width or 'features'}), not {tuple(x.shape)}")
    return x


@dataclass(frozen=True)
class _Found:
    """max |value - E| and the widest ball of E; infinite, with a reason, where E has no value."""

    error: float
    radius: float
    least: float
    bits: tuple[int, ...]
    reason: str = ""

    @property
    def fine(self) -> bool:
        """Whether narrower balls would hardly change the bound."""
        return math.isfinite(self.radius) and self.radius <= max(FINE * self.error, self.least)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is that of the balls, and not that of the value."""
        return not math.isfinite(self.radius) or self.radius > max(self.error / 2, self.least)


def _tried(program: Any, x: Tensor | None, value: Tensor, precisions: tuple[int, ...]) -> _Found:
    """The first precision that is fine, or the last one."""
    least = LEAST * max((abs(v) for v in value.reshape(-1).tolist()), default=0.0)
    for i, bits in enumerate(precisions):
        error, radius, reason = _compared(program, x, value, bits)
        found = _Found(error, radius, least, precisions[: i + 1], reason)
        if found.fine:
            break
    return found


def _compared(program: Any, x: Tensor | None, value: Tensor, bits: int) -> tuple[float, float, str]:
    """Error, radius and, where they are infinite, why, in this precision."""
    with precision(bits):
        try:
            found = program.enclosed() if x is None else program.enclosed(BallMatrix.of(x))
        except Unresolved as said:
            return math.inf, math.inf, str(said)
    if found.rows.nrows() * found.width != value.numel() or value.shape[-1:] != (found.width,):
        raise Refusal(
            f"{program.name} makes {found.rows.nrows()} x {found.width} numbers of this X, the value has the shape "
            f"{tuple(value.shape)}: prove the value of that very run"
        )
    return found.distance(value), found.radius, ""


def _precisions(program: Any, bits: int | str) -> tuple[int, ...]:
    """What "auto" tries, or what was asked for."""
    if bits == "auto":
        first = 64 + 24 * math.ceil(_depth(program) / LAYER)
        return first, 2 * first
    asked = whole('bits, unless it is "auto",', bits)
    if not 2 <= asked <= MOST:
        raise Refusal(
            f'balls have 2 to {MOST} bits, not {asked}: more take too long; bits="auto" chooses as many as it takes'
        )
    return (asked,)


def _depth(program: Any) -> int:
    """How many programs follow each other; a loop counts its steps."""
    if hasattr(program, "stages"):
        return sum(map(_depth, program.stages))
    return getattr(program, "steps", 1)  # type: ignore[no-any-return]


def _too_wide(program: Any, found: _Found) -> str:
    bits = " and ".join(map(str, found.bits))
    wide = f"they are {upper(found.radius)} wide, too much for an error of {upper(found.error)}"
    seen = f"{found.reason} may be 0 for all that they tell" if found.reason else wide
    more = f"bits={4 * found.bits[-1]}" if len(found.bits) > 1 else 'bits="auto"'
    return (
        f"balls of {bits} bits do not tell what {program.name} makes of this X: {seen}; ask for {more}, which helps "
        "unless the program itself has no value here"
    )


def _statement(program: Any, x: Tensor | None, found: _Found) -> str:
    where = "" if x is None else f" for the X of SHA-256 {digest({}, {'X': x})} alone"
    parts, size = "; ".join(_formulas(program)), f"{found.bits[-1]} bits, at most {upper(found.radius)} wide"
    return (
        f"|value - exact| <= bound in every entry{where}, whatever computed the value; exact is {program.name} in real "
        f"numbers, of the numbers that were given: {parts} (balls of {size})"
    )


def _formulas(program: Any) -> tuple[str, ...]:
    """What the parts of a program are, each said once."""
    found = dict.fromkeys(part for stage in getattr(program, "stages", ()) for part in _formulas(stage))
    return (*found, *((program.formula,) if hasattr(program, "formula") else ()))


def _hash(program: Any, x: Tensor | None, value: Tensor) -> str:
    """SHA-256 of what the theorem speaks of: the numbers of the program, the tokens, the value."""
    tensors = {"value": value} if x is None else {"X": x, "value": value}
    return digest(_written(program, "program", tensors), tensors)


def _written(part: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """A program as JSON; its tensors go by their names."""
    if isinstance(part, Tensor):
        tensors[name] = part
        return name
    if is_dataclass(part) and not isinstance(part, type):
        held = {f.name: _written(getattr(part, f.name), f"{name}.{f.name}", tensors) for f in fields(part)}
        return {"kind": type(part).__name__, **held}
    if isinstance(part, tuple | list):
        return [_written(item, f"{name}.{i}", tensors) for i, item in enumerate(part)]
    return part.hex() if isinstance(part, float) else part if isinstance(part, bool | int | None) else str(part)
