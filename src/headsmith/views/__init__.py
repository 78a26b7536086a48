"""Every picture and every table, fed by records only.

Whoever computes hands over plain numbers; whoever draws knows nothing else. So a picture can be drawn again
from its record, years later, without running anything, and all of them look alike.
"""
