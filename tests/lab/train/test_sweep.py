import pytest

from headsmith import lab
from headsmith.refusal import Refusal


def test_a_sweep_in_one_process(tmp_path):
    found = lab.sweep([1, 2], ["exp"], seeds=1, steps=30, processes=1, out=tmp_path)
    assert set(found.runs) == {(1, "exp"), (2, "exp")} and "1 exp" in str(found)


@pytest.mark.parametrize(("wrong", "why"), [({"processes": 0}, "at least 1"), ({"heads": []}, "at least one number")])
def test_sweeps_of_nothing_are_refused(wrong, why, tmp_path):
    with pytest.raises(Refusal, match=why):
        lab.sweep(**{"heads": [1], "out": tmp_path, **wrong})


@pytest.mark.slow
def test_a_sweep_over_processes(tmp_path):
    found = lab.sweep([1, 2], ["exp"], seeds=1, steps=40, processes=2, out=tmp_path)
    assert set(found.runs) == {(1, "exp"), (2, "exp")}
    assert len(list(tmp_path.glob("lab-*"))) == 2
    assert "1 exp" in str(found)
    with pytest.raises(Refusal, match="no activation"):
        lab.sweep([1, 2], ["foo"], seeds=1, processes=2, out=tmp_path)
