"""An independent checker: one file, no compiler. It proves again, from a saved file alone, what its certificate says.

    python -m headsmith.proof.checker sin3x.safetensors        exit 0 proved, 1 altered or false, 2 cannot be repeated

It shares no code with the rest: it reads tensors as exact binary fractions, derives keys from the wiring, and repeats
Taylor cells (hints, bisected where they do not suffice), rounding theorem and composition. A head with keys
(a, b, g, l) is phi(z) = sum_j p_j (g_j + l_j z), p = softmax(a_j z + b_j).
"""

# fmt: off
import json
import math
import struct
import sys
from contextlib import suppress
from functools import reduce
from hashlib import sha256
from itertools import pairwise
from operator import add, methodcaller, mul, neg, sub, truediv
from typing import Any, NamedTuple

from flint import arb, arb_poly, arb_series, ctx
from safetensors import deserialize

K, LENGTH, real = 12, 20, float.fromhex  # degree; terms that are carried (a removable 0/0 uses some up)
NODES, COSINE = [math.cos((2 * i + 1) * math.pi / 768) for i in range(384)], math.cos(K * math.pi / 767.9)
DTYPES = {"F64": ("float64", "d", 2.0**-53, 2.0**-1022), "F32": ("float32", "f", 2.0**-24, 2.0**-126)}
class Verdict(NamedTuple):
    status: int  # 0 proved, 1 altered or false, 2 cannot be repeated
    reason: str
    bound: float | None = None
class Rejected(Exception):
    """(status, reason) of a file that is not proved."""
def need(condition: Any, reason: str, status: int = 1) -> None:
    if not condition:
        raise Rejected(status, reason)

def check(path: Any) -> Verdict:
    """Prove a file again; a bad one is a verdict, not an exception."""
    before, (ctx.prec, ctx.cap) = (ctx.prec, ctx.cap), (128, LENGTH)
    try:
        with open(path, "rb") as file:
            return read(file.read())
    except Rejected as rejected:
        return Verdict(*rejected.args)
    except Exception as error:  # a malformed file may fail anywhere; nothing it does counts as a proof
        return Verdict(1, f"the file is malformed ({type(error).__name__}: {error})")
    finally:
        ctx.prec, ctx.cap = before
def read(data: bytes) -> Verdict:
    tensors = dict(deserialize(data))
    text = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["headsmith"]
    manifest = json.loads(text)
    bare, kind, proof = {k: v for k, v in manifest.items() if k != "hash"}, manifest["kind"], manifest["certificate"]
    stated = sha256(canonical(bare).encode()).hexdigest()
    need([text, stated] == [canonical(manifest), manifest["hash"]], "the manifest was altered: its hash differs")
    need((kind, proof["kind"]) == ("formula", "proved"), f"this checker repeats proofs of formulas, not of a {kind}", 2)
    whole, used = canonical(manifest["network"]).encode(), {t["dtype"] for t in tensors.values()}
    for name, t in sorted(tensors.items()):
        whole += f"{name}|{DTYPES[t['dtype']][0]}|{list(t['shape'])}|".encode() + bytes(t["data"])
    need(sha256(whole).hexdigest() == proof["weights"], "the weights were altered: their hash differs")
    dtype, code, unit, tiny = DTYPES[used.pop()]
    need(not used and dtype == proof["dtype"], "the weights are not of the dtype that the certificate names")
    numbers = {n: struct.unpack(f"<{math.prod(t['shape'])}{code}", bytes(t["data"])) for n, t in tensors.items()}
    return prove(manifest["target"], proof, *wires(manifest["network"], numbers), unit, tiny)

def prove(target: Any, proof: Any, heads: Any, bias: Any, out: str, u: float, tiny: float) -> Verdict:
    """Every part by cells, errors carried from part to part, the formula put together from the parts' targets."""
    a_said, r_said, bound = (real(proof[k]) for k in ("approximation", "rounding", "bound"))
    done, into = set[str](), dict[str, int]()
    state: dict[str, Any] = {proof["proof"][0]["input"]: (0.0, 0.0, [real(x) for x in proof["domain"]], ["var", "x"])}
    for part in proof["proof"]:
        source, name, tree, own = part["input"], part["output"], part["target"], real(part["bias"])
        mine, slope = heads.pop((source, name)), real(part["slope"])
        (lo, hi), cells, slips, roots = (list(map(real, part[k])) for k in ("domain", "cells", "rounding", "removable"))
        a_in, r_in, (low, high), inner = state[source]
        room, bias[name] = up(arb(a_in) + r_in) if a_in or r_in else 0.0, bias[name] - own
        done, into[name] = done | {source}, into.get(name, 0) + len(mine)  # how many heads were added up so far
        need(name not in done and lo <= low - room and high + room <= hi, f"{source} can leave its heads' domain")
        need(all([x[0], x[-1]] == [lo, hi] and sorted(set(x)) == x for x in (cells, slips)), "cells leave gaps")
        goal = a_said, slope if room else math.inf
        found = [cell_error(mine, own, tree, roots, ends, goal) for ends in pairwise(cells)]
        need(max(f[3] for f in found) <= goal[1], f"false: {slope:g} is no Lipschitz constant")
        a = up(max(f[0] for f in found) + arb(slope) * a_in)
        r = up(max(sum_slip(mine, own, x, y, u, tiny) for x, y in pairwise(slips)) + arb(slope) * r_in)
        span, said = [min(f[1] for f in found), max(f[2] for f in found)], substitute(tree, inner)
        if name in state:
            a0, r0, span0, said0 = state[name]
            size = sum(max(map(abs, s)) + e for s, e in ((span0, a0 + r0), (span, a + r))) + abs(own)
            a, r = up(arb(a0) + a), up(arb(r0) + r + arb(u) * into[name] * (size + r0 + r) * 1.0001)
            span, said = [span0[0] + span[0], span0[1] + span[1]], ["+", said0, said]
        state[name] = (a, r, span, said)
    need(not heads and not any(bias[name] for name in state), "some heads are not covered by the proof")
    a, r, _, said = state[out]
    need(terms(said) == terms(substitute(target, ["var", "x"])), "the proof is about another formula")
    need(a <= a_said and r <= r_said and a_said + r_said <= bound, f"false: {a:.3e} + {r:.3e} is what can be proved")
    return Verdict(0, "proved again from the stored weights", bound)

def wires(network: Any, numbers: Any) -> tuple[dict[tuple[str, str], Any], dict[str, float], str]:
    """({(input, output): heads}, {variable: bias}, what is read): only lift, residual attention, read are accepted."""
    names, (lift, *levels, last) = network["features"], network["layers"]
    n, found, written = len(names), dict[tuple[str, str], Any](), {0: -1}
    bias, spread = numbers["lift.bias"], {"kind": "select", "features": 1, "index": [0] + [-1] * (n - 1)}
    usual: Any = {"kind": "affine", "name": "lift", "map": spread, "bias": [n], "source": None}
    fixed, lone = (*bias[:2], *bias[n - 3 :]) == (0, 1, 0, 0, 0), network["tokens"] == ["input"]
    need(lift == usual and lone and fixed and len(set(names)) == n, "the network is wired oddly")
    for depth, layer in enumerate(levels):
        name, sources, count = layer["name"], [q[0] for q in layer["query"]["index"]], (layer["memory"] or [0, 0])[1]
        h, targets = len(sources), [row.index(0) for row in layer["output"]["index"]]
        seen, mask = layer["visible"], layer["memory_mask"] or [[1] * count] * h
        own, plain = [s == "self" for s in ([seen] * h if isinstance(seen, str) else seen)], "self" not in seen
        index = {"query": [[s, 1] for s in sources], "output": [[-1] * t + [0] + [-1] * (n - 1 - t) for t in targets],
                 "key": [[n - 3, n - 2] if plain else [[n - 3, 1], [n - 2, 1]]] * h,
                 "value": [[n - 1] if plain else [[n - 1, s, 1]] for s in sources]}
        usual = {k: {"kind": "select" if plain or k in ("query", "output") else "sparse",
                     "features": 1 if k == "output" else n, "index": index[k]} for k in index}
        usual |= {"kind": "attention", "name": name, "weights": "softmax", "scale": (1.0).hex(), "residual": True,
                  "visible": ["none", "self"][own[0]] if len(set(own)) == 1 else [["none", "self"][o] for o in own],
                  "memory": [h, count, n] if count else None, "memory_mask": layer["memory_mask"]}
        need(layer == usual and all(1 < t < n - 3 for t in targets), "the network is wired oddly")
        need(all(written.get(s, depth) < depth for s in sources), "a head reads what is not yet written")
        memory, keys, values = (numbers.get(f"{name}.{x}") for x in ("memory", "key.coefficient", "value.coefficient"))
        for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
            stored = [memory[(i * count + j) * n :][:n] for j in range(count) if mask[i][j]]
            need(not any(x for row in stored for x in row[: n - 3]), "a memory token is not only a key")
            need(plain or keys[4 * i] == keys[4 * i + 2] == values[3 * i] == 1, "a key is scaled")
            itself = [(keys[4 * i + 1], keys[4 * i + 3], values[3 * i + 2], values[3 * i + 1])] if own[i] else []
            mine = [*itself, *((*row[n - 3 :], 0.0) for row in stored)]
            need(mine and all(math.isfinite(x) for key in mine for x in key), "a head has no finite keys")
            found.setdefault((names[source], names[target]), []).append(mine)
        written |= dict.fromkeys(targets, depth)
    end = last["map"]["index"][0]
    usual = {**lift, "name": "read", "map": {"kind": "select", "features": n, "index": [end]}, "bias": None}
    need(last == usual, "the network is wired oddly")
    return found, dict(zip(names, bias, strict=True)), names[end]
def series_of(keys: Any, c: float, h: float) -> tuple[list[arb], arb]:
    """phi = w + N/Z on [c-h, c+h] as a polynomial in y = (z-c)/h, and a bound of the rest: any m, w, top, q will do."""
    scores = [k[0] * c + k[1] for k in keys]
    top, N, Z, tail_n, tail_z = max(scores), [arb(0)] * (K + 2), [arb(0)] * (K + 1), arb(0), arb(0)
    rough = [math.exp(max(s - top, -700.0)) for s in scores]
    m, w = (sum(map(mul, rough, y)) / sum(rough) for y in ([k[0] for k in keys], [k[2] + k[3] * c for k in keys]))
    for a, b, g, line in keys:
        term, d, v, tilt = (arb(a) * c + b - top).exp(), (arb(a) - m) * h, arb(line) * c + g - w, arb(line) * h
        for k in range(K + 1):
            Z[k], N[k], N[k + 1] = Z[k] + term, N[k] + term * v, N[k + 1] + term * tilt
            last, term = term, term * d / (k + 1)
        rest = abs(term) * abs(d).exp()
        tail_z, tail_n = tail_z + rest, tail_n + rest * (abs(v) + abs(tilt)) + abs(last * tilt)
    q = [*(arb_series(N[: K + 1], K + 1) / arb_series(Z, K + 1)).coeffs(), *[arb(0)] * K][: K + 1]
    left = total((arb_poly(N[: K + 1]) - arb_poly(q) * arb_poly(Z)).coeffs())  # Z >= Z0 exp(-|Z1|/Z0) is Jensen's
    return [q[0] + w, *q[1:]], (tail_n + tail_z * total(q) + left) / Z[0] * (abs(Z[1]) / Z[0]).exp()
def cell_error(heads: Any, bias: float, tree: Any, roots: Any, ends: Any, goal: Any, deep: int = 16) -> Any:
    """(sup |heads - f|, inf f, sup f, sup |f'|) over [a, b]; bisected where one cell does not meet the goal."""
    (c, h), series = middle(*ends), [series_of(keys, *middle(*ends)) for keys in heads]
    phi, rest = [sum(x, arb(0)) for x in zip(*(q for q, _ in series), strict=True)], sum((r for _, r in series), arb(0))
    worst, low, high, steepest, found = 0.0, math.inf, -math.inf, 0.0, branches(tree, roots, c, h)
    for f, r, derivative in found:
        error = arb_poly(phi) + bias - arb_poly(f)  # at most its largest value at the nodes / cos: Ehlich and Zeller
        values, slack = [abs(error(y)) for y in NODES], rest + r
        worst = max(worst, up(arb(max(map(up, values))) / COSINE + slack))
        low, high = min(low, -up(total(f[1:]) + r - f[0])), max(high, up(total(f[1:]) + r + f[0]))
        steepest, sure = max(steepest, up(abs(derivative) / h)), max(-up(slack - x) for x in values)
        need(len(found) > 1 or sure <= goal[0], f"false: the error exceeds {goal[0]:.3e} near {c:.6g}")
        need(len(found) > 1 or not abs(f[1]) / h > goal[1], f"false: {goal[1]:g} is no Lipschitz constant")
    if (worst <= goal[0] and steepest <= goal[1]) or not deep or not ends[0] < c < ends[1]:
        return worst, low, high, steepest
    x, y = (cell_error(heads, bias, tree, roots, half, goal, deep - 1) for half in ((ends[0], c), (c, ends[1])))
    return max(x[0], y[0]), min(x[1], y[1]), max(x[2], y[2]), max(x[3], y[3])
def branches(tree: Any, roots: list[float], c: float, h: float) -> list[tuple[list[arb], arb, arb]]:
    """(coefficients, remainder, slope ball) in y = (z-c)/h, for every branch that f may be on in [c-h, c+h]."""
    found = list[Any]()
    for root in (None, *(r for r in roots if abs(r - c) <= 8 * h)):
        starts = [arb(c, h), arb(c)] if root is None else [arb(c, h).union(arb(root)), arb(c), arb(root)]
        with suppress(ValueError):  # a divisor that may vanish
            lanes = follow(tree, [arb_series([x, h]) for x in starts])
            jets = [([point[k] for k in range(K + 1)], abs(wide[K + 1]), wide[1]) for wide, point, *_ in lanes]
            if all(x.is_finite() for f, r, _ in jets for x in (*f, r)):
                found.append((max(up(r) for _, r, _ in jets), len(found), jets))
    hull = reduce(arb.union, (ball for (ball,) in follow(tree, [arb(c, h)])))
    hull = hull if hull.is_finite() else arb(0, math.inf)  # which will be bisected
    flat = [([arb(hull.mid()), *[arb(0)] * K], arb(hull.rad()), arb(math.inf))]
    return min([*found, (up(hull.rad()), len(found), flat)])[2]
def follow(tree: Any, x: list[Any]) -> list[list[Any]]:
    """The tree on these lanes (wide: over the cell, point: at c, root: at a 0/0), for each choice of open branches."""
    found, waiting = [], [dict[str, bool]()]
    while waiting:
        choices = waiting.pop()
        try:
            found.append(value(tree, x, choices))
        except KeyError as fork:
            waiting += [{**choices, fork.args[0]: True}, {**choices, fork.args[0]: False}]
        need(len(found) + len(waiting) <= 64, "too many branches meet in one cell", 2)
    return found
def value(tree: Any, x: list[Any], choices: dict[str, bool]) -> list[Any]:
    op, *args = tree
    if op == "var":
        return x
    if op in ("num", "pi", "e"):
        number = arb(args[0]) if args else arb.pi() if op == "pi" else arb.const_e()
        return [number if isinstance(lane, arb) else arb_series([number]) for lane in x]
    if op in RULES:
        return value(RULES[op](*args), x, choices)
    kids, ball = [value(arg, x, choices) for arg in args], isinstance(x[0], arb)
    if op in ("max", "min"):
        gap = first(kids[0][0]) - first(kids[1][0])  # where its sign is open, a missing choice forks the evaluation
        return kids[(choices[canonical(args)] if not (gap >= 0 or gap <= 0) else bool(gap >= 0)) != (op == "max")]
    if op == "^" and args[1][0] == "num" and float(args[1][1]).is_integer():
        n = int(float(args[1][1]))
        return [u**n if not ball else math.prod([u] * n) if n >= 0 else 1 / math.prod([u] * -n) for u in kids[0]]
    for t, log, u in zip(args, args[::-1], kids, strict=True):
        if ball and op == "*" and log == ["log", t] and up(u[0]) < 0.36:  # t log t falls from 0 to its value at the end
            return [arb(0).union(arb(up(u[0])) * arb(up(u[0])).log())]
    if op == "/" and len(x) == 3 and first(kids[1][0]).contains(0):
        m = next((k for k in range(LENGTH) if not kids[1][2][k].is_zero()), 0)
        if m and all(kids[0][2][k].is_zero() for k in range(m)):  # coefficients of u/(z-r) are means of shifted ones
            at_root = kids[1][1][0].is_zero()
            kids = [[arb_series(list(u)[m:], u.prec - m) if i != 1 or at_root else u for i, u in enumerate(k)]
                    for k in kids]
    return [OPERATIONS[op](*lane) for lane in zip(*kids, strict=True)]
def power(u: Any, v: Any) -> Any:
    """u^v; in one ball u is read as max(u, 0), so that a root can be enclosed where it starts."""
    if not isinstance(u, arb) or u > 0:
        return (v * u.log()).exp()
    return arb(0).union((v * arb(up(u)).log()).exp()) if v > 0 and up(u) > 0 else arb(math.nan)
ONE, TWO = ["num", "1"], ["num", "2"]
OPERATIONS: dict[str, Any] = {
    "neg": neg, "+": add, "-": sub, "*": mul, "/": truediv, "^": power,
    "sqrt": lambda u: power(u, arb(0.5)) if isinstance(u, arb) else u.sqrt(),
    **{name: methodcaller(name) for name in ("exp", "log", "sin", "cos", "tan", "erf")}}
RULES: dict[str, Any] = {
    "abs": lambda u: ["max", u, ["neg", u]], "relu": lambda u: ["max", u, ["num", "0"]],
    "clip": lambda u, a, b: ["min", ["max", u, a], b], "silu": lambda u: ["*", u, ["sigmoid", u]],
    "softplus": lambda u: ["log", ["+", ONE, ["exp", u]]],
    "tanh": lambda u: ["-", ONE, ["/", TWO, ["+", ["exp", ["*", TWO, u]], ONE]]],
    "sigmoid": lambda u: ["/", ONE, ["+", ONE, ["exp", ["neg", u]]]],
    "gelu": lambda u: ["*", ["/", u, TWO], ["+", ONE, ["erf", ["/", u, ["sqrt", TWO]]]]],
    "gelu_tanh": lambda u: ["*", u, ["sigmoid", ["*", ["sqrt", ["/", ["num", "8"], ["pi"]]],
                            ["+", u, ["*", ["num", "0.044715"], ["^", u, ["num", "3"]]]]]]]}
def sum_slip(heads: Any, bias: float, a: float, b: float, u: float, tiny: float) -> float:
    """Rounding of bias + heads over [a, b]: each head by the theorem, then the additions in any order."""
    errors, sizes = zip(*(slip(keys, a, b, u, tiny) for keys in heads), strict=True)
    own, adds = sum(errors), len(heads) - 1 + (bias != 0)
    return own if own == math.inf else (own + adds * u / (1 - adds * u) * (abs(bias) + sum(sizes) + own)) * (1 + 1e-9)
def slip(keys: Any, a: float, b: float, u: float, tiny: float) -> tuple[float, float]:
    """(|executed - phi|, |phi|) on [a, b]: weights, normalisation, weighted sum, the value of a key that is itself."""
    (c, h), far, s = middle(a, b), max(abs(a), abs(b)), [arb(k[0]) * (a + (b - a) / 2) + k[1] for k in keys]
    e, n = [(x - max(float(y.mid()) for y in s)).exp() for x in s], len(keys)
    z, m = sum(e, arb(0)), float((sum((x * k[0] for x, k in zip(e, keys, strict=True)), arb(0)) / sum(e, arb(0))).mid())
    d = [(arb(k[0]) - m) * h for k in keys]
    lift = abs(sum((x * y for x, y in zip(e, d, strict=True)), arb(0)) / z).exp() / z
    p = [min(1.0, up(x * abs(y).exp() * lift)) for x, y in zip(e, d, strict=True)]  # p_j(z) <= p_j over the cell
    ds = [2.0001 * u * (abs(k[0]) * far + abs(k[1])) + 4 * tiny for k in keys]
    peak = max(up(x + abs(y)) for x, y in zip(s, d, strict=True))
    eta = [up(t + arb(u) * (peak - x + abs(y) + t + max(ds))) for x, y, t in zip(s, d, ds, strict=True)]
    alpha = [math.expm1(min(x, 400.0)) * (1 + 5 * u) + 4 * u for x in eta]
    flush = n * tiny * math.exp(min(2 * max(ds), 600))
    moved = sum(x * y for x, y in zip(p, alpha, strict=True)) + flush
    if not moved < 0.5:
        return math.inf, 0.0
    size = [abs(k[2]) + abs(k[3]) * far for k in keys]
    gap = [sum(q * up(abs(arb(k[2]) - j[2] + (arb(k[3]) - j[3]) * c) + abs(arb(k[3]) - j[3]) * h)
               for q, j in zip(p, keys, strict=True)) for k in keys]
    weights = (sum(map(math.prod, zip(p, alpha, gap, strict=True))) + 2 * flush * max(size)) / (1 - moved)
    share = [x * (1 + y) / (1 - moved) for x, y in zip(p, alpha, strict=True)]
    normal = (t + 2.0001 * u) / (1 - t) if (t := any_order(share, u)) < 0.5 else 1e300
    parts = [x * y * (1 + normal) for x, y in zip(share, size, strict=True)]
    added = any_order(parts, u) + u * sum(parts) + 2 * (n * tiny + flush) * max(1.0, *size)
    itself = 1.0002 * u * sum(x * ((math.frexp(k[3])[0] not in (0.5, -0.5)) + (k[2] != 0))
                              for x, k in zip(parts, keys, strict=True) if k[3] != 0)
    most = max(x for x, q in zip(size, p, strict=True) if q > 1e-30) + 1e-25 * max(size)
    return (weights + normal * sum(parts) + added + itself) * (1 + 1e-9), most
def any_order(x: list[float], u: float) -> float:
    """|computed - exact sum|, any bracketing: min over n of (n-1) u A + (the sum of all but the n largest)."""
    x, whole = sorted(x, reverse=True), math.fsum(x)
    return min(k * u * whole + math.fsum(x[k + 1 :]) for k in range(len(x))) * (1 + 3 * len(x) * u + 1e-12)
def middle(a: float, b: float) -> tuple[float, float]:
    c = a + (b - a) / 2
    return c, math.nextafter(max(b - c, c - a), math.inf)
def first(lane: Any) -> arb:
    return lane if isinstance(lane, arb) else lane[0]
def up(x: Any) -> float:
    top = float(arb(x).upper())
    return math.inf if math.isnan(top) else math.nextafter(top, math.inf)
def total(balls: list[arb]) -> arb:
    return sum((abs(x) for x in balls), arb(0))
def canonical(obj: Any) -> str:
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
def substitute(tree: Any, inner: Any) -> Any:
    op, *args = tree
    return inner if op == "var" else tree if op == "num" else [op, *(substitute(arg, inner) for arg in args)]
def terms(tree: Any, sign: int = 1) -> list[str]:
    """The summands with their signs, sorted: trees with the same list are the same sum."""
    if tree[0] in ("+", "-"):
        return sorted(terms(tree[1], sign) + terms(tree[2], sign if tree[0] == "+" else -sign))
    return terms(tree[1], -sign) if tree[0] == "neg" else [canonical([sign, tree])]

if __name__ == "__main__":
    verdict = check(sys.argv[1])
    sys.exit(print(verdict.reason) or verdict.status)
