"""From a rule f to the table that its layer stores: constants at the keys, since every key carries level_j x.

exact     f is a softmax of two keys already: tanh, sigmoid, shifted and scaled      (dossier 2.5)
table     fewest keys, searched and proved, for any continuous f
lattice   for linear f near the precision of the format: its values are small, which keeps the digits
printed   the staircase of Thm 3.1: P = ceil(2 Lip (b - a) / eps) steps
"""

from __future__ import annotations

import math
from dataclasses import replace

from headsmith.compiler.request import Request
from headsmith.compiler.scalar import ScalarTask, solve
from headsmith.constructions.design import Short
from headsmith.constructions.exact import exact_terms
from headsmith.constructions.identity import identity
from headsmith.constructions.printed import printed_part
from headsmith.constructions.rule import exact_head
from headsmith.functions import Expression
from headsmith.proof.residuals import Ranges
from headsmith.proof.statement import Head


def tabulate(f: Expression, ranges: Ranges, features: int, eps: float, request: Request) -> Head:
    """One head, meant to be f(exact z) within eps at the z = w . x - y that floating point computes; raises Short."""
    unit, z = request.format.unit, ranges.residuals(features, request.format)
    if eps < (least := 64 * unit * min(1.0, ranges.residual)):
        raise Short(f"64 roundings in {request.dtype} cost {least:.1e}", request.eps * least / eps)
    if request.method == "printed":
        return printed_part(f, z.widened(), eps, request.dtype, "z", "f").heads[0]
    if (two := exact_head(f)) is not None:
        return two.cast(request.dtype)
    terms = exact_terms(f)
    slope = max(abs(terms.slope), 1e-30)
    if not terms.rest and not terms.heads and eps < math.sqrt(unit) * ranges.residual * slope:
        line = identity(z.widened()[1], 0.3 * eps / slope)
        return replace(line, values=terms.slope * line.values + terms.bias).cast(request.dtype)
    [head] = solve(ScalarTask(f, z.widened(), eps, request.dtype, "z", "f", z), "table").part.heads
    return head
