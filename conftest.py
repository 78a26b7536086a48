"""Docstring examples run as a reader would type them: in an empty folder, with `hs`, `np` and `torch` at hand."""

import numpy as np
import pytest
import torch

import headsmith as hs


@pytest.fixture(autouse=True)
def _examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
        doctest_namespace.update(hs=hs, np=np, torch=torch)
