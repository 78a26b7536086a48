"""Training in the forward pass in float32, float16 and bfloat16: how far the weights end from those of float64.

A copy of a network that was proved for float64 is cast, and runs the same 20 steps on the same prompts. Its certificate
is void. Gates hold 1/gap and a lock of 2^40 each, which float16 has no number for: there all coefficients of the copy
are cut off at 2^8, which is a gap of 2^-8 and a lock that is enough for what is handed back here; in bfloat16 at 2^20.
The paper, whose layers are exact, says nothing of floating point.

(deep-optimizers Thm 1.)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

import headsmith as hs
from headsmith.network import Network
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.proof.certificate import StaleCertificate
from headsmith.records import Record
from headsmith.records.shown import number
from headsmith.reference.autograd import descended, outputs

PAPER = "deep-optimizers"
CASTS: dict[str, tuple[torch.dtype, float]] = {
    "float32": (torch.float32, 2.0**40),
    "float16": (torch.float16, 2.0**8),
    "float16 as it is": (torch.float16, 2.0**40),
    "bfloat16": (torch.bfloat16, 2.0**20),
}
"""name -> (dtype, where coefficients are cut off)"""

WIDTHS, SAMPLES, STEPS, RATE = (5, 8, 8, 2), 50, 20, 0.05
PRESETS: dict[str, dict[str, Any]] = {"smoke": {"draws": 20}, "good": {"draws": 100}, "full": {"draws": 1_000}}


def prompts(draws: int) -> tuple[Tensor, Tensor, Tensor]:
    """X, Y = (x_1 x_2, |x_3|) of standard normal inputs cut off at 2, and a start for each."""
    g, task = torch.Generator().manual_seed(0), compiled().task
    X = torch.randn(draws, SAMPLES, WIDTHS[0], generator=g, dtype=torch.float64).clamp(-2, 2)
    Y = torch.stack([X[..., 0] * X[..., 1], X[..., 2].abs()], -1)
    return X, Y, torch.stack([task.matrices.flat(task.start(seed)) for seed in range(draws)])


def compiled() -> Any:
    """The compact block, proved for float64."""
    return hs.compile(hs.target.Training(list(WIDTHS), steps=STEPS, rate=RATE, samples=SAMPLES), eps=1e-6)


def cast(network: Network, dtype: torch.dtype, most: float) -> Network:
    """A copy with coefficients in [-most, most], in this dtype.

    >>> cast(compiled().network, torch.float16, 2.0**8).dtype
    torch.float16
    """
    found = copy.deepcopy(network)
    for value in found.state_dict().values():
        if value.is_floating_point():
            value.clamp_(-most, most)
    return found.to(dtype)


@torch.no_grad()
def ended(net: Any, network: Network, given: tuple[Tensor, Tensor, Tensor], dtype: torch.dtype) -> Tensor:
    """(draws, all weights) that the tokens hold behind the last step."""
    X, Y, w = given
    tokens, stream = net.encode(X, Y, X[:, 0], w).to(dtype), net.form.stream(net.task)
    for _ in range(STEPS):
        tokens = network(tokens)
    return stream.flat(stream.weights(tokens)).double()


def void(net: Any, dtype: torch.dtype) -> bool:
    """Whether a copy in this dtype has no certificate."""
    try:
        copy.deepcopy(net).to(dtype).certificate  # noqa: B018
    except StaleCertificate:
        return True
    return False


def measure(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every cast beside float64, which is beside autograd."""
    net, given = compiled(), prompts(settings["draws"])
    w, right = given[2], ended(net, net.network, given, torch.float64)
    way, found = (right - w).norm(dim=-1), {}
    for name, (dtype, most) in CASTS.items():
        ends = ended(net, cast(net.network, dtype, most), given, dtype)
        plain = (_by_autograd(net, given, dtype) - right).norm(dim=-1) / way
        found[name] = {
            "void": void(net, dtype),
            "finite": bool(ends.isfinite().all()),
            "autograd": float(plain.median()),
        }
        if found[name]["finite"]:
            found[name] |= _apart(net, given, ends, right)
    gap = float(((right - _by_autograd(net, given, torch.float64)).norm(dim=-1) / way).max())
    return {"loss": [float(_losses(net, given, at).mean()) for at in (w, right)], "float64": gap, "casts": found}


def _by_autograd(net: Any, given: tuple[Tensor, Tensor, Tensor], dtype: torch.dtype) -> Tensor:
    """(draws, all weights): the same steps by autograd in this dtype."""
    ends = []
    for rows, x, y in _each(net, given[2], given):
        rounded = [V.to(dtype) for V in rows]
        ends.append(descended(rounded, x.to(dtype), y.to(dtype), "relu", STEPS, RATE)[0][-1].double())
    return torch.stack(ends)


def _apart(net: Any, given: tuple[Tensor, Tensor, Tensor], ends: Tensor, right: Tensor) -> dict[str, Any]:
    """Of the way of all steps: median and largest share; the mean loss, and how far it is off relative to float64's."""
    share = (ends - right).norm(dim=-1) / (right - given[2]).norm(dim=-1)
    losses, exact = (_losses(net, given, at) for at in (ends, right))
    off = float((losses / exact - 1).abs().max())
    return {"share": [float(share.median()), float(share.max())], "loss": float(losses.mean()), "loss apart": off}


def _losses(net: Any, given: tuple[Tensor, Tensor, Tensor], ends: Tensor) -> Tensor:
    return torch.stack([net.task.value(outputs(rows, x, "relu"), y) for rows, x, y in _each(net, ends, given)])


def _each(
    net: Any, ends: Tensor, given: tuple[Tensor, Tensor, Tensor]
) -> Iterator[tuple[list[Tensor], Tensor, Tensor]]:
    """The matrices of each draw, and its data."""
    for w, x, y in zip(ends, *given[:2], strict=True):
        yield net.task.matrices.split(w), x, y


CLAIMS = (
    Claim("float64 ends within 1e-13 of the way that autograd goes", lambda m: m["float64"] <= 1e-13),
    Claim("float32 ends within 1e-5 of the way, in every draw", lambda m: m["casts"]["float32"]["share"][1] <= 1e-5),
    Claim(
        "the loss that float16 reaches is within 2 % of float64's, that of bfloat16 within 10 %, in every draw",
        lambda m: m["casts"]["float16"]["loss apart"] <= 0.02 and m["casts"]["bfloat16"]["loss apart"] <= 0.1,
    ),
    Claim(
        "their weights are not: half of the draws end more than 0.2 % of the way apart, and 2 % in bfloat16",
        lambda m: m["casts"]["float16"]["share"][0] > 0.002 and m["casts"]["bfloat16"]["share"][0] > 0.02,
    ),
    Claim("float16 with a gap of 2^-40 is no number", lambda m: not m["casts"]["float16 as it is"]["finite"]),
    Claim("a copy that was cast has no certificate", lambda m: all(c["void"] for c in m["casts"].values())),
)


def self_check() -> bool:
    """Two draws; and a network that is cast to float64 is what it was."""
    m, net = measure({"draws": 2}), compiled()
    same = cast(net.network, torch.float64, 2.0**40)
    given = prompts(2)
    equal = torch.equal(*(ended(net, network, given, torch.float64) for network in (same, net.network)))
    return equal and all(CLAIMS[k].verdict(m) == "holds" for k in (0, 1, 4, 5))


@experiment(f"{PAPER}/precision", CLAIMS, presets=PRESETS, self_check=self_check, source=PAPER, where="Thm 1")
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """A row for each cast."""
    m = measure(settings)
    before, after = m["loss"]
    rows = [Row(f"float64: loss {number(before)} ->", None, after, baseline=f"{number(m['float64'])} from autograd")]
    for name, c in m["casts"].items():
        beside = "no numbers"
        if c["finite"]:
            median, most = map(number, c["share"])
            beside = f"{median} of the way off (median), {most} at most; autograd {number(c['autograd'])}"
        rows.append(Row(f"{name}: loss reached", None, c.get("loss"), baseline=beside))
    return Outcome(m, rows)
