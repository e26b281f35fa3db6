"""Compact text for arms, budgets and lines, as the sidebar and links use it. Reading and writing are exact inverses.

    0.9, 80% x5, beta(4,1) x5            arms; a bare number is a Bernoulli mean, xN repeats
    2                                    one budget for every user
    discrete(0:0.2, 1:0.8)               budgets with their shares; clamped-gaussian(1,1,0,100) and so on
    ucb, heldp-ucb-l(2, eps_min=1, label="strict")   lines; the one positional argument is the budget
    single(20, 10, margin(0.5), noise=0.1)           users with features: dimension, arms, distribution of contexts

Grammar: items stand between commas, semicolons or line breaks; an item is ``value [x N]``; a value is a number, a
word, a text in double quotes (JSON escapes), or ``word(argument, …)`` with arguments ``value``, ``value:value`` or
``key=value``. Positional arguments follow the field order of the distribution.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bandit_core.spec import budgets
from bandit_core.spec import contexts as features
from bandit_core.spec import rewards as reward_laws
from bandit_core.spec.errors import InputError, Issue, raise_any, validated
from bandit_core.spec.field_types import Frozen
from bandit_core.spec.number_text import EXACT, read_shares, write_number

_TOKEN = re.compile(
    r"""(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?%?)
      | (?P<word>[^\W\d][\w-]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<mark>[(),:=;\n×*])
      | (?P<space>[^\S\n]+)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d][\w-]*")
_CONSTANTS = {"true": True, "false": False, "null": None}
_DEEPEST = 8  # nested parentheses; real notation needs two
_LONGEST_WORDS = 1000  # of a message
_ARMS_HELP = "write a mean such as 0.9, or a distribution such as beta(4,1), with x5 behind it to repeat"


class _Unreadable(Exception):
    """Why an item cannot be read, in words; of a long item only its ends are repeated."""

    def __str__(self) -> str:
        words = super().__str__()
        return words if len(words) <= _LONGEST_WORDS else f"{words[:200]} … {words[-200:]}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class _Call:
    """``name(…)``: positional values, values with a share (``value:share``), and keyed values."""

    name: str
    values: list[Any] = field(default_factory=list)
    shares: list[Any] = field(default_factory=list)
    keyed: dict[str, Any] = field(default_factory=dict)


# ---------------------------------------------------------------------------------------------------------------
# Numbers


def read_number(text: str) -> int | float | str:
    """The number that ``text`` spells (an int where it is whole); the text itself where it spells none."""
    text = text.strip()
    match = _TOKEN.fullmatch(text)
    if match is None or match.lastgroup != "number":
        return text
    try:
        if re.fullmatch(r"[+-]?\d+", text):
            return int(text)
        value = float(text)
    except ValueError:  # more digits than Python converts
        return text
    return int(value) if value.is_integer() and "." not in text and abs(value) < EXACT else value


# ---------------------------------------------------------------------------------------------------------------
# From text to items


def _tokens(text: str) -> Iterable[_Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            yield _Token("unknown", text[place], place, place + 1)
            place += 1
            continue
        if match.lastgroup != "space":
            yield _Token(match.lastgroup or "", match.group(), place, match.end())
        place = match.end()


def _split(text: str) -> list[tuple[str, list[_Token]]]:
    """Items of a list: text and tokens of each; separators inside parentheses belong to the item."""
    items: list[list[_Token]] = [[]]
    depth = 0
    for token in _tokens(text):
        if token.kind == "mark" and token.text == "\n" and depth:
            continue
        if token.kind == "mark" and token.text in ",;\n" and depth == 0:
            items.append([])
            continue
        if token.kind == "mark" and token.text in "()":
            depth = max(0, depth + (1 if token.text == "(" else -1))
        items[-1].append(token)
    return [(text[item[0].start : item[-1].end], item) for item in items if item]


class _Reader:
    """Recursive descent over the tokens of one item."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.place = 0

    def peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def take(self) -> _Token:
        token = self.peek()
        if token is None:
            raise _Unreadable("it ends too early")
        self.place += 1
        return token

    def takes(self, mark: str) -> bool:
        token = self.peek()
        if token is None or token.kind != "mark" or token.text not in mark:
            return False
        self.place += 1
        return True

    def value(self, depth: int = 0) -> Any:
        token = self.take()
        if token.kind == "number":
            number = read_number(token.text.removesuffix("%"))
            if isinstance(number, str):
                raise _Unreadable("it has a number with too many digits")
            return read_shares("", token.text)[0] if token.text.endswith("%") else number
        if token.kind == "text":
            try:
                return json.loads(token.text, strict=False)
            except ValueError:
                raise _Unreadable(f"{token.text} is no text in JSON's escapes") from None
        if token.kind != "word":
            raise _Unreadable(f"{token.text!r} stands where a number or a word is expected")
        if self.takes("("):
            return self.call(token.text, depth + 1)
        return _CONSTANTS[token.text] if token.text in _CONSTANTS else _Call(token.text)

    def call(self, name: str, depth: int) -> _Call:
        if depth > _DEEPEST:
            raise _Unreadable("its parentheses are nested too deeply")
        call = _Call(name)
        while not self.takes(")"):
            if self.peek() is None:
                raise _Unreadable("a parenthesis is never closed")
            value = self.value(depth)
            if self.takes("="):
                if not isinstance(value, _Call) or value != _Call(value.name):
                    raise _Unreadable("only a word may stand before =")
                if value.name in call.keyed:
                    raise _Unreadable(f"{value.name} is given twice")
                call.keyed[value.name] = self.value(depth)
            else:
                call.values.append(value)
                if self.takes(":"):
                    call.shares.append(self.value(depth))
            if not self.takes(",;") and (token := self.peek()) is not None and token.text != ")":
                raise _Unreadable(f"{token.text!r} stands where a comma or a closing parenthesis is expected")
        return call

    def count(self) -> int:
        """The repetition behind an item: x5, × 5, *5; 1 where there is none."""
        token = self.peek()
        if token is None:
            return 1
        self.place += 1
        times = ""
        if token.kind == "mark" and token.text in "×*":
            times = self.take().text
        elif token.kind == "word" and token.text[0] in "xX":
            times = token.text[1:] or self.take().text
        if not re.fullmatch(r"\d{1,9}", times):
            raise _Unreadable(f"{token.text!r} stands where only a repetition such as x5 may stand")
        return int(times)

    def end(self) -> None:
        token = self.peek()
        if token is not None:
            words = "; a decimal is written with a point, such as 0.5" * (token.text == ",")
            raise _Unreadable(f"{token.text!r} stands behind its end{words}")


def _read_list(
    text: str, field_name: str, help_words: str, read: Callable[[_Reader, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Read every item, collecting the problems of all of them."""
    documents: list[dict[str, Any]] = []
    issues: list[Issue] = []
    for number, (words, tokens) in enumerate(_split(text)):
        reader = _Reader(tokens)
        try:
            item = read(reader, number)
            reader.end()
            documents.append(item)
        except _Unreadable as error:
            issues.append(Issue(f"{field_name}[{number}]", words, f"{error}; {help_words}"))
        except InputError as error:
            issues += error.issues
    if not documents and not issues:
        issues = [Issue(field_name, text, f"nothing is there; {help_words}")]
    raise_any(issues)
    return documents


def _distribution_fields(value: Any, kinds: Mapping[str, type[Frozen]], bare: str = "") -> dict[str, Any]:
    """A distribution as a document: ``beta(4,1)`` as ``{"kind": "beta", "a": 4, "b": 1}``; a bare number by the
    distribution ``bare``. Where there is none, a text holds one in JSON (for a table).
    """
    if bare and isinstance(value, int | float) and not isinstance(value, bool):
        value = _Call(bare, [value])
    if not bare and isinstance(value, str):
        return _json_object(value)
    if not isinstance(value, _Call) or value.name not in kinds:
        shown = value.name if isinstance(value, _Call) else value
        allowed = ", ".join(["a number"] * bool(bare) + [*kinds])
        raise _Unreadable(f"{shown!r} is not a distribution; allowed: {allowed}")
    stated = {name: each for name, each in kinds[value.name].model_fields.items() if name not in ("kind", "count")}
    names = list(stated)
    if any(isinstance(part, _Call) for part in (*value.values, *value.shares, *value.keyed.values())):
        raise _Unreadable(f"{value.name} takes numbers only")
    if names[:1] == ["values"]:
        if value.keyed:
            raise _Unreadable(f"{value.name} takes numbers only, without names")
        weights = next((name for name in ("probs", "counts") if name in names), None)
        if value.shares and (weights is None or len(value.shares) != len(value.values)):
            share = "a count behind every value (1:5)" if weights == "counts" else "a share behind every value (1:0.5)"
            raise _Unreadable(f"write {value.name}(…) with {share} or behind none")
        fields: dict[str, Any] = {"values": value.values}
        return {"kind": value.name, **fields, **({weights: value.shares} if weights and value.shares else {})}
    fields = dict(zip(names, value.values, strict=False))
    missing = [name for name in names if stated[name].is_required() and name not in {**fields, **value.keyed}]
    wrong = value.shares or len(value.values) > len(names) or value.keyed.keys() - (set(names) - fields.keys())
    if wrong or missing:
        raise _Unreadable(f"write {value.name}({', '.join(names)})")
    return {"kind": value.name, **fields, **value.keyed}


def _plain(name: str, value: Any) -> Any:
    """What is said of ``name``: a number, a truth value, a text or a word."""
    if isinstance(value, _Call) and value != _Call(value.name):
        raise _Unreadable(f"{name} must be a number or a word")
    return value.name if isinstance(value, _Call) else value


def _json_object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _Unreadable("a text there must hold a distribution in JSON")
    return document


def _read_one(text: str, field_name: str, help_words: str, read: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Read a text that is a single item, over one or several lines."""
    reader = _Reader([token for token in _tokens(text) if token.text != "\n"])
    try:
        document = read(reader.value())
        reader.end()
    except _Unreadable as error:
        raise InputError([Issue(field_name, text, f"{error}; {help_words}")]) from None
    return document


def _checked(
    document: dict[str, Any], distributions: Mapping[str, type[Frozen]], path: tuple[str | int, ...]
) -> dict[str, Any]:
    validated(distributions[document["kind"]], document, path)
    return document


# ---------------------------------------------------------------------------------------------------------------
# Arms


def read_arms(text: str) -> list[dict[str, Any]]:
    """Arms as spec documents.

    Raises
    ------
    InputError
        With one problem or more for every item that cannot be read (path ``arms[i]``).

    Examples
    --------
    >>> read_arms("0.9, beta(4,1) x5")
    [{'kind': 'bernoulli', 'mean': 0.9}, {'kind': 'beta', 'a': 4, 'b': 1, 'count': 5}]
    """

    def arm(reader: _Reader, number: int) -> dict[str, Any]:
        value = reader.value()
        if isinstance(value, int | float) and 1 < value <= 100:
            said = f"at most 1; for a percentage write {value:g}% or {value / 100:g}"
            raise InputError([Issue(f"arms[{number}].mean", value, said)])
        document = _distribution_fields(value, reward_laws.DISTRIBUTIONS, "bernoulli")
        count = reader.count()
        if count != 1:
            document["count"] = count
        return _checked(document, reward_laws.DISTRIBUTIONS, ("arms", number))

    return _read_list(text, "arms", _ARMS_HELP, arm)


def write_arms(arms: Sequence[reward_laws.RewardDistribution], spaces: bool = True) -> str:
    """Arms as text, entry by entry; ``spaces=False`` leaves out every space (for links)."""
    space = " " if spaces else ""
    times = [f"{space}x{arm.count}" if arm.count != 1 else "" for arm in arms]
    return f",{space}".join(
        _write_distribution(arm, "bernoulli") + count for arm, count in zip(arms, times, strict=True)
    )


def _write_distribution(distribution: Any, bare: str = "", space: str = "") -> str:
    if isinstance(distribution, features.Table):
        return json.dumps(json.dumps(distribution.model_dump(mode="json", exclude_defaults=True)))
    fields = {name: value for name, value in distribution if name not in ("kind", "count")}
    if distribution.kind == bare:
        return write_number(next(iter(fields.values())))
    numbers = fields["values"] if "values" in fields else fields.values()
    written = list(map(write_number, numbers))
    if weights := fields.get("probs") or fields.get("counts"):
        written = [f"{value}:{write_number(share)}" for value, share in zip(written, weights, strict=True)]
    return f"{distribution.kind}({f',{space}'.join(written)})" if written else str(distribution.kind)


# ---------------------------------------------------------------------------------------------------------------
# Budgets

_EPSILON_HELP = "write a number above 0, or how budgets are spread, such as discrete(0,1,2) or uniform(0,1)"


def read_epsilon(text: str) -> dict[str, Any]:
    """How budgets are spread over users, as a spec document.

    Raises
    ------
    InputError
        Where the text is no such distribution (path ``epsilon``).

    Examples
    --------
    >>> read_epsilon("discrete(0:0.2, 1:0.8)")
    {'kind': 'discrete', 'values': [0, 1], 'probs': [0.2, 0.8]}
    """
    kinds = budgets.DISTRIBUTIONS
    document = _read_one(text, "epsilon", _EPSILON_HELP, lambda value: _distribution_fields(value, kinds, "fixed"))
    return _checked(document, kinds, ("epsilon",))


def write_epsilon(distribution: budgets.BudgetDistribution, spaces: bool = True) -> str:
    """A budget distribution as text.

    Examples
    --------
    >>> write_epsilon(budgets.Discrete(values=(0, 1), probs=(0.2, 0.8)))
    'discrete(0:0.2, 1:0.8)'
    """
    return _write_distribution(distribution, "fixed", " " if spaces else "")


# ---------------------------------------------------------------------------------------------------------------
# Lines

_LINES_HELP = 'write a policy such as ucb, heldp-ucb-b(2) or heldp-ucb-l(2, eps_min=1, label="strict")'


def read_lines(text: str) -> list[dict[str, Any]]:
    """Lines as spec documents; policies and their parameters are not looked up here.

    Raises
    ------
    InputError
        With one problem or more for every item that cannot be read (path ``lines[i]``).

    Examples
    --------
    >>> read_lines("heldp-ucb-b(2, eps_min=auto)")
    [{'policy': 'heldp-ucb-b', 'epsilon': {'kind': 'fixed', 'value': 2}, 'params': {'eps_min': 'auto'}}]
    """

    def line(reader: _Reader, number: int) -> dict[str, Any]:
        call = reader.value()
        if not isinstance(call, _Call):
            raise _Unreadable(f"{call!r} is no policy")
        given = [*call.values, *(call.keyed.pop(name) for name in ("epsilon",) if name in call.keyed)]
        if len(given) > 1 or call.shares:
            raise _Unreadable("only the privacy budget stands without a name")
        document: dict[str, Any] = {"policy": call.name}
        if given:
            document["epsilon"] = _distribution_fields(given[0], budgets.DISTRIBUTIONS, "fixed")
            _checked(document["epsilon"], budgets.DISTRIBUTIONS, ("lines", number, "epsilon"))
        label = call.keyed.pop("label", None)
        if label is not None:
            document["label"] = label.name if isinstance(label, _Call) and label == _Call(label.name) else label
            if not isinstance(document["label"], str):
                raise _Unreadable("its label must be a text in double quotes")
        params = {name: _plain(name, value) for name, value in call.keyed.items()}
        return {**document, **({"params": params} if params else {})}

    return _read_list(text, "lines", _LINES_HELP, line)


def write_lines(lines: Sequence[Any], spaces: bool = True) -> str:
    """Lines of an experiment as text; ``spaces=False`` leaves out every space outside labels (for links)."""
    comma = ", " if spaces else ","
    return comma.join(_write_line(line, spaces) for line in lines)


def _write_line(line: Any, spaces: bool) -> str:
    arguments = []
    if line.epsilon is not None:
        arguments.append(write_epsilon(line.epsilon, spaces))
    arguments += [f"{name}={write_value(value)}" for name, value in line.params.items()]
    if line.label is not None:
        arguments.append(f"label={json.dumps(line.label, ensure_ascii=False) if spaces else write_value(line.label)}")
    return f"{line.policy}({(', ' if spaces else ',').join(arguments)})" if arguments else line.policy


def write_value(value: Any) -> str:
    """A parameter's value as text: a number, a word, a truth value, or a text in double quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        bare = _WORD.fullmatch(value) and value not in _CONSTANTS
        return value if bare else json.dumps(value, ensure_ascii=False)
    return write_number(value)


# ---------------------------------------------------------------------------------------------------------------
# Users with features

_CONTEXTS_HELP = (
    "write single(dimension, arms, distribution) or multi(dimension, arms, distribution), such as single(2, 10, "
    "sphere), then noise=, link=, rewards=, theta="
)
_THETAS: dict[str, type[Frozen]] = {"random": features.RandomTheta, "given": features.GivenTheta}


def read_contexts(text: str) -> dict[str, Any]:
    """Users with features, as a spec document.

    Raises
    ------
    InputError
        Where the text is no such thing (paths begin with ``contexts``).

    Examples
    --------
    >>> read_contexts("multi(20, 3, gaussian(1), noise=0.05)")["law"]
    {'kind': 'gaussian', 'sd': 1}
    """
    document = _read_one(text, "contexts", _CONTEXTS_HELP, _contexts_document)
    validated(features.Contexts, document, ("contexts",))
    return document


def _contexts_document(call: Any) -> dict[str, Any]:
    if not isinstance(call, _Call) or call.name not in ("single", "multi") or call.shares:
        raise _Unreadable("users with features are written with single(…) or multi(…)")
    names = ("dimension", "arms", "law")
    if len(call.values) > len(names):
        raise _Unreadable("only dimension, arms and distribution stand without a name")
    fields = dict(zip(names, call.values, strict=False))
    if twice := fields.keys() & call.keyed.keys():
        raise _Unreadable(f"{min(twice)} is given twice")
    document: dict[str, Any] = {"structure": call.name, **fields, **call.keyed}
    for name, value in document.items():
        if name == "law":
            document[name] = _distribution_fields(value, features.DISTRIBUTIONS)
        elif name == "theta":
            document[name] = _distribution_fields(value, _THETAS)
        else:
            document[name] = _plain(name, value)
    return document


def write_contexts(contexts: features.Contexts, spaces: bool = True) -> str:
    """Users with features as text.

    Examples
    --------
    >>> write_contexts(features.Contexts(dimension=2, arms=10, noise=0.5))
    'single(2, 10, noise=0.5)'
    """
    default, space = features.Contexts(dimension=1, arms=2), " " if spaces else ""
    arguments = [write_number(contexts.dimension), write_number(contexts.arms)]
    if contexts.law != default.law:
        arguments.append(_write_distribution(contexts.law, space=space))
    for name in ("link", "noise", "rewards"):
        value = getattr(contexts, name)
        if value != getattr(default, name):
            arguments.append(f"{name}={write_value(value)}")
    if contexts.theta != default.theta:
        arguments.append(f"theta={_write_distribution(contexts.theta, space=space)}")
    return f"{contexts.structure}({f',{space}'.join(arguments)})"
