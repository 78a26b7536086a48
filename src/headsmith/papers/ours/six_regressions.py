"""One frozen solver, six regressions on real data: only the prompt differs.

(algorithm-emulation section 3, Cor 3.1.3 and 3.1.4, repaired and extended.) scikit-learn's diabetes data, 442 x 10,
standardised, condition number 470. Every program runs on the same weights, in one order and in the reverse one; errors
are against a reference solver, relative to the largest coefficient.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from headsmith.machines import prompts as prompt
from headsmith.machines.prompts.regression import Regression
from headsmith.machines.solver import Solver
from headsmith.papers.registry import Claim, Outcome, Row, experiment
from headsmith.records import Record
from headsmith.records.shown import upper
from headsmith.refusal import Refusal
from headsmith.views.solver import convergence


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """The data, columns standardised, responses centred."""
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise Refusal("the diabetes data come with scikit-learn: pip install scikit-learn") from None
    X, y = load_diabetes(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y - y.mean()


def regressions(X: np.ndarray, y: np.ndarray) -> list[Regression]:
    return [
        prompt.ols(X, y),
        prompt.ridge(X, y, 0.1),
        prompt.lasso(X, y, 1.0),
        prompt.elastic_net(X, y, 0.5, 0.5),
        prompt.logistic(X, (y > 0).astype(float)),
        prompt.huber(X, y, 50.0),
    ]


def measure(samples: int, chosen: slice = slice(None)) -> dict[str, Any]:
    """Every program forwards, then backwards; its path to the reference solution."""
    X, y = diabetes()
    X, y = X[:samples], y[:samples]
    solver = Solver(features=10, samples=samples)
    tasks, hashes, rows = regressions(X, y)[chosen], {solver.weight_hash}, []
    start = time.process_time()
    results = {task.name: solver(task) for task in tasks}
    seconds = time.process_time() - start
    for task in reversed(tasks):
        again = solver(task)
        hashes.add(solver.weight_hash)
        result, reference = results[task.name], task.problem.minimiser()
        size = float(np.abs(reference).max())
        path = np.abs(solver.path(task, result.loops).numpy() - reference).max(1) / size
        found = result.weights.numpy()
        rows.append(
            {
                "name": task.name,
                "loops": result.loops,
                "error": float(path[-1]),
                "bound": result.certificate.bound / size,
                "path": path.tolist(),
                "zeros": bool(np.array_equal(found == 0, reference == 0)),
                "same": bool(np.array_equal(again.weights.numpy(), found)),
            }
        )
    return {"programs": rows[::-1], "hash": solver.weight_hash, "hashes": len(hashes), "seconds": seconds}


CLAIMS = (
    Claim(
        "every program runs on one hash, in any order",
        lambda m: m["hashes"] == 1 and all(r["same"] for r in m["programs"]),
    ),
    Claim("every error is below 1e-8", lambda m: all(r["error"] <= 1e-8 for r in m["programs"])),
    Claim(
        "every error is below its certificate", lambda m: all(r["error"] <= r["bound"] <= 1e-6 for r in m["programs"])
    ),
    Claim("coefficients are exactly zero where the reference's are", lambda m: all(r["zeros"] for r in m["programs"])),
)


def self_check() -> bool:
    """Every claim, decided on ridge and lasso with 120 samples."""
    measured = measure(120, slice(1, 3))
    return all(claim.verdict(measured) == "holds" for claim in CLAIMS)


@experiment(
    "ours/six-regressions", CLAIMS, presets={"smoke": {"samples": 442}, "full": {"samples": 442}}, where="Cor 3.1.3",
    self_check=self_check, pictures={"six-regressions.png": convergence},
)  # fmt: skip
def run(settings: Mapping[str, Any], record: Record) -> Outcome:
    """Run every program on the one solver."""
    m = measure(settings["samples"])
    rows = [
        Row(f"{r['name']}, {r['loops']} loops", None, r["error"], baseline=f"certified {upper(r['bound'])}")
        for r in m["programs"]
    ]
    return Outcome(m, rows)
