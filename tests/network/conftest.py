"""The scalar head network that the compiler builds, by hand: sigmoid(3x - 1), a relu gate, and their sum."""

from types import SimpleNamespace

import pytest
import torch

from headsmith.network import Affine, Attention, Network, Select, Sparse

FEATURES = ("x", "one", "u", "y", "slope", "offset", "value")
X, ONE, U, Y, SLOPE, OFFSET, VALUE = range(7)
BETA = 50.0


def wrap(head: Attention) -> Network:
    lift = Affine(Select([0, -1, -1, -1, -1, -1, -1], features=1), bias=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return Network(
        {"lift": lift, "head": head, "read": Affine(Select([Y], features=7))},
        tokens=["input"],
        features=FEATURES,
        variables={"y": ("head", "input", slice(Y, Y + 1))},
    )


def memory(*rows: tuple[float, float, float]) -> torch.Tensor:
    table = torch.zeros(len(rows), 7, dtype=torch.float64)
    table[:, SLOPE:] = torch.tensor(rows, dtype=torch.float64)
    return table


SIGMOID = memory((0.0, 0.0, 0.0), (3.0, -1.0, 1.0))
NULL = memory((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def sigmoid() -> Network:
    """Two memory tokens, logits 0 and 3x - 1, values 0 and 1."""
    query, key = Select([[X, ONE]], 7), Select([[SLOPE, OFFSET]], 7)
    head = Attention(
        query,
        key,
        Select([[VALUE]], 7),
        Select.writing([[Y]], 7),
        visible="none",
        memory=SIGMOID,
        residual=True,
    )
    return wrap(head)


def gate() -> Network:
    """Yourself with score beta x and value x, or the null token: x sigmoid(beta x)."""
    key = Sparse([[[SLOPE, ONE], [OFFSET, ONE]]], [[[1.0, BETA], [1.0, 0.0]]], 7)
    value = Sparse([[[VALUE, X]]], [[[1.0, 1.0]]], 7)
    query, output = Select([[X, ONE]], 7), Select.writing([[Y]], 7)
    return wrap(Attention(query, key, value, output, visible="self", memory=NULL[:1], residual=True))


def both() -> Network:
    """Head 0 sees two memory tokens, head 1 sees itself and one; both add into y."""
    keys = [[[1.0, 0.0], [1.0, 0.0]], [[1.0, BETA], [1.0, 0.0]]]
    values = [[[1.0, 0.0]], [[1.0, 1.0]]]
    head = Attention(
        Select([[X, ONE]] * 2, 7),
        Sparse([[[SLOPE, ONE], [OFFSET, ONE]]] * 2, keys, 7),
        Sparse([[[VALUE, X]]] * 2, values, 7),
        Select.writing([[Y], [Y]], 7),
        visible=["none", "self"],
        memory=torch.stack([SIGMOID, NULL]),
        memory_mask=[[1, 1], [1, 0]],
        residual=True,
    )
    return wrap(head)


@pytest.fixture(scope="session")
def scalar() -> SimpleNamespace:
    """The builders above, and the slope of the gate."""
    return SimpleNamespace(sigmoid=sigmoid, gate=gate, both=both, beta=BETA, features=FEATURES)
