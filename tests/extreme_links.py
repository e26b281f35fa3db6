"""Links of extreme numbers: every policy, distribution and parameter, at the ends of what a spec may hold."""

import contextlib
import functools
import typing
from typing import Any

import pydantic
from hypothesis import strategies as st

from bandit_core.policies import registry
from bandit_core.spec import budgets, rewards
from bandit_core.spec.number_text import write_number

AT_THE_ENDS = [
    0, 1e-6, 1.5e-6, 1e-5, 8e-5, 1e-3, 0.01, 0.15, 0.5, 0.5000000001, 0.9, 0.999999, 1 - 1e-16, 1, 1 + 1e-15, 1.000001,
    1.1, 1.5, 2, 5, 100, 700, 710, 1000, 1e4, 1e6, 1e9, 1e12, -1, -1e-6, -1e12,
]  # fmt: skip
BEYOND = [1e-320, 1e-200, 1e-135, 1e-12, 1e-7, 1e13, 1e200, 1e308, -1e-200, -1e308]
FOUND_WRONG = [
    {"lines": "ts-cf(1e-200)"},
    {"lines": "robust-ucb(v=0.001)", "T": "1000"},
    {"lines": "dp-ucb-int(8e-5,delta=0.15)"},
    {"lines": "explore-then-commit(alpha=1e-135)"},
    {"lines": "shuffle-se(710,accounting=paper)", "arms": "0.1"},
    {"lines": "dp-ucb-int(8e-5,delta=0.9999999999999999)", "arms": "0.9,0.001"},
    {"lines": "robust-ucb(v=1e-5)", "arms": "0.5,1e-5"},
    {"lines": "ldp-robust-se(1.1,v=1.5e-6)", "arms": "0.5,0.5000000001"},
    {"lines": "dp-robust-se(0.15,v=1e-6)", "arms": "gaussian(0.9,1),gaussian(0.5,1)"},
    {"lines": "ts-cf(0.15)", "arms": "0.5,0.5000000001", "visits": "30"},
    {"lines": "heldp-ucb-l(1e-6),heldp-ucb-b(1e6)", "arms": "0.5,0.5000000001"},
    {"lines": "robust-ucb", "arms": "pareto(1e12,1.000001),pareto(1e-6,1e12)"},
]

numbers = st.one_of(*[st.sampled_from(AT_THE_ENDS)] * 19, st.sampled_from(BEYOND)).map(float).map(write_number)
chances = st.sampled_from([0, 1e-6, 1e-3, 0.1, 0.5, 0.5000000001, 0.9, 0.999999, 1 - 1e-16, 1]).map(write_number)


def _called(kinds: typing.Mapping[str, Any], bare: str) -> st.SearchStrategy[str]:
    """A distribution in notation: as many numbers as it has fields, or a few where it is a list."""

    def call(kind: str) -> st.SearchStrategy[str]:
        names = [name for name in kinds[kind].model_fields if name not in ("kind", "count")]
        several = names[0] == "values"
        given = st.lists(numbers, min_size=1 if several else len(names), max_size=4 if several else len(names))
        return given.map(lambda numbers: numbers[0] if kind == bare else f"{kind}({','.join(numbers)})")

    return st.sampled_from(sorted(kinds)).flatmap(call)


arms = st.one_of(
    st.sampled_from(["0.9,0.8", "0.5,0.5000000001", "1,0.5", "beta(4,1),beta(2,2)", "gaussian(0.9,1),gaussian(0.5,1)"]),
    st.lists(chances, min_size=1, max_size=3).map(",".join),
    st.lists(_called(rewards.DISTRIBUTIONS, "bernoulli"), min_size=1, max_size=3).map(",".join),
)
users = st.builds(
    lambda shape, law, number, noise: f"{shape}(2,3,{law.format(number)},noise={noise})",
    st.sampled_from(["single", "multi"]),
    st.sampled_from(["sphere", "gaussian({})", "cube({})", "discrete(3,{})", "margin({})"]),
    numbers,
    numbers,
)


def _words(annotation: Any) -> list[Any]:
    """The values of every Literal inside a parameter's type."""
    inside = typing.get_args(annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return list(inside)
    return [word for each in inside if not isinstance(each, str) for word in _words(each)]


def _value(annotation: Any) -> st.SearchStrategy[str]:
    words = [word for word in _words(annotation) if isinstance(word, str) and word.isidentifier()]
    return st.one_of(numbers, st.sampled_from(words)) if words else numbers


@st.composite
def lines(draw: st.DrawFn, setting: str) -> str:
    policies = {name: policy for name, policy in registry().items() if policy.setting == setting}
    name = draw(st.sampled_from(sorted(policies)))
    arguments = []
    if policies[name].epsilon == "one":
        arguments.append(draw(numbers))
    elif policies[name].epsilon == "any":
        arguments.append(draw(_called(budgets.DISTRIBUTIONS, "fixed")))
    for parameter, field in policies[name].parameters.model_fields.items():
        if draw(st.integers(0, 2)) == 0:
            arguments.append(f"{parameter}={draw(_value(field.annotation))}")
    return f"{name}({','.join(arguments)})" if arguments else name


@functools.cache
def _allowed(policy: str, parameter: str) -> list[str]:
    """The words, and the numbers at the ends, that a parameter may be."""
    parameters, found = registry()[policy].parameters, []
    for value in [*_words(parameters.model_fields[parameter].annotation), *AT_THE_ENDS]:
        with contextlib.suppress(pydantic.ValidationError):
            parameters.model_validate({parameter: value})
            found.append(value if isinstance(value, str) else write_number(float(value)))
    return found


@st.composite
def allowed_lines(draw: st.DrawFn, policy: str) -> str:
    """A line whose parameters are each allowed, though perhaps not all together."""
    arguments = [] if registry()[policy].epsilon == "none" else [draw(st.sampled_from(["1e-6", "0.5", "1e6"]))]
    values = {parameter: _allowed(policy, parameter) for parameter in registry()[policy].parameters.model_fields}
    drawn = draw(st.fixed_dictionaries({}, optional={name: st.sampled_from(each) for name, each in values.items()}))
    arguments += [f"{name}={value}" for name, value in drawn.items()]
    return f"{policy}({','.join(arguments)})" if arguments else policy


@st.composite
def extreme_links(draw: st.DrawFn) -> dict[str, str]:
    """The parameters of a link."""
    setting = draw(st.sampled_from(["arms"] * 7 + ["contexts"]))
    link = {setting: draw(arms if setting == "arms" else users), "lines": draw(lines(setting)), "n": "2"}
    link["T"] = draw(st.sampled_from(["1", "2", "10", "1000", "1e6", "1e9"]))
    several = st.sampled_from(["2", "30", "1000"])
    more = st.fixed_dictionaries(
        {}, optional={"visits": several, "visits_delta": numbers, "batch": several, "delay": several}
    )
    return link | draw(st.one_of(st.just({}), st.just({}), more))
