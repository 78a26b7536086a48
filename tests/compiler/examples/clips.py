"""Truncated linear models: gates, tables, the tokens as keys, the printed versions, the weights in the prompt."""

import numpy as np

import headsmith as hs

W, T = np.array([[0.75, -1.5], [0.1, 1.0], [-1.25, 0.5]]), np.array([0.25, 0.1, -0.5])
CLIP = hs.target.Clip(W, T)
WIDE = hs.target.Clip(W[:, :1], T, low=-0.5, high=2.0)
FOUR = hs.target.Clip([[1.0], [-0.5], [2.0], [0.1]], [0.0, 0.1, -0.25, 0.5])
PROMPT = hs.target.PromptClip(tokens=2, features=2, weight=2.0, shift=0.125)
ROUTED = hs.target.RoutedClip(W, T, edges=[-0.25, 0.5], into=[0, 1, 0], margin=0.125)
GAINED = hs.target.PromptClip(tokens=2, features=2, gains=[[1.0, -0.3], [0.1, 2.0]])

EXAMPLES = {
    "gates": lambda: hs.compile(CLIP, domain=(-1, 1), eps=1e-6),
    "gates, float32": lambda: hs.compile(WIDE, domain=(-2, 1), eps=1e-3, dtype="float32"),
    "table": lambda: hs.compile(CLIP, domain=(-1, 1), eps=0.1, method="table"),
    "printed table": lambda: hs.compile(CLIP, domain=(-1, 1), eps=0.4, method="printed"),
    "uniform heads": lambda: hs.compile(CLIP, domain=(-1, 1), eps=0.05, method="heads"),
    "searched heads": lambda: hs.compile(FOUR, domain=(-1, 1), eps=0.03, heads=1),
    "sentinels": lambda: hs.compile(CLIP, domain=(-1, 1), eps=0.4, heads=2, method="printed"),
    "weights in the prompt": lambda: hs.compile(PROMPT, domain=(-1, 1), eps=0.2),
    "weights in the prompt, float32": lambda: hs.compile(PROMPT, domain=(-1, 1), eps=0.2, dtype="float32"),
    "gains of tokens": lambda: hs.compile(GAINED, domain=(-1, 1), eps=0.2, dtype="float32"),
    "rows": lambda: hs.compile(ROUTED, domain=(-1, 1), eps=0.1),
    "rows, float32": lambda: hs.compile(ROUTED, domain=(-1, 1), eps=0.1, dtype="float32"),
    "weights in the prompt, printed": lambda: hs.compile(PROMPT, domain=(-1, 1), eps=0.4, method="printed"),
}
