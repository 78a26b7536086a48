import pytest

from headsmith.cli import main


@pytest.mark.slow
def test_the_tour_ends_well_and_leaves_its_results(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "What was made" in shown and "not confirmed" not in shown and "fails" not in shown
    for name in ("sin3x.safetensors", "abs.safetensors", "composed.safetensors", "sin3x.png", "composed.png"):
        assert (tmp_path / "out" / name).stat().st_size > 0
