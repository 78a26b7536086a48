"""One file per theorem: the numbers it stores, the network they make, how they are read back, and what is proved."""
