"""The lab: train small attention layers on in-context regression, read their mechanism, compare with theory.

>>> run = train(heads=2, preset="smoke", seeds=2, out=None)
>>> run.report()                                            # doctest: +SKIP
>>> compare(run, construct("debiased_gd"), "debiased_gd", "ridge")     # doctest: +SKIP
"""

from headsmith.lab import tasks
from headsmith.lab.activations import Activation, activation
from headsmith.lab.approximate import Problem
from headsmith.lab.compare import Comparison, compare
from headsmith.lab.construct import construct, to_network
from headsmith.lab.diagnose import Diagnosis, diagnose
from headsmith.lab.exact import exact_loss
from headsmith.lab.flow import Flow, flow
from headsmith.lab.models import AttentionModel, load_model
from headsmith.lab.risk import risk
from headsmith.lab.runs import Run, train
from headsmith.lab.sweep import sweep
from headsmith.lab.tasks import Task

__all__ = [
    "Activation",
    "AttentionModel",
    "Comparison",
    "Diagnosis",
    "Flow",
    "Problem",
    "Run",
    "Task",
    "activation",
    "compare",
    "construct",
    "diagnose",
    "exact_loss",
    "flow",
    "load_model",
    "risk",
    "sweep",
    "tasks",
    "to_network",
    "train",
]
