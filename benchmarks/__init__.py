"""Programs that answer one question each, by a measurement or a check that is too long for a test.

A host: `load`, `processes`, `attack`, `bench_pages`. A researcher: `coverage`, `audit_errors`, `bench_peers`. A referee:
`benchmark_check`, `stopping_check`. A maintainer: `frozen`, `bench_registry`, `one_move`. `play_all`, `best_by_trust`,
`first_pictures` and `picture` make what ships; the rest are helpers. No test asserts a time. What was measured, and on
which machine, stands in docs/speed.md, docs/load.md, docs/security.md, docs/audit.md and docs/intervals.md.
"""
