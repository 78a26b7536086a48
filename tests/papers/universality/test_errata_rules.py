"""The gradient step as printed loses the sample: heads that write loss' into every row miss the next w."""

from headsmith.papers.universality.errata_rules import lost_factor


def test_confirmed():
    finding = lost_factor.run()
    assert finding.confirmed, (finding.printed_measurement, finding.repaired_measurement)
