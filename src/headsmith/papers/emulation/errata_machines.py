"""Statements of algorithm-emulation about frozen machines that do not run as printed: layouts, Hopfield layers."""

from __future__ import annotations

import math

import torch

from headsmith.machines.attention import Attention
from headsmith.machines.bounds import a_priori
from headsmith.machines.hopfield import Gradients
from headsmith.machines.lattices import best_lattice, printed
from headsmith.machines.layouts import EveryToken, FeatureRows
from headsmith.machines.prompts.heads import HeadProgram, head
from headsmith.network import Attention as Softmax
from headsmith.network import Select
from headsmith.papers.emulation.table_4 import HALF, squared_error
from headsmith.papers.errata import Evidence, erratum
from headsmith.proof.rounding import FORMATS

PAPER = "algorithm-emulation"


def _example(tokens: int, features: int, rows: int, radius: float = 1.0) -> tuple[HeadProgram, torch.Tensor]:
    """A random head that fills [-radius, radius]."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(tokens, features, dtype=torch.float64, generator=g)
    w = [torch.randn(rows, features, dtype=torch.float64, generator=g) for _ in range(3)]
    k, q, v = (m * (0.999 * radius / float((x @ m.mT).abs().max())) for m in w)
    return head(k, q, v), x


def _read_error(*faults: str, heads: int = 12) -> float:
    program, x = _example(8, 3, 2)
    exact = torch.cat([x @ w.mT for w in program.weights], -1)
    return float((EveryToken(3, 2, 8, 1.0, heads, faults).read(program, x) - exact).abs().max())


@erratum(
    PAPER, "Thm D.1", printed="sentinels of value 0, grid up to b", repair="outermost sentinels keep L_0 and L_(p-1)",
    where="machines/layouts.py",
)  # fmt: skip
def ends() -> Evidence:
    """2 on [-2, 2] comes back as 0."""
    program = head(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    x = torch.linspace(-2.0, 2.0, 8, dtype=torch.float64)[:, None]
    printed = abs(float(EveryToken(1, 1, 8, 2.0, 16, ("ends",)).read(program, x)[-1, 0]) - 2.0)
    repaired = abs(float(EveryToken(1, 1, 8, 2.0, 16).read(program, x)[-1, 0]) - 2.0)
    return printed, repaired, printed > 1.9, repaired < 0.05


@erratum(
    PAPER, "Thm 4.1, A", printed="third block K E: keys shifted twice", repair="third block E",
    where="machines/layouts.py",
)  # fmt: skip
def double_shift() -> Evidence:
    """K, Q, V are off by as much as they are large."""
    printed, repaired = _read_error("double shift", "ends"), _read_error()
    return printed, repaired, printed > 0.5, repaired < 0.02


@erratum(
    PAPER, "Thm 4.1, E", printed="offset d ceil(h/H): the next row's weights", repair="offset d (row - 1)",
    where="machines/layouts.py",
)  # fmt: skip
def offset() -> Evidence:
    printed, repaired = _read_error("offset", "ends"), _read_error()
    return printed, repaired, printed > 0.5, repaired < 0.02


@erratum(
    PAPER, "Lemma D.3", printed="Attn o A is an attention for any linear A (the proof multiplies Z from the left)",
    repair="for a token-wise A: W_K A, W_Q A, W_V A", where="network/attention.py",
)  # fmt: skip
def any_linear_map() -> Evidence:
    """A(z_1, z_2) = (z_1, z_1), followed by the attention that returns its token: z_2 must not matter.

    An attention w_V (p_1 z_1 + p_2 z_2) with softmax weights, its columns summed by any u, gives at z_1 = 0 for the
    query 0 z_2/2 and for the query z_2 z_2 sigmoid(m z_2^2). Their sum with u vanishes for all z_2 only if m = 0 or
    u = 0, and then z_1 is not returned either: the best (u w_V) for each m is a least squares problem.
    """
    z = torch.linspace(-2.0, 2.0, 41, dtype=torch.float64)
    pairs = torch.cartesian_prod(z, z)
    missed = []
    for m in (-10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0):
        weights = torch.softmax(m * pairs[:, :, None] * pairs[:, None, :], 1)
        columns = (pairs[:, :, None] * weights).sum(1)
        best = torch.linalg.lstsq(columns, pairs[:, :1], driver="gelsd").solution
        missed.append(float((columns @ best - pairs[:, :1]).abs().max()))
    rows = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    one = Select([[0, 1]], 4)
    plain = Softmax(one, one, Select([[2, 3]], 4), Select.writing([[0, 1]], 2))
    x = torch.linspace(-1, 1, 30, dtype=torch.float64).reshape(6, 5)
    repaired = float((plain.after(rows)(x) - plain(x @ rows.mT)).abs().max())
    return min(missed), repaired, min(missed) > 0.5, repaired < 1e-12


@erratum(
    PAPER, "(D.46)", printed="|1 - e^x| <= 1 - e^-D for |x| <= D", repair="e^D - 1, or range(V) tanh(D/2)",
    where="machines/bounds.py",
)  # fmt: skip
def exponential() -> Evidence:
    """x = D = 1: the left side is 1.72, the printed right side 0.63."""
    left, printed, repaired = math.e - 1, 1 - math.exp(-1), math.expm1(1)
    return printed, repaired, left > printed, left <= repaired


@erratum(
    PAPER, "Thm 4.2, beta", printed="one beta for the grid and for the program", repair="the grid has its own",
    where="machines/layouts.py",
)  # fmt: skip
def one_beta() -> Evidence:
    """A program of sharpness 1 on the proof's grid for eps1 = 0.1: beta = 1 blurs it, whatever the number of keys."""
    program, x = _example(6, 3, 6, 2.0)
    exact = program.reference(x)
    steps, _ = printed(2.0, 0.1)
    one = float((FeatureRows(3, 6, 2.0, steps, beta=1.0, scale=1.0)(program, x) - exact).abs().max())
    _, h, kappa = best_lattice(2.0, 12)
    own = float((FeatureRows(3, 6, 6 * h, 12, kappa / (h * h))(program, x) - exact).abs().max())
    return one, own, one > 0.1, own < 1e-4


@erratum(
    PAPER, "Thm 4.2, beta, bound", printed="sufficient conditions on beta in both layers", repair="two betas",
    where="machines/lattices.py",
)  # fmt: skip
def no_common_beta() -> Evidence:
    """Layer 1 wants beta >= (16/3) ln(.)/eps1^2, layer 2 eps1 <= c/beta: the best product is above 1 for every eps1."""
    radius, d_h, share = 2.0, 12, 0.5

    def excess(eps1: float) -> float:
        beta = 16 / 3 * math.log(4 * 4 * radius * radius / eps1**2) / eps1**2
        allowed = math.log1p(share / 2) / (beta * d_h * (2 * radius + 1))
        return eps1 / allowed

    best = min(excess(10.0**-k) for k in range(0, 9))
    own = a_priori(1e-4, radius, d_h, 12, FORMATS["float64"])[0]
    return best, own, best > 1, own < share


@erratum(
    PAPER,
    "Cor 4.2.1",
    printed="sum_j Attn_s(Attn_j(.))",
    repair="Attn_s(sum_j Attn_j(.))",
    where="machines/attention.py",
)
def misplaced_sum() -> Evidence:
    """The softmax needs all rows of K, Q, V at once: summing softmax layers of single rows is another function."""
    program, x = _example(6, 3, 4, 1.5)
    exact = program.reference(x)
    rows = torch.zeros_like(exact)
    for j in range(12):
        parts = [torch.zeros_like(w) for w in program.weights]
        parts[j // 4][j % 4] = program.weights[j // 4][j % 4]
        rows = rows + head(parts[0], parts[1], parts[2]).reference(x)
    printed = float((rows - exact).abs().max())
    vm = Attention(3, 4, 6, 1.5, 1e-6)
    repaired = float((vm(program, x).value - exact).abs().max())
    return printed, repaired, printed > 0.1, repaired <= 1e-6


def _gradients(*faults: str) -> float:
    x = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).clamp(-1, 1)
    y = torch.tensor([-8.0, 8.0, 0.0, 5.0, -5.0, 3.0], dtype=torch.float64)
    w = torch.tensor([1.0, -0.5, 0.25], dtype=torch.float64)
    layer = Gradients("x", 3, 6, 12.0, 1.0, 1e-3, steps=48, faults=faults)
    return float((layer(x, y, w).value - (x @ w - y)[:, None] * x).abs().max())


@erratum(
    PAPER, "Thm E.2, sign", printed="-1 meets -L^2: far grid points win", repair="+1", where="machines/hopfield.py"
)
def hopfield_sign() -> Evidence:
    printed, repaired = _gradients("sign"), _gradients()
    return printed, repaired, printed > 1, repaired < 0.3


@erratum(
    PAPER, "Thm E.2, C", printed="C = 2 d B^2 + B - ln eps0", repair="C from the range of the scores",
    where="machines/hopfield.py",
)  # fmt: skip
def hopfield_constant() -> Evidence:
    """On residuals up to 12 the state reads another sample."""
    printed, repaired = _gradients("constant"), _gradients()
    return printed, repaired, printed > 1, repaired < 0.3


@erratum(
    PAPER, "Table 4", printed="interval +-d B^2 (proof), d = 4 or 24", repair="half-width 20, d = 4, float32",
    where="papers/emulation/table_4.py",
)  # fmt: skip
def interval() -> Evidence:
    """Mean squared error at P = 80, printed as 5e-14: the interval of the proof gives 1e-2."""
    found = [squared_error(half, 80, torch.float32, samples=2) for half in (None, HALF)]
    return found[0], found[1], found[0] > 1e-6, found[1] < 1e-12
