"""`headsmith certify` for every kind of file: proved, altered, or not repeatable."""

import pytest
import torch

import headsmith as hs
from headsmith.network import load_tensors, save_tensors
from headsmith.targets.recheck import recheck


def test_a_formula_goes_to_the_checker(tmp_path):
    path = hs.compile("tanh(x)", domain=(-1, 1), eps=1e-6).save(tmp_path / "a.safetensors")
    assert recheck(path).status == 0


def test_code_cannot_be_repeated(tmp_path):
    path = hs.compile(torch.erf, domain=(-1, 1), eps=1e-2, lipschitz=1.2).save(tmp_path / "a.safetensors")
    assert recheck(path).status == 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    net = hs.compile("x*y", domain={"x": (-1, 1), "y": (-1, 1)}, eps=1e-2)
    return net.save(tmp_path_factory.mktemp("recheck") / "grid.safetensors")


def test_a_grid_is_proved_by_its_own_prover(saved):
    verdict = recheck(saved)
    assert verdict.status == 0 and verdict.bound <= 1e-2


def test_an_altered_weight_is_noticed(saved, tmp_path):
    tensors, metadata = load_tensors(saved)
    name = max(tensors, key=lambda n: tensors[n].numel())
    tensors[name].view(-1)[-1] += 1e-3
    save_tensors(tmp_path / "altered.safetensors", tensors, metadata)
    assert recheck(tmp_path / "altered.safetensors").status == 1


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(hs.Refusal, match="is not a file"):
        recheck(tmp_path / "nothing")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("formulas", [["tanh(5*x)", "x^2", "abs(x)"], ["tanh(x)", "sigmoid(3*x)"]])
def test_side_by_side_formulas_keep_their_promise_and_are_proved_again(tmp_path, formulas, dtype):
    net = hs.compile(formulas, domain=(-1, 1), eps=1e-4, dtype=dtype)
    assert net.certificate.bound <= 1e-4
    assert recheck(net.save(tmp_path / "vector.safetensors")).status == 0
