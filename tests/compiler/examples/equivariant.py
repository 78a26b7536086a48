"""Equivariant maps given as code: one and two features, three tokens, float32."""

import torch

import headsmith as hs


def centred(X):
    return X - X.mean(-2, keepdim=True)


def waves(X):
    return torch.sin(2 * X) / 4 + torch.cos(X).mean(-2, keepdim=True) / 2


EXAMPLES = {
    "two tokens": lambda: hs.compile(hs.target.EquivariantMap(centred, 2, 1, lipschitz=1), domain=(0, 1), eps=0.1),
    "two features": lambda: hs.compile(hs.target.EquivariantMap(waves, 2, 2, lipschitz=1), domain=(-1, 1), eps=0.9),
    "three tokens": lambda: hs.compile(hs.target.EquivariantMap(waves, 3, 1, lipschitz=1), domain=(0, 2), eps=0.9),
    "float32": lambda: hs.compile(
        hs.target.EquivariantMap(centred, 2, 1, lipschitz=1), domain=(0, 1), eps=0.1, dtype="float32"
    ),
}
