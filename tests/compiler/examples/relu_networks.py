"""Networks of ReLU units over sequences: gates, in both precisions, with and without a bias."""

import numpy as np

import headsmith as hs

rng = np.random.default_rng(0)
INNER, OUTER, BIAS = rng.normal(size=(2, 3, 2, 2)), rng.choice([-1.0, 1.0, 0.5], (2, 3)), rng.normal(size=(2, 3))

EXAMPLES = {
    "gates": lambda: hs.compile(hs.target.ReluNetwork(INNER, OUTER, BIAS), domain=(-1, 1), eps=1e-6),
    "one unit, float32": lambda: hs.compile(
        hs.target.ReluNetwork([[[[1.0, -2.0]]]], [[-1.0]]), domain=(-1, 2), eps=1e-2, dtype="float32"
    ),
}
