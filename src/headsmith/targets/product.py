"""X -> A X B by softmax alone (softmax-universality, Lemma I.1): attention whose weights are a given matrix.

Paper (tokens are columns, strictly positive B):  W_V = S [A 0],  W_Q = [0 I],  W_K = [0 ln B^T, ln(S 1 - s)],  s
the column sums of B. Here: token r carries a one-hot position, its key is row r of ln B, the query of token j picks
entry j, so the score is ln B_rj, stored, not computed. A null token takes the weight S - s_j that is left over,
with value 0.

The footnote's B = B+ - B- for signed B takes the logarithm of zero. A floor repairs it: B = (B+ + c) - (B- + c),
two heads, the second with -A in its value. c is small against B: it costs scores, which are exact, and not weight,
which is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from flint import arb
from numpy.typing import NDArray
from torch import Tensor

from headsmith.compiler.compiled import Compiled, accept, fingerprint
from headsmith.compiler.plan import Plan, bound_text, many
from headsmith.compiler.requests import read_domain, read_dtype, read_eps, read_method
from headsmith.functions import precision
from headsmith.network import Affine, Attention, Dense, Network, Select, from_config
from headsmith.proof.cells import up
from headsmith.proof.certificate import SLACK, Certificate
from headsmith.proof.rounding import EXP_ERROR, FORMATS, INFLATE, Format, gamma, tree
from headsmith.records.shown import number, upper
from headsmith.refusal import Refusal
from headsmith.targets.formula import check_domain
from headsmith.targets.kinds import Product

Matrix = NDArray[np.float64]

LARGEST = 400_000
"""Products A_ik B_rj that the proof goes through in balls."""
FLOOR = 2.0**-10


@dataclass(frozen=True, eq=False)
class Mixture:
    """What the layer stores: log weights (heads, tokens + null, columns) and value matrices (heads, rows, features)."""

    logs: Matrix
    values: Matrix

    def cast(self, dtype: str) -> Mixture:
        return Mixture(*(x.astype(dtype).astype(np.float64) for x in (self.logs, self.values)))


def mixture(A: Matrix, B: Matrix, floor: float = FLOOR, share: float = 1.125) -> Mixture:
    """Lemma I.1 for A and B: S = share max s, and a floor (relative to max|B|) where B is not of one sign.

    As printed: share = 3 and no floor, so that B must be positive.
    """
    parts, signs = signed(B, floor)
    total = share * max(float(part.sum(0).max()) for part in parts)
    logs, values = [], []
    for part, sign in zip(parts, signs, strict=True):
        with np.errstate(divide="ignore"):
            logs.append(np.log(np.concatenate([part, total - part.sum(0, keepdims=True)])))
        values.append(sign * total * A)
    return Mixture(np.stack(logs), np.stack(values))


def signed(B: Matrix, floor: float) -> tuple[list[Matrix], list[float]]:
    """B as positive matrices with signs: itself, or (B+ + c) and (B- + c)."""
    if (B > 0).all() or (B < 0).all():
        return [np.abs(B)], [float(np.sign(B.flat[0]))]
    c = floor * (float(np.abs(B).max()) or 1.0)
    return [np.maximum(B, 0) + c, np.maximum(-B, 0) + c], [1.0, -1.0]


def product_network(stored: Mixture, dtype: torch.dtype) -> Network:
    """Lift with positions, one attention layer, read."""
    heads, rows, d = stored.values.shape
    n, m = stored.logs.shape[1] - 1, stored.logs.shape[2]
    count = max(n, m)
    features = [*(f"x.{i}" for i in range(d)), *(f"position.{i}" for i in range(count)), "null"]
    width = len(features)
    bias = torch.zeros(count, width, dtype=dtype)
    bias[:, d : d + count] = torch.eye(count, dtype=dtype)
    key = torch.zeros(heads, m, width, dtype=torch.float64)
    key[:, :, d : d + n] = torch.from_numpy(stored.logs[:, :n]).mT
    key[:, :, -1] = torch.from_numpy(stored.logs[:, n])
    value = torch.zeros(heads, rows, width, dtype=torch.float64)
    value[:, :, :d] = torch.from_numpy(stored.values)
    null = torch.zeros(1, width, dtype=dtype)
    null[0, -1] = 1.0
    seen = torch.zeros(count, count, dtype=torch.bool)
    seen[:, :n] = True
    attention = Attention(
        Select([[*range(d, d + m)]] * heads, width),
        Dense(key.to(dtype)),
        Dense(value.to(dtype)),
        Select.writing([[*range(rows)]] * heads, rows),
        visible="all" if n == count else seen,
        memory=null,
    )
    lift = Affine(Select([*range(d), *[-1] * (width - d)], features=d), bias, [*range(n), *[-1] * (count - n)])
    read = Affine(Select([*range(rows)], features=rows), None, range(m))
    return Network(
        {"lift": lift, "mix": attention, "read": read}, tokens=[f"token.{i}" for i in range(n)], features=features
    )


def stored_mixture(network: Network) -> Mixture:
    """The numbers that the layer really holds; refused if the rest of it is not this construction."""
    layer: Any = network.layers["mix"]
    lift: Any = network.layers["lift"]
    key, value = (m.weight.detach().cpu().double().numpy() for m in (layer.key, layer.value))
    n, d = len(network.inputs), lift.width_in
    found = Mixture(np.concatenate([key[:, :, d : d + n], key[:, :, -1:]], -1).transpose(0, 2, 1), value[:, :, :d])
    rebuilt = product_network(found, network.dtype)
    same = rebuilt.config() == network.config() and all(
        torch.equal(a, b.cpu()) for a, b in zip(rebuilt.tensors().values(), network.tensors().values(), strict=True)
    )
    if not same:
        raise Refusal("the stored network is not the product construction: nothing can be proved of it")
    return found


def prove_product(stored: Mixture, A: Matrix, B: Matrix, radius: float, fmt: Format) -> tuple[float, float]:
    """(approximation, rounding) of every entry, for |X| <= radius.

    The weights do not depend on X: what the layer computes exactly is sum_h V_h X P_h, and the difference from A X B is
    a sum over entries of X with known coefficients, enclosed in balls.
    """
    heads, rows, d = stored.values.shape
    n, m = B.shape
    with precision(128):
        weights = [[_softmax(stored.logs[h, :, j]) for j in range(m)] for h in range(heads)]
        worst = arb(0)
        for i in range(rows):
            for j in range(m):
                total = arb(0)
                for k in range(d):
                    for r in range(n):
                        ours = sum((arb(stored.values[h, i, k]) * weights[h][j][r] for h in range(heads)), arb(0))
                        total += abs(ours - arb(A[i, k]) * arb(B[r, j]))
                worst = worst.max(total)
        approximation = up(worst * radius)
        shares = np.array([[[up(w) for w in column] for column in head] for head in weights])
    rounding = 0.0
    for j in range(m):
        slips = [_mix_rounding(stored.logs[h, :, j], shares[h, j], fmt) for h in range(heads)]
        for i in range(rows):
            sizes = [float(np.abs(stored.values[h, i]).sum()) * radius * INFLATE for h in range(heads)]
            own = sum(size * (slip + 2 * gamma(d, fmt.unit)) for size, slip in zip(sizes, slips, strict=True))
            addition = gamma(heads - 1, fmt.unit) * (sum(sizes) + own) if heads > 1 else 0.0
            rounding = max(rounding, (own + addition) * INFLATE)
    return approximation, rounding


def _softmax(logs: Matrix) -> list[arb]:
    top = float(logs.max())
    terms = [(arb(x) - top).exp() for x in logs.tolist()]
    whole = sum(terms, arb(0))
    return [t / whole for t in terms]


def _mix_rounding(logs: Matrix, weights: Matrix, fmt: Format) -> float:
    """Relative to the largest |value|: exact scores, exp within 2 ulp, then division and weighted sum in any order."""
    u = fmt.unit
    alphas = np.expm1(u * (logs.max() - logs) * INFLATE) * (1 + EXP_ERROR * u) + EXP_ERROR * u
    count = len(logs)
    flushed = count * fmt.tiny
    moved = float(weights @ alphas) + flushed
    share = weights * (1 + alphas) / (1 - moved)
    t = tree(share, u, count)
    normal = (t + gamma(2, u)) / (1 - t)
    whole = share * (1 + normal)
    mean = (2 * float(weights @ alphas) + 2 * flushed) / (1 - moved)
    return (mean + normal + tree(whole, u, count) + u * float(whole.sum()) + 4 * flushed) * INFLATE


@dataclass(frozen=True, repr=False)
class ProductPlan(Plan):
    A: Matrix
    B: Matrix
    stored: Mixture | None

    def rows(self) -> list[tuple[str, str]]:
        (rows, d), (n, m) = self.A.shape, self.B.shape
        lo, hi = self.domain
        return [
            ("map", f"X ({d} x {n}) -> A X B ({rows} x {m})"),
            ("domain", f"entries in [{number(lo, 6)}, {number(hi, 6)}], {self.dtype}"),
            ("method", f"{self.method}, attention weights that are a matrix (Lemma I.1)"),
            ("size", f"{many(self.heads, 'head')}, {many(n, 'token')} and a null token, 1 layer"),
            ("bound", bound_text(self.approximation, self.rounding)),
            ("asked", f"eps = {number(self.eps)}"),
        ]

    def build(self) -> ProductNetwork:
        assert self.stored is not None
        built = product_network(self.stored, getattr(torch, self.dtype))
        return ProductNetwork(built, self, _certificate(self, self.approximation, self.rounding, fingerprint(built)))


class ProductNetwork(Compiled):
    """net(X) = A X B within the certificate's bound, for X (..., features, tokens) with entries in the domain."""

    kind = "product"
    plan: ProductPlan

    def encode(self, x: Tensor) -> Tensor:
        """(..., features, tokens) -> (..., tokens, features)."""
        return x.mT

    def decode(self, tokens: Tensor) -> Tensor:
        return tokens.mT

    def forward(self, x: Any) -> Tensor:
        x = accept(x, self.dtype, next(self.network.parameters()).device)
        shape = (self.plan.A.shape[1], self.plan.B.shape[0])
        if x.shape[-2:] != shape:
            raise Refusal(f"X must have shape (..., {shape[0]}, {shape[1]}), features by tokens, not {tuple(x.shape)}")
        check_domain(x, self.plan.domain)
        return self.decode(self.network(self.encode(x)))

    def reprove(self) -> Certificate:
        """The proof once more, from the stored numbers."""
        plan = self.plan
        radius = max(map(abs, plan.domain))
        found = prove_product(stored_mixture(self.network), plan.A, plan.B, radius, FORMATS[plan.dtype])
        return _certificate(plan, found[0] * SLACK, found[1] * SLACK, fingerprint(self.network))

    def extra_manifest(self) -> dict[str, Any]:
        plan = self.plan
        exact = {name: [[x.hex() for x in row] for row in M.tolist()] for name, M in (("A", plan.A), ("B", plan.B))}
        return {"eps": plan.eps.hex(), "method": plan.method, **exact}


def _certificate(plan: ProductPlan, approximation: float, rounding: float, weights: str) -> Certificate:
    lo, hi = plan.domain
    return Certificate(
        approximation=approximation,
        rounding=rounding,
        kind="proved",
        statement=f"|network(X) - A X B| <= bound in every entry, for every {plan.dtype} X with entries in "
        f"[{number(lo, 6)}, {number(hi, 6)}]",
        domain=plan.domain,
        dtype=plan.dtype,
        weights=weights,
    )


def plan_product(
    target: Product, *, eps: Any, domain: Any = None, dtype: Any = "float64", method: str = "auto"
) -> ProductPlan:
    """The plan for X -> A X B; without a domain the entries of X lie in [-1, 1] (the error grows in proportion)."""
    eps, dtype, method = read_eps(eps), read_dtype(dtype), read_method(method, ("auto", "printed"))
    domain = read_domain((-1, 1) if domain is None else domain, dtype)
    A, B = (_matrix(name, M) for name, M in (("A", target.A), ("B", target.B)))
    if A.size * B.size > LARGEST:
        raise Refusal(
            f"A X B with A {A.shape[0]} x {A.shape[1]} and B {B.shape[0]} x {B.shape[1]} has "
            f"{A.size * B.size} coefficients "
            f"to prove: up to {LARGEST} can be had; compile blocks of rows of A"
        )
    if method == "printed" and not ((B > 0).all() or (B < 0).all()):
        raise Refusal(
            "Lemma I.1 as printed takes the logarithm of every entry of B, and some are not "
            "positive: method='auto' adds a floor"
        )
    stored = (mixture(A, B, 0.0, 3.0) if method == "printed" else mixture(A, B)).cast(dtype)
    approximation, rounding = prove_product(stored, A, B, max(map(abs, domain)), FORMATS[dtype])
    plan = ProductPlan(
        target="X -> A X B",
        domain=domain,
        eps=eps,
        dtype=dtype,
        method=method,
        anchors=len(stored.logs) * stored.logs.shape[1],
        heads=len(stored.logs),
        layers=1,
        approximation=approximation * SLACK,
        rounding=rounding * SLACK,
        printed_anchors=B.shape[0] + 1.0,
        A=A,
        B=B,
        stored=stored,
    )
    if plan.bound > eps:
        raise Refusal(
            f"A X B within {number(eps)} in {dtype} for entries in [{domain[0]:g}, {domain[1]:g}] "
            "cannot be certified: rounding "
            f"and stored logarithms cost up to {upper(plan.bound)}; eps = {upper(plan.bound)} can be had"
        )
    return plan


def _matrix(name: str, M: Any) -> Matrix:
    try:
        found = np.asarray(M.detach().cpu() if isinstance(M, Tensor) else M, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refusal(f"{name} must be a matrix of numbers") from None
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise Refusal(f"{name} must be a matrix of finite numbers, not of shape {found.shape}")
    return found


def load_product(manifest: dict[str, Any], tensors: dict[str, Tensor]) -> ProductNetwork:
    certificate = Certificate.from_record(manifest["certificate"])
    built = from_config(manifest["network"], tensors)
    A, B = (np.array([[float.fromhex(x) for x in row] for row in manifest[name]]) for name in "AB")
    heads = built.layers["mix"].heads
    plan = ProductPlan(
        target="X -> A X B",
        domain=certificate.domain,
        eps=float.fromhex(manifest["eps"]),
        dtype=certificate.dtype,
        method=manifest["method"],
        anchors=heads * (B.shape[0] + 1),  # type: ignore[operator]
        heads=heads,  # type: ignore[arg-type]
        layers=1,
        approximation=certificate.approximation,
        rounding=certificate.rounding,
        printed_anchors=B.shape[0] + 1.0,
        A=A,
        B=B,
        stored=None,
    )
    net = ProductNetwork(built, plan, certificate)
    assert net.certificate is certificate  # raises StaleCertificate if a tensor was altered
    return net
