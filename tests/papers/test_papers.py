"""The package's own experiments and errata."""

import time

import pytest

import headsmith.papers
from headsmith.papers.registry import registry

headsmith.papers.load()


@pytest.mark.parametrize("id", registry.experiments)
def test_every_experiment_checks_itself_within_two_seconds(id):
    start = time.process_time()
    assert registry.find(id).self_check()
    assert time.process_time() - start <= 2


@pytest.mark.parametrize("id", registry.experiments)
def test_every_experiment_has_both_presets(id):
    presets = set(registry.find(id).presets)
    assert "smoke" in presets and presets & {"full", "paper"}
