"""The lab's front door: its public names, its three rooms, and what it needs to be imported."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

import headsmith as hs
from headsmith import lab

PUBLIC = [
    "Activation", "AttentionModel", "Comparison", "Diagnosis", "Flow", "Problem", "Run", "Task", "activation",
    "compare", "construct", "diagnose", "exact_loss", "fit", "flow", "load_model", "risk", "sweep", "tasks",
    "to_network", "train",
]  # fmt: skip
ROOMS = ("theory", "train", "read")


def test_the_lab_lists_its_public_names_and_nothing_else():
    assert dir(hs.lab) == sorted(PUBLIC) == sorted(lab.__all__)
    for name in PUBLIC:
        value = getattr(hs.lab, name)
        assert isinstance(value, types.ModuleType) == (name == "tasks")
    with pytest.raises(AttributeError, match="no attribute 'trainer'"):
        _ = lab.trainer


def test_train_is_the_function_whatever_has_been_imported():
    import headsmith.lab.read.report
    import headsmith.lab.train.trainer  # noqa: F401

    assert isinstance(hs.lab.train, types.FunctionType)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_those_before_it(room):
    later = ROOMS[ROOMS.index(room) + 1 :]
    for file in (Path(lab.__file__).parent / room).glob("*.py"):
        lines = [line for line in file.read_text().splitlines() if line.startswith(("from", "import"))]
        assert not [line for line in lines for other in later if f"headsmith.lab.{other}" in line], file


BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {'rich', 'scipy', 'safetensors', 'typer', 'flint', 'pydantic', 'matplotlib'}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from headsmith import lab
"""


def test_the_lab_is_imported_with_torch_and_numpy_alone():
    code = BLOCKED + "for name in dir(lab): getattr(lab, name)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_lab_trains_with_torch_and_numpy_alone(tmp_path):
    code = BLOCKED + "lab.train(2, preset='smoke', steps=5, out=sys.argv[1]).diagnoses"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert list(tmp_path.glob("lab-*/checkpoint.npz"))
