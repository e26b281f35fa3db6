"""What there is, as lists of objects: policies, distributions, presets, what can be audited."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bandit_core.auditing.subjects import subjects
from bandit_core.experiments.presets import presets
from bandit_core.model import Policy
from bandit_core.policies import registry
from bandit_core.spec import budgets, rewards


def _fields(things: Iterable[Any], *names: str) -> list[dict[str, Any]]:
    return [{name: getattr(each, name) for name in names} for each in things]


def _policies() -> list[dict[str, Any]]:
    policies = registry().values()
    more = [{"guarantee": policy.guarantee_words, "params": _parameters(policy)} for policy in policies]
    named = _fields(policies, "name", "title", "paper", "privacy")
    return [own | others for own, others in zip(named, more, strict=True)]


def _parameters(policy: Policy) -> list[dict[str, Any]]:
    """Name, default, help, range and allowed words of every parameter, from the model that checks them."""

    def first(schema: dict[str, Any], *keys: str) -> Any:
        # Behind a validator of ours pydantic writes gt and le, elsewhere exclusiveMinimum and maximum.
        return next((schema[key] for key in keys if key in schema), None)

    rows = []
    for name, schema in policy.parameters.model_json_schema().get("properties", {}).items():
        parts = schema.get("anyOf", [schema])
        numbers: dict[str, Any] = next((part for part in parts if part.get("type") in ("number", "integer")), {})
        words = [word for part in parts for word in part.get("enum", [part["const"]] if "const" in part else [])]
        rows.append(
            {
                "name": name,
                "default": schema.get("default"),
                "help": policy.parameters.model_fields[name].description,
                "minimum": first(numbers, "minimum", "exclusiveMinimum", "ge", "gt"),
                "maximum": first(numbers, "maximum", "exclusiveMaximum", "le", "lt"),
                "choices": words or None,
            }
        )
    return rows


def _distributions(every: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "title": one.words, "fields": [each for each in one.model_fields if each not in _EVERYWHERE]}
        for name, one in every.items()
    ]


_EVERYWHERE = ("kind", "count")
_THINGS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "policies": _policies,
    "arms": lambda: _distributions(rewards.DISTRIBUTIONS),
    "epsilons": lambda: _distributions(budgets.DISTRIBUTIONS),
    "presets": lambda: _fields(presets(), "name", "title", "note", "group"),
    "audits": lambda: _fields(subjects().values(), "name", "title", "kind", "inputs", "seen"),
}


def listed(what: str) -> list[dict[str, Any]]:
    """All policies, arms, epsilons, presets or audits that there are."""
    return _THINGS[what]()
