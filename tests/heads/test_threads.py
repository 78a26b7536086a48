import os
import subprocess
import sys

CODE = """
import os, headsmith.heads
assert "OPENBLAS_NUM_THREADS" not in os.environ
from headsmith.heads.search import search
import numpy as np, time
from scipy.linalg import lapack
matrix = np.asfortranarray(np.random.default_rng(0).normal(size=(1500, 40)))
wall, cpu = time.perf_counter(), time.process_time()
for _ in range(40):
    lapack.dgeqrf(matrix, lwork=32 * 40)
print((time.process_time() - cpu) / (time.perf_counter() - wall))
"""


def test_the_search_keeps_to_one_thread_and_leaves_the_environment_alone() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.2
