"""The first optimiser of a process imports torch's compiler: a second that belongs to no test."""

import torch._dynamo  # noqa: F401
