"""Targets: the weights carry the algorithm. One door, whatever the target is.

plan(target, eps=, domain=, dtype=, method=) -> Plan        sizes and the promised bound, or a Refusal
compile(target, ...) -> Compiled                            plan(...).build()
load(path) -> Compiled
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        if options:
            raise Refusal(f"a formula takes no {', '.join(options)}: its constants are found from the formula itself")
        expression = parse(target) if isinstance(target, str) else target
        domain = single(domain, expression.variables)
        several = len(expression.variables) > 1 or isinstance(domain, Mapping)
        planner: Callable[..., Plan] = plan_grid if several else plan_formula
        return planner(expression, eps=eps, domain=domain, dtype=dtype, method=method)
    if isinstance(target, Clip):
        return plan_clip(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, PromptClip):
        return plan_prompt_clip(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, SequenceMap):
        mapper: Callable[..., Plan] = plan_bumps if method in BUMPS else plan_sequence
        return mapper(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, ReluNetwork):
        relu: Callable[..., Plan] = plan_anchored if method in ANCHORED else plan_native
        return relu(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, ResidualRule):
        return plan_rule(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, Descent):
        return plan_descent(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, Product):
        return plan_product(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, list | tuple) and not options:
        return plan_vector(target, eps=eps, domain=domain, dtype=dtype, method=method)
    if isinstance(target, Stack) or (isinstance(target, nn.Module) and not options):
        return plan_mlp(target, eps=eps, domain=domain, dtype=dtype, method=method)
    if callable(target):
        return plan_callable(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    raise Refusal(f"a target is a formula such as 'sin(3*x)' or a function of one tensor, not {type(target).__name__}")


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
