"""What stands beside the trained models of Figures 2 to 4: networks whose weights are written down, run as networks.

Figure 2    anchors of Thm 3.4, heads of Thm 3.9, printed and repaired, on the held-out tokens
Figure 3    the attention of Thm 3.4's head, read off its hook
Figure 4    the target compiled to softmax attention, at two promises
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from headsmith.constructions import clip as rules
from headsmith.constructions.clip import KeysOnMemory, KeysOnTokens, Models
from headsmith.doors.compile import compile
from headsmith.network import Network
from headsmith.papers.universality.staircases import printed_rule, repaired_sentinels
from headsmith.papers.universality.trained import clipped, models, sequences, target
from headsmith.targets.clip import Clip

CHANNELS = 32
SHARP = 20.0
"""c = beta dL^2 of the head of Figure 3: two keys carry all but 1e-4."""


def truncation_errors(p: int, width: float, heads: int, seeds: Sequence[int]) -> dict[str, float]:
    """Mean squared error over the 32 channels, and the sup error, over the held-out samples of all seeds."""
    low, high = -width / 2, width / 2
    printed: Models = (
        KeysOnMemory.cast([printed_rule(low, high, p)], "float64")
        if heads == 1
        else KeysOnTokens.cast(repaired_sentinels(low, high, p, heads, 1e-3), "float64")
    )
    forms = {"printed": printed, "repaired": KeysOnTokens.cast(rules.telescope(low, high, p, heads), "float64")}
    found = {}
    for name, form in forms.items():
        errors = torch.stack([_errors(form, p, width, seed) for seed in seeds])
        found[name], found[f"{name} sup"] = float(errors.square().mean()) / CHANNELS, float(errors.abs().max())
    return found


def _errors(form: Models, p: int, width: float, seed: int) -> Tensor:
    """Network - Range on the held-out samples: n = 50 tokens and p - n empty ones, so that p can be the keys."""
    w, t = (v.double() for v in models(seed))
    x, y = (v.double() for v in clipped(width, seed)[2:])
    n, more = len(t), p - len(t)
    clip = Clip(pad(w, (0, 0, 0, more)), pad(t, (0, more)), -width / 2, width / 2)
    network: Network = form.network(clip, "float64")
    exact = ((x * w).sum(-1) + t).clamp(-width / 2, width / 2)  # y itself was rounded to float32
    if not torch.allclose(exact, y[..., 0], atol=1e-4):
        raise ValueError("the samples of Figure 2 are not those of its models")
    return network(pad(x, (0, 0, 0, more)))[:, :n, 0] - exact


def anchored_pattern(width: float, w: Tensor, x: Tensor) -> Tensor:
    """The attention (samples, queries, keys) of Thm 3.4's head, both ends anchors."""
    n = x.shape[1]
    anchors = torch.linspace(-width / 2, width / 2, n, dtype=torch.float64).numpy()
    head = rules.smoother(anchors, anchors, SHARP / (anchors[1] - anchors[0]) ** 2)
    clip = Clip(w.double().expand(n, -1), torch.ones(n), -width / 2, width / 2)
    network = KeysOnTokens.cast([head], "float64").network(clip, "float64")
    [name] = [name for name in network.hook_names() if name.endswith("attn.hook_pattern")]
    return network.trace(x.double())[name][..., 0, :, :]


def compiled_errors(tokens: int, samples: int) -> dict[str, Any]:
    """Held-out mean squared errors of the target of Figure 4 compiled to 0.1 and to 1e-6, and the proved bounds."""
    exact = target(tokens).double()
    x = sequences(tokens, samples)[2].flatten(1)[:1000].double()
    found: dict[str, Any] = {}
    for name, bound, eps in (("coarse", "coarse bound", 0.1), ("compiled", "bound", 1e-6)):
        net = compile(exact, eps=eps, domain=(0, 1))
        with torch.no_grad():
            found[name] = float((net(x) - exact(x)).square().mean())
        found[bound] = net.certificate.bound
    return found
