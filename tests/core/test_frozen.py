"""The stored table of what every policy plays: complete, and able to tell a difference."""

import json

from bandit_core.policies import registry
from benchmarks import frozen


def test_every_policy_is_in_the_table_in_every_variant():
    stored = json.loads(frozen.FILE.read_text())
    names = [policy.name for policy in registry().values() for _ in frozen.variants(policy)]
    assert {name.split()[0] for name in stored} == set(names) >= set(registry())
    assert len(stored) <= len(names)
    assert all(len(row.split()) == len(frozen.WAYS) for row in stored.values())


def test_another_number_is_told(monkeypatch):
    assert frozen.played("coins", {"lines": [{"policy": "nobody"}]}) == "-"
    document = frozen.documents(registry()["thompson"], {})["coins"] | {"horizon": 50}
    assert frozen.played("coins", document) == frozen.played("coins", document)
    assert frozen.played("coins", document) != frozen.played("coins", document | {"seed": 9})
    row = " ".join(["abc", *"-" * (len(frozen.WAYS) - 1)])
    assert list(frozen.differences({"ucb": row, "se": row}, {"ucb": row.replace("abc", "abd"), "new": row})) == [
        "ucb: coins",
        "se: gone",
        "new: new",
    ]
