"""Our own experiments: how many keys a certified error costs, and how far single precision goes."""
