"""One torch thread, the same hypothesis examples in every run, and compiled networks that tests share."""

import os
from functools import cache

import pytest
import torch
from hypothesis import settings

settings.register_profile("ci", max_examples=20, derandomize=True, deadline=None, database=None)
settings.register_profile("wide", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def forged():
    """forged(target, lo, hi, eps, dtype, method): compiled once for all tests of a session; do not change it."""
    import headsmith as hs

    @cache
    def once(target, lo, hi, eps, dtype, method):
        return hs.compile(target, domain=(lo, hi), eps=eps, dtype=dtype, method=method)

    def forge(target, lo, hi, eps, dtype="float64", method="auto"):
        return once(target, lo, hi, eps, dtype, method)

    return forge
