"""The trained layer as a module: Q, K, V, O of every head, read at the query or as a whole sequence.

    TF(Z) = Z + sum_h O_h V_h Z weights(mask(Z' K_h' Q_h Z / sqrt D)),   answer = the response rows of the
    last column

(icl-linear-regression, Eq (2.2), Eq (2.3).)  The mask is strict: a token attends to earlier ones only, never to
itself, so the answer at the query depends on the L examples alone and equals the query-only formula that the trainer
uses (a test compares the two). Rows of O that write to covariates are never read and do not exist here.  Only the
products KQ and OV mean anything: (K, Q) -> (A^-T K, A Q) and (O, V) -> (O B^-1, B V) change nothing, so everything
that looks at a model looks at `products`.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from headsmith.lab.theory.activations import Activation, activation
from headsmith.lab.train.step import Layout, Weights, predict
from headsmith.lab.train.tasks import Prompts
from headsmith.records import load_tensors, replaceable, save_tensors
from headsmith.refusal import Refusal

__all__ = ["AttentionModel", "load_model"]

KINDS = ("exp", "tanh", "affine", "square", "linear")


class AttentionModel(nn.Module):
    """One layer of multi-head attention for prompts of d covariates and N responses.

    >>> from headsmith.lab.train.tasks import isotropic
    >>> model = AttentionModel.from_reduced([0.13, -0.13], [3.45, -3.45], features=5)
    >>> model(isotropic().draw(8)).shape
    torch.Size([8, 1])
    """

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, features: int, kind: str | Activation = "exp"):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Parameter(t.detach().clone()) for t in (q, k, v, o))
        self.features = features
        self.activation = activation(kind)
        self.layout = Layout(len(q), features, o.shape[1])

    def extra_repr(self) -> str:
        """What torch prints of it: 2 heads, 5 features, exp."""
        count = len(self.q)
        return f"{count} head{'s' * (count != 1)}, {self.features} features, {self.activation.name}"

    @classmethod
    def from_products(cls, kq: Tensor, ov: Tensor, features: int, kind: str | Activation = "exp") -> AttentionModel:
        """A model with the given KQ (H, D, D), its scale folded in, and OV (H, N, D): K = V = I."""
        eye = torch.eye(kq.shape[-1], dtype=kq.dtype).expand_as(kq)
        return cls(kq * kq.shape[-1] ** 0.5, eye, eye, ov, features, kind)

    @classmethod
    def from_reduced(
        cls,
        omega: Tensor | list[float],
        mu: Tensor | list[float],
        features: int,
        kind: str | Activation = "exp",
    ) -> AttentionModel:
        """KQ_h = omega_h I on the covariates and OV_h = mu_h on the response: the (omega, mu) model,
        icl-linear-regression, Eq (3.1).
        """
        w, m = (torch.as_tensor(t, dtype=torch.float64) for t in (omega, mu))
        width = features + 1
        kq = torch.zeros(len(w), width, width, dtype=torch.float64)
        kq[:, range(features), range(features)] = w[:, None]
        ov = torch.zeros(len(w), 1, width, dtype=torch.float64)
        ov[:, 0, -1] = m
        return cls.from_products(kq, ov, features, kind)

    @property
    def weights(self) -> Weights:
        """The four matrices of each head, as the papers order them."""
        return Weights(self.q, self.k, self.v, self.o)

    def products(self) -> tuple[Tensor, Tensor]:
        """KQ (H, D, D) with 1/sqrt(D) folded in, and OV (H, N, D)."""
        kq, ov = self.layout.products(self.weights)
        return kq[0], ov[0]

    def forward(self, prompts: Prompts) -> Tensor:
        """The answers (..., N)."""
        batch = prompts.query.shape[:-1]
        flat = Prompts(*(t.reshape(1, -1, *t.shape[len(batch) :]).to(self.q.dtype).contiguous() for t in prompts))
        return predict(self.layout, self.weights, flat, self.activation)[0].unflatten(0, batch)

    def sequence(self, Z: Tensor) -> Tensor:
        """TF(Z) for Z (..., D, L + 1), the query last with zeros for its responses; equations (2.2), (2.3)."""
        positions = Z.shape[-1]
        kq, ov = self.products()
        scores = Z.transpose(-1, -2).unsqueeze(-3) @ kq @ Z.unsqueeze(-3)
        pattern = torch.zeros_like(scores)
        for j in range(1, positions):  # column j of the pattern: what position j makes of the earlier ones
            seen = scores[..., :j, j]
            pattern[..., :j, j] = self.activation.weights(seen)
        written = (ov @ Z.unsqueeze(-3) @ pattern).sum(-3)
        return torch.cat([Z[..., : self.features, :], Z[..., self.features :, :] + written], -2)

    def save(self, path: str | Path) -> Path:
        """Write the weights to `path` (a .safetensors file), to be read by `load_model` and the command line."""
        code = [KINDS.index(self.activation.kind), self.activation.constant, self.features]
        named = {
            "W_Q": self.q,
            "W_K": self.k,
            "W_V": self.v,
            "W_O": self.o,
            "headsmith.lab": torch.tensor(code),
        }
        replaceable(Path(path).with_suffix(".safetensors"))
        return save_tensors(Path(path).with_suffix(""), named)


def load_model(path: str | Path) -> AttentionModel:
    """The model that `AttentionModel.save` wrote."""
    file = Path(path)
    stem = file.with_suffix("") if file.suffix in (".safetensors", ".npz") else file
    if file == stem and file.exists():
        raise Refusal(f"{path} is no model file: its name would end in .safetensors")
    tensors = load_tensors(stem)
    missing = {"W_Q", "W_K", "W_V", "W_O"} - set(tensors)
    if missing:
        raise Refusal(f"{path} holds no {', '.join(sorted(missing))}; a model file has W_Q, W_K, W_V and W_O")
    q, k, v, o = (tensors[name] for name in ("W_Q", "W_K", "W_V", "W_O"))
    if "headsmith.lab" not in tensors:
        return AttentionModel(q, k, v, o, q.shape[-1] - o.shape[1])
    kind, constant, features = tensors["headsmith.lab"].tolist()
    return AttentionModel(q, k, v, o, int(features), Activation(KINDS[int(kind)], constant))
