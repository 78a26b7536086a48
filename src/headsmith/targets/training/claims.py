"""What is claimed of a step of a training, in formulas: w' and the moments that an optimizer keeps."""

from __future__ import annotations

from typing import Any

from headsmith.records.shown import exactly
from headsmith.reference.optimizers import Optimizer


def title(optimizer: Optimizer) -> str:
    """What descends, with its numbers."""
    if optimizer.name == "momentum":
        return f"gradient descent with momentum {exactly(optimizer.beta)}"
    if optimizer.name == "adam":
        (b1, b2), root = map(exactly, optimizer.betas), exactly(optimizer.root)
        return f"Adam (betas {b1} and {b2}, root {root})"
    return "gradient descent"


def formulas(optimizer: Optimizer, gradient: str) -> dict[str, str]:
    """What a step makes of each moment, and of w before it is cut off; t counts the steps from 1.

    >>> formulas(Optimizer("momentum", beta=0.9), "gradient")
    {'v': '0.9 v + gradient', 'w': 'w - rate v*'}
    """
    if optimizer.name == "momentum":
        return {"v": f"{exactly(optimizer.beta)} v + {gradient}", "w": "w - rate v*"}
    if optimizer.name == "adam":
        (b1, b2), root = map(exactly, optimizer.betas), exactly(optimizer.root)
        return {
            "m": f"{b1} m + (1 - {b1}) {gradient}",
            "v": f"{b2} v + (1 - {b2}) {gradient}^2",
            "w": f"w - rate (m* / (1 - {b1}^t)) / sqrt(v* / (1 - {b2}^t) + {root})",
        }
    return {"w": f"w - rate {gradient}"}


def stepped(target: Any) -> dict[str, str]:
    """The formulas of a target, its weight decay and its box among them."""
    fade = f"(gradient + {exactly(target.decay)} w)" if target.decay else "gradient"
    found = formulas(target.optimized, fade)
    box = "" if target.project is None else "Proj_[" + ", ".join(map(exactly, target.project)) + "]"
    return found | {"w": f"{box}({found['w']})"}


def claims(target: Any) -> str:
    """|w' - ...|_2 <= rate bound, and the same of each moment."""
    moments = dict(stepped(target))
    moved = f"|w' - {moments.pop('w')}|_2 <= rate bound"
    return moved + "".join(f" and |{name}' - {name}*|_2 <= bound, {name}* = {text}," for name, text in moments.items())


def held(target: Any) -> str:
    """Which w and moments the claim is about."""
    if not target.optimized.moments:
        return "w being the start and each of its iterates"
    kept = " and ".join(target.optimized.moments)
    turn = ", in step t = 1, 2, ..." if target.optimized.name == "adam" else ""
    return f"w being the start and each of its iterates, {kept} what the tokens hold of it, 0 at the start{turn}"
