"""What a run hands back is void once any tensor in it was edited in place, and only then."""

from dataclasses import dataclass

import pytest
import torch

from headsmith.proof.certificate import Bound, Certificate
from headsmith.proof.domain import Domain
from headsmith.proof.handed import EDITED, Handed

PROOF = Certificate.of(Bound(1e-7, 2e-9), "|w - w*| <= bound", Domain({"z": (-1.0, 1.0)}), "float64", "abc")


@dataclass(frozen=True, repr=False, eq=False)
class Two(Handed):
    certificate: Certificate
    one: torch.Tensor
    more: list[torch.Tensor]
    none: torch.Tensor | None = None

    def title(self):
        return self.promise()

    def rows(self):
        return self.proof()


@pytest.mark.parametrize("edit", [lambda r: r.one.add_(1), lambda r: r.more[1].neg_(), lambda r: r.more.pop()])
def test_an_edit_of_any_tensor_makes_it_void(edit):
    result = Two(PROOF, torch.zeros(2), [torch.ones(1), torch.ones(1)])
    assert result.valid and "certified" in result._repr_html_() and PROOF.statement in repr(result)
    edit(result)
    for shown in (repr(result), str(result), result._repr_html_()):
        assert EDITED in shown and "certified" not in shown and PROOF.statement not in shown


def test_an_edit_that_is_undone_heals_it():
    result = Two(PROOF, torch.zeros(2), [])
    result.one.add_(1)
    assert not result.valid
    result.one.sub_(1)
    assert result.valid
