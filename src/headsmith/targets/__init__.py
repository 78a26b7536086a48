"""Targets: the weights carry the algorithm. One door, whatever the target is.

plan(target, eps=, domain=, dtype=, method=) -> Plan        sizes and the promised bound, or a Refusal
compile(target, ...) -> Compiled                            plan(...).build()
load(path) -> Compiled
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from torch import nn

from headsmith.compiler.compiled import Compiled, read_manifest
from headsmith.compiler.plan import Plan
from headsmith.functions import Expression, parse
from headsmith.refusal import Refusal
from headsmith.targets.anchored import METHODS as ANCHORED
from headsmith.targets.anchored import load_anchored, plan_anchored
from headsmith.targets.bumps import load_bumps, plan_bumps
from headsmith.targets.callables import load_callable, plan_callable
from headsmith.targets.clip import load_clip, plan_clip
from headsmith.targets.descent import load_descent, plan_descent
from headsmith.targets.formula import load_formula, plan_formula
from headsmith.targets.grid import load_grid, plan_grid
from headsmith.targets.kinds import Clip, Descent, Product, PromptClip, ReluNetwork, ResidualRule, SequenceMap
from headsmith.targets.mlp import Stack, load_mlp, plan_mlp
from headsmith.targets.native import load_native, plan_native
from headsmith.targets.product import load_product, plan_product
from headsmith.targets.prompt_clip import load_prompt_clip, plan_prompt_clip
from headsmith.targets.rule import load_rule, plan_rule
from headsmith.targets.sequence import BUMPS, load_sequence, plan_sequence
from headsmith.targets.vector import load_vector, plan_vector


def plan(
    target: Any, *, eps: Any, domain: Any = None, dtype: Any = "float64", method: str = "auto", **options: Any
) -> Plan:
    """What would be built for this target, and the bound it would keep."""
    if isinstance(target, str | Expression):
        target = parse(target) if isinstance(target, str) else target
        domain = single(domain, target.variables)
    planner = _planner(target, domain, method, options)
    known = signature(planner).parameters
    if spare := [name for name in options if name not in known]:
        raise Refusal(f"a target of this kind ({type(target).__name__}) takes no {', '.join(spare)}")
    return planner(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)


def _planner(target: Any, domain: Any, method: str, options: Mapping[str, Any]) -> Callable[..., Plan]:
    """Who plans for this target."""
    if isinstance(target, Expression):
        return plan_grid if len(target.variables) > 1 or isinstance(domain, Mapping) else plan_formula
    if isinstance(target, SequenceMap):
        return plan_bumps if method in BUMPS else plan_sequence
    if isinstance(target, ReluNetwork):
        return plan_anchored if method in ANCHORED else plan_native
    for kind, planner in PLANNERS.items():
        if isinstance(target, kind):
            return planner
    if isinstance(target, list | tuple):
        return plan_vector
    if isinstance(target, Stack) or (isinstance(target, nn.Module) and not options):
        return plan_mlp
    if callable(target):
        return plan_callable
    kinds = ", ".join(sorted(kind.__name__ for kind in (*PLANNERS, SequenceMap, ReluNetwork)))
    raise Refusal(
        "a target is a formula such as 'sin(3*x)', a list of them, a function of one tensor, an nn.Sequential, "
        f"or one of {kinds}; not {type(target).__name__}"
    )


def single(domain: Any, names: Sequence[str]) -> Any:
    """{"x": (-1, 1)} for a formula of x alone is the interval itself."""
    return domain[names[0]] if isinstance(domain, Mapping) and len(names) == 1 and set(domain) == set(names) else domain


def compile(target: Any, **request: Any) -> Compiled:
    """plan(target, **request).build().

    >>> net = compile("sin(3*x)", domain=(-2, 2), eps=1e-6)
    >>> net.certificate.kind
    'proved'
    """
    return plan(target, **request).build()


PLANNERS: dict[type, Callable[..., Plan]] = {
    Clip: plan_clip,
    PromptClip: plan_prompt_clip,
    ResidualRule: plan_rule,
    Descent: plan_descent,
    Product: plan_product,
}
LOADERS: dict[str, Callable[..., Compiled]] = {
    "formula": load_formula,
    "callable": load_callable,
    "rule": load_rule,
    "descent": load_descent,
    "grid": load_grid,
    "sequence": load_sequence,
    "bumps": load_bumps,
    "relu-network": load_native,
    "relu-anchors": load_anchored,
    "product": load_product,
    "vector": load_vector,
    "clip": load_clip,
    "mlp": load_mlp,
    "prompt-clip": load_prompt_clip,
}


def load(path: str | Path) -> Compiled:
    """A network that `save` wrote, with its certificate. Files are read as data, never as code."""
    manifest, tensors = read_manifest(path)
    loader = LOADERS.get(str(manifest.get("kind")))
    if loader is None:
        raise Refusal(f"{path} holds a {manifest.get('kind')!r}; this version loads {', '.join(LOADERS)}")
    try:
        return loader(manifest, tensors)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, Refusal):
            raise
        raise Refusal(f"{path} is damaged: its manifest cannot be read ({error})") from None
