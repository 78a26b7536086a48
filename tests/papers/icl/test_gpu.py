import json

from headsmith.papers.icl.gpu import main as gpu_main


def test_the_gpu_script_runs_dry(tmp_path):
    assert gpu_main(["--dry", "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "results.json").read_text())
    assert [run["heads"] for run in result["runs"]] == [2, 1, 4]
    assert len(result["throughput"]) == 2 and len(result["runs"][0]["seeds"]) == 2
