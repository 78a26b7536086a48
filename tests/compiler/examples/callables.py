"""Functions given as code: one constant, two constants, both dtypes."""

import torch

import headsmith as hs

EXAMPLES = {
    "derivative bounds": lambda: hs.compile(torch.sin, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1)),
    "float32": lambda: hs.compile(torch.sin, domain=(-1, 1), eps=1e-2, derivative_bounds=(1, 1), dtype="float32"),
    "Lipschitz": lambda: hs.compile(torch.tanh, domain=(-1, 1), eps=3e-2, lipschitz=1),
}
