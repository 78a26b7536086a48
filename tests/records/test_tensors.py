import sys

import pytest
import torch

from headsmith.records import load_tensors, save_tensors
from headsmith.refusal import Refusal

TENSORS = {
    "w": torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)),
    "b:1": torch.tensor([1.5, -0.0], dtype=torch.bfloat16),
    "step": torch.tensor(7),
    "half": torch.eye(2, dtype=torch.float16).T,
    "mask": torch.tensor([True, False]),
}


def assert_same(back):
    assert back.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor)


@pytest.fixture
def without_safetensors(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)


def test_safetensors_round_trip(tmp_path):
    path = save_tensors(tmp_path / "step-1.5", TENSORS)
    assert path.name == "step-1.5.safetensors"
    assert_same(load_tensors(tmp_path / "step-1.5"))


def test_npz_round_trip_where_safetensors_is_missing(tmp_path, without_safetensors):
    assert save_tensors(tmp_path / "c", TENSORS).name == "c.npz"
    assert_same(load_tensors(tmp_path / "c"))


def test_the_newest_checkpoint_wins_over_one_in_the_other_format(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "safetensors.torch", None)
        save_tensors(tmp_path / "c", {"old": torch.zeros(1)})
    save_tensors(tmp_path / "c", TENSORS)
    assert_same(load_tensors(tmp_path / "c"))


def test_reading_safetensors_without_the_library_is_refused_in_one_sentence(tmp_path, monkeypatch):
    save_tensors(tmp_path / "c", TENSORS)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(Refusal, match="pip install safetensors"):
        load_tensors(tmp_path / "c")


def test_shared_storage_is_allowed(tmp_path):
    base = torch.arange(4.0)
    save_tensors(tmp_path / "c", {"all": base, "part": base[1:3]})
    assert torch.equal(load_tensors(tmp_path / "c")["part"], base[1:3])
