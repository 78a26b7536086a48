import json
import os
import subprocess
import sys

import pytest

CODE = """
import os, json, {module}
from scipy.linalg import lapack
from threadpoolctl import threadpool_info
blas = [pool["num_threads"] for pool in threadpool_info() if "scipy.libs" in pool["filepath"]]
print(json.dumps([blas, os.environ.get("OPENBLAS_NUM_THREADS")]))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread")
def test_the_search_keeps_to_one_thread_and_leaves_the_environment_alone():
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}

    def threads(module: str) -> list[object]:
        command = [sys.executable, "-c", CODE.format(module=module)]
        return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    assert threads("headsmith.search.descent") == [[1], None]
    assert threads("numpy") != [[1], None]
