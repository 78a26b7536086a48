"""Steps of Adam on fresh batches, for any module: eager on a CPU, one replayed CUDA graph on a GPU.

    batch = draw(generator, step);  loss(model, batch).backward();  clip;  Adam at the rate of this step

`state` holds all that a later start needs: on a CPU the run that was killed and continued is bit for bit the run that
was not.  On a GPU the loss is compiled where that is possible, and the whole step, drawing the batch included, is
captured once: launching a few hundred small kernels costs more than running them. So `draw` must work on the device,
without asking how a tensor came out, and read the number of the step from the tensor that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.refusal import Refusal

__all__ = ["Draw", "Loop", "Loss", "share"]

Draw = Callable[[torch.Generator, Tensor], Any]
Loss = Callable[[nn.Module, Any], Tensor]

WARM = 0.05
"""The part of a one-cycle schedule in which the rate rises."""


def share(schedule: str, step: int, steps: int) -> float:
    """The rate of a step over its peak: "constant", "cosine" (to 1 %) or "one-cycle" (up, then cosine to 0).

    >>> [round(share("one-cycle", step, 1000), 3) for step in (0, 25, 50, 525, 999)]
    [0.02, 0.52, 1.0, 0.5, 0.0]
    """
    if schedule == "constant":
        return 1.0
    if schedule == "cosine":
        return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps))
    if schedule == "one-cycle":
        rise = max(1.0, WARM * steps)
        if step < rise:
            return (step + 1) / rise if step + 1 < rise else 1.0
        return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))
    raise Refusal(f"schedule={schedule!r}: choose cosine, constant or one-cycle")


class Loop:
    """`advance` trains, `total` is the sum of the losses since it was last set to zero, `step` counts.

    capture    if the model is on a GPU, `draw` works there too, and a step becomes one CUDA graph
    precision  of a captured forward and backward pass: "float32", "tf32" or "bfloat16" (weights stay float32)
    compiled   compile the loss before it is captured

    >>> data = lambda generator, step: torch.rand(64, 1, generator=generator)
    >>> loop = Loop(nn.Linear(1, 1), data, lambda model, x: (model(x) - 2 * x).square().mean(), steps=500, rate=0.1)
    >>> loop.advance(500)
    >>> bool(loop.model.weight > 1.9)
    True
    """

    def __init__(
        self,
        model: nn.Module,
        draw: Draw,
        loss: Loss,
        *,
        steps: int,
        rate: float,
        schedule: str = "cosine",
        seed: int = 0,
        weight_decay: float = 0.0,
        clip: float | None = None,
        capture: bool = False,
        precision: str = "tf32",
        compiled: bool = True,
    ) -> None:
        if precision not in ("float32", "tf32", "bfloat16"):
            raise Refusal(f"precision={precision!r}: choose float32, tf32 or bfloat16")
        self.model, self.draw, self.loss, self.clip = model, draw, loss, clip
        self.kept = [p for p in model.parameters() if p.requires_grad]
        self.device, self.precision, self.compiled = self.kept[0].device, precision, compiled
        self.on_gpu = capture and self.device.type == "cuda"
        self.rates = [rate * share(schedule, step, steps) for step in range(steps)]
        self.step, self.count = 0, torch.zeros((), dtype=torch.long, device=self.device)
        self.total = torch.zeros((), dtype=torch.float64, device=self.device)
        self.adam = self._optimiser(weight_decay)
        self.generator = torch.cuda.default_generators[self.device.index or 0] if self.on_gpu else torch.Generator()
        self.generator.manual_seed(seed)
        self.how = "eager"
        self.graph: torch.cuda.CUDAGraph | None = None
        self.captured = not self.on_gpu

    def _optimiser(self, weight_decay: float) -> torch.optim.AdamW:
        """AdamW with its state laid out from the start, so that it can be copied into."""
        kind: dict[str, Any] = {"fused": True, "capturable": True} if self.on_gpu else {"foreach": True}
        rate = torch.zeros((), device=self.device) if self.on_gpu else 0.0
        adam = torch.optim.AdamW(self.kept, lr=rate, weight_decay=weight_decay, **kind)
        for parameter in self.kept:
            adam.state[parameter] = {
                "step": torch.zeros((), device=self.device if self.on_gpu else "cpu"),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return adam

    def _learn(self) -> None:
        """One step; on a GPU the rate is looked up in a table on the card."""
        for group in self.adam.param_groups:
            if self.on_gpu:
                group["lr"].copy_(self._table.gather(0, self.count.view(1))[0])
            else:
                group["lr"] = self.rates[self.step]
        batch = self.draw(self.generator, self.count)
        with self._arithmetic():
            value = self.loss(self.model, batch)
            self.adam.zero_grad()
            value.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.kept, self.clip)
        self.adam.step()
        self.total += value.detach()
        self.count += 1

    @contextmanager
    def _arithmetic(self) -> Iterator[None]:
        """Matrix products of the model in the chosen precision; what draws the batch keeps float32."""
        if not self.on_gpu:
            yield
            return
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest" if self.precision == "float32" else "high")
        try:
            with torch.autocast("cuda", torch.bfloat16, enabled=self.precision == "bfloat16"):
                yield
        finally:
            torch.set_float32_matmul_precision(before)

    def advance(self, steps: int) -> None:
        """Train for so many steps."""
        if not self.captured:
            self._capture()
        for _ in range(steps):
            if self.graph is not None:
                self.graph.replay()
            else:
                self._learn()
            self.step += 1
        if self.graph is not None:
            torch.cuda.synchronize()  # whoever looks at a clock after this means work that is done

    def _capture(self) -> None:
        """Compile the loss and capture a step, as far as this machine can; then go back to where we were."""
        self._table = torch.tensor(self.rates + 8 * [0.0], device=self.device)  # warming up reads past the last step
        before, eager = self.state(), self.loss
        before = {name: value.clone() for name, value in before.items()}
        ways = [("compiled, one CUDA graph", torch.compile(eager))] if self.compiled else []
        for self.how, self.loss in (*ways, ("one CUDA graph", eager)):
            try:
                self._warm_up()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self._learn()
                self.graph = graph
                break
            except Exception as error:  # a compiler is missing, or something in it cannot be captured
                print(f"not {self.how}: {type(error).__name__}: {str(error)[:400]}", flush=True)
                torch.cuda.synchronize()
        if self.graph is None:
            self.how = "eager"
        self.captured = True
        self.restore(before)

    def _warm_up(self) -> None:
        """A few steps on a stream of their own, so that nothing is set up for the first time while capturing."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._learn()
        torch.cuda.current_stream().wait_stream(stream)

    def state(self) -> dict[str, Tensor]:
        """All that a later start needs to continue."""
        made = {"step": torch.tensor(self.step), "total": self.total, "random": self.generator.get_state()}
        for i, parameter in enumerate(self.kept):
            moments = self.adam.state[parameter]
            made |= {f"{i}.value": parameter.detach(), f"{i}.mean": moments["exp_avg"]}
            made[f"{i}.square"] = moments["exp_avg_sq"]
        return made

    @torch.no_grad()
    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from `state`, in place: a captured step reads and writes these very tensors."""
        self.step = int(state["step"])
        self.count.fill_(self.step)
        self.total.copy_(state["total"])
        for i, parameter in enumerate(self.kept):
            moments = self.adam.state[parameter]
            moments["step"].fill_(self.step)
            for tensor, name in ((parameter, "value"), (moments["exp_avg"], "mean"), (moments["exp_avg_sq"], "square")):
                tensor.copy_(state[f"{i}.{name}"])
        self.generator.set_state(state["random"])
