"""What the tests of this paper's experiments share: ways to break a result."""

import dataclasses

import pytest
import torch

from headsmith.papers.icl import frame
from headsmith.papers.icl.frame import PAPER
from headsmith.papers.icl.written import written
from headsmith.papers.registry import registry


@pytest.fixture
def check():
    """The self-check of a figure or table of this paper."""
    return lambda name: registry.find(f"{PAPER}/{name}").self_check()


@pytest.fixture
def untrained(monkeypatch):
    """Runs that have learned nothing: random matrices of the size of the known answer, at every step."""

    def at_random(*args):
        run, g = written(*args), torch.Generator().manual_seed(1)
        kq, ov = (torch.randn(t.shape, generator=g, dtype=t.dtype) for t in (run.kq, run.ov))
        kq, ov = kq * run.kq[-1].norm() / kq[-1].norm(), ov * run.ov[-1].norm() / ov[-1].norm()
        return dataclasses.replace(run, kq=kq, ov=ov)

    monkeypatch.setattr(frame, "written", at_random)
