"""How far the sums of a tape can go: each fact about a slot, and what carries it from pass to pass."""

from tests.mutants.mutant import Mutant

ROOM, TESTS = "src/headsmith/machines/tape", "tests/machines/tape"


def _known(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/known.py", old, new, f"{TESTS}/test_known.py")


def _reach(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"{ROOM}/reach.py", old, new, f"{TESTS}/test_reach.py")


MUTANTS = [
    _known("signs of a row", "weight[:, known].abs() @", "weight[:, known] @"),
    _known("numbers of which nothing is known", "torch.where((weight[:, ~known] != 0).any(1), math.inf, one)", "one"),
    _known("length of a row", "torch.linalg.vector_norm(weight, dim=1) + FLUSHED", "weight.abs().amax(1) + FLUSHED"),
    _known("mean of a row", "c[:, 0].abs() * self.tilt", "0 * self.tilt"),
    _known("numbers beyond the sum", "c = theta[:, : self.count].mean(1, keepdim=True)", "c = theta[:, -1:].clone()"),
    _known("error of a size", "(self.sizes + error) * INFLATE", "self.sizes * INFLATE"),
    _known("error of a length", "self.length + math.sqrt(D) * error", "self.length + error"),
    _known("error of a sum", "self.tilt + self.count * error", "self.tilt + error"),
    _known("sizes of two slots", "(self.sizes + other.sizes)", "torch.maximum(self.sizes, other.sizes)"),
    _known("lengths of two slots", "(self.length + other.length)", "max(self.length, other.length)"),
    _known("sums of two slots", "self.tilt + other.tilt if", "max(self.tilt, other.tilt) if"),
    _known("sums over other numbers", "if self.count == other.count else math.inf", "if True else math.inf"),
    _reach(
        "bias of the terms",
        "w in rows.weights.items()), rows.bias.abs()) * INFLATE) * INFLATE",
        "w in rows.weights.items()), 0 * rows.bias) * INFLATE) * INFLATE",
    ),
    _reach(
        "bias of the values",
        "rows.bias.abs()) * INFLATE\n\n    def _reason",
        "0 * rows.bias) * INFLATE\n\n    def _reason",
    ),
    _reach("an activation that is not tanh", 'if instruction.activation == "tanh" else sizes', "if True else sizes"),
    _reach("heads of unit vectors", 'if instruction.view in ("heads", "causal") else found', "if False else found"),
    _reach("sum of a unit vector", "return share * most /", "return 0 * share * most /"),
    _reach("columns of a norm", "total.abs() / size, 0.0).max()", "total.abs() / size, 0.0).min()"),
    _reach("promise of a pass", "z.off(self._promise(instruction))", "z"),
    _reach("promise of a norm", '"unit" if instruction.unit else "self"', '"self"'),
    _reach("promise of a view", '"whole" if instruction.view == "whole" else "heads"', '"self"'),
    _reach("promise of a wide head", '"whole" if instruction.view == "whole" else "heads"', '"heads"'),
    _reach("a slot that is added to", 'before.plus(z) if how == "add" else z', "z"),
    _reach("the domain", "if not most <= domain:", "if False:"),
    _reach("slots that are added to", ".sizes.max())) <= domain:", ".sizes.max())) <= math.inf:"),
    _reach("tokens as they come", "for slot in sorted({*instruction.reads, *added} & self.raw):", "for slot in ():"),
    _reach("data of a program", "sizes.slot).amax(0)", "sizes.slot).amin(0)"),
    _reach("largest", "float(largest), dtype", "0.5 * largest, dtype"),
    _reach("who jumps", "if jumps(instruction):", "if False:"),
]
