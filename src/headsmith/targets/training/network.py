"""The network of `hs.target.Training`: a prompt in, the trained weights out, each step with its own certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from flint import arb, arb_mat
from torch import Tensor

from headsmith.compiler.compiled import Compiled
from headsmith.constructions.training.form import Form, Plan, Snapshots
from headsmith.functions.balls import ceil_float, precision
from headsmith.network.inputs import accept
from headsmith.network.variables import read_variable
from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.perturbation import Pass, perturbation
from headsmith.records.shown import exactly, upper
from headsmith.refusal import Refusal
from headsmith.targets.training.claims import claims, held
from headsmith.targets.training.exact import Held, moved
from headsmith.targets.training.prompt import TrainingPrompt, TrainingResult
from headsmith.targets.training.target import Training

CHUNK = 8  # prompts that run side by side: more of them leave the cache, and hold more memory
GROUP = 16  # steps that are checked together, which costs hardly more than one


class TrainingNetwork(Compiled):
    """net(prompt) is a `TrainingResult`; net(x, y, query, w) is the last w, and f(query) behind it, as one vector."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Runs all steps; each is checked against the bound of the certificate."""
        if len(inputs) == 1 and not named and isinstance(inputs[0], TrainingPrompt):
            return self._result(_Run(self, self.read(inputs[0])))
        run = _Run(self, self.accept(inputs, named))
        return run.shaped(torch.cat([run.path[:, -1], run.predictions], -1))

    def explain(self, *inputs: Any, **named: Any) -> Any:
        """Which tokens each head reads in the first step."""
        return super().explain(*self._given(inputs, named))

    def _given(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Tensor]:
        """The inputs, or what a prompt holds."""
        prompt = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], TrainingPrompt) else None
        return self.accept(inputs, named) if prompt is None else self.read(prompt)

    def accept(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Tensor]:
        """The four inputs and the optional ones; one thing alone was meant as a prompt."""
        if len(given) == 1 and not named:
            raise Refusal(
                "the network is called as net(hs.prompt.training(X, Y, query, init=0)), or net(x, y, query, w)"
            )
        return super().accept(given, named)

    @property
    def task(self) -> Training:
        """The target, as what it is."""
        return cast(Training, self.target)

    @property
    def form(self) -> Form:
        """How it is trained."""
        return cast(Form, self.plan.design)

    def read(self, prompt: TrainingPrompt) -> list[Tensor]:
        """The inputs of a prompt, checked: x, y, query, w, and rates and masks if it has them."""
        given = {"x": prompt.X, "y": prompt.Y, "query": prompt.query, "w": self._start(prompt.init)}
        given |= {name: v for name, v in (("rates", prompt.rates), ("masks", prompt.masks)) if v is not None}
        return self.accept((), given)

    def _start(self, init: Any) -> Tensor:
        """w of a seed, or of matrices (out, in), pairs (matrix, bias) where there are biases."""
        known = self.task.matrices
        if isinstance(init, int):
            return known.flat(self.task.start(init)).to(self.dtype)
        if len(init) != known.depth:
            raise Refusal(f"init must be a seed or {known.depth} matrices (out, in), not {len(init)}")
        return known.flat([self._matrix(part, size) for part, size in zip(init, known.sizes, strict=True)])

    def _matrix(self, given: Any, size: tuple[int, int]) -> Tensor:
        device, biases = next(self.network.parameters()).device, self.task.biases
        pair = given if isinstance(given, tuple | list) and biases and len(given) == 2 else (given, None)
        matrix = accept(pair[0], self.dtype, device)
        if biases:
            bias = matrix.new_zeros(matrix.shape[:-1]) if pair[1] is None else accept(pair[1], self.dtype, device)
            if bias.shape != matrix.shape[:-1]:
                raise Refusal(f"a bias of init has shape {tuple(bias.shape)}, its matrix {tuple(matrix.shape)}")
            matrix = torch.cat([matrix, bias.unsqueeze(-1)], -1)
        if matrix.shape[-2:] != size:
            wanted = (size[0], size[1] - biases)
            raise Refusal(f"a matrix of init must have shape {wanted} (out, in), not {tuple(matrix.shape)}")
        return matrix

    def _result(self, run: _Run) -> TrainingResult:
        split, fans = self.task.matrices.split(run.shaped(run.path)), self.task.widths[:-1]
        last = [part[..., -1, :, :] for part in split]
        return TrainingResult(
            name=str(self.task),
            weights=[part[..., :fan] for part, fan in zip(last, fans, strict=True)],
            biases=[part[..., -1] for part in last] if self.task.biases else [],
            initial=[part[..., 0, :, :fan] for part, fan in zip(split, fans, strict=True)],
            prediction=run.shaped(run.predictions),
            path=run.shaped(run.path),
            loss_curve=run.shaped(run.losses),
            perturbations=run.shaped(run.bounds),
            kinks=run.kinks,
            certificate=self._proved(run),
        )

    def _proved(self, run: _Run) -> Certificate:
        """What is proved of this very run."""
        certificate, task = self.certificate, self.task
        found = Bound(run.approximation, max(0.0, float(run.bounds.amax()) - run.approximation))
        near = "a subgradient" if run.kinks else "the gradient, since no slope was taken near a kink"
        count = f" (slopes taken near a kink: {run.kinks}, each one of those beside it)" if run.kinks else ""
        statement = (
            f"{claims(task)} in each of the {task.steps} steps w -> w' of this prompt, {held(task)}; "
            f"gradient: {near} of the {task.loss} loss{count}"
        )
        return Certificate.of(
            found, statement, certificate.domain, certificate.dtype, certificate.weights, certificate.assumptions
        )

    def certify(self, *inputs: Any, **named: Any) -> Tensor:
        """(batch..., steps): |w' - box(w - rate gradient)|_2 / rate of each step as it was run, in balls.

        Of an optimizer the largest of this, with its formula, and of |m' - formula|_2 and |v' - formula|_2.
        """
        run = _Run(self, self._given(inputs, named))
        found = [self._apart(run, k) for k in range(len(run.path))]
        return run.shaped(torch.tensor(found, dtype=torch.float64))

    def _apart(self, run: _Run, k: int) -> list[float]:
        """The k-th prompt of a batch."""
        x, y = (part[k].double().tolist() for part in run.inputs[:2])
        rates, masks = (part.expand(len(run.path), *part.shape[1:])[k].double().tolist() for part in run.plan)
        found = []
        with precision(128):
            for t, (rate, present) in enumerate(zip(rates, masks, strict=True)):
                before, after = run.held(k, t), run.held(k, t + 1)
                rate = rate if run.scheduled else self.task.rate
                exact = moved(self.task, before, (x, y), rate, present, t + 1)
                found.append(max(_distances(after, exact, arb(rate))))
        return found

    @torch.no_grad()
    def trace(self, prompt: TrainingPrompt) -> dict[str, Tensor]:
        """Every variable of every step by name: "step 3 / layer 2 / delta" is (batch..., samples, units)."""
        inputs, task, found = self.read(prompt), self.task, dict[str, Tensor]()
        tokens, plan, form = self.encode(*inputs), task.schedule(*inputs), self.form
        for t in range(task.steps):
            tokens = form.told(task, tokens, plan, t)
            for at, state in enumerate(self.network.states(tokens)):
                for name, place in self.network.variables.items():
                    if place[0] == at:
                        found[f"step {t + 1} / {name}"] = read_variable(state, place).clone()
            tokens = state
        found["prediction"] = form.answers(task, form.read_out(task, self.network, tokens))[..., -1, :]
        return found


def _distances(after: Sequence[Held], exact: Sequence[Held], rate: arb) -> list[float]:
    """The 2-norm over all layers of w' (over the rate) and of each moment."""
    found = []
    for part, share in enumerate([rate, *[arb(1)] * (len(after[0]) - 1)]):
        gaps = [gap.abs_upper() for V, W in zip(after, exact, strict=True) for gap in (V[part] - W[part]).entries()]
        found.append(ceil_float(sum((v * v for v in gaps), arb(0)).sqrt() / share))
    return found


class _Run:
    """All steps of a batch of prompts, a few prompts at a time, each step checked."""

    @torch.no_grad()
    def __init__(self, net: TrainingNetwork, inputs: Sequence[Tensor]) -> None:
        task, certificate = net.task, net._certificate
        shapes = [given.shape for given in task.inputs.values()]
        pairs = [(x, len(shape)) for x, shape in zip(inputs, shapes, strict=False)]
        self.batch = torch.broadcast_shapes(*(x.shape[: x.dim() - rank] for x, rank in pairs if x is not None))
        whole = [None if x is None else x.expand(*self.batch, *x.shape[x.dim() - rank :]) for x, rank in pairs]
        self.inputs = [x if x is None else x.reshape(-1, *x.shape[len(self.batch) :]) for x in whole]
        self.net, self.task, self.domain, self.most = net, task, certificate.domain, certificate
        self.form, self.stream = net.form, net.form.stream(task)
        self.law, self.kinks = self.form.law(task, net.plan.request), 0
        self.approximation = 0.0
        self.scheduled = len(inputs) > 4 and inputs[4] is not None
        parts = [self._few(slice(k, k + CHUNK)) for k in range(0, len(self.inputs[0]), CHUNK)]
        found = [torch.cat(p) for p in zip(*parts, strict=True)]
        self.path, self.losses, self.bounds, self.predictions, *self.moments = found
        self.plan = self._plan(self.inputs)

    def shaped(self, values: Tensor) -> Tensor:
        """With the batch as it was given."""
        return values.reshape(*self.batch, *values.shape[1:])

    def held(self, k: int, t: int) -> list[Held]:
        """The matrices of prompt k before step t, and their moments, in balls."""
        parts = [self.task.matrices.split(path[k, t].double()) for path in (self.path, *self.moments)]
        return [tuple(arb_mat(part.tolist()) for part in layer) for layer in zip(*parts, strict=True)]

    def _plan(self, inputs: Sequence[Any]) -> Plan:
        """(1 or B, steps) and (1 or B, steps, n)."""
        rates, masks = self.task.plan(inputs[0], *inputs[4:])
        return rates.reshape(-1, self.task.steps), masks.reshape(-1, *masks.shape[-2:])

    def _few(self, part: slice) -> tuple[Tensor, ...]:
        """(path, losses, bounds, predictions, path of each moment) of some prompts."""
        task, form, network = self.task, self.form, self.net.network
        inputs = [x if x is None else x[part] for x in self.inputs]
        tokens, plan = self.net.encode(*inputs), self._plan(inputs)
        waiting, checked = [], []
        for t, step in enumerate(form.passes(task, network, tokens, self.domain, task.schedule(*inputs))):
            waiting.append(step)
            if len(waiting) == GROUP or t + 1 == task.steps:
                checked.append(self._checked(waiting, plan, t + 1))
                waiting = []
        path, losses, bounds, *moments = (torch.cat(parts, 1) for parts in zip(*checked, strict=True))
        answers = form.answers(task, form.read_out(task, network, step[-1]))
        last = task.value(answers[:, :-1].double(), inputs[1].double())
        path = torch.cat([inputs[3][:, None], path], 1)
        kept = [torch.cat([torch.zeros_like(moment[:, :1]), moment], 1) for moment in moments]
        return path, torch.cat([losses, last[:, None]], 1), bounds, answers[:, -1], *kept

    def _checked(self, steps: list[Snapshots], plan: Plan, stop: int) -> tuple[Tensor, ...]:
        """(weights, losses, bounds, moments) of some steps, (b, steps, ...) each, if they keep what was promised."""
        seen = tuple(torch.stack(part, 1) for part in zip(*steps, strict=True))
        told = slice(stop - len(steps), stop)
        turns, plan = range(told.start + 1, stop + 1), (plan[0][:, told], plan[1][:, told])
        step = self.form.held(self.task, cast(Snapshots, seen), plan, turns)
        self._low_enough(step)
        found = perturbation(step, self.law)
        self.kinks += int(found.kinks.sum())
        self.approximation = max(self.approximation, float(found.approximation.amax()))
        query = self.form.answers(self.task, seen[0])[..., -1, :].double()  # which the mask has to shut out too
        largest = torch.maximum(found.largest, query.abs().amax(-1))
        for t in range(len(steps)):
            parts = (found.approximation[:, t], found.bound[:, t] - found.approximation[:, t])
            self._refuse(told.start + t, parts, float(largest[:, t].amax()))
        held = (self.stream.weights(seen[-1], name) for name in ("w", *self.law.optimizer.moments))
        path, *moments = map(self.stream.flat, held)
        return path, self.task.value(step.f, step.y), found.bound, *moments

    def _low_enough(self, step: Pass) -> None:
        """Pre-activations lie where the activation is proved."""
        highest, most = max(float(z.abs().amax()) for z in step.z), self.form.reach(self.task)
        if not highest <= most:
            raise Refusal(f"a pre-activation of this prompt is {highest:g}, beyond {exactly(most)}: scale the data")

    def _refuse(self, t: int, parts: tuple[Tensor, Tensor], largest: float) -> None:
        """A step whose bound is more than was promised, or whose numbers no gate can shut out."""
        found, most = [float(part.amax()) for part in parts], (self.most.approximation, self.most.rounding)
        shares = len([part for part in most if part]) or 1
        for worst, promised, instead in zip(found, most, (self.form.instead, ""), strict=True):
            if not worst <= promised:
                dtype = self.law.fmt.name
                other = ", or with dtype='float64'" if dtype == "float32" else ""
                what = "be off" if self.law.optimizer.moments else "perturb its gradient"
                raise Refusal(
                    f"step {t + 1} of this prompt may {what} by {upper(worst)} in {dtype}, more than the "
                    f"{upper(promised)} that is promised: "
                    + (instead or f"compile with eps={upper(1.5 * shares * worst)}{other}")
                )
        if not largest <= self.law.widest:
            widest = exactly(self.law.widest)
            raise Refusal(f"step {t + 1} of this prompt holds numbers beyond {widest}, {self.form.lost}")
