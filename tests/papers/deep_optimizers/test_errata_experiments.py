"""Each erratum about the experiments is confirmed, and is not where nothing is wrong."""

import pytest

from headsmith.papers.deep_optimizers import errata_experiments
from headsmith.papers.errata import Erratum

ERRATA = [entry for entry in vars(errata_experiments).values() if isinstance(entry, Erratum)]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda e: e.item)
def test_an_erratum_is_confirmed(entry):
    finding = entry.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)


def test_there_are_six():
    assert [entry.item[:2] for entry in ERRATA] == ["T1", "T2", "T3", "T4", "T5", "T6"]


def test_small_networks_bear_the_printed_shift_better(monkeypatch):
    monkeypatch.setattr(errata_experiments, "WIDTH", 8)
    monkeypatch.setattr(errata_experiments, "FEATURES", 3)
    assert not errata_experiments.shifted_parameters.run().printed_fails


def test_without_spread_between_prompts_the_context_mean_earns_nothing(monkeypatch):
    drawn = errata_experiments.test_prompts

    def centred(*args):
        test = drawn(*args)
        return test._replace(y=test.y - test.means.unsqueeze(-1), means=0 * test.means)

    monkeypatch.setattr(errata_experiments, "test_prompts", centred)
    assert not errata_experiments.between_prompts.run().printed_fails
