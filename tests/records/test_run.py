import subprocess
import sys

import pytest
import torch

from headsmith.records import Record
from headsmith.refusal import Refusal

CONFIG = {"kind": "lab/toy", "seed": 0, "rate": 0.1}


def test_the_folder_is_found_again_by_what_was_asked(tmp_path):
    run = Record(tmp_path, CONFIG)
    assert run.folder.name.startswith("lab-toy-") and len(run.folder.name) == len("lab-toy-") + 12
    assert Record(tmp_path, dict(reversed(CONFIG.items()))).folder == run.folder
    assert Record(tmp_path, CONFIG | {"seed": 1}).folder != run.folder
    assert run.load("config") == CONFIG


def test_an_interrupted_run_resumes_without_repeating_work(tmp_path):
    calls = []

    def work(limit):
        run = Record(tmp_path, CONFIG)
        for seed in range(4):
            if len(calls) == limit:
                raise KeyboardInterrupt
            run.once(f"seed-{seed}", lambda seed=seed: calls.append(seed) or seed / 3)
        run.mark_done()
        return run

    with pytest.raises(KeyboardInterrupt):
        work(limit=2)
    assert not Record(tmp_path, CONFIG).finished
    run = work(limit=None)
    assert calls == [0, 1, 2, 3]
    assert run.finished and Record(tmp_path, CONFIG).finished
    assert run.load("seed-2") == 2 / 3


def test_a_folder_with_another_configuration_is_refused(tmp_path):
    run = Record(tmp_path, CONFIG)
    run.save("config", CONFIG | {"seed": 5})
    with pytest.raises(Refusal, match="another configuration"):
        Record(tmp_path, CONFIG)


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", ""])
def test_files_stay_inside_the_folder(tmp_path, name):
    with pytest.raises(Refusal):
        Record(tmp_path, CONFIG).path(name)


def test_the_log_appends_and_survives_a_torn_line(tmp_path):
    run = Record(tmp_path, CONFIG)
    assert run.lines() == []
    run.log(step=1, loss=0.5)
    with open(run.path("log.jsonl"), "ab") as file:
        file.write(b'{"step":2,"lo')
    run.log(step=3, loss=float("inf"))
    assert run.lines() == [{"step": 1, "loss": 0.5}, {"step": 3, "loss": float("inf")}]


def test_checkpoints_come_back(tmp_path):
    run = Record(tmp_path, CONFIG)
    with pytest.raises(FileNotFoundError):
        run.load_tensors("step")
    run.save_tensors("step", {"w": torch.arange(3.0)})
    run.save_tensors("step", {"w": torch.arange(4.0)})
    assert torch.equal(run.load_tensors("step")["w"], torch.arange(4.0))


@pytest.mark.slow
def test_two_processes_leave_whole_files_and_whole_lines(tmp_path):
    script = (
        "import sys\n"
        "from headsmith.records import Record\n"
        "run = Record(sys.argv[1], {'kind': 'race'})\n"
        "for k in range(200):\n"
        "    run.save('shared', [k] * 500)\n"
        "    run.log(k=k, who=sys.argv[2])\n"
        "    assert len(set(run.load('shared'))) == 1\n"
        "run.mark_done()\n"
    )
    racers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), who]) for who in "ab"]
    assert [racer.wait(60) for racer in racers] == [0, 0]
    run = Record(tmp_path, {"kind": "race"})
    lines = run.lines()
    assert all([line["k"] for line in lines if line["who"] == who] == list(range(200)) for who in "ab")
    assert run.finished and not list(run.folder.glob(".*.tmp"))
