"""A network with the signature of its target, and the certificate that goes with its numbers.

The certificate speaks of the very numbers the module holds. Each time it is asked for or shown, the weights are hashed
again; if anything changed (an edited weight, a cast to another dtype), `StaleCertificate` is raised and every display
says *void* instead of a false promise.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from headsmith.compiler.target import Target
from headsmith.constructions.design import Altered, Short
from headsmith.functions.balls import ceil_float, precision
from headsmith.network import Network, fingerprint, wiring
from headsmith.network.inputs import accept, dtype_name
from headsmith.network.network import classes, overridden, patched
from headsmith.proof.certificate import Certificate, StaleCertificate
from headsmith.refusal import Refusal

if TYPE_CHECKING:
    from headsmith.compiler.plan import Plan

VOID = "void: the weights changed after the proof"
UNSEEN = "not proved again: the file does not hold the function, so this is the file's word"


class Compiled(nn.Module):
    """encode -> network -> decode, for inputs inside the domain.

    >>> net = hs.compile("tanh(x)", domain=(-2, 2), eps=1e-6)
    >>> float(net(0.5)), net.certificate.kind
    (0.46211715726000..., 'proved')
    """

    def __init__(self, network: Network, plan: Plan, certificate: Certificate) -> None:
        super().__init__()
        self.network, self._plan, self._certificate = network, plan, certificate
        self._wired, self._classes = wiring(network), classes(self)

    @property
    def plan(self) -> Plan:
        """What was built, and what was proved of it."""
        return self._plan

    @property
    def target(self) -> Target:
        """What the network is compared with."""
        return self.plan.target

    @property
    def kind(self) -> str:
        """What files call the target."""
        return self.target.kind

    @property
    def valid(self) -> bool:
        """Whether the network still computes with the weights that the certificate speaks of, and with nothing else."""
        if classes(self) != self._classes or patched(self) or self.network.patched:
            return False
        if overridden(self.target) or overridden(self.plan.design):
            return False
        try:
            return fingerprint(self.network) == self._certificate.weights and wiring(self.network) == self._wired
        except Exception:  # what cannot even be read is not what was proved: attributes of no sense, the device meta
            return False

    @property
    def certificate(self) -> Certificate:
        """The certificate, as long as it is about these weights."""
        if not self.valid:
            raise StaleCertificate(
                "the weights, their dtype, the wiring or the hooks changed after the proof: compile again, or load the "
                "saved file"
            )
        return self._certificate

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights."""
        return self.network.dtype

    def encode(self, *inputs: Tensor) -> Tensor:
        """Inputs -> tokens (batch..., tokens, features)."""
        return self.plan.design.encode(self.target, *inputs)

    def decode(self, tokens: Tensor) -> Tensor:
        """Tokens -> output."""
        return self.plan.design.decode(self.target, tokens)

    def accept(self, given: Sequence[Any], named: Mapping[str, Any]) -> list[Tensor]:
        """The inputs in order, promoted exactly, each and together inside the domain; optional ones may be missing."""
        target, domain = self.target, self._certificate.domain
        values = _bound(target, given, named)
        device = next(self.network.parameters()).device
        inputs: list[Any] = [None if v is None else accept(v, self.dtype, device) for v in values]
        inputs = list(target.arrange(*inputs))
        for (name, wanted), value in zip(target.inputs.items(), inputs, strict=True):
            if value is None:
                continue
            if value.shape[value.dim() - len(wanted.shape) :] != wanted.shape or value.dim() < len(wanted.shape):
                shape = ", ".join(["...", *map(str, wanted.shape)])
                raise Refusal(f"{name} must have shape ({shape}), not {tuple(value.shape)}")
            if name in domain:
                domain.check(name, value)
        target.check(domain, *inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        return inputs

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """The network's answer, for inputs inside the domain."""
        tokens = self.encode(*self.accept(inputs, named))
        return self.decode(self.plan.design.run(self.target, self.network, tokens, self._certificate.domain))

    def certify(self, *inputs: Any, **named: Any) -> Any:
        """|net(x) - f(x)| for these very inputs and outputs, in balls and rounded up: no model of rounding."""
        accepted = [x.detach().cpu().double() for x in self.accept(inputs, named)]
        out = self(*inputs, **named).detach().cpu().double()
        if not out.numel():
            return out
        shapes = [wanted.shape for wanted in self.target.inputs.values()][: len(accepted)]
        batch = np.broadcast_shapes(*(x.shape[: x.dim() - len(s)] for x, s in zip(accepted, shapes, strict=True)))
        samples = [
            x.expand(batch + torch.Size(s)).reshape(-1, *s).tolist() for x, s in zip(accepted, shapes, strict=True)
        ]
        rows = out.reshape(len(samples[0]), -1).tolist()
        with precision(128):
            errors = [
                [ceil_float(abs(ball - y)) for ball, y in zip(_flat(self.target.exact(*sample)), row, strict=True)]
                for *sample, row in zip(*samples, rows, strict=True)
            ]
        return torch.tensor(errors, dtype=torch.float64).reshape(out.shape)

    def reprove(self) -> Certificate:
        """What is proved of the numbers that the network holds now; refused where they make no such construction."""
        plan, target = self.plan, self.target
        if dtype_name(self.dtype) != plan.dtype:
            raise Altered(
                f"nothing is proved of weights in {dtype_name(self.dtype)}: the construction holds {plan.dtype}"
            )
        if not all(bool(torch.isfinite(p).all()) for p in self.network.parameters()):
            raise Altered("nothing is proved of weights that hold NaN or infinity")
        try:
            design = plan.design.stored(target, self.network, plan.request, plan.design.record())
            proof = design.prove(target, plan.request).with_slack()
        except (ArithmeticError, Short) as failure:
            raise Refusal(f"nothing can be proved of these weights: {failure}") from None
        again = replace(plan, design=design, proof=proof).build()
        if fingerprint(again.network) != fingerprint(self.network):
            raise Altered("the network is not the construction that its numbers make: nothing is proved of it")
        return again.certificate

    def explain(self, *inputs: Any, **named: Any) -> Any:
        """Which keys each head reads for one input, and what they contribute."""
        return import_module("headsmith.views.explanation").explain(self, inputs, named)

    def plot(self) -> Any:
        """A matplotlib figure: what the network computes, its error against the bound, and its attention."""
        return import_module("headsmith.views.compiled").picture(self)

    def save(self, path: str | Path) -> Path:
        """One safetensors file: the tensors, and target, request, design, wiring and certificate as JSON."""
        from headsmith.compiler.files import save

        return save(self, path)

    def __repr__(self) -> str:
        if self.valid:
            return "\n".join([str(self.plan), self._certificate.title(), *self._unseen()])
        return f"{self.plan.title()}\n{VOID}"

    def _unseen(self) -> list[str]:
        """What is to be said of a bound that a file states and nobody can prove again."""
        return [] if self.target.known else [UNSEEN]

    def _repr_html_(self) -> str:
        if self.valid:
            told = "".join(f"<p>{line}</p>" for line in self._unseen())
            return self.plan._repr_html_() + self._certificate._repr_html_() + told
        return f"<b>{html.escape(self.plan.title())}</b><p>{VOID}</p>"


def _bound(target: Target, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The values of all inputs, by place or by name."""
    names = list(target.inputs)
    values = dict(zip(names, given, strict=False))
    wrong = len(given) > len(names) or set(named) & set(values) or set(named) - set(names)
    values |= named
    if wrong or any(values.get(name) is None for name in target.arguments):
        raise Refusal(f"the network is called as net({', '.join(target.arguments)}), in this order or by name")
    return [values.get(name) for name in names]


def _flat(balls: Any) -> list[Any]:
    """Nested lists of balls as one list."""
    return [ball for item in balls for ball in _flat(item)] if isinstance(balls, list | tuple) else [balls]
