"""Ratios measured in one run, so that they travel between machines: ``python -m benchmarks.bench_steps`` and so on.

Nothing here asserts a time. What the numbers were, and on which machine, stands in docs/speed.md.
"""
