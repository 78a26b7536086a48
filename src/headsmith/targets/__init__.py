"""Targets: the weights carry the algorithm. One door, whatever the target is.

    plan(target, eps=, domain=, dtype=, method=) -> Plan        sizes and the promised bound, or a Refusal
    compile(target, ...) -> Compiled                            plan(...).build()
    load(path) -> Compiled
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headsmith.compiler.compiled import Compiled, read_manifest
from headsmith.compiler.plan import Plan
from headsmith.functions import Expression, parse
from headsmith.refusal import Refusal
from headsmith.targets.callables import load_callable, plan_callable
from headsmith.targets.clip import load_clip, plan_clip
from headsmith.targets.formula import load_formula, plan_formula
from headsmith.targets.grid import load_grid, plan_grid
from headsmith.targets.vector import load_vector, plan_vector
from headsmith.targets.kinds import Clip, PromptClip
from headsmith.targets.prompt_clip import load_prompt_clip, plan_prompt_clip


def plan(target: Any, *, eps: Any, domain: Any = None, dtype: Any = "float64", method: str = "auto", **options: Any) -> Plan:
    """What would be built for this target, and the bound it would keep."""
    if isinstance(target, str | Expression):
        if options:
            raise Refusal(f"a formula takes no {', '.join(options)}: its constants are found from the formula itself")
        expression = parse(target) if isinstance(target, str) else target
        several = len(expression.variables) > 1 or isinstance(domain, Mapping)
        planner: Callable[..., Plan] = plan_grid if several else plan_formula
        return planner(expression, eps=eps, domain=domain, dtype=dtype, method=method)
    if isinstance(target, Clip):
        return plan_clip(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, PromptClip):
        return plan_prompt_clip(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    if isinstance(target, list | tuple) and not options:
        return plan_vector(target, eps=eps, domain=domain, dtype=dtype, method=method)
    if callable(target):
        return plan_callable(target, eps=eps, domain=domain, dtype=dtype, method=method, **options)
    raise Refusal(f"a target is a formula such as 'sin(3*x)' or a function of one tensor, not {type(target).__name__}")


def compile(target: Any, **request: Any) -> Compiled:
    """plan(target, **request).build().

    >>> net = compile("sin(3*x)", domain=(-2, 2), eps=1e-6)
    >>> net.certificate.kind
    'proved'
    """
    return plan(target, **request).build()


LOADERS: dict[str, Callable[..., Compiled]] = {"formula": load_formula, "callable": load_callable, "grid": load_grid, "vector": load_vector, "clip": load_clip, "prompt-clip": load_prompt_clip}


def load(path: str | Path) -> Compiled:
    """A network that `save` wrote, with its certificate. Files are read as data, never as code."""
    manifest, tensors = read_manifest(path)
    loader = LOADERS.get(manifest.get("kind"))
    if loader is None:
        raise Refusal(f"{path} holds a {manifest.get('kind')!r}; this version loads {', '.join(LOADERS)}")
    try:
        return loader(manifest, tensors)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, Refusal):
            raise
        raise Refusal(f"{path} is damaged: its manifest cannot be read ({error})") from None
