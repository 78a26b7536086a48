"""Numbers only: keys, starts, fits and descents that find the fewest keys; nothing here knows a network.

The search makes thousands of QR factorisations of a few hundred numbers.  OpenBLAS would split each of them over all
cores and wait (15 times the CPU time on a busy machine); it reads its thread count once, when scipy loads it, so
scipy is loaded here with one thread and the environment is left as it was.
"""

import os

_asked = os.environ.get("OPENBLAS_NUM_THREADS")
os.environ["OPENBLAS_NUM_THREADS"] = _asked or "1"
try:
    import scipy.linalg  # noqa: F401
finally:
    if _asked is None:
        del os.environ["OPENBLAS_NUM_THREADS"]
