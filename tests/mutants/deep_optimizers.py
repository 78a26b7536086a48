"""Bounds of what sums of ReLUs do to a gradient: every term of both, before a prompt is known and after."""

from tests.mutants.mutant import Mutant

BOUNDS, SUMS = (f"src/headsmith/papers/deep_optimizers/{name}.py" for name in ("bounds", "sums"))
BEFORE, AFTER = (f"tests/papers/deep_optimizers/test_{name}.py" for name in ("bounds", "sums"))


def before(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, BOUNDS, old, new, BEFORE)


def after(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, SUMS, old, new, AFTER)


MUTANTS = [
    before("p was off before", "(e.r + r.steep * h.row * found[-1])", "e.r"),
    before(
        "p was off before, halved", "(e.r + r.steep * h.row * found[-1])", "(e.r + r.steep * h.row * found[-1] / 2)"
    ),
    before("a sum for r", "(e.r + r.steep * h.row * found[-1])", "(r.steep * h.row * found[-1])"),
    before("units are many", "found.append(math.sqrt(n) * (e.r", "found.append((e.r"),
    before("a sum for r'", "[e.slope + r.bend * h.row * before for", "[r.bend * h.row * before for"),
    before("r' bends", "[e.slope + r.bend * h.row * before for", "[e.slope for"),
    before("r' bends, halved", "e.slope + r.bend * h.row * before", "e.slope + r.bend / 2 * h.row * before"),
    before("a sum for u", "missed = e.loss + 2 * off[-1] / last", "missed = 2 * off[-1] / last"),
    before("u moves with f", "missed = e.loss + 2 * off[-1] / last", "missed = e.loss"),
    before("u moves twice as fast", "missed = e.loss + 2 * off[-1] / last", "missed = e.loss + off[-1] / last"),
    before("the last slope", "last * (apart[-1] * (handed + missed) + r.steep * missed)", "last * r.steep * missed"),
    before("the last slope and u", "(apart[-1] * (handed + missed) +", "(apart[-1] * handed +"),
    before("u is off", "(apart[-1] * (handed + missed) + r.steep * missed)", "(apart[-1] * (handed + missed))"),
    before("p times what s is off by", "(f * (rho[j] + off[j]) + S * off[j])", "(f * off[j] + S * off[j])"),
    before("both are off", "(f * (rho[j] + off[j]) + S * off[j])", "(f * rho[j] + S * off[j])"),
    before("s times what p is off by", "(f * (rho[j] + off[j]) + S * off[j])", "(f * (rho[j] + off[j]))"),
    before("slopes on the way back", "apart[j - 1] * nu * (S + f) + r.steep", "r.steep"),
    before("slopes of what is off", "apart[j - 1] * nu * (S + f)", "apart[j - 1] * nu * S"),
    before("what was off above", " + r.steep * nu * f\n", "\n"),
    before("half of the loss", "return math.sqrt(total) / 2", "return math.sqrt(total) / 4"),
    before("room in the range", "(max(_norms(h, r)[:-1]) + ROOM)", "(max(_norms(h, r)[:-1]))"),
    before("the range is checked", "if max(_apart(h, r, e)[:-1]) <= ROOM else math.inf", ""),
    before("interpolation of r", "step * step * r.bend / 8,", "step * step * r.bend / 16,"),
    before("interpolation of r'", "step * step * r.twist / 8)", "step * step * r.twist / 16)"),
    before("columns", "_grown(h, r), columns * h.row", "_grown(h, r), h.row"),
    before(
        "the first path keeps its gap", "math.expm1(steps * math.log1p(rate * lipschitz))", "steps * rate * lipschitz"
    ),
    after("a sum for r", "off.append(e.r + r.steep * e_z)", "off.append(r.steep * e_z)"),
    after("p was off before", "off.append(e.r + r.steep * e_z)", "off.append(e.r + 0 * e_z)"),
    after("p was off before, halved", "off.append(e.r + r.steep * e_z)", "off.append(e.r + r.steep * e_z / 2)"),
    after("a sum for r'", "e_slopes.append(e.slope + r.bend * e_z)", "e_slopes.append(r.bend * e_z)"),
    after("r' bends", "e_slopes.append(e.slope + r.bend * e_z)", "e_slopes.append(e.slope + 0 * e_z)"),
    after("r' bends, halved", "e_slopes.append(e.slope + r.bend * e_z)", "e_slopes.append(e.slope + r.bend * e_z / 2)"),
    after("a sum for u", "e.loss / 2 + off[-1]", "off[-1]"),
    after("a sum for u, halved", "e.loss / 2 + off[-1]", "e.loss / 4 + off[-1]"),
    after("f is off", "e.loss / 2 + off[-1]", "e.loss / 2 + 0 * off[-1]"),
    after("slopes are off", "e_delta = e_slopes[j] * q.abs() + ", "e_delta = "),
    after("what is handed back is off", " + (found.slopes[j].abs() + e_slopes[j]) * e_q", ""),
    after("delta is off", "error = e_delta.mT @ p.abs() + ", "error = "),
    after("p is off", " + (delta.abs() + e_delta).mT @ off[j]", ""),
    after("what was off above", "q, e_q = delta @ V, e_delta @ V.abs()", "q, e_q = delta @ V, 0 * e_delta @ V.abs()"),
    after("the range is checked", "torch.where(inside, total.sqrt(), torch.inf)", "total.sqrt()"),
    after("what z is off by leaves it", "(z.abs() + e_z <= end)", "(z.abs() <= end)"),
]
