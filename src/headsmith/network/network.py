"""A network: named layers, one after another, on tensors (batch..., tokens, features).

It knows no target and no certificate. It knows its own anatomy: what each token and feature is called, where
each variable of the construction lives, what passes through it (`trace`), what a replaced value does
(`hooks`), what it costs, and what it looks like with textbook matrices (`dense`) or in a basis nobody has
labelled (`rotated`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headsmith.network.affine import Affine
from headsmith.network.attention import Attention
from headsmith.network.cost import Cost
from headsmith.network.embedding import Embedding
from headsmith.network.layer import SILENT, Layer, Patch, Tap
from headsmith.network.variables import Variables
from headsmith.refusal import Refusal


class Network(nn.Module):
    """network(x) = layer_n(... layer_1(x)).

    layers     a dict name -> layer, or a list (named affine0, attention1, ...)
    tokens     names of the input tokens
    features   names of the features of the residual stream
    variables  name -> (layer, token, slice): after that layer, the variable is stream[..., token, slice], where the
               token is one or a slice of them
    loops      how often whoever runs it runs it; each pass has names of its own, "step 3 / name"

    >>> from headsmith.network import Affine, Select
    >>> lift = Affine(Select([0, -1], features=1), bias=[0.0, 1.0])
    >>> Network({"lift": lift}, tokens=["input"], features=["x", "one"])
    Network  1 token, 0 memory tokens, 2 features, torch.float64
      0  lift  affine       select 1 -> 2 + bias
    """

    def __init__(
        self,
        layers: Mapping[str, Layer] | Sequence[Layer],
        *,
        tokens: Sequence[str] = ("input",),
        features: Sequence[str] = (),
        variables: Mapping[str, tuple[int | str, int | str | slice, slice]] | None = None,
        loops: int = 1,
    ) -> None:
        super().__init__()
        named = layers if isinstance(layers, Mapping) else {f"{v.kind}{i}": v for i, v in enumerate(layers)}
        for name in named:
            if not name.isidentifier():
                raise Refusal(f"a layer cannot be called {name!r}: use letters, digits and underscores.")
        self.layers = nn.ModuleDict(named)
        self.inputs: tuple[str, ...] = tuple(tokens)
        self.features: tuple[str, ...] = tuple(features)
        self._tap = SILENT
        self._check_widths()
        places = {
            name: (_place(layer, list(named)), _tokens(token, list(self.inputs)), where)
            for name, (layer, token, where) in (variables or {}).items()
        }
        self.variables = Variables(places, loops)

    def _check_widths(self) -> None:
        if not len(self.layers):
            raise Refusal("a network needs at least one layer.")
        width = None
        for name, layer in self._named():
            if width is not None and layer.width_in not in (None, width):
                raise Refusal(f"layer {name} reads {layer.width_in} features, but {width} arrive.")
            width = layer.width_out or width
        if self.features and len(self.features) not in {layer.width_out for layer in self._list()}:
            raise Refusal(f"{len(self.features)} feature names are given, but no layer writes that many.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """Input tokens, then the memory tokens of each layer."""
        memory = (f"{name}.{token}" for name, layer in self._attention() for token in layer.memory_names())
        return (*self.inputs, *memory)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its numbers; float64 where there are none."""
        return next((p.dtype for p in self.parameters()), torch.float64)

    def _named(self) -> list[tuple[str, Layer]]:
        return [(name, layer) for name, layer in self.layers.items() if isinstance(layer, Layer)]

    def _list(self) -> list[Layer]:
        return [layer for _, layer in self._named()]

    def _attention(self) -> list[tuple[str, Attention]]:
        return [(name, layer) for name, layer in self._named() if isinstance(layer, Attention)]

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Tensor:
        """x (batch..., tokens, features); padding (batch..., tokens) bool, True hides that token as a key."""
        return self._run(x, padding, self._tap)

    def _run(self, x: Tensor, padding: Tensor | None, tap: Tap) -> Tensor:
        width = self._list()[0].width_in
        if x.dim() < 2 or (width is not None and x.shape[-1] != width):
            raise Refusal(f"the network reads (batch..., tokens, {width or 'features'}), not {tuple(x.shape)}.")
        if padding is not None and padding.shape != x.shape[:-1]:
            raise Refusal(f"padding must have shape {tuple(x.shape[:-1])}, one bool a token.")
        for state in self._states(x, padding, tap):
            x = state
        return x

    def _states(self, x: Tensor, padding: Tensor | None, tap: Tap) -> Iterator[Tensor]:
        for i, layer in enumerate(self._list()):
            here = tap.within(f"blocks.{i}.")
            x = here("hook_resid_post", layer(here("hook_resid_pre", x), padding, here))
            padding = layer.padding_out(padding)
            yield x

    def states(self, x: Tensor, padding: Tensor | None = None) -> Iterator[Tensor]:
        """The stream behind each layer in turn; layers that nobody asks for are not run."""
        yield from self._states(x, padding, self._tap)

    def hook_names(self) -> tuple[str, ...]:
        """Every name that `trace` gives and `hooks` takes."""
        return tuple(
            f"blocks.{i}.{name}"
            for i, layer in enumerate(self._list())
            for name in ("hook_resid_pre", *layer.hook_names, "hook_resid_post")
        )

    def trace(self, x: Tensor, padding: Tensor | None = None) -> dict[str, Tensor]:
        """All inner values by TransformerLens name.

        q, k, v, z are (batch..., tokens, heads, d), scores and pattern (batch..., heads, queries, keys), the
        keys in the order data tokens (or the token itself), memory.
        """
        record: dict[str, Tensor] = {}
        self._run(x, padding, Tap(self._tap.patches, record))
        return record

    @contextmanager
    def hooks(self, patches: Mapping[str, Patch]) -> Iterator[Network]:
        """While open, patches[name](v) replaces each named value v (None leaves it): ablation, patching."""
        unknown = sorted(set(patches) - set(self.hook_names()))
        if unknown:
            raise Refusal(f"the network has no {unknown[0]!r}; hook_names() lists what can be hooked.")
        before, self._tap = self._tap, Tap({**self._tap.patches, **patches})
        try:
            yield self
        finally:
            self._tap = before

    @property
    def patched(self) -> bool:
        """Whether something else than the weights has a say in what comes out: open hooks, hooks or methods of torch.

        >>> from headsmith.network import Affine, Select
        >>> network = Network([Affine(Select([0], features=1))])
        >>> with network.hooks({"blocks.0.hook_resid_post": torch.zeros_like}):
        ...     network.patched
        True
        """
        return patched(self) or not self._tap.silent

    def cost(self) -> Cost:
        """Sizes, numbers and operations for one input of as many tokens as have names."""
        tokens, width, flops, dense = len(self.inputs), self._list()[0].width_in or len(self.features), 0, 0
        widest = width
        for layer in self._list():
            flops += layer.flops(tokens, width)
            dense += layer.dense_parameters(tokens, width)
            tokens, width = layer.tokens_out(tokens), layer.width_out or width
            widest = max(widest, width)
        attention = [layer for _, layer in self._attention()]
        return Cost(
            layers=len(self.layers),
            heads=sum(layer.heads for layer in attention),
            tokens=len(self.inputs),
            memory_tokens=len(self.tokens) - len(self.inputs),
            width=widest,
            head_dim=max((layer.query.rows for layer in attention), default=0),
            parameters=sum(p.numel() for p in self.parameters()),
            dense_parameters=dense,
            flops=flops,
        )

    @property
    def stock(self) -> Literal[True] | str:
        """True, or why an off-the-shelf transformer cannot hold this network.

        Stock means: token-wise affine maps with one matrix (embedding first, reading last), and between them
        only residual softmax attention in which every data token sees all or all earlier tokens, and residual
        feed-forward layers. Memory shared by all heads is allowed: it is a key-value prefix. The missing
        1/sqrt(d_h) is not a departure (it goes into the query), nor is the absence of layer norm.
        """
        layers = self._named()
        reasons = [f"{name}: {why}" for name, layer in layers if (why := layer.unusual())]
        inner = [name for name, layer in layers[1:-1] if isinstance(layer, Affine)]
        reasons += [f"{name}: an affine layer between the blocks" for name in inner]
        return "; ".join(reasons) or True

    def dense(self) -> Network:
        """The same function with every map dense, memory as explicit tokens, visibility as boolean tables."""
        layers: dict[str, Layer] = {}
        tokens, last = len(self.inputs), []
        for name, layer in self._named():
            parts = layer.dense(tokens)
            labels = [name] if len(parts) == 1 else [f"{name}_append", name, f"{name}_drop"]
            layers |= dict(zip(labels, parts, strict=True))
            last.append(len(layers) - 1)
            tokens = layer.tokens_out(tokens)
        variables = {name: (last[at], token, where) for name, (at, token, where) in self.variables.items()}
        return self._remade(layers, self.features, variables)

    def rotated(self, seed: int) -> Network:
        """The same function, its residual stream in a random orthogonal basis: x' = x rotation(seed, width).

        The first and the last affine layer absorb the rotation (a table of embeddings does, too); everything between
        becomes dense. Names of features and places of variables are gone, which is the point: the plain network is the
        answer key.
        """
        affine = [i for i, layer in enumerate(self._list()) if isinstance(layer, Affine) or _is_table(layer)]
        if len(affine) < 2:
            raise Refusal("only a network with a first and a last affine layer has a hidden stream to rotate.")
        layers: dict[str, Layer] = {}
        before: Tensor | None = None
        for i, (name, layer) in enumerate(self._named()):
            after = before
            if affine[0] <= i < affine[-1]:
                after = before if layer.width_out is None else rotation(seed, layer.width_out)
            elif i == affine[-1]:
                after = None
            hidden = before is not None or after is not None
            layers[name] = layer.rotated(before, after) if hidden else layer
            before = after
        return self._remade(layers, [f"direction.{i}" for i in range(len(self.features))], {})

    def _remade(self, layers: dict[str, Layer], features: Sequence[str], variables: dict[str, Any]) -> Network:
        loops = self.variables.loops
        new = Network(layers, tokens=self.inputs, features=features, variables=variables, loops=loops)
        device = next((p.device for p in self.parameters()), torch.device("cpu"))
        return new.to(device=device, dtype=self.dtype)

    def config(self) -> dict[str, Any]:
        """Everything but the numbers, as JSON; `files` documents the schema."""
        return {
            "format": 1,
            "tokens": list(self.inputs),
            "features": list(self.features),
            "variables": {k: [at, _written(token), s.start, s.stop] for k, (at, token, s) in self.variables.items()},
            "layers": [{"name": name, **layer.config()} for name, layer in self._named()],
            **({"loops": self.variables.loops} if self.variables.loops > 1 else {}),
        }

    def tensors(self) -> dict[str, Tensor]:
        """The numbers: layer.part.tensor -> tensor, detached, contiguous."""
        return {name: tensor.detach().contiguous() for name, tensor in self.layers.state_dict().items()}

    def __repr__(self) -> str:
        tokens, memory = len(self.inputs), len(self.tokens) - len(self.inputs)
        head = f"Network  {tokens} token{'s' * (tokens != 1)}, {memory} memory token{'s' * (memory != 1)}, "
        wide = max(map(len, self.layers))
        rows = [
            f"  {i}  {name:<{wide}}  {layer.kind:<11}  {layer.summary()}"
            for i, (name, layer) in enumerate(self._named())
        ]
        return "\n".join([f"{head}{len(self.features)} features, {self.dtype}", *rows])


def _is_table(layer: Layer) -> bool:
    """Whether it writes the stream out of a table."""
    return isinstance(layer, Embedding) and layer.table is not None


def patched(module: nn.Module) -> bool:
    """Whether something runs beside the code of the classes: hooks, compiled calls, methods set on an object."""
    every = nn.modules.module
    return bool(every._global_forward_hooks or every._global_forward_pre_hooks) or any(
        m._forward_hooks or m._forward_pre_hooks or m._compiled_call_impl is not None or overridden(m)
        for m in module.modules()
    )


def classes(module: nn.Module) -> list[type]:
    """The classes whose code runs, those of the tensors included."""
    return [type(part) for part in (*module.modules(), *module.parameters(), *module.buffers())]


def overridden(thing: Any) -> bool:
    """Whether a method was set on the object itself, in the place of that of its class."""
    return any(callable(getattr(type(thing), name, None)) for name in vars(thing))


def rotation(seed: int, width: int) -> Tensor:
    """The orthogonal (width, width) matrix of `Network.rotated`: Q of a seeded Gaussian, in float64."""
    generator = torch.Generator().manual_seed(seed)
    q, r = torch.linalg.qr(torch.randn(width, width, dtype=torch.float64, generator=generator))
    return q * torch.sign(torch.diagonal(r))


def _tokens(at: int | str | slice, names: list[str]) -> int | slice:
    if not isinstance(at, slice):
        return _place(at, names)
    return slice(_place(at.start, names), _place(at.stop - 1, names) + 1)  # every token has a name


def _written(token: int | slice) -> int | list[int]:
    return [token.start, token.stop] if isinstance(token, slice) else token


def _place(at: int | str, names: list[str]) -> int:
    if isinstance(at, str):
        if at not in names:
            raise Refusal(f"a variable is placed at {at!r}, which is none of {', '.join(names)}.")
        return names.index(at)
    if not 0 <= at < len(names):
        raise Refusal(f"a variable is placed at number {at}, but there are only {len(names)}: {', '.join(names)}.")
    return at
