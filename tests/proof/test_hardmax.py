"""The proof that no hardmax layer tells two sequences apart: it agrees with layers that are run, and sees forgeries."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from headsmith.proof.hardmax import Hulls, hard_mean, mean, nearest_solution, points
from headsmith.search.hull import mixture

LINE = [[1.0, 2, 5, 6], [1.0, 3, 4, 6]]
CORNERS = [[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
SOLID = [[*CORNERS, [1.0, 2, 2], [3, 2, 2]], [*CORNERS, [2.0, 1, 1], [2, 3, 3]]]


def proved(pair, shared):
    first, second, s = (points(np.array(x, dtype=float).reshape(len(x), -1)) for x in (*pair, shared))
    mixtures = {x: mixture(x, s) for x in dict.fromkeys([*first, *second]) if x not in s}
    return Hulls(first, second, s, {x: weights for x, weights in mixtures.items() if weights})


def executed(pair, draw, ties):
    """Outputs of a random layer at the first token of both, which is shared; a third of its heads have W_K = 0."""
    A, B = (np.array(x, dtype=float).reshape(len(x), -1) for x in pair)
    outputs = [A[0].copy(), B[0].copy()]
    for _ in range(draw.integers(1, 9)):
        W = draw.normal(size=(A.shape[1],) * 2) * (draw.random() > 0.3)
        value = draw.normal(size=(A.shape[1],) * 2)
        for k, X in enumerate((A, B)):
            scores = X @ W @ X[0]
            top = np.flatnonzero(scores == scores.max())
            outputs[k] += value @ X[top if ties == "mean" else top[0]].reshape(-1, X.shape[1]).mean(0)
    return np.abs(outputs[0] - outputs[1]).max()


@pytest.mark.parametrize(("pair", "shared"), [(LINE, [1, 6]), (SOLID, CORNERS)], ids=["line", "tetrahedron"])
@pytest.mark.parametrize("ties", ["mean", "first"])
def test_no_random_layer_tells_a_proved_pair_apart(pair, shared, ties):
    proof = proved(pair, shared)
    assert proof.holds() and proof.holds_for_first_ties()
    draw = np.random.default_rng(0)
    assert max(executed(pair, draw, ties) for _ in range(200)) < 1e-12


def test_the_printed_pair_is_told_apart_by_averaging():
    """Theorem 1 as printed: a1 < a2 < a3 < a4 on a line, and a head with W_K = 0."""
    pair = [[1.0, 2, 4], [1.0, 3, 4]]
    assert not proved(pair, [1, 4]).holds()
    draw = np.random.default_rng(0)
    assert max(executed(pair, draw, "mean") for _ in range(200)) > 0.5
    assert max(executed(pair, draw, "first") for _ in range(200)) < 1e-12


def test_a_token_outside_is_no_mixture():
    """1 and 6 are 4/3 of 2 - 1/3 of 5, and so on: weights that sum to 1, but not all of them positive."""
    first, second, shared = (points(np.array(x)[:, None]) for x in ([2.0, 5, 1, 6], [2.0, 5, 0, 7], [2.0, 5]))
    weights = {x: ((5 - x[0]) / 3, (x[0] - 2) / 3) for x in {*first, *second} - {*shared}}
    assert not Hulls(first, second, shared, weights).holds()


def test_first_ties_need_one_order_and_one_beginning():
    swapped = [CORNERS[k] for k in (0, 2, 1, 3)]
    assert proved([SOLID[0], [*swapped, *SOLID[1][4:]]], CORNERS).holds()
    assert not proved([SOLID[0], [*swapped, *SOLID[1][4:]]], CORNERS).holds_for_first_ties()
    assert not proved([LINE[0], LINE[1][::-1]], [1, 6]).holds_for_first_ties()
    assert not proved([[2.0, 1, 5, 6], [3.0, 1, 4, 6]], [1, 6]).holds_for_first_ties()
    assert proved([[2.0, 1, 5, 6], [3.0, 1, 4, 6]], [1, 6]).holds()


def test_a_forged_proof_does_not_hold():
    proof = proved(SOLID, CORNERS)
    token, weights = next(iter(proof.mixtures.items()))
    step = Fraction(1, 10**30)
    forged = [
        replace(proof, mixtures={}),
        replace(proof, mixtures={**proof.mixtures, token: tuple(-w for w in weights)}),
        replace(proof, mixtures={**proof.mixtures, token: (weights[0] + step, *weights[1:])}),
        replace(proof, mixtures={**proof.mixtures, token: (weights[0] + step, weights[1] - step, *weights[2:])}),
        replace(proof, first=(*proof.first[:-1], tuple(x + step for x in proof.first[-1]))),
        replace(proof, shared=()),
        replace(proof, shared=proof.shared[:3]),
        replace(proof, shared=(*proof.shared, proof.first[4])),
    ]
    assert not [attempt for attempt in forged if attempt.holds()]


def test_a_token_on_the_hulls_edge_is_not_inside():
    """(1, 0) lies on an edge of the triangle: scores that fall off it see the difference."""
    triangle = [[0.0, 0], [2, 0], [0, 2]]
    proof = proved([[*triangle, [1.0, 0], [0.5, 1]], [*triangle, [0.5, 0], [1, 1]]], triangle)
    assert not proof.holds()


def test_shared_tokens_have_one_ratio():
    """On a face of tokens with two ratios the means differ; at the ends of a line no face has two tokens."""
    square = [[0.0, 0], [4, 0], [0, 4], [4, 4]]
    assert not proved([[*square, [0.0, 0], [4, 4]], [*square, [0.0, 4], [4, 0]]], square).holds()
    assert proved([[0.0, 0, 4, 1.0, 3], [0.0, 4, 4, 0.5, 1.5, -0.0, 1.25]], [0, 4]).holds() is False  # the means differ
    assert proved([[0.0, 0, 4, 3, 1], [0.0, 4, 1, 1.75, 1.25]], [0, 4]).holds()


def test_hard_mean_counts_repeats():
    line = points(np.array([[1.0], [3.0], [3.0], [0.0]]))
    assert hard_mean((Fraction(0),), line) == mean(line) == (Fraction(7, 4),)
    assert hard_mean((Fraction(-2),), line) == (Fraction(0),)


def test_solutions_are_exact_or_none():
    rows = [(Fraction(1), Fraction(1), Fraction(1)), (Fraction(2), Fraction(2), Fraction(2))]
    assert sum(nearest_solution(rows, (Fraction(1), Fraction(2)), [0.1, 0.2, 0.3])) == 1
    assert nearest_solution(rows, (Fraction(1), Fraction(1)), [0.1, 0.2, 0.3]) is None
    assert nearest_solution([(Fraction(0), Fraction(0))], (Fraction(0),), [0.5, 0.25]) == [
        Fraction(1, 2),
        Fraction(1, 4),
    ]
