"""Tests start from one seed; docstring examples run as a reader types them: in an empty folder, with hs, np, torch."""

import numpy as np
import pytest
import torch

import headsmith as hs


@pytest.fixture(autouse=True)
def _alike(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    torch.manual_seed(0)
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
        doctest_namespace.update(hs=hs, np=np, torch=torch)
