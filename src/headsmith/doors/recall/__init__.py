"""What attention can remember of data, before anything is built or trained (low-rank-memorization).

>>> explain_failure(["xy", "yx"], [[1, 2], [2, 3]]).reason
'order'
"""

from __future__ import annotations

from headsmith.doors.recall.capacity import capacity
from headsmith.doors.recall.ceilings import ceilings
from headsmith.doors.recall.failure import explain_failure
from headsmith.doors.recall.hardmax import hardmax_impossible
from headsmith.doors.recall.pooling import mean_pooling

__all__ = ["capacity", "ceilings", "explain_failure", "hardmax_impossible", "mean_pooling"]
