"""One door, whatever the target is.

plan(target, eps=, domain=, dtype=, method=) -> Plan        sizes and the promised bound, or a Refusal
compile(target, ...) -> Compiled                            plan(...).build()
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from headsmith.compiler.compiled import Compiled
from headsmith.compiler.plan import Plan, make_plan
from headsmith.compiler.request import Request
from headsmith.compiler.target import Target
from headsmith.doors.mlp import compiled_module
from headsmith.functions import Expression
from headsmith.refusal import Refusal
from headsmith.targets import public
from headsmith.targets.callables import Code
from headsmith.targets.formula import Formula


def plan(
    target: Any, *, eps: Any = None, domain: Any = None, dtype: Any = "float64", method: str = "auto", **options: Any
) -> Plan:
    """What `compile` would build for this target and the bound it would keep; the arguments are those of `compile`.

    >>> plan("sin(3*x)", domain=(-2, 2), eps=1e-6).anchors
    8
    """
    wanted = read_target(target, domain, options)
    return make_plan(wanted, Request.read(wanted, eps, domain, dtype, method))


def compile(
    target: Any, *, eps: Any = None, domain: Any = None, dtype: Any = "float64", method: str = "auto", **options: Any
) -> Compiled:
    """A softmax-attention network for this target, with a certificate; or a `Refusal` that says what can be had.

    target   a formula such as "sin(3*x)", a list of formulas, a function of one tensor, an nn.Sequential, or one of
             the kinds in `hs.target`
    eps      how far the network may be from the target, anywhere in the domain
    domain   where the inputs lie: (lo, hi) for all of them, or a dict by name such as {"x": (-1, 1), "y": (0, 2)}
    dtype    "float64" or "float32": what the network holds and computes in
    method   "auto", or a construction by name; "printed" is the paper's own
    options  what only some targets take: lipschitz=L or derivative_bounds=(L1, L2) for a function given as code,
             heads=H for hs.target.Clip

    >>> net = compile("sin(3*x)", domain=(-2, 2), eps=1e-6)
    >>> net.certificate.kind
    'proved'
    """
    return plan(target, eps=eps, domain=domain, dtype=dtype, method=method, **options).build()


def read_target(target: Any, domain: Any, options: Mapping[str, Any]) -> Target:
    """The target that a user means; options become its fields."""
    if isinstance(target, Target):
        return _with_options(target, options)
    found = _read(target, domain, options)
    if found is None:
        given = f"the class {target.__name__}" if isinstance(target, type) else type(target).__name__
        raise Refusal(
            "a target is a formula such as 'sin(3*x)', a list of them, a function of one tensor, an nn.Sequential, "
            f"or one that hs.target makes, {', '.join(public.__all__)}; not {given}"
        )
    return found


def _read(target: Any, domain: Any, options: Mapping[str, Any]) -> Target | None:
    if isinstance(target, str | Expression | list | tuple):
        return _with_options(Formula.read(target, domain), options)
    if isinstance(target, nn.Module) and not set(options) & set(Code.options):
        return _with_options(compiled_module(target, domain), options)
    if callable(target) and not isinstance(target, type):
        name = getattr(target, "__name__", type(target).__name__)
        return _with_options(Code(name, function=target), options)
    return None


def _with_options(target: Target, options: Mapping[str, Any]) -> Target:
    """The target with these fields changed; a word that is none of its options is named."""
    known = getattr(target, "options", ())
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, ["eps", "domain", "dtype", "method", *known], n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known) or 'none'}"
            raise Refusal(f"compile has no option {name!r} for {target}: {hint}")
    return replace(target, **options) if options else target  # type: ignore[type-var]
