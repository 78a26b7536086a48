"""Eigenvalues from below and from above, proved in float64.

Ostrowski: with V any invertible matrix, lambda_min(H) >= lambda_min(V'HV) / lambda_max(V'V), if the former is positive.
V are the computed eigenvectors, so V'HV is nearly diagonal and Gershgorin's discs are small. Products of floats carry
Higham's bounds, which hold for every order of summation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headsmith.proof.rounding import gamma

Floats = NDArray[np.float64]
UNIT = 2.0**-53
INFLATE = 1 + 1e-10  # pays for evaluating sums of non-negative terms in float64


def least_eigenvalue(matrix: Floats, error: Floats) -> float:
    """A proved lower bound of the least eigenvalue of every symmetric matrix within `error` of `matrix`, entrywise;
    where none above 0 is proved, a number that is not positive.

    >>> 0.999 < least_eigenvalue(np.diag([1.0, 2.0]), np.zeros((2, 2))) <= 1
    True
    """
    d = len(matrix)
    V = np.linalg.eigh(matrix)[1]
    size = np.abs(V)
    turned = V.T @ (matrix @ V)
    rounded = gamma(3 * d + 6, UNIT) * (size.T @ (np.abs(matrix) @ size))  # 2 d + 2 in the products, d + 4 in a row
    slip = (rounded + size.T @ (error @ size)).sum(1) * INFLATE
    middle, row = turned.diagonal(), np.abs(turned).sum(1)
    low = float((middle - (row - np.abs(middle)) - slip).min())
    stretch = np.abs(V.T @ V).sum(1) + gamma(d + 1, UNIT) * (size.T @ size).sum(1)
    return low / (float(stretch.max()) * INFLATE) if low > 0 else low


def gram(X: Floats, share: float = 1.0) -> tuple[Floats, Floats]:
    """share X'X/n and a bound of its error, entry by entry."""
    n, size = len(X), np.abs(X)
    return share * (X.T @ X) / n, gamma(n + 4, UNIT) * share * (size.T @ size) / n * INFLATE


def largest_eigenvalue(matrix: Floats, error: Floats) -> float:
    """A proved upper bound of the largest eigenvalue: the least one of trace - H, turned round."""
    top = (float(np.abs(matrix).sum(1).max()) + float(error.sum(1).max())) * INFLATE
    return (top - max(0.0, least_eigenvalue(top * np.eye(len(matrix)) - matrix, error + 2 * UNIT * top))) * INFLATE
