"""An independent checker: one file, no compiler. Proves again, from a saved network alone, what its certificate says.

    python -m headsmith.proof.checker sin3x.safetensors        exit 0 proved, 1 altered or false, 2 cannot be repeated

It shares no code with the rest of Headsmith. It reads the tensors as exact binary fractions, derives each head's keys from the
wiring, and repeats the three arguments of the certificate: Taylor cells for |heads - formula|, the rounding theorem, and
composition. Cell borders in the file are hints; a cell that does not suffice is bisected. Notation: a head is
phi(z) = sum_j p_j (g_j + l_j z), p = softmax(a_j z + b_j).
"""

import hashlib
import json
import math
import struct
import sys
from itertools import pairwise, product
from typing import Any, NamedTuple

from flint import arb, arb_poly, arb_series, ctx
from safetensors import deserialize

K, NODES = 12, 128
LENGTH = K + 8  # terms carried in a series, some of which a removable 0/0 uses up
UNIT = {"F64": (2.0**-53, 2.0**-1022), "F32": (2.0**-24, 2.0**-126)}
NAMES = {"F64": ("float64", "d"), "F32": ("float32", "f")}


class Verdict(NamedTuple):
    status: int  # 0 proved, 1 altered or false, 2 cannot be repeated
    reason: str
    bound: float | None = None


class Rejected(Exception):
    def __init__(self, reason: str, status: int = 1) -> None:
        super().__init__(reason)
        self.status = status


def need(condition: Any, reason: str, status: int = 1) -> None:
    if not condition:
        raise Rejected(reason, status)


def check(path: Any) -> Verdict:
    """Re-prove a file; never raises for a bad one."""
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = 128, K + 8
    try:
        with open(path, "rb") as file:
            data = file.read()
        return _check(data)
    except Rejected as rejected:
        return Verdict(rejected.status, str(rejected))
    except (OSError, RecursionError) as error:
        return Verdict(2, f"the file cannot be read: {error}")
    except Exception as error:  # a malformed file may fail anywhere; nothing it does counts as a proof
        return Verdict(1, f"the file is malformed ({type(error).__name__}: {error})")
    finally:
        ctx.prec, ctx.cap = before


def _check(data: bytes) -> Verdict:
    tensors = {name: entry for name, entry in deserialize(data)}
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    text = header["__metadata__"]["headsmith"]
    manifest = json.loads(text)
    need(text == canonical(manifest), "the manifest is not in canonical form: it was altered")
    claimed = manifest.pop("hash")
    need(sha(canonical(manifest)) == claimed, "the manifest was altered: it does not match its own hash")
    need(manifest["kind"] == "formula", f"a {manifest['kind']} is not stored in the file, so its proof cannot be repeated", 2)
    proof, wiring = manifest["certificate"], manifest["network"]
    digest = hashlib.sha256(canonical(wiring).encode())
    for name, t in sorted(tensors.items()):
        digest.update(f"{name}|{NAMES[t['dtype']][0]}|{list(t['shape'])}|".encode() + bytes(t["data"]))
    need(digest.hexdigest() == proof["weights"], "the weights were altered: they do not match the certificate's hash")
    need(proof["kind"] == "proved", "the certificate rests on a constant that the file cannot prove", 2)
    kinds = {t["dtype"] for t in tensors.values()}
    need(len(kinds) == 1 and NAMES[next(iter(kinds))][0] == proof["dtype"], "the weights are not of the certificate's dtype")
    return prove(manifest, proof, parts_of(wiring, tensors), *UNIT[next(iter(kinds))])


def prove(manifest: Any, proof: Any, wiring: Any, u: float, tiny: float) -> Verdict:
    """Every part by cells, errors carried from part to part, the formula put together from the parts' targets."""
    wires, bias, read = wiring
    start, stated = proof["proof"][0]["input"], {key: float.fromhex(proof[key]) for key in ("approximation", "rounding", "bound")}
    state: dict[str, Any] = {start: (0.0, 0.0, [float.fromhex(end) for end in proof["domain"]], ["var", "x"])}
    for part in proof["proof"]:
        heads = wires.pop((part["input"], part["output"]))
        own_bias, (lo, hi) = float.fromhex(part["bias"]), (float.fromhex(end) for end in part["domain"])
        bias[part["output"]] -= own_bias
        a_in, r_in, reach, inner = state[part["input"]]
        room = up(arb(a_in) + r_in)
        need(lo <= reach[0] - room and reach[1] + room <= hi, f"{part['input']} can leave the domain of its heads")
        cells, rounding = ([float.fromhex(edge) for edge in part[kind]] for kind in ("cells", "rounding"))
        roots = [float.fromhex(root) for root in part["removable"]]
        for edges in (cells, rounding):
            need(edges[0] == lo and edges[-1] == hi and all(a < b for a, b in pairwise(edges)), "cells leave gaps")
        found = [cell_error(heads, own_bias, part["target"], roots, a, b, stated["approximation"]) for a, b in pairwise(cells)]
        slope = max(steepest(part["target"], roots, a, b) for a, b in pairwise(cells)) if room else 0.0
        slip = max(sum_rounding(heads, own_bias, a, b, u, tiny) for a, b in pairwise(rounding))
        a, r = up(max(f[0] for f in found) + arb(slope) * a_in), up(slip + arb(slope) * r_in)
        span, said = [min(f[1] for f in found), max(f[2] for f in found)], substitute(part["target"], inner)
        if part["output"] in state:
            a0, r0, span0, said0 = state[part["output"]]
            size = sum(max(map(abs, s)) + e for s, e in ((span0, a0 + r0), (span, a + r)))
            a, r = up(arb(a0) + a), up(arb(r0) + r + arb(u) * (size + r0 + r) * 1.01)
            span, said = [span0[0] + span[0], span0[1] + span[1]], ["+", said0, said]
        state[part["output"]] = (a, r, span, said)
    need(not wires and not any(bias[name] for name in state), "some heads are not covered by the proof")
    a, r, _, said = state[read]
    need(flat(said) == flat(substitute(manifest["target"], ["var", "x"])), "the proof is about another formula")
    need(a <= stated["approximation"], f"false: the approximation error can only be proved below {a:.3e}")
    need(r <= stated["rounding"], f"false: the rounding error can only be proved below {r:.3e}")
    need(stated["bound"] >= stated["approximation"] + stated["rounding"], "the bound is not the sum of its parts")
    return Verdict(0, "proved again from the stored weights", stated["bound"])


# The network: every head's keys, read off the wiring -------------------------------------------------------------


def parts_of(wiring: Any, tensors: dict[str, Any]) -> tuple[dict[tuple[str, str], Any], dict[str, float], str]:
    """({(input, output): heads}, {variable: bias}, what is read); accepts only lift, residual attention, read."""

    def numbers(name: str) -> list[float]:
        t = tensors[name]
        return list(struct.unpack(f"<{math.prod(t['shape'])}{NAMES[t['dtype']][1]}", bytes(t["data"])))

    names, (lift, *levels, read) = wiring["features"], wiring["layers"]
    n = len(names)
    bias = numbers(f"{lift['name']}.bias")
    spread = {"kind": "select", "features": 1, "index": [0] + [-1] * (n - 1)}
    need(lift["kind"] == "affine" and lift["map"] == spread and lift["source"] is None, "odd lift")
    need(wiring["tokens"] == ["input"] and bias[0] == 0 and bias[1] == 1 and bias[n - 3 :] == [0, 0, 0], "odd lift")
    need(len(set(names)) == n == len(bias), "odd features")
    found: dict[tuple[str, str], Any] = {}
    written: dict[int, int] = {}
    for depth, layer in enumerate(levels):
        query, out, shape = layer["query"], layer["output"], layer["memory"]
        usual = (layer["kind"], layer["weights"], layer["residual"], float.fromhex(layer["scale"]))
        need(usual == ("attention", "softmax", True, 1.0) and layer["residual"] is True, "odd attention")
        need(query["kind"] == out["kind"] == "select" and query["features"] == n and out["features"] == 1, "odd attention")
        heads, visible = len(query["index"]), layer["visible"]
        visible = [visible] * heads if isinstance(visible, str) else visible
        need(shape is None or (len(shape) == 3 and shape[0] == heads and shape[2] == n), "odd memory")
        count, memory = (shape[1], numbers(f"{layer['name']}.memory")) if shape else (0, [])
        mask = layer["memory_mask"] or [[1] * count] * heads
        for h, (source, one) in enumerate(query["index"]):
            targets = [i for i, value in enumerate(out["index"][h]) if value >= 0]
            need(one == 1 and len(targets) == 1 and 1 < targets[0] < n - 3 and visible[h] in ("self", "none"), "odd head")
            need(source == 0 or written.get(source, depth) < depth, "a head reads what is not yet written")
            rows = [memory[(h * count + j) * n : (h * count + j + 1) * n] for j in range(count) if mask[h][j]]
            need(not any(row[i] for row in rows for i in range(n - 3)), "odd memory")
            maps = [m for kind in ("key", "value") for m in rows_of(layer, kind, h, numbers)]
            need([m.get(n - 3 + i) for i, m in enumerate(maps)] == [1.0] * 3, "odd key")
            need(all(set(m) <= {n - 3 + i, 1} | ({source} if i == 2 else set()) for i, m in enumerate(maps)), "odd key")
            (a, b, v), own = maps, visible[h] == "self"  # on the token itself `one` is 1 and the last three are 0
            keys = [(a.get(1, 0.0), b.get(1, 0.0), v.get(1, 0.0), v.get(source, 0.0))] if own else []
            keys += [(row[n - 3], row[n - 2], row[n - 1], 0.0) for row in rows]
            need(keys and all(math.isfinite(x) for key in keys for x in key), "odd keys")
            found.setdefault((names[source], names[targets[0]]), []).append(keys)
        written |= {t: depth for row in out["index"] for t, value in enumerate(row) if value >= 0}
    need({k: read["map"][k] for k in ("kind", "features")} == {"kind": "select", "features": n}, "odd read")
    need(read["kind"] == "affine" and read["bias"] is None and read["source"] is None, "odd read")
    need(len(read["map"]["index"]) == 1 and read["map"]["index"][0] in written, "odd read")
    return found, dict(zip(names, bias, strict=True)), names[read["map"]["index"][0]]


def rows_of(layer: Any, kind: str, h: int, numbers: Any) -> list[dict[int, float]]:
    """Row by row, {feature: coefficient} of a head's key or value map."""
    index, form = layer[kind]["index"], layer[kind]["kind"]
    if form == "select":
        return [{i: 1.0} for i in index[h]]
    need(form == "sparse", "odd map")
    terms, flat = len(index[0][0]), numbers(f"{layer['name']}.{kind}.coefficient")
    rows = []
    for r, row in enumerate(index[h]):
        at = (h * len(index[h]) + r) * terms
        rows.append({i: x for i, x in zip(row, flat[at : at + terms], strict=True) if x != 0})
        need(len(set(row)) == terms, "odd map")
    return rows


# Approximation: Taylor cells --------------------------------------------------------------------------------------


def series_of(keys: Any, c: float, h: float) -> tuple[list[arb], arb]:
    """phi on [c-h, c+h] as a polynomial in y = (z-c)/h, and a bound of the rest."""
    scores = [a * c + b for a, b, *_ in keys]
    top = max(scores)
    rough = [math.exp(max(s - top, -700.0)) for s in scores]
    mean = sum(w * k[0] for w, k in zip(rough, keys, strict=True)) / sum(rough)
    w = sum(x * (g + l * c) for x, (_, _, g, l) in zip(rough, keys, strict=True)) / sum(rough)
    N, Z, tail_n, tail_z = [arb(0)] * (K + 2), [arb(0)] * (K + 1), arb(0), arb(0)
    for a, b, g, l in keys:
        term, d, v, tilt = (arb(a) * c + b - top).exp(), (arb(a) - mean) * h, arb(l) * c + g - w, arb(l) * h
        for k in range(K + 1):
            Z[k] += term
            N[k] += term * v
            N[k + 1] += term * tilt
            last, term = term, term * d / (k + 1)
        rest = abs(term) * abs(d).exp()
        tail_z, tail_n = tail_z + rest, tail_n + rest * (abs(v) + abs(tilt)) + abs(last * tilt)
    q = (arb_series(N[: K + 1], K + 1) / arb_series(Z, K + 1)).coeffs()
    left = (arb_poly(N[: K + 1]) - arb_poly(q) * arb_poly(Z)).coeffs()
    least = Z[0] * (-abs(Z[1]) / Z[0]).exp()
    rest = (tail_n + tail_z * total(q) + total(left)) / least
    return [q[0] + w, *q[1:], *[arb(0)] * (K + 1 - len(q))], rest


def cell_error(heads: Any, bias: float, target: Any, roots: Any, a: float, b: float, goal: float, deep: int = 14) -> Any:
    """(sup |heads - target|, inf target, sup target) over [a, b]; bisects where one cell does not meet the goal."""
    c = a + (b - a) / 2
    h = math.nextafter(max(b - c, c - a), math.inf)
    phi, rest = [arb(bias)] + [arb(0)] * K, arb(0)
    for keys in heads:
        q, r = series_of(keys, c, h)
        phi, rest = [x + y for x, y in zip(phi, q, strict=True)], rest + r
    worst, low, high = 0.0, math.inf, -math.inf
    for f, r in branches(target, roots, c, h):
        worst = max(worst, supremum([x - y for x, y in zip(phi, f, strict=True)]) + up(rest + r))
        around = total(f[1:]) + r
        low, high = min(low, -up(around - f[0])), max(high, up(around + f[0]))
    if worst <= goal or not deep or not a < c < b:
        return worst, low, high
    halves = [cell_error(heads, bias, target, roots, x, y, goal, deep - 1) for x, y in ((a, c), (c, b))]
    return max(x[0] for x in halves), min(x[1] for x in halves), max(x[2] for x in halves)


def supremum(p: list[arb]) -> float:
    """Ehlich and Zeller: sup|p| <= max over the Chebyshev nodes / cos(degree pi / 2 nodes)."""
    floats, slack, degree = [float(x.mid()) for x in p], sum(up(x.rad()) for x in p), K
    while degree and abs(floats[degree]) <= 1e-3 * abs(floats[0]) * 2.0**-degree + 1e-30:
        slack, degree = slack + abs(floats[degree]), degree - 1
    most = 0.0
    for i in range(NODES):
        y, value = math.cos((2 * i + 1) * math.pi / (2 * NODES)), 0.0
        for x in reversed(floats[: degree + 1]):
            value = value * y + x
        most = max(most, abs(value))
    slack += (3 * K + 8) * 2.0**-51 * sum((k + 1) * abs(x) for k, x in enumerate(floats))
    return ((most + slack) / math.cos(degree * math.pi / (2 * NODES)) + slack) * (1 + 1e-13)


# The formula: its tree in lanes: wide (over the cell), point (at c), root (at a removable 0/0); or in one ball -------


class Open(Exception):
    """The sign of this difference is open over the cell: follow both branches."""


def branches(tree: Any, roots: list[float], c: float, h: float) -> list[tuple[list[arb], arb]]:
    """(coefficients, remainder) in y = (z-c)/h, for every branch of abs, relu, min, max, clip on [c-h, c+h]."""
    found = []
    for root in (None, *(r for r in roots if abs(r - c) <= 8 * h)):
        ball = arb(c, h) if root is None else arb(c, h).union(arb(root))
        starts = [ball, arb(c), *([] if root is None else [arb(root)])]
        jets = [
            ([point[k] for k in range(K + 1)], abs(wide[K + 1]))
            for wide, point, *_ in follow(tree, [arb_series([x, h], LENGTH) for x in starts])
        ]
        if all(x.is_finite() for f, r in jets for x in (*f, r)):
            found.append((max(up(r) for _, r in jets), len(found), jets))
    if found:
        return min(found)[2]
    hull = arb(math.inf)
    for i, (value,) in enumerate(follow(tree, [arb(c, h)])):
        hull = value if i == 0 else hull.union(value)
    need(hull.is_finite(), f"the formula cannot be enclosed near {c:g}", 2)
    return [([arb(hull.mid())] + [arb(0)] * K, arb(hull.rad()))]


def steepest(tree: Any, roots: list[float], a: float, b: float, deep: int = 10) -> float:
    """sup |f'| over [a, b], bisected until the parts agree to a few per cent."""
    c, h = a + (b - a) / 2, math.nextafter((b - a) / 2 * (1 + 1e-15), math.inf)
    slopes = [wide[1] / h for wide, *_ in follow(tree, [arb_series([arb(c, h), h], 3), arb_series([c, h], 3)])]
    most = max(up(abs(x)) for x in slopes)
    if deep and not most <= 1.02 * max(float(abs(x).mid()) for x in slopes):
        return max(steepest(tree, roots, a, c, deep - 1), steepest(tree, roots, c, b, deep - 1))
    return most


def follow(tree: Any, x: list[Any]) -> list[list[Any]]:
    """The tree on these lanes, once for each way to decide its open branches."""
    found, waiting = [], [{}]
    while waiting:
        choices = waiting.pop()
        try:
            found.append(value(tree, x, choices))
        except Open as fork:
            waiting += [{**choices, str(fork): True}, {**choices, str(fork): False}]
        need(len(found) + len(waiting) <= 64, "too many branches meet in one cell", 2)
    return found


def value(tree: Any, x: list[Any], choices: dict[str, bool]) -> list[Any]:
    op, *args = tree
    if op == "var":
        return x
    if op in ("num", "pi", "e"):
        constant = arb(args[0]) if op == "num" else arb.pi() if op == "pi" else arb.const_e()
        return [constant if isinstance(lane, arb) else arb_series([constant], lane.prec) for lane in x]
    if op in RULES:
        return value(RULES[op](*args), x, choices)
    if op in ("abs", "relu", "max", "min"):
        first, second = args if len(args) == 2 else (args[0], ["neg", args[0]] if op == "abs" else ["num", "0"])
        a, b = value(first, x, choices), value(second, x, choices)
        gap, key = head(a[0]) - head(b[0]), canonical([first, second])
        if not (gap >= 0 or gap <= 0) and key not in choices:
            raise Open(key)
        return a if (bool(gap >= 0) if gap >= 0 or gap <= 0 else choices[key]) == (op != "min") else b
    if op == "*" and isinstance(x[0], arb) and ["log", args[0]] == args[1]:
        args = [args[1], args[0]]
    kids = [value(arg, x, choices) for arg in args]
    if op == "*" and isinstance(x[0], arb) and args[0] == ["log", args[1]] and up(kids[1][0]) < 0.36:  # t log t
        top = arb(up(kids[1][0]))
        return [arb(0).union(top * top.log())]
    if op == "/" and len(x) == 3 and head(kids[1][0]).contains(0):
        m = next((k for k in range(LENGTH) if not kids[1][2][k].is_zero()), 0)
        if m and all(kids[0][2][k].is_zero() for k in range(m)):  # Taylor coefficients of u/(z-r) are means of shifted ones
            at_root = kids[1][1][0].is_zero()
            shift = [[arb_series(list(u)[m:], u.prec - m) if i != 1 or at_root else u for i, u in enumerate(k)] for k in kids]
            return [u / v for u, v in zip(*shift, strict=True)]
    return [apply(op, args, *lane) for lane in zip(*kids, strict=True)]


def apply(op: str, args: Any, u: Any, v: Any = None) -> Any:
    """One operation on one lane; what is not defined over the whole lane gives something not finite."""
    if op in ("neg", "+", "-", "*"):
        return -u if op == "neg" else u + v if op == "+" else u - v if op == "-" else u * v
    if op == "/" or (op == "^" and args[1][0] == "num" and float(args[1][1]).is_integer()):
        if op == "^":
            n, power = int(float(args[1][1])), u * 0 + 1
            for _ in range(abs(n)):
                power = power * u
            u, v = (power, None) if n >= 0 else (u * 0 + 1, power)
        return u if v is None else u / v if not head(v).contains(0) else u * arb(math.nan)
    if op == "^":
        return apply("exp", args, v * apply("log", args, u))
    if op == "sqrt" and isinstance(u, arb):
        ends = [max(0.0, float(end)) for end in (u.lower(), u.upper())]  # sqrt(u) is read as sqrt(max(u, 0))
        return arb(ends[0]).sqrt().union(arb(math.nextafter(ends[1], math.inf)).sqrt())
    if op in ("log", "sqrt") and not head(u) > 0:
        return u * arb(math.nan)
    need(op in ("exp", "log", "sqrt", "sin", "cos", "tan", "erf"), f"the operation {op!r} is not known here", 2)
    return getattr(u, op)()


def num(text: str) -> Any:
    return ["num", text]


RULES: dict[str, Any] = {
    "clip": lambda u, a, b: ["min", ["max", u, a], b],
    "tanh": lambda u: ["-", num("1"), ["/", num("2"), ["+", ["exp", ["*", num("2"), u]], num("1")]]],
    "sigmoid": lambda u: ["/", num("1"), ["+", num("1"), ["exp", ["neg", u]]]],
    "silu": lambda u: ["/", u, ["+", num("1"), ["exp", ["neg", u]]]],
    "softplus": lambda u: ["log", ["+", num("1"), ["exp", u]]],
    "gelu": lambda u: ["*", ["/", u, num("2")], ["+", num("1"), ["erf", ["/", u, ["sqrt", num("2")]]]]],
    "gelu_tanh": lambda u: ["*", u, ["sigmoid", ["*", ["sqrt", ["/", num("8"), ["pi"]]], ["+", u, ["*", num("0.044715"), ["^", u, num("3")]]]]]],
}


# Rounding: executed heads against exact ones, over a cell ----------------------------------------------------------


def sum_rounding(heads: Any, bias: float, a: float, b: float, u: float, tiny: float) -> float:
    """bias + heads, each head by the theorem, then the additions in any order."""
    each = [head_rounding(keys, a, b, u, tiny) for keys in heads]
    sizes = [abs(bias), *(size for _, size in each)]
    own, adds = sum(error for error, _ in each), sum(size > 0 for size in sizes) - 1
    return up((arb(own) + adds * u / (1 - adds * u) * (sum(sizes) + own)) * (1 + 1e-9))


def head_rounding(keys: Any, a: float, b: float, u: float, tiny: float) -> tuple[float, float]:
    """(|executed - phi|, |phi|) for every float in [a, b]: weights, normalisation, weighted sum, values of a self key."""
    c, most = a + (b - a) / 2, max(abs(a), abs(b))
    h = math.nextafter(max(b - c, c - a), math.inf)
    scores = [arb(s) * c + o for s, o, *_ in keys]
    top = max(float(s.mid()) for s in scores)
    e = [(s - top).exp() for s in scores]
    whole = sum(e, arb(0))
    mean = float((sum((x * k[0] for x, k in zip(e, keys, strict=True)), arb(0)) / whole).mid())
    drift = [abs(arb(k[0]) - mean) * h for k in keys]
    tilt = sum((x * (arb(k[0]) - mean) * h for x, k in zip(e, keys, strict=True)), arb(0)) / whole
    p = [min(1.0, up(x * d.exp() / whole * abs(tilt).exp())) for x, d in zip(e, drift, strict=True)]
    slips = [up(arb(2.0001 * u) * (abs(s) * most + abs(o)) + 4 * tiny) for s, o, *_ in keys]
    peak, slip = max(up(s + d) for s, d in zip(scores, drift, strict=True)), max(slips)
    etas = [up(x + arb(u) * (peak - s + d + x + slip)) for x, s, d in zip(slips, scores, drift, strict=True)]
    if max(etas) > 300:
        return math.inf, 0.0
    alpha = [math.expm1(x) * (1 + 5 * u) + 4 * u for x in etas]
    flushed = len(keys) * tiny * math.exp(2 * slip)
    moved = sum(x * y for x, y in zip(p, alpha, strict=True)) + flushed
    if moved >= 0.5:
        return math.inf, 0.0
    size = [abs(g) + abs(l) * most for *_, g, l in keys]
    gap = [
        sum(q * up(abs(arb(g) - g2 + (arb(l) - l2) * c) + abs(arb(l) - l2) * h) for q, (*_, g2, l2) in zip(p, keys, strict=True))
        for *_, g, l in keys
    ]
    share = [x * (1 + y) / (1 - moved) for x, y in zip(p, alpha, strict=True)]
    weights = (sum(x * y * z for x, y, z in zip(p, alpha, gap, strict=True)) + 2 * flushed * max(size)) / (1 - moved)
    t = tree_error(share, u)
    normal = (t + 2.0001 * u) / (1 - t)
    terms = [x * y * (1 + normal) for x, y in zip(share, size, strict=True)]
    summed = tree_error(terms, u) + u * sum(terms) + (2 * len(keys) * tiny + 2 * flushed) * max(1.0, *size)
    own = sum(3.0001 * u * x for x, k in zip(terms, keys, strict=True) if k[3] != 0)
    return (weights + normal * sum(terms) + summed + own) * (1 + 1e-9), max(x for x, q in zip(size, p, strict=True) if q > 1e-30)


def tree_error(terms: list[float], u: float) -> float:
    """Any order of additions: min over n of (n-1) u A + (sum of all but the n largest)."""
    ordered, whole, n = sorted(terms, reverse=True), math.fsum(terms), len(terms)
    return min(k * u * whole + math.fsum(ordered[k + 1 :]) for k in range(n)) * (1 + 3 * n * u + 1e-12)


# Small things ---------------------------------------------------------------------------------------------------------


def head(lane: Any) -> arb:
    return lane if isinstance(lane, arb) else lane[0]


def up(x: arb | float) -> float:
    top = float(arb(x).upper())
    return math.inf if math.isnan(top) else math.nextafter(top, math.inf)


def total(balls: list[arb]) -> arb:
    return sum((abs(x) for x in balls), arb(0))


def canonical(obj: Any) -> str:
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def substitute(tree: Any, inner: Any) -> Any:
    if tree[0] == "var":
        return inner
    return tree if tree[0] == "num" else [tree[0], *(substitute(child, inner) for child in tree[1:])]


def flat(tree: Any, sign: int = 1) -> list[str]:
    """The summands of a tree with their signs, sorted: two trees with the same list are the same sum."""
    if tree[0] in ("+", "-"):
        return sorted(flat(tree[1], sign) + flat(tree[2], sign if tree[0] == "+" else -sign))
    return flat(tree[1], -sign) if tree[0] == "neg" else [canonical([sign, tree])]


if __name__ == "__main__":
    verdict = check(sys.argv[1])
    print(verdict.reason)
    sys.exit(verdict.status)
