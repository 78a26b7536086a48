"""Proving a file again, whatever it holds.

Formulas of one variable go to the independent checker. Other targets are loaded, their weights compared with the
certificate's hash, and proved anew by the prover of their kind: the stored bound is never trusted.
"""

from __future__ import annotations

from pathlib import Path

from headsmith.proof.certificate import Certificate
from headsmith.proof.checker import Verdict, check
from headsmith.refusal import Refusal
from headsmith.targets import load


def recheck(path: str | Path) -> Verdict:
    """Status 0 proved, 1 altered or false, 2 cannot be repeated."""
    if not Path(path).is_file():
        raise Refusal(f"{path} is not a file")
    verdict = check(path)
    if verdict.status != 2:
        return verdict
    try:
        net = load(path)
    except Refusal as refusal:
        return Verdict(1, str(refusal))
    stored, prove = net.certificate, getattr(net, "reprove", None)
    if prove is None or stored.kind != "proved":
        return Verdict(2, f"a {stored.kind} certificate of a {net.kind}: the file does not hold what it rests on")
    try:
        again: Certificate = prove()
    except (ArithmeticError, Refusal) as failure:
        return Verdict(1, f"false: the proof fails ({failure})")
    if again.kind == "proved" and again.bound <= stored.bound * (1 + 1e-9):
        return Verdict(0, "proved again from the stored weights, by the prover of its kind", stored.bound)
    return Verdict(1, f"false: what can be proved is {again.bound:.3e}")
