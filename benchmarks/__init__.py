"""Programs that answer one question each, by a measurement or a check that is too long for a test.

For a host: `load`, `processes`, `attack`, `bench_pages`. For a researcher: `coverage`, `bench_peers`.
For a referee: `benchmark_check`, `contest_check`, `policy_seeds`, `power_check`, `stopping_check`.
For a maintainer: `frozen`, `shipped`, `bench_registry`.
`nightly` runs all of them and compares exit codes.
What ships is made by `play_all`, `best_by_trust`, `first_pictures` and `pictures`; the rest are helpers. No test
asserts a time. What was measured, and on which machine, stands in docs/speed.md, load.md, security.md and intervals.md.
"""
