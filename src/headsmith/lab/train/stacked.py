"""Several seeds of one setting, trained as one batched model: what costs launches on a GPU is launched once for all.

    loss = sum over seeds of error(model of the seed, batch of the seed)

No term of the sum knows of another seed, and Adam works number by number, so each seed is trained as if it were alone,
to rounding. Samples are drawn once and stay: epoch after epoch each seed goes through its own, in an order of its own
that is drawn before the first step, so that a run which was killed goes on with the very batches it would have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from headsmith.lab.train.loop import Draw
from headsmith.refusal import Refusal

__all__ = ["Repeated", "Stack", "orders", "squared"]

Samples = tuple[Tensor, ...]
Model = Callable[..., Any]
"""One of the models of a stack, as a function."""


class Stack(nn.Module):
    """Modules of one shape as one: every parameter and buffer gets a leading axis, one entry for each module.

    >>> stack = Stack([nn.Linear(3, 2) for _ in range(5)])
    >>> stack(torch.zeros(5, 7, 3)).shape, len(stack)
    (torch.Size([5, 7, 2]), 5)
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        parameters, buffers = stack_module_state(list(modules))
        self.trained, self.fixed = list(parameters), list(buffers)
        self.values = nn.ParameterList(parameters.values())
        for i, buffer in enumerate(buffers.values()):
            self.register_buffer(f"fixed{i}", buffer)
        self.shapes = [deepcopy(modules[0]).to("meta")]  # in a list, so that it is no part of this module
        self.count = len(modules)

    def __len__(self) -> int:
        return self.count

    def _state(self) -> dict[str, Tensor]:
        fixed = {name: self.get_buffer(f"fixed{i}") for i, name in enumerate(self.fixed)}
        return {**dict(zip(self.trained, self.values, strict=True)), **fixed}

    def each(self, function: Callable[[Model, Samples], Any], inputs: Samples) -> Any:
        """function(model, its inputs) for every model; the first axis of what goes in and comes out is theirs."""
        shape = self.shapes[0]

        def one(state: dict[str, Tensor], *own: Tensor) -> Any:
            return function(lambda *x: functional_call(shape, state, x), own)

        return vmap(one)(self._state(), *inputs)

    def forward(self, *inputs: Tensor) -> Any:
        """What every model answers to its own inputs."""
        return self.each(lambda model, own: model(*own), inputs)

    def part(self, i: int) -> nn.Module:
        """The model i on its own, a copy on the CPU.

        >>> a, b = nn.Linear(3, 2), nn.Linear(3, 2)
        >>> bool((Stack([a, b]).part(1).weight == b.weight).all())
        True
        """
        made = deepcopy(self.shapes[0]).to_empty(device="cpu")
        made.load_state_dict({name: value[i].detach().cpu() for name, value in self._state().items()})
        return made


def orders(seeds: Sequence[int], samples: int, batch: int, steps: int) -> Tensor:
    """Which samples each seed sees at each step, (steps, seeds, batch): a shuffled epoch, then the next.

    >>> orders([0, 1], samples=6, batch=3, steps=4).shape
    torch.Size([4, 2, 3])
    """
    found = []
    for seed in seeds:
        generator, epochs = torch.Generator().manual_seed(seed), -(-steps * batch // samples)
        every = torch.cat([torch.randperm(samples, generator=generator).int() for _ in range(epochs)])
        found.append(every[: steps * batch].view(steps, batch))
    return torch.stack(found, 1)


@dataclass(frozen=True, eq=False)
class Repeated:
    """One setting for several seeds, trained together by `learn`; what is made of a seed depends on nothing else.

    what      names the setting, and with seeds, steps, batch and rate the folder of its run
    make      the module of a seed, before training; torch's generator is set to the seed
    samples   of a seed: tensors whose first axis counts them, all as long
    error     of a model on a batch of its samples, what is minimised
    score     what is noted of the stack beside its loss
    compiled  on a GPU, compile the loss before it is captured; for a short training that takes longer than it saves

    >>> from headsmith.lab.train.learners import learn
    >>> def samples(seed):
    ...     x = torch.rand(64, 1, generator=torch.Generator().manual_seed(seed))
    ...     return x, seed * x
    >>> line = Repeated({"f": "seed * x"}, (1, 2), lambda _: nn.Linear(1, 1), samples, squared, steps=400, rate=0.1)
    >>> [round(w) for w in learn(line)[0].model.values[0].flatten().tolist()]
    [1, 2]
    """

    schedule: ClassVar[str] = "constant"
    clip: ClassVar[float | None] = None
    what: Mapping[str, Any]
    seeds: tuple[int, ...]
    make: Callable[[int], nn.Module]
    samples: Callable[[int], Samples]
    error: Callable[[Model, Samples], Tensor]
    steps: int
    batch: int = 32
    rate: float = 1e-3
    score: Callable[[Any], list[float]] | None = None
    compiled: bool = True

    def __post_init__(self) -> None:
        if not self.seeds or min(self.steps, self.batch) < 1 or not self.rate > 0:
            raise Refusal(
                "training needs a seed, steps >= 1, batch >= 1 and rate > 0; got "
                f"{len(self.seeds)} seeds, {self.steps}, {self.batch} and {self.rate}"
            )

    @property
    def seed(self) -> int:
        """The first one."""
        return self.seeds[0]

    def settings(self) -> dict[str, Any]:
        """What names the folder of its run."""
        own = {key: getattr(self, key) for key in ("steps", "batch", "rate")}
        return {"kind": "repeated", **self.what, "seeds": list(self.seeds), **own}

    def build(self) -> Stack:
        """The modules of all seeds before training."""
        made = []
        for seed in self.seeds:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                made.append(self.make(seed))
        return Stack(made)

    def draw(self, device: str) -> Draw:
        """The batches of a step, with the seeds in front; samples are drawn at the first one, if there is one."""
        who = torch.arange(len(self.seeds), device=device)[:, None]

        @cache
        def data() -> tuple[list[Tensor], Tensor]:
            held = [torch.stack(parts).to(device) for parts in zip(*map(self.samples, self.seeds), strict=True)]
            return held, orders(self.seeds, held[0].shape[1], self.batch, self.steps).to(device)

        def batch(_: torch.Generator, step: Tensor) -> Samples:
            held, order = data()
            now = step.view(1).clamp(max=len(order) - 1)  # warming up a graph reads past the last step
            rows = order.index_select(0, now)[0].long()
            return tuple(part[who, rows] for part in held)

        return batch

    def loss(self, model: Any, batch: Samples) -> Tensor:
        """The sum over seeds, so that the gradient of each is what it would be alone."""
        errors: Tensor = model.each(self.error, batch)
        return errors.sum()


def squared(model: Model, batch: Samples) -> Tensor:
    """mean (model(x) - y)^2 of a batch x, y."""
    x, y = batch
    return (model(x) - y).square().mean()
