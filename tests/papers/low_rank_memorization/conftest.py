"""The first optimiser of a process imports torch's compiler, the first picture matplotlib: seconds of no test."""

import torch._dynamo  # noqa: F401

import headsmith.views.taggers  # noqa: F401
