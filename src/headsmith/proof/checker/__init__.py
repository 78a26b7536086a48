"""An independent checker: proves again, from a saved file alone, what its certificate says.

    python -m headsmith.proof.checker sin3x.safetensors        exit 0 proved, 1 altered or false, 2 cannot be repeated

**What it is for.** A certificate is a sentence: |network(x) - f(x)| <= bound for every x in a domain. Headsmith proves
it when it compiles, and again when it loads. If Headsmith itself were wrong, both proofs would be. This package shares
no line with the rest: it imports the standard library, the reader of safetensors files and ball arithmetic
(python-flint, where every number carries a bound of its own error), and nothing else. Read it as you would referee a
paper; each file is one lemma.

    formulas     the language: nested lists to formulas, strictly; printing; putting together
    ranges       where values lie over a cell, and that no operation is outside of its domain
    taylor       polynomials with remainders; branches at kinks; 0/0
    heads        sup |sum of heads - f| over an interval
    rounding     what floating point adds
    programs     parts that feed parts; vectors
    grids        several variables
    stacks       layers of a perceptron, each activation a head
    wiring       from the layers of the file to heads
    units        the same for perceptrons
    statements   the sentence

**What it trusts.** Python, python-flint, safetensors, and these assumptions, which are part of every certificate: IEEE
rounding to nearest without TF32 or autocast, explicit products and softmax in the order that the layers name (each sum
in any order), exp within 2 ulp. And that a network runs as `headsmith.network.files` documents its wiring.

**What it does not trust.** Anything that the file says. Hashes are computed, tensors are read as exact binary
fractions, the wiring must be one that is known to the last index, the sentence is derived from target, domain and
dtype and compared. What parts of a network are meant to compute is taken as a hint, and used only if together they
make the target. Cells, slopes and intervals are found here, by bisection.

**What it proves.** The approximation error and the rounding error that the file states, each; bound >= their sum. Two
conventions of the language of formulas are limits: 0/0 where both sides vanish together, and t^p log(t) at t = 0.
Whatever else has no value, such as sqrt below 0, 0^0 or log(0), has no bound, so nothing is proved of it.

**What it does not do.** It never stands alone: `headsmith.certify` demands that the file loads as well, rebuilt and
compared with what it holds. It knows formulas, vectors of them, grids of several variables, and perceptrons; of
other kinds it answers 2. It counts what it spends, so that a file made to waste time is an answer, too: 2.
"""

from __future__ import annotations

import os
from typing import Any

from flint import ctx

from .files import proved
from .verdict import SECONDS, WORK, Budget, Open, Rejected, Verdict, need

__all__ = ["Verdict", "check"]

BITS = 128


def check(path: Any, work: int = WORK, seconds: float = SECONDS) -> Verdict:
    """Proves a file again; whatever the file holds, the answer is a verdict and not an exception.

    >>> net = hs.compile("tanh(x)", domain=(-2, 2), eps=1e-6)
    >>> check(net.save("tanh.safetensors")).status
    0
    """
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = BITS, 20
    try:
        need(os.path.isfile(path), "it is not a regular file")  # a pipe would be waited for
        with open(path, "rb") as file:
            data = file.read()
        return proved(data, Budget(work, seconds))
    except Rejected as rejected:
        return Verdict(*rejected.args)
    except Open:
        return Verdict(2, "the formula cannot be enclosed somewhere in the domain: it may be undefined there")
    except Exception as error:  # a malformed file may fail anywhere; nothing it does counts as a proof
        return Verdict(1, f"the file is malformed ({type(error).__name__}: {str(error)[:200]})")
    finally:
        ctx.prec, ctx.cap = before
