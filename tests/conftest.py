"""One torch thread, and the same hypothesis examples in every run."""

import os

import torch
from hypothesis import settings

settings.register_profile("ci", max_examples=20, derandomize=True, deadline=None, database=None)
settings.register_profile("wide", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
torch.set_num_threads(1)
