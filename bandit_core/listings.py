"""What there is, as lists of objects: policies, distributions, presets, what can be audited."""

from collections.abc import Callable
from typing import Any

from bandit_core.auditing.subjects import subjects
from bandit_core.experiments.presets import presets
from bandit_core.model import Policy
from bandit_core.policies import registry
from bandit_core.spec import budgets, rewards


def _policies() -> list[dict[str, Any]]:
    return [
        {
            "name": policy.name,
            "title": policy.title,
            "paper": policy.paper,
            "privacy": policy.privacy,
            "guarantee": policy.guarantee_words,
            "params": _parameters(policy),
        }
        for policy in registry().values()
    ]


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


def _arm_distributions() -> list[dict[str, Any]]:
    return [
        _distribution(name, distribution, ("kind", "count")) for name, distribution in rewards.DISTRIBUTIONS.items()
    ]


def _budgets() -> list[dict[str, Any]]:
    return [_distribution(name, distribution, ("kind",)) for name, distribution in budgets.DISTRIBUTIONS.items()]


def _distribution(name: str, distribution: Any, without: tuple[str, ...]) -> dict[str, Any]:
    fields = [field for field in distribution.model_fields if field not in without]
    return {"name": name, "title": distribution.words, "fields": fields}


def _presets() -> list[dict[str, Any]]:
    return [{"name": each.name, "title": each.title, "note": each.note, "group": each.group} for each in presets()]


def _audits() -> list[dict[str, Any]]:
    return [
        {"name": each.name, "title": each.title, "kind": each.kind, "inputs": each.inputs, "seen": each.seen}
        for each in subjects().values()
    ]


_THINGS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "policies": _policies,
    "arms": _arm_distributions,
    "epsilons": _budgets,
    "presets": _presets,
    "audits": _audits,
}


def listed(what: str) -> list[dict[str, Any]]:
    """All policies, arms, epsilons, presets or audits that there are."""
    return _THINGS[what]()
