"""Benchmarks: ``make bench`` prints one table per file ``bench_*.py``."""
