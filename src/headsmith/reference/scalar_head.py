"""One softmax head over anchors on a line, in plain numpy: what both constructive papers print.

Scores -(beta/2)(z - L_k)^2, values f(L_k), and beta so large that the nearest anchor takes all.
"""

import numpy as np


def attend(z: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """softmax_k(slopes_k z + offsets_k), one row per input, in the dtype of its arguments.

    >>> attend(np.zeros(1), np.zeros(2), np.zeros(2))
    array([[0.5, 0.5]])
    """
    scores = z[:, None] * slopes + offsets
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def gaussian(anchors: np.ndarray, beta: float, centre: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and offsets of -(beta/2)(z - L_k)^2, less what all keys share, for the input z - centre."""
    moved = anchors - centre
    return beta * moved, -beta / 2 * moved**2
