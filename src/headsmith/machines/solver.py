"""One frozen block, looped; the prompt says which regression it solves.

The weights are fixed when the machine is built, before it has seen data or an algorithm. A prompt is laid out as
tokens, the block runs until the iterate is *proved* to be near the minimiser, and the answer comes with that proof:
the loop is not trusted, its result is checked against the data (`evidence`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import overload

import numpy as np
import torch
from torch import Tensor

from headsmith.compiler.plan import many
from headsmith.compiler.request import read_eps
from headsmith.machines.block import SATURATED, block, lattice, stream
from headsmith.machines.evidence import Distance, distance
from headsmith.machines.lattices import proved
from headsmith.machines.machine import Machine, positive, whole
from headsmith.machines.prompts.regression import Regression
from headsmith.machines.result import Result
from headsmith.network import Copies, Network
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain
from headsmith.proof.statement import Head
from headsmith.records.shown import exactly, number, upper
from headsmith.refusal import Refusal

AIM = 1e-3  # the loop goes on until the certificate is this much better than what was asked for
MOST = 10_000  # loops
PATIENCE = 4  # checks without progress after which the loop has reached what float64 can do
ASSUMES = ("IEEE round to nearest", "the data are exactly the numbers given")


@contextmanager
def _quietly() -> Iterator[None]:
    """Without gradients, on one thread: for tensors as small as a prompt, several are up to ten times slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(threads)


class Solver(Machine):
    """solver(hs.prompt.lasso(X, y, 0.1)) -> Result with weights, certificate and loops.

    features, samples   the largest data it takes; smaller ones leave the other tokens empty
    eps                 |w - w*|_inf <= eps max(1, |w|_inf) is proved, or the prompt is refused
    radius              largest |response| it takes, in units of the responses' root mean square

    >>> solver = Solver(features=1, samples=2)
    >>> solver(hs.prompt.ols([[1.0], [2.0]], [2.0, 4.0])).weights.round(decimals=6)
    tensor([2.], dtype=torch.float64)
    """

    kind = "solver"
    features: int
    samples: int
    eps: float
    radius: float

    def __init__(self, features: int, samples: int, eps: float = 1e-6, radius: float | None = None) -> None:
        whole("samples", samples)
        self._size(features=features, samples=samples, eps=eps, radius=math.sqrt(samples) if radius is None else radius)
        self._freeze({"lattice": lattice(self.reach)})

    def _size(self, *, features: int, samples: int, eps: float, radius: float) -> None:
        self.features, self.samples = whole("features", features), whole("samples", samples)
        self.eps, self.radius = read_eps(eps), positive("radius", radius)
        self.reach = max(2 * self.radius, SATURATED)  # accelerated methods overshoot
        self.tokens = 1 + samples + 2 * features
        self.parameters = {"features": features, "samples": samples, "eps": self.eps, "radius": self.radius}
        self._at = {name: slice(place.start, place.stop) for name, place in stream(features).items()}
        self.reads = self.tokens, self._at["bent"].stop

    def _build(self) -> Network:
        return block(self.features, self.tokens, self.table)

    def _stored(self, network: Network) -> dict[str, Head]:
        read = network.layers["read"]
        if not isinstance(read, Copies):
            raise Refusal("a solver reads by copies of its tokens")
        return {"lattice": Head.table(*(t[0].numpy() for t in (read.slopes, read.offsets, read.levels)))}

    def prove(self) -> Bound:
        """How far the table is from returning z, in exact arithmetic and in float64."""
        found = proved(self.table, self.reach, "float64")
        return Bound(found.approximation, found.rounding)

    @property
    def hypotheses(self) -> Domain:
        """The values that the table reads."""
        return Domain({"z": (-self.reach, self.reach)})

    @property
    def statement(self) -> str:
        """What the table returns, and what every answer comes with."""
        return (
            f"|table(z) - z| <= bound for every float64 {self.hypotheses}, the table with which the frozen block for "
            f"{many(self.samples, 'sample')} of {many(self.features, 'feature')} and responses up to "
            f"{exactly(self.radius)} root mean squares reads and writes; each prompt is answered with "
            f"a proof of |w - w*|_inf <= {exactly(self.eps)} max(1, |w|_inf) or refused"
        )

    @property
    def table(self) -> Head:
        """The table that returns z."""
        return self.tables["lattice"]

    @property
    def table_error(self) -> float:
        """Proved error of the table, in exact arithmetic and in float64, for one step of the algorithm."""
        return self.certificate.bound

    def encode(self, program: Regression) -> Tensor:
        """The prompt as tokens (1 + samples + 2 features, width): a state token, then one token per instruction."""
        self._check(program)
        instructions = program.instructions(self.reach)
        d, count = program.features, len(instructions["a"])
        x = torch.zeros(self.tokens, self._at["bent"].stop, dtype=torch.float64)
        x[:, self._at["one"]] = 1.0
        for name in ("shift", "op", "step"):
            part = torch.from_numpy(instructions[name]).reshape(count, -1)
            x[1 : count + 1, self._at[name].start : self._at[name].start + part.shape[1]] = part
        looks = torch.from_numpy(instructions["a"]).reshape(count, 2, d)
        x[1 : count + 1, self._at["a"]].view(count, 2, self.features)[:, :, :d] = looks
        for name in ("low", "high"):
            x[0, self._at[name].start : self._at[name].start + d] = torch.from_numpy(instructions["threshold"])
        return x

    def step(self, prompts: Tensor, p: Tensor, q: Tensor) -> Tensor:
        """One pass of the block: (..., tokens, width) prompts with the last two iterates (..., features) written in."""
        prompts[..., self._at["state"]] = torch.cat([p, q], -1).unsqueeze(-2)
        prompts[..., 0, self._at["p"]] = p
        return self.network(prompts)[..., 0, :]

    @overload
    def __call__(self, program: Regression) -> Result: ...
    @overload
    def __call__(self, program: Sequence[Regression]) -> list[Result]: ...
    def __call__(self, program: Regression | Sequence[Regression]) -> Result | list[Result]:
        """Run a prompt, or several side by side in one batch."""
        self.proved_hash()
        if isinstance(program, Regression):
            return self._run([program])[0]
        if isinstance(program, list | tuple) and program and all(isinstance(p, Regression) for p in program):
            return self._run(list(program))
        raise Refusal("a solver runs regressions such as hs.prompt.ols(X, y), or a list of them")

    @_quietly()
    def _run(self, programs: list[Regression]) -> list[Result]:
        runs = [_Progress(program, self.eps) for program in programs]
        prompts = torch.stack([self.encode(program) for program in programs])
        theta = torch.tensor([[program.momentum] for program in programs], dtype=torch.float64)
        p = q = torch.zeros(len(runs), self.features, dtype=torch.float64)
        active = runs
        for loop in range(1, MOST + 1):
            before = p
            p, q = self._advance(prompts, theta, p, q)
            moves = (p - before).abs().amax(-1).tolist()
            for run, iterate, move in zip(active, p, moves, strict=True):
                run.see(loop, iterate, move)
            left = [i for i, run in enumerate(active) if not run.done]
            if len(left) < len(active):
                active = [active[i] for i in left]
                prompts, theta, p, q = prompts[left], theta[left], p[left], q[left]
            if not active:
                break
        return [self._result(run) for run in runs]

    def _advance(self, prompts: Tensor, theta: Tensor, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
        """The next two iterates; momentum that points uphill is dropped: the iterate goes into the prompt twice."""
        ahead = self.step(prompts, p, q)
        uphill = (((1 + theta) * p - theta * q - ahead) * (ahead - p)).sum(-1, keepdim=True) > 0
        return ahead, torch.where(uphill, ahead, p)

    @_quietly()
    def path(self, program: Regression, loops: int) -> Tensor:
        """The weights after 0, 1, ..., loops passes of the block, (loops + 1, features), uncertified."""
        self.proved_hash()
        prompt, theta = self.encode(program)[None], torch.tensor([[program.momentum]], dtype=torch.float64)
        p = q = torch.zeros(1, self.features, dtype=torch.float64)
        found = [p]
        for _ in range(loops):
            p, q = self._advance(prompt, theta, p, q)
            found.append(p)
        iterates = torch.cat(found)[:, : program.features].numpy()
        return torch.from_numpy(np.stack([program.weights(v.copy()) for v in iterates]))

    def _result(self, run: _Progress) -> Result:
        program, found = run.program, run.best
        if not found.bound <= self.eps * run.scale:
            raise self._refusal(run)
        certificate = Certificate(
            approximation=found.bound - found.rounding,
            rounding=found.rounding,
            kind="proved",
            statement=f"|w - w*|_inf <= bound, w* the minimiser of {program.name} on these data",
            domain=Domain({}),  # nothing but the data
            dtype="float64",
            weights=self.proved_hash(),
            assumptions=ASSUMES,
        )
        w = torch.from_numpy(run.weights)
        constant, w = (w[-1], w[:-1]) if program.intercept else (None, w)
        return Result(program.name, w, certificate, run.loops, constant)

    def _refusal(self, run: _Progress) -> Refusal:
        program, reached = run.program, run.best.bound / run.scale
        asked = f"{program.name} within {number(self.eps)} cannot be certified"
        if math.isfinite(reached):
            return Refusal(
                f"{asked}: the condition number of these data is {number(program.condition)}, and {run.loops} loops "
                f"prove {upper(reached)}; eps = {upper(1.01 * reached)} can be had"
            )
        if program.problem.loss == "huber":
            residual = np.abs(program.problem.X @ run.weights - program.problem.y)
            inside = int((residual < program.problem.delta).sum())
            asked += (
                f": {inside} of {program.samples} residuals are inside delta, too few to tell where the minimiser is"
            )
            return Refusal(f"{asked}; take a larger delta")
        if math.isinf(program.condition):
            asked += ": the condition number of these data is infinite, and their minimiser may not be unique"
            return Refusal(f"{asked}; a ridge penalty makes it finite (elastic_net)")
        return Refusal(f"{asked}: {run.loops} loops are not enough at condition number {number(program.condition)}")

    def _check(self, program: Regression) -> None:
        n, d = program.samples, program.features
        if n > self.samples or d > self.features:
            raise Refusal(
                f"{n} samples of {d} features are more than the {self.samples} x {self.features} that this solver was "
                "built for: build a larger one" + " (the intercept counts as a feature)" * program.intercept
            )
        if math.isinf(program.condition) and not program.problem.l1.all():
            raise Refusal(
                f"{program.name} has no unique minimiser: the condition number of these data is infinite (fewer "
                "samples than features, or columns that depend on each other); a ridge penalty makes it finite"
            )
        if program.problem.loss != "squared":
            return
        size = np.abs(program.scaled.y)
        worst = int(size.argmax())
        if size[worst] > self.radius * (1 + 1e-9):
            raise Refusal(
                f"sample {worst} has a response of {number(size[worst])} root mean squares, beyond the radius "
                f"{number(self.radius)} of this solver: build it with radius={upper(size[worst])}"
            )

    def title(self) -> str:
        return f"Solver for {many(self.samples, 'sample')} of {many(self.features, 'feature')}"

    def rows(self) -> list[tuple[str, str]]:
        cost, error = self.network.cost(), self.table_error
        return [
            ("prompt", f"{self.tokens} tokens of {len(self.network.features)} numbers"),
            ("frozen", f"{cost.parameters} numbers in {cost.layers} layers"),
            (
                "table",
                f"{self.table.keys} keys return z within {upper(error)} for |z| <= {number(self.reach)}, certified",
            ),
            ("printed rule", f"{many(4 * self.reach / error + 1, 'key')} for that"),
            ("promise", f"eps = {number(self.eps)} relative to max(1, |w|), proved for each prompt or refused"),
            ("weights", self.weight_hash),
        ]


class _Progress:
    """One program on its way: when to look closer, what was proved so far."""

    def __init__(self, program: Regression, eps: float) -> None:
        self.program, self.eps = program, eps
        self.best, self.weights = Distance(math.inf), np.zeros(program.features)
        self.loops, self.done = 0, False
        self._next_move, self._next_loop, self._idle = 1e-6, 0, 0

    @property
    def scale(self) -> float:
        return max(1.0, float(np.abs(self.weights).max()))

    def see(self, loop: int, iterate: Tensor, move: float) -> None:
        """Check the iterate when it has slowed down by a factor, or when it has been a while."""
        self.loops = loop
        if move > self._next_move and loop < self._next_loop:
            return
        self._next_move, self._next_loop = min(self._next_move, move) / 4, loop + 250
        weights = self.program.weights(iterate[: self.program.features].numpy())
        found = distance(self.program.problem, weights)
        self._idle = 0 if found.bound < 0.7 * self.best.bound else self._idle + (move < 1e-9)
        if found.bound < self.best.bound:
            self.best, self.weights = found, weights
        typical = 1e-3 * self.program.response / float(self.program.columns.max())  # for solutions that are zero
        near = self.best.bound <= AIM * self.eps * max(float(np.abs(self.weights).max()), typical)
        hopeless = loop > MOST // 2 and math.isinf(self.best.bound)
        self.done = near or hopeless or self._idle >= PATIENCE
