"""The forger's tools: everything that could be changed in a file, one thing at a time, every hash made right again.

`wirings` changes what the network computes with: map indices, coefficients, flags, scales, masks, biases, the order
of layers, layers twice or not at all, tensors. `texts` changes what the file says. Both work on (manifest, tensors)
as `compiler.files.read` returns them and yield (name, manifest, tensors). `mixtures` puts a file together of the parts
of two honest ones, and `agreeing` has it say of itself what the prover finds: a forger owns the prover too.
"""

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from headsmith.compiler import files
from headsmith.compiler.plan import Plan
from headsmith.compiler.request import Request
from headsmith.compiler.target import Target

MAPS = ("map", "mix", "query", "key", "value", "output", "up", "down")
WORDS = {
    "weights": ("softmax", "relu", "hardmax"),
    "visible": ("all", "causal", "strict", "self", "none"),
    "activation": ("relu", "gelu", "tanh"),
    "residual": (True, False),
    "up_bias": (True, False),
    "down_bias": (True, False),
}

Mutant = tuple[str, dict[str, Any], dict[str, torch.Tensor]]
Edit = Callable[[dict[str, Any], dict[str, torch.Tensor]], Any]


class Mutants(Sequence[Mutant]):
    """Each is made when it is asked for: a network of a thousand wires has thousands."""

    def __init__(self, manifest: dict[str, Any], tensors: dict[str, torch.Tensor], edits: list[tuple[str, Edit]]):
        self.manifest, self.tensors, self.edits = manifest, tensors, edits

    def __len__(self) -> int:
        return len(self.edits)

    def __getitem__(self, k):
        name, edit = self.edits[k]
        return _edited(name, self.manifest, self.tensors, edit)


def wirings(manifest: dict[str, Any], tensors: dict[str, torch.Tensor], own: str = "target/") -> Mutants:
    """Mutants of the network: names that start with `own` belong to the target and are left alone."""
    layers = manifest["network"]["layers"]
    edits: list[tuple[str, Edit]] = []
    for i, layer in enumerate(layers):
        for part in MAPS:
            if layer.get(part):
                edits += [(f"{layer['name']}.{part}: {name}", _on_map(i, part, e)) for name, e in _maps(layer[part])]
        edits += [(f"{layer['name']}: {name}", e) for name, e in _layer(i, layer)]
        edits += [(f"{layer['name']}: {name}", e) for name, e in _order(i, len(layers))]
    for name, tensor in tensors.items():
        if not name.startswith(own):
            edits += [(f"{name}: {what}", e) for what, e in _tensor(name, tensor)]
    return Mutants(manifest, tensors, edits)


def texts(manifest: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Mutants:
    """Mutants of what is said: of every word and number outside of the wiring."""
    edits: list[tuple[str, Edit]] = []
    for place, value in _leaves({k: v for k, v in manifest.items() if k not in ("network", "hash", "format")}, ()):
        for what, new in _others(value):
            if place != ("certificate", "weights"):  # sealing makes it right again
                name = f"{'.'.join(map(str, place))}: {what}"
                edits.append((name, lambda m, t, place=place, new=new: _put(m, place, new)))
    return Mutants(manifest, tensors, edits)


def mixtures(first: Any, second: Any, count: int, seed: int = 0) -> Iterator[Mutant]:
    """The first of two files with some of the fields of the second, or its arrays, or its network."""
    chosen = random.Random(seed)
    other, arrays = second
    places = [
        (part, key)
        for part in ("target", "request", "design")
        for key in other[part]
        if first[0][part].get(key) != other[part][key]
    ]
    for _ in range(count if places else 0):
        m, t = copy.deepcopy(first[0]), {key: value.clone() for key, value in first[1].items()}
        taken = chosen.sample(places, chosen.randint(1, len(places)))
        for part, key in taken:
            m[part][key] = copy.deepcopy(other[part][key])
        name = ", ".join(f"{part}.{key}" for part, key in taken)
        if chosen.random() < 0.3:
            name, t = f"{name}, arrays", _exchanged(t, arrays, True)
        if chosen.random() < 0.2:
            m["network"] = copy.deepcopy(other["network"])
            name, t = f"{name}, network", _exchanged(t, arrays, False)
        yield name, m, t


def _exchanged(tensors: dict[str, torch.Tensor], other: dict[str, torch.Tensor], target: bool) -> Any:
    """The tensors, those of the target (or of the network) being those of another file."""
    kept = {key: value for key, value in tensors.items() if key.startswith(files.TARGET) != target}
    return kept | {key: value.clone() for key, value in other.items() if key.startswith(files.TARGET) == target}


def agreeing(manifest: dict[str, Any], tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The manifest with the certificate that is proved of what it holds; raises where nothing is."""
    arrays = {key.removeprefix(files.TARGET): t for key, t in tensors.items() if key.startswith(files.TARGET)}
    own = {key: t for key, t in tensors.items() if not key.startswith(files.TARGET)}
    target = Target.from_record(manifest["kind"], manifest["target"], arrays)
    request = Request.from_record(target, manifest["request"])
    design = files._design(target, files._network(manifest, own), request, manifest["design"])
    plan = Plan(target, request, design, design.prove(target, request).with_slack())
    return {**manifest, "certificate": files._said(plan.build().certificate)}


def sampled(mutants: Iterable[Any], count: int, seed: int = 0) -> list[Any]:
    """`count` of them at random, always the same."""
    found = mutants if isinstance(mutants, Sequence) else list(mutants)
    return random.Random(seed).sample(found, min(count, len(found)))


def _edited(name: str, manifest: dict[str, Any], tensors: dict[str, torch.Tensor], edit: Edit) -> Mutant:
    m, t = copy.deepcopy(manifest), {key: value.clone() for key, value in tensors.items()}
    edit(m, t)
    return name, m, t


def _on_map(i: int, part: str, edit: Callable[[dict[str, Any]], Any]) -> Edit:
    return lambda m, t: edit(m["network"]["layers"][i][part])


def _maps(config: dict[str, Any]) -> Iterator[tuple[str, Callable[[dict[str, Any]], Any]]]:
    """Every entry of an index table moved to a neighbour and to nothing."""
    if config["kind"] == "dense":
        yield "a row more", lambda c: c["shape"].__setitem__(0, c["shape"][0] + 1)
        return
    yield "a feature more", lambda c: c.update(features=c["features"] + 1)
    for place, value in _leaves(config["index"], ()):
        for new in {(value + 1) % config["features"], -1, 0} - {value}:
            what = f"{list(place)} reads {new} for {value}"
            yield what, lambda c, place=place, new=new: _put(c["index"], place, new)
    for k in range(len(config["index"]) - 1):
        yield f"rows {k} and {k + 1} swapped", lambda c, k=k: _swap(c["index"], k, k + 1)


def _layer(i: int, layer: dict[str, Any]) -> Iterator[tuple[str, Edit]]:
    def put(key: str, value: Any) -> Edit:
        return lambda m, t: m["network"]["layers"][i].__setitem__(key, value)

    for key, words in WORDS.items():
        if key in layer:
            yield from ((f"{key} {word}", put(key, word)) for word in words if word != layer[key])
    if isinstance(layer.get("visible"), list):
        for place, seen in _leaves(layer["visible"], ()):
            if isinstance(seen, int):
                yield (
                    f"sees {place}",
                    lambda m, t, p=place, s=seen: _put(m["network"]["layers"][i]["visible"], p, 1 - s),
                )
    if "scale" in layer:
        scale = float.fromhex(layer["scale"])
        yield from ((f"scale {f}", put("scale", (scale * f).hex())) for f in (2.0, 0.5, -1.0, 1.001))
    if layer.get("memory"):
        yield from _memory(i, layer)
    if layer.get("bias"):
        yield "no bias", lambda m, t: (put("bias", None)(m, t), t.pop(f"{layer['name']}.bias"))
    if layer.get("source"):
        for k, token in enumerate(layer["source"]):
            yield f"source {k}", lambda m, t, k=k, s=token: _put(m["network"]["layers"][i]["source"], (k,), s - 1)


def _memory(i: int, layer: dict[str, Any]) -> Iterator[tuple[str, Edit]]:
    """A key hidden, and a key taken out of the memory."""
    *_, count, _ = layer["memory"]
    heads = len(layer["query"]["index"]) if "index" in layer["query"] else layer["query"]["shape"][0]
    mask = layer["memory_mask"] or [[1] * count] * heads
    name = f"{layer['name']}.memory"
    for h in range(heads):
        for j in range(count):
            other = [[*row[:j], 1 - row[j], *row[j + 1 :]] if k == h else [*row] for k, row in enumerate(mask)]
            yield (
                f"head {h} {'hides' if mask[h][j] else 'shows'} key {j}",
                lambda m, t, o=other: m["network"]["layers"][i].update(memory_mask=o),
            )
    if count > 1 and layer["memory_mask"] is None:
        for j in range(count):
            yield f"key {j} dropped", lambda m, t, j=j: _without_key(m["network"]["layers"][i], t, name, j)


def _without_key(layer: dict[str, Any], tensors: dict[str, torch.Tensor], name: str, j: int) -> None:
    kept = [k for k in range(tensors[name].shape[-2]) if k != j]
    tensors[name] = tensors[name][..., kept, :].contiguous()
    layer["memory"] = list(tensors[name].shape)


def _order(i: int, count: int) -> Iterator[tuple[str, Edit]]:
    yield "dropped", lambda m, t: _drop(m["network"]["layers"].pop(i)["name"], t)
    yield "twice", lambda m, t: _double(m["network"]["layers"], i, t)
    for j in range(i + 1, count):
        yield f"swapped with layer {j}", lambda m, t, j=j: _swap(m["network"]["layers"], i, j)


def _drop(name: str, tensors: dict[str, torch.Tensor]) -> None:
    for key in [key for key in tensors if key.startswith(f"{name}.")]:
        del tensors[key]


def _double(layers: list[dict[str, Any]], i: int, tensors: dict[str, torch.Tensor]) -> None:
    name, again = layers[i]["name"], f"{layers[i]['name']}_again"
    layers.insert(i + 1, {**copy.deepcopy(layers[i]), "name": again})
    for key in [key for key in tensors if key.startswith(f"{name}.")]:
        tensors[again + key.removeprefix(name)] = tensors[key].clone()


def _tensor(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, Edit]]:
    """Every number moved, and the whole tensor turned round, negated, scaled."""

    def put(change: Callable[[torch.Tensor], torch.Tensor]) -> Edit:
        return lambda m, t: t.__setitem__(name, change(t[name]).contiguous())

    yield "negated", put(lambda x: -x)
    yield "halved", put(lambda x: x / 2)
    yield "zero", put(torch.zeros_like)
    yield "turned round", put(lambda x: x.flip(tuple(range(x.dim()))))
    yield "rolled", put(lambda x: x.roll(1, -1))
    for k in range(min(tensor.numel(), 64)):
        yield f"entry {k} moved", put(lambda x, k=k: _moved(x, k))


def _moved(x: torch.Tensor, k: int) -> torch.Tensor:
    y = x.clone()
    y.view(-1)[k] += 0.5 + abs(float(y.view(-1)[k]))
    return y


def _leaves(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*place, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _leaves(item, (*place, k))
    else:
        yield place, value


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """What could stand there instead."""
    if isinstance(value, bool):
        yield "the other", not value
    elif isinstance(value, int):
        yield "one more", value + 1
        yield "none", 0
    elif isinstance(value, str):
        yield "another word", value + "!"
        yield "no word", ""
        try:
            number = float.fromhex(value)
        except (ValueError, OverflowError):
            return
        yield "half", (number / 2).hex()
        yield "twice", (number * 2 + 1).hex()
        yield "its negative", (-number - 1).hex()
        yield "nan", "nan"
    elif value is None:
        yield "a number", 1


def _put(tree: Any, place: tuple[Any, ...], value: Any) -> None:
    for step in place[:-1]:
        tree = tree[step]
    tree[place[-1]] = value


def _swap(items: list[Any], i: int, j: int) -> None:
    items[i], items[j] = items[j], items[i]
