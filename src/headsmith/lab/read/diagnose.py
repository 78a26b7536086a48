"""Diagnosis: the mechanism of a layer, its risk on fresh prompts, and the algorithm that it comes nearest to.

Anything that is one layer of softmax attention can be diagnosed: our models, `torch.nn.MultiheadAttention`,
or plain matrices.  What is not (layer norm, positions, biases) is refused, since then no pair of matrices
says what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from headsmith.lab.read.mechanism import Mechanism, mechanism
from headsmith.lab.theory.approximate import Problem
from headsmith.lab.train.models import AttentionModel
from headsmith.lab.train.tasks import Prompts, Task
from headsmith.network import Attention, Network
from headsmith.records.shown import Shown, number
from headsmith.reference import regression, risks
from headsmith.refusal import Refusal

__all__ = ["Diagnosis", "as_model", "diagnose"]


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown, Mechanism):
    """A `Mechanism` with `risk` (and its parts), the distance to known predictors, and what each head is
    worth.
    """

    risk: float = float("nan")
    baselines: Mapping[str, float] = None  # type: ignore[assignment]
    distances: Mapping[str, float] = None  # type: ignore[assignment]
    ablation: tuple[float, ...] = ()

    @property
    def nearest_algorithm(self) -> str:
        """The predictor with the least mean squared distance on common prompts, relative to its own size."""
        return min(self.distances, key=self.distances.__getitem__)

    def title(self) -> str:
        if self.plateau:
            return (
                "both heads aligned: on the single-head plateau"
                if len(self.head_classes) == 2
                else "all heads aligned: on the single-head plateau"
            )
        return f"runs {self.nearest_algorithm} at rate {number(self.effective_rate)}"

    def rows(self) -> list[tuple[str, str]]:
        def listed(values: Tensor) -> str:
            return "  ".join(number(v) for v in values.flatten().tolist())

        return [
            ("heads", " ".join(self.head_classes) + "   (0: dummy)"),
            ("omega", listed(self.omega)),
            ("mu", listed(self.mu)),
            ("gamma, mu+, mu-", "  ".join(number(v) for v in (self.gamma, self.mu_plus, self.mu_minus))),
            ("off-diagonal, label leak, value leak", "  ".join(
                number(v) for v in (self.off_diagonal, self.label_leak, self.value_leak))),
            ("zero sum, homogeneity", f"{number(self.zero_sum)}  {number(self.homogeneity)}"),
            ("distance to the valley", f"{number(self.manifold_distance)} at gamma {number(self.manifold_gamma)}"),
            ("risk", "  ".join([number(self.risk, 4), *(f"({n} {number(v, 4)})" for n, v in self.baselines.items())])),
            ("distance", "  ".join(f"{n} {number(v)}" for n, v in sorted(self.distances.items(), key=lambda t: t[1]))),
            ("risk without head", "  ".join(f"{h}: {v:+.3g}" for h, v in enumerate(self.ablation))),
        ]  # fmt: skip


def diagnose(
    model: AttentionModel | nn.Module | Mapping[str, Any],
    task: Task | None = None,
    *,
    prompts: int = 10_000,
    seed: int = 12_345,
) -> Diagnosis:
    """Read the mechanism of `model` and measure it on `prompts` fresh prompts of `task` (isotropic unless
    given).

    >>> diagnose(AttentionModel.from_reduced([0.13, -0.13], [3.4, -3.4], features=5)).nearest_algorithm
    'debiased_gd'
    """
    layer = as_model(model).double()
    task = task or Task(layer.features)
    if (layer.features, layer.layout.responses) != (task.features, task.responses):
        raise Refusal(
            f"the model reads {layer.features} covariates and {layer.layout.responses} responses, the task has "
            f"{task.features} and {task.responses}; pass the task it was trained for"
        )
    problem = Problem(task.features, task.length, task.noise)
    kq, ov = layer.products()
    read = mechanism(kq, ov, task.features, problem, layer.activation.gain)
    generator = torch.Generator().manual_seed(seed)
    drawn = task.draw(prompts, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        answer = layer(drawn)
        risk = paired_risk(answer, drawn, task, read.preconditioner)
        ablation = []
        for head in range(layer.layout.heads):
            kept = ov.clone()
            kept[head] = 0
            crippled = AttentionModel.from_products(kq, kept, layer.features, layer.activation).double()
            ablation.append(paired_risk(crippled(drawn), drawn, task, read.preconditioner) - risk)
    known = named_predictors(task, read)
    guesses = {name: torch.stack([f(n) for n in range(task.responses)], -1) for name, f in _on(drawn, known).items()}
    distances = {n: float((answer - g).square().mean() / g.square().mean()) for n, g in guesses.items()}
    values = {f.name: getattr(read, f.name) for f in fields(read)}
    baselines = baseline_risks(task)
    return Diagnosis(**values, risk=risk, baselines=baselines, distances=distances, ablation=tuple(ablation))


def paired_risk(answer: Tensor, prompts: Prompts, task: Task, step: Tensor) -> float:
    """The mean risk of answers (B, N), with the exactly known risk of a debiased step on the same prompts as
    control.

    The control's preconditioner is the layer's own, so the difference of squared errors has very small
    variance.
    """
    if not task.solved:
        return float((answer - prompts.target).square().mean())
    total = 0.0
    steps = step.unsqueeze(0) if step.ndim == 2 else step
    for n in range(task.responses):
        X, y, x = prompts.regression(n)
        control = regression.debiased_gd(X, y, x, 1.0, steps[n])
        known = risks.descent(steps[n], task.sigma, task.prior(n), X.shape[-2], task.noise)
        target = prompts.target[..., n]
        gap = (answer[..., n] - target).square() - (control - target).square()
        total += known + float(gap.mean())
    return total / task.responses


def named_predictors(task: Task, read: Mechanism | None = None) -> dict[str, Any]:
    """name -> predictor(X, y, x, response) at the best rates for the task (kernel smoother: the layer's own)."""
    d, L, noise = task.features, task.length, task.noise
    step = [risks_preconditioner(task, n) for n in range(task.responses)]
    single = Problem(d, L, noise).best_single()
    if read is not None and (read.plateau or len(read.head_classes) == 1):
        mass = read.mu.sum(0).flatten()[0]
        mean = (read.omega * read.activity).sum() / read.activity.sum()
        single = float(mean), float(mass)
    name = "debiased_gd" if task.covariance is None else "preconditioned_gd"
    return {
        name: lambda X, y, x, n: regression.debiased_gd(X, y, x, 1.0, step[n]),
        "vanilla_gd": lambda X, y, x, n: regression.vanilla_gd(X, y, x, risks.vanilla_rate(d, L, noise)),
        "kernel_smoother": lambda X, y, x, n: regression.kernel_smoother(X, y, x, *single),
        "ridge": lambda X, y, x, n: regression.ridge(X, y, x, noise, task.prior(n).diagonal().clamp_min(1e-9)),
    }


def risks_preconditioner(task: Task, response: int = 0) -> Tensor:
    """The best preconditioner of the debiased step for one response of a task."""
    if task.supports is None:
        return risks.preconditioner(task.sigma, task.length, task.noise)
    return torch.diag(risks.multi_task_rates(task.supports, task.features, task.length, task.noise)[response])


def baseline_risks(task: Task) -> dict[str, float]:
    """Closed-form risks that stand beside a measured one: the best debiased step, the Bayes predictor, zero."""
    if not task.solved:
        return {}
    parts = [
        risks.descent(risks_preconditioner(task, n), task.sigma, task.prior(n), task.length, task.noise)
        for n in range(task.responses)
    ]
    found = {"debiased_gd" if task.covariance is None else "preconditioned_gd": sum(parts) / len(parts)}
    if task.covariance is None and task.supports is None:
        found["ridge"] = risks.ridge(task.features, task.length, task.noise, draws=4000)
    found["zero"] = float((task.sigma @ task.prior()).trace()) + task.noise
    return found


def _on(prompts: Prompts, predictors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: lambda n, f=f: f(*prompts.regression(n), n) for name, f in predictors.items()}


def as_model(model: AttentionModel | nn.Module | Mapping[str, Any], responses: int = 1) -> AttentionModel:
    """Our model of anything that is one softmax-attention layer; a refusal says why something is not.

    A mapping holds W_Q, W_K (H, head_dim, D), W_V (H, head_dim, D), W_O (H, N or D, head_dim) and optionally
    scale, activation and features; the last `responses` rows of W_O are read out.
    """
    if isinstance(model, AttentionModel):
        return model
    if isinstance(model, Mapping):
        return _from_mapping(model, responses)
    if isinstance(model, nn.MultiheadAttention):
        return _from_torch(model, responses)
    if isinstance(model, Network):
        return _from_network(model)
    if not isinstance(model, nn.Module):
        raise Refusal(
            f"diagnose reads our model, an nn.MultiheadAttention or a dict of W_Q, W_K, W_V, W_O, not "
            f"{type(model).__name__} (a run holds its own: run.diagnoses, run.model(seed))"
        )
    for name, part in model.named_modules():
        if isinstance(part, nn.LayerNorm | nn.BatchNorm1d | nn.GroupNorm):
            raise Refusal(
                f"{name or 'the model'} is a normalisation layer: it rescales every token by its own size, so KQ and "
                "OV do not describe the layer; pass its attention alone"
            )
        if isinstance(part, nn.Embedding) or "position" in type(part).__name__.lower():
            raise Refusal(
                f"{name or 'the model'} adds positions or embeddings to the tokens: their part of the logits is not "
                "in KQ; pass the attention alone, trained without positions"
            )
    inner = [part for part in model.modules() if isinstance(part, nn.MultiheadAttention)]
    loose = [name for name, _ in model.named_parameters(recurse=False)]
    if inner and loose:
        raise Refusal(
            f"{loose[0]} is a weight outside of the attention, such as positions added to the tokens: its part is not "
            "in KQ and OV; pass the attention alone"
        )
    if len(inner) == 1 and len(list(model.children())) == 1:
        return _from_torch(inner[0], responses)
    raise Refusal(
        f"{type(model).__name__} is not one layer of attention; pass an nn.MultiheadAttention or W_Q, W_K, W_V, W_O"
    )


def _from_mapping(given: Mapping[str, Any], responses: int) -> AttentionModel:
    missing = [name for name in ("W_Q", "W_K", "W_V", "W_O") if name not in given]
    if missing:
        raise Refusal(f"a layer is given by W_Q, W_K, W_V and W_O; {', '.join(missing)} is missing")
    strange = sorted(set(given) - {"W_Q", "W_K", "W_V", "W_O", "scale", "activation", "features"})
    if strange:
        raise Refusal(
            f"{', '.join(strange)}: a layer is W_Q, W_K, W_V, W_O with a scale; biases, normalisation and positions "
            "act outside of KQ and OV, so a layer with them is not described by its mechanism"
        )
    q, k, v, o = (_stacked(given[name]) for name in ("W_Q", "W_K", "W_V", "W_O"))
    q, k, v, o = (t.unsqueeze(0) if t.ndim == 2 else t for t in (q, k, v, o))
    if q.shape != k.shape or v.shape[-1] != q.shape[-1] or o.shape[-1] != v.shape[-2]:
        shapes = ", ".join(str(tuple(t.shape)) for t in (q, k, v, o))
        raise Refusal(f"W_Q, W_K, W_V (heads, head_dim, D) and W_O (heads, D, head_dim) do not fit: {shapes}")
    scale = float(given.get("scale", 1.0))
    features = int(given.get("features", q.shape[-1] - responses))
    kq = scale * k.transpose(-1, -2) @ q
    return AttentionModel.from_products(
        kq, (o @ v)[:, features - q.shape[-1] :], features, given.get("activation", "exp")
    )


def _from_network(network: Network) -> AttentionModel:
    """A constructed layer: its maps are the weights, its last features y or y1, y2, ... the responses."""
    layers = list(network.layers.values())
    layer, responses = layers[0], sum(name.startswith("y") for name in network.features)
    plain = len(layers) == 1 and isinstance(layer, Attention) and layer.weights == "softmax" and responses
    if not (plain and isinstance(layer, Attention) and layer.visible == "strict" and not layer.memory_tokens):
        raise Refusal("this Network is not one strictly causal softmax layer on tokens (x, y); pass one of construct's")
    maps = {"W_Q": layer.query, "W_K": layer.key, "W_V": layer.value, "W_O": layer.output}
    return _from_mapping({name: m.dense() for name, m in maps.items()} | {"scale": layer.scale}, responses)


def _stacked(given: Any) -> Tensor:
    """One matrix per head, as a tensor, an array or a list of either."""
    if isinstance(given, list | tuple):
        given = torch.stack([torch.as_tensor(part) for part in given])
    return torch.as_tensor(given).detach().double()


def _from_torch(module: nn.MultiheadAttention, responses: int) -> AttentionModel:
    biases = [module.in_proj_bias, module.out_proj.bias, module.bias_k, module.bias_v]
    if any(bias is not None and bool(bias.abs().max() > 0) for bias in biases):
        raise Refusal(
            "this nn.MultiheadAttention has non-zero biases, which KQ and OV do not hold; build it with bias=False"
        )
    if module.in_proj_weight is None:
        raise Refusal(
            "this nn.MultiheadAttention reads keys and values of other widths (kdim, vdim); diagnose needs one"
        )
    heads, width = module.num_heads, module.embed_dim
    q, k, v = (t.view(heads, width // heads, width) for t in module.in_proj_weight.detach().chunk(3))
    o = module.out_proj.weight.detach().view(width, heads, width // heads).transpose(0, 1)
    scale = (width // heads) ** -0.5
    return _from_mapping({"W_Q": q, "W_K": k, "W_V": v, "W_O": o, "scale": scale}, responses)
