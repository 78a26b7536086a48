"""hs.target lists what a user builds by name; formulas, code and modules need no name."""

import headsmith as hs
from headsmith.compiler.target import Target
from headsmith.targets import public


def test_what_is_listed_is_a_target_that_files_know():
    for name in public.__all__:
        listed = getattr(hs.target, name)
        assert issubclass(listed, Target) and Target.kinds[listed.kind] is listed and listed.__name__ == name


def test_every_kind_is_listed_or_needs_no_name():
    ours = {kind: cls for kind, cls in Target.kinds.items() if cls.__module__.startswith("headsmith.")}
    unlisted = {kind for kind, cls in ours.items() if cls.__name__ not in public.__all__}
    assert unlisted == {"formula", "callable", "mlp"}


def test_completion_shows_the_targets_alone():
    assert dir(hs.target) == sorted(public.__all__)
