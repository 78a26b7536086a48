"""Maps of whole sequences: through the tensor grid, by bumps, as printed, and maps that are code."""

import torch

import headsmith as hs

Map = hs.target.SequenceMap
UNITS = hs.target.ReluNetwork([[[[1.0], [-0.5]]], [[[0.5], [1.0]]]], [[1.0], [-1.0]], [[0.25], [0.0]])
PAIR = ["x1*x2/2", "sin(x1)/2 - x2/4"]


def turned(X):
    """(x2/2, sin(x1)) of one sequence of two tokens."""
    return torch.stack([X[1] / 2, torch.sin(X[0])])


EXAMPLES = {
    "grid": lambda: hs.compile(Map(PAIR, tokens=2, features=1), domain=(-1, 1), eps=1e-3),
    "grid, float32": lambda: hs.compile(Map(PAIR, 2, 1), domain=(-1, 1), eps=1e-2, dtype="float32"),
    "grid, one token of two features": lambda: hs.compile(Map([["x2", "x1*x2"]], 1, 2), domain=(0, 1), eps=1e-2),
    "bumps": lambda: hs.compile(Map(["x1/4", "x2/2"], 2, 1), domain=(-1, 1), eps=0.3, method="bumps"),
    "softmax": lambda: hs.compile(Map(["x1^2/4"], 1, 1), domain=(-1, 1), eps=0.2, method="softmax"),
    "bumps, float32": lambda: hs.compile(
        Map(["x1/4", "x2/2"], 2, 1), domain=(0, 1), eps=0.2, method="bumps", dtype="float32"
    ),
    "scalar": lambda: hs.compile(Map(["x1*x2"], 2, 1, scalar=True), domain=(-1, 1), eps=1e-3),
    "scalar bumps": lambda: hs.compile(Map(["x1/4"], 2, 1, scalar=True), domain=(-1, 1), eps=0.3, method="bumps"),
    "printed": lambda: hs.compile(Map(["x1/4", "x2/2"], 2, 1), domain=(-1, 1), eps=0.3, method="printed"),
    "code": lambda: hs.compile(Map(turned, 2, 1, lipschitz=1.0), domain=(-1, 1), eps=5e-2),
    "code, bumps": lambda: hs.compile(Map(turned, 2, 1, lipschitz=1.0), domain=(-1, 1), eps=0.5, method="bumps"),
    "anchors": lambda: hs.compile(UNITS, domain=(-1, 1), eps=0.1, method="anchors"),
    "sharp anchors, float32": lambda: hs.compile(UNITS, domain=(-1, 1), eps=0.5, method="printed", dtype="float32"),
}
