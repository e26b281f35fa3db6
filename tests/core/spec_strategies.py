"""Hypothesis strategies for valid specs; policies are taken from the registry, so new ones are under test at once."""

import copy
from typing import Any

import pydantic
from hypothesis import strategies as st

from bandit_core.experiments.experiment import Experiment
from bandit_core.policies import registry
from bandit_core.spec import budgets, rewards
from bandit_core.spec.errors import InputError
from bandit_core.spec.field_types import SMALLEST

Document = dict[str, Any]


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers as people write them: short decimals, whole ones, and any double in between that a spec may hold."""
    rounded = st.floats(low, high).map(lambda value: min(high, max(low, round(value, 2))))
    written = st.one_of(st.integers(-int(-low // 1), int(high)), rounded, st.floats(low, high))
    return written.map(lambda value: value if abs(value) >= SMALLEST else 0)


@st.composite
def ranges(draw: st.DrawFn, low: float, high: float) -> Document:
    lower = draw(numbers(low, (low + high) / 2))
    return {"low": lower, "high": draw(numbers((low + high) / 2 + 0.01 * (high - low), high))}


def law(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({"kind": st.just(kind), **fields})


unit = numbers(0, 1)
positive = st.floats(0.01, 50)
counted = st.fixed_dictionaries({}, optional={"count": st.integers(1, 8)})


def _arm(*options: st.SearchStrategy[Document]) -> st.SearchStrategy[Document]:
    return st.builds(lambda document, count: {**document, **count}, st.one_of(*options), counted)


_bounded = (
    law("bernoulli", mean=unit),
    law("beta", a=positive, b=positive),
    ranges(0, 1).map(lambda fields: {"kind": "uniform", **fields}),
    st.builds(lambda fields, p: {"kind": "two-point", **fields, "p_high": p}, ranges(0, 1), unit),
    law("empirical", values=st.lists(unit, min_size=1, max_size=5)),
    law("empirical", values=st.tuples(unit, unit), counts=st.tuples(st.integers(1, 9), st.integers(1, 999))),
)
_unbounded = (
    law("gaussian", mean=numbers(-5, 5), sd=positive),
    law("pareto", mean=positive, shape=st.floats(1.05, 4)),
    law("student", mean=numbers(-5, 5), scale=positive, df=st.floats(1.05, 5)),
    ranges(-100, 100).map(lambda fields: {"kind": "uniform", **fields}),
    law("empirical", values=st.lists(numbers(-1e6, 1e6), min_size=1, max_size=5)),
)
any_arms = st.lists(_arm(*_bounded, *_unbounded), min_size=1, max_size=5)


@st.composite
def discrete(draw: st.DrawFn) -> Document:
    values = draw(st.lists(numbers(0, 100), min_size=1, max_size=5))
    document: Document = {"kind": "discrete", "values": [*values, draw(st.floats(0.1, 5))]}
    if draw(st.booleans()):
        count = len(values) + 1
        document["probs"] = [1 / count] * count
    return document


any_budget = st.one_of(
    law("fixed", value=st.one_of(st.floats(0.01, 20), st.integers(1, 20))),
    discrete(),
    st.builds(
        lambda mean, sd, fields: {"kind": "clamped-gaussian", "mean": mean, "sd": sd, **fields},
        numbers(0, 3), st.floats(0.1, 3), ranges(0, 100),
    ),
    ranges(0, 10).map(lambda fields: {"kind": "uniform", **fields}),
    law("lognormal", median=st.floats(0.05, 5), sigma=st.floats(0.05, 2)),
    law("empirical", values=st.lists(st.floats(0.1, 10), min_size=1, max_size=5)),
)  # fmt: skip

labels = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), max_size=20)
notes = st.lists(labels, max_size=3).map("\n".join)


@st.composite
def parameters(draw: st.DrawFn, policy: str) -> Document:
    """Some of a policy's parameters: defaults, and numbers where the parameter takes them."""
    model = registry()[policy].parameters
    chosen: Document = {}
    for name, field in model.model_fields.items():
        choice = draw(st.sampled_from(["absent", "absent", "default", "number"]))
        if choice == "default":
            chosen[name] = field.default
        elif choice == "number":
            number = draw(st.sampled_from([0.01, 0.05, 0.5, 1, 1.5]))
            try:
                model.model_validate({name: number})
            except pydantic.ValidationError:
                continue
            chosen[name] = number
    if "u" in model.model_fields:  # a moment that some arm does not have would be refused
        chosen["v"] = draw(st.sampled_from([0.01, 0.04]))
    if "eps_min" in chosen:  # a threshold above every budget would be refused, so keep it low
        chosen["eps_min"] = draw(st.sampled_from(["auto", 0.01]))
    return chosen


@st.composite
def lines(draw: st.DrawFn, policy: str) -> Document:
    takes = registry()[policy].epsilon
    document: Document = {"policy": policy}
    if takes == "one":
        document["epsilon"] = draw(law("fixed", value=st.floats(0.01, 20)))
    elif takes == "any":
        document["epsilon"] = draw(any_budget)
    params = draw(parameters(policy))
    if params:
        document["params"] = params
    if draw(st.booleans()):
        document["label"] = draw(labels)
    return document


views = st.fixed_dictionaries(
    {},
    optional={
        "x": st.sampled_from(["log", "linear"]),
        "y": st.sampled_from(["log", "linear"]),
        "quantity": st.sampled_from(["regret", "regret-per-log", "regret-per-user", "price"]),
        "band": st.sampled_from(["middle-90", "range", "interval-95", "half-sd", "quarter-sd"]),
        "bounds": st.booleans(),
        "worst_case": st.booleans(),
        "runs": st.booleans(),
        "hidden": st.lists(st.integers(0, 23), max_size=3),
    },
)


@st.composite
def specs(draw: st.DrawFn) -> Document:
    """Whole documents, valid by construction (up to thresholds that leave no one, which are very unlikely)."""
    arm_documents = draw(any_arms)
    laws = [rewards.DISTRIBUTIONS[each["kind"]].model_validate(each) for each in arm_documents]
    single = rewards.expand(tuple(laws))
    cuttable = {law.kind for law in laws} <= set(rewards.CUTTABLE)
    limits = draw(st.none() | ranges(-5, 5)) if cuttable else None
    clip = None if limits is None else (limits["low"], limits["high"])
    seen = rewards.seen(single, clip)
    willing = [
        name for name, policy in registry().items()
        if policy.accepts(single if policy.privacy == "none" else seen) is None
    ]  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(willing), min_size=1, max_size=4))
    document: Document = {
        "version": 1,
        "arms": arm_documents,
        "lines": [draw(lines(name)) for name in chosen],
        "horizon": draw(st.integers(1, 10**9)),
        "trials": draw(st.integers(1, 10**4)),
        "seed": draw(st.integers(0, 2**53)),
    }
    if clip is not None:
        document["clip"] = clip
    for name, words in (("title", labels), ("note", notes)):
        if draw(st.booleans()):
            document[name] = draw(words)
    if draw(st.booleans()):
        document["view"] = draw(views)
    return document


def arm_laws(documents: list[Document]) -> list[Any]:
    return [rewards.DISTRIBUTIONS[document["kind"]].model_validate(document) for document in documents]


def budget_law(document: Document) -> Any:
    return budgets.DISTRIBUTIONS[document["kind"]].model_validate(document)


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=8)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(st.text(max_size=8), st.sampled_from(["kind", "arms", "lines", "policy", "epsilon", "params"])),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


# ---------------------------------------------------------------------------------------------------------------
# Bad input, and users with features

FIELDS = tuple(Experiment.model_fields)


TAGS = ("function-", "constrained-", "literal[", "tuple[", "union", "float]", "none.")


def told_well(refusal: InputError, document: object) -> None:
    """Every problem names a place in the document and what is allowed there, in one line."""
    assert refusal.issues
    for problem in refusal.issues:
        assert "\n" not in str(problem) and len(str(problem)) < 2000
        assert problem.allowed
        assert not any(tag in problem.path for tag in TAGS)
        if isinstance(document, dict):
            known = (*FIELDS, *(key for key in document if isinstance(key, str)))
            assert problem.path.startswith("[") or any(problem.path.startswith(name) for name in known)
    paths = [problem.path for problem in refusal.issues]
    assert len(set(paths)) == len(paths)


def taken_or_refused(document: object) -> None:
    try:
        experiment = Experiment.model_validate(document)
    except InputError as refusal:
        told_well(refusal, document)
    else:
        assert Experiment.model_validate(experiment.spec()) == experiment


def places(value, path=()):
    """Every place of a document, outermost first."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


odd_values = st.one_of(
    json_values,
    st.sampled_from([
        True, "1", "", None, [], {}, -1, 0, 1e-320, 1e308, 10**400, float("nan"), float("-inf"), "auto", "fixed",
        {"kind": "fixed"}, [[]] * 3, "\ud800", "\0", -0.0, 2**63,
    ]),
)  # fmt: skip


@st.composite
def mutated(draw, valid):
    """A valid document with up to three places changed, removed, doubled or given a neighbour."""
    document = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from([path for path in places(document) if path] or [("version",)]))
        holder = document
        for step in above:
            holder = holder[step]
        action = draw(st.sampled_from(["change", "remove", "double", "add"]))
        if action == "change":
            holder[last] = copy.deepcopy(draw(odd_values))
        elif action == "remove" and last in (holder if isinstance(holder, dict) else range(len(holder))):
            del holder[last]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]) if action == "double" else copy.deepcopy(draw(odd_values)))
        else:
            holder[draw(st.sampled_from(["kind", "value", "extra", "count", "a.b", "policy"]))] = copy.deepcopy(
                draw(odd_values)
            )
    return document


OLS = {"policy": "ldp-ols", "epsilon": {"kind": "fixed", "value": 1.0}}
USERS = {"dimension": 2, "arms": 3}


def spec_with_features(**fields):
    return {"contexts": USERS, "lines": [OLS], "horizon": 1000, "trials": 2, **fields}


context_distributions = st.one_of(
    st.just({"kind": "sphere"}),
    st.builds(lambda sd: {"kind": "gaussian", "sd": sd}, st.floats(0.01, 100)),
    st.builds(lambda width: {"kind": "cube", "half_width": width}, st.floats(0.01, 100)),
    st.builds(lambda n, gap: {"kind": "discrete", "points": n, "gap": gap}, st.integers(1, 1000), st.floats(0.01, 1)),
    st.builds(lambda beta: {"kind": "margin", "beta": beta}, st.floats(0, 1)),
)


@st.composite
def users(draw):
    document = {
        "dimension": draw(st.integers(1, 6)),
        "arms": draw(st.integers(2, 5)),
        "structure": draw(st.sampled_from(["single", "multi"])),
        "law": draw(context_distributions),
        "link": draw(st.sampled_from(["identity", "logistic", "poisson"])),
        "rewards": draw(st.sampled_from(["drawn", "mean"])),
    }
    if document["link"] == "identity" or document["rewards"] == "mean":
        document["noise"] = draw(st.sampled_from([0, 0.05, 1]))
    if draw(st.booleans()):
        count = document["dimension"] * (document["arms"] if document["structure"] == "multi" else 1)
        document["theta"] = {
            "kind": "given",
            "values": draw(st.lists(st.floats(-1, 1), min_size=count, max_size=count)),
        }
    elif draw(st.booleans()):
        width = document["dimension"] * (1 if document["structure"] == "multi" else document["arms"])
        row = st.lists(st.floats(-1, 1), min_size=width, max_size=width)
        document["law"] = {"kind": "table", "rows": draw(st.lists(row, min_size=1, max_size=3))}
    return document
