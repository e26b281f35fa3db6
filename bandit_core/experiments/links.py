"""Experiment <-> address. A link says only what differs from a preset, and opens whatever it can of a broken one.

The parameters are ``preset``, ``title``, ``note``, ``arms`` (or ``contexts``) and ``lines`` (compact notation), ``eps``
(the budget that lines share), ``tail`` (their exponent v of heavy tails), ``names`` (their labels), ``clip``
(``0,0.2``), ``T`` (horizon), ``n`` (trials), ``seed``, ``visits``, ``visits_delta``, ``batch`` and ``delay`` (of the
feedback), and the view: ``x``, ``y``, ``show``, ``band``, ``price``, ``bounds``, ``worst``, ``shapes``, ``runs``,
``hide``. What is absent comes from the preset, or from the preset
``default`` where none is named; only its title and note do not stay where what they speak of is another. Words on the
screen never stand in a link, so rewording a label breaks none.

Beside a preset, ``lines=1-3,ucb`` are its first three lines and one more, at the ``eps`` that stands beside them, and
``arms=1-4,0.45`` are its first four arms and another.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from bandit_core.experiments import trust_table
from bandit_core.experiments.experiment import MAX_LINES, Experiment, Line
from bandit_core.experiments.presets import load_preset, preset_names, shared_budget
from bandit_core.policies.heavy_family import HeavyParameters
from bandit_core.spec import notation, number_text
from bandit_core.spec.errors import InputError, Issue, path_of, raise_any, refuse_if
from bandit_core.spec.own_data import remembered

MAX_TEXT = 20_000  # characters of one field; more travels as a file
LONGEST = 8000  # characters of a query that servers, proxies and chat programs pass on
DISPLAY = frozenset({"embed", "embed_options", "controls", "reveal"})  # how a page is shown: no part of the experiment

# Legal in a query and kept literally, because they keep the notation readable and short; chat programs break a link
# only where such a mark ends it (see `address`).
_READABLE = ",:;="
_RUN = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![^,])(\d{1,3})-(\d{1,3})(?![^,])')  # or a text, which is left as it is
_NOTATION = ("arms", "contexts", "lines", "eps", "tail", "names")

_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _switch(text: str) -> Any:
    return _TRUTH.get(text.strip().lower(), text)


def _numbers(text: str) -> list[int | float | str]:
    return [notation.read_number(part) for part in text.split(",")] if text.strip() else []


# Of each field of a link: its place in the spec, and what reads it.
_FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "title": ("title", str),
    "note": ("note", str),
    "arms": ("arms", notation.read_arms),
    "contexts": ("contexts", notation.read_contexts),
    "lines": ("lines", notation.read_lines),
    "eps": ("eps", notation.read_epsilon),
    "tail": ("tail", notation.read_number),
    "names": ("names", lambda text: text.split(",")),
    "clip": ("clip", lambda text: _numbers(text) or None),
    "T": ("horizon", notation.read_number),
    "n": ("trials", notation.read_number),
    "seed": ("seed", notation.read_number),
    "visits": ("visits", notation.read_number),
    "visits_delta": ("visits_delta", notation.read_number),
    "batch": ("feedback.batch", notation.read_number),
    "delay": ("feedback.delay", notation.read_number),
    "x": ("view.x", str),
    "y": ("view.y", str),
    "show": ("view.quantity", str),
    "band": ("view.band", str),
    "price": ("view.against", str),
    "bounds": ("view.bounds", _switch),
    "worst": ("view.worst_case", _switch),
    "shapes": ("view.shapes", _switch),
    "runs": ("view.runs", _switch),
    "hide": ("view.hidden", _numbers),
}
_KEY_OF = {place: key for key, (place, _) in _FIELDS.items()}
_PARTS = ("feedback", "view")  # fields of the spec that have fields of their own
KEYS = ("preset", *_FIELDS)


# ---------------------------------------------------------------------------------------------------------------
# Writing


def _complete(experiment: Experiment) -> dict[str, str]:
    """Every parameter, defaults included; of arms and contexts the one that there is."""
    fields = {key: _text(attrgetter(place)(experiment)) for key, (place, _) in _FIELDS.items() if key not in _NOTATION}
    if experiment.contexts is None:
        fields["arms"] = notation.write_arms(experiment.arms, spaces=False)
    else:
        fields["contexts"] = notation.write_contexts(experiment.contexts, spaces=False)
    fields["lines"] = notation.write_lines(experiment.lines, spaces=False)
    fields |= {key: str(getattr(experiment.feedback, key)) for key in ("batch", "delay")}
    return {key: fields[key] for key in _FIELDS if key in fields}


def _text(value: Any) -> str:
    """A value as a link says it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    values = value if isinstance(value, tuple) else () if value is None else (value,)
    return ",".join(map(number_text.write_number, values))


@cache
def _complete_preset(name: str) -> dict[str, str]:
    return _complete(load_preset(name))


def _one_by_one(items: Sequence[Any]) -> list[str]:
    """Each arm or line as a link says it."""
    write: Callable[..., str] = notation.write_lines if isinstance(items[0], Line) else notation.write_arms
    return [write([item], spaces=False) for item in items]


def _in_runs(texts: Sequence[str], preset: Sequence[str]) -> str:
    """Items of a list; where they stand in the preset's list, runs such as ``2-5`` where that is shorter."""
    places = [preset.index(text) + 1 if text in preset else -2 * len(texts) for text in texts]
    written = []
    for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        first, *_, last = [number for number, _ in run] * 2
        text, start = ",".join(texts[first : last + 1]), places[first]
        written.append(min(text, f"{start}-{places[last]}", key=len) if start > 0 else text)
    return ",".join(written)


def _in_full(text: str, name: str, preset: Sequence[Any]) -> str:
    """The text of a field with the preset's items in the place of runs.

    Raises
    ------
    InputError
        Where it has not so many.
    """

    def items(run: re.Match[str]) -> str:
        first, last = (int(number or 0) for number in run.groups())
        if run[1] and not 0 < first <= last <= len(preset):
            raise InputError([Issue(name, run[0], f"numbers of the preset's {name}, 1 to {len(preset)}")])
        return ",".join(_one_by_one(preset[first - 1 : last])) if run[1] else run[0]

    return _RUN.sub(items, text, count=MAX_LINES)


def _of_lines(preset: Experiment, experiment: Experiment) -> Iterator[dict[str, str]]:
    """Ways to write the lines beside a preset that is named; some may be read as other lines."""
    texts, theirs = _one_by_one(experiment.lines), {line.label or line.policy: line.epsilon for line in preset.lines}
    mine, known = ([line.policy for line in each.lines] for each in (experiment, preset))
    alike = mine == known or trust_table.position(experiment) is not None  # else nothing but `lines` says the lines
    yield {"lines": _in_runs(texts, _one_by_one(preset.lines))}
    labels: dict[tuple[str, str], list[str | None]] = {}
    for line in preset.lines:
        labels.setdefault((line.policy, str(line.params)), []).append(line.label)
    found = [labels.get((line.policy, str(line.params))) for line in experiment.lines]
    bare = tuple(
        line.model_copy(update={"label": there.pop(0) if there else None})
        for line, there in zip(experiment.lines, found, strict=True)
    )
    if bare != experiment.lines:
        pairs = zip(experiment.lines, bare, strict=True)
        names = ",".join(line.label or "" if line.label != there.label else "" for line, there in pairs).rstrip(",")
        yield from [{"names": names}] * alike
        yield from (each | {"names": names} for each in _of_lines(preset, experiment.with_lines(bare)))
    others = [line.epsilon for line in experiment.lines if line.epsilon != theirs.get(line.label or line.policy)]
    budgets = [notation.write_epsilon(each, spaces=False) for each in (shared_budget(experiment), *others) if each]
    for eps in dict.fromkeys(budgets[:2]) if alike or {*mine} & {*known} else ():
        there = _at(experiment.with_lines(preset.lines), notation.read_epsilon(eps), [])
        yield from [{"eps": eps}] * alike
        yield {"eps": eps, "lines": _in_runs(texts, _one_by_one(there.lines))}


def _query(parameters: Mapping[str, str]) -> str:
    pairs = []
    for key, value in parameters.items():
        # Programs that find links in a text drop a parenthesis that has no partner.
        parentheses = "()" if value.count("(") == value.count(")") and key in _NOTATION else ""
        pairs.append(f"{key}={quote_plus(value, safe=_READABLE + parentheses)}")
    return "&".join(pairs)


def write(experiment: Experiment) -> dict[str, str]:
    """The query parameters of an experiment, at least one: what differs from the preset that makes them shortest."""
    return dict(_shortest(experiment))


@remembered(64)
def _shortest(experiment: Experiment) -> dict[str, str]:
    found, tail = _beside_preset(experiment), _tail(experiment)
    for other in _preset_tails() - {tail} if tail is not None else ():
        there = _at_tail(experiment, other, [])
        if there != experiment:
            said = {**_beside_preset(there), "tail": _text(tail)}
            written = {key: said[key] for key in KEYS if said.get(key)}  # another tail takes title and note away
            if len(_query(written)) < len(_query(found)) and read(written) == (experiment, []):
                found = written
    return found


@cache
def _preset_tails() -> frozenset[float]:
    return frozenset(tail for name in preset_names() if (tail := _tail(load_preset(name))) is not None)


def _beside_preset(experiment: Experiment) -> dict[str, str]:
    """The fields beside the preset that makes them shortest."""
    complete = _complete(experiment)
    words = {(key, complete[key]) for key in ("title", "note")}
    presets = []
    for place, name in enumerate(["default", *preset_names()]):
        least = dict((complete.items() - _complete_preset(name).items()) - words)
        least |= {"eps": "1"} if least.pop("lines", "") else {}  # nothing that moves lines is shorter
        if "arms" in least and load_preset(name).arms and place and len(complete["arms"]) < LONGEST:
            least["arms"] = _in_runs(_one_by_one(experiment.arms), _one_by_one(load_preset(name).arms))
        least |= {"preset": name} if place else {}
        presets.append((len("".join(least)) + len("".join(least.values())) + 2 * len(least) - 1, place, name, least))
    shortest, length = complete, (math.inf, 0)
    for least_length, place, name, least in sorted(presets, key=itemgetter(0, 1)):
        if (least_length, place) >= length:
            break  # title, note and quoting only make it longer
        base = _complete_preset(name)
        if not experiment.plays_as(load_preset(name)):
            base = base | {"title": "", "note": ""}  # as reading does
        head = {"preset": name} if place else {}
        mixed = {"x", "y"} if experiment.view.x != experiment.view.y else set()
        candidate = head | {key: value for key, value in complete.items() if value != base.get(key) or key in mixed}
        others = {key: least.get(key, value) for key, value in candidate.items() if key != "lines"}
        by_number = _of_lines(load_preset(name), experiment) if place and "lines" in candidate else ()
        for lines in ({key: value for key, value in candidate.items() if key == "lines"}, *by_number):
            said = others | lines
            written = {key: said[key] for key in KEYS if key in said}
            asked = len(_query(written)), place
            if asked < length and (written == candidate or read(written) == (experiment, [])):
                shortest, length = written, asked
    return shortest or {"preset": "default"}  # an address without any field may open another picture


def address(
    experiment: Experiment, base: str = "http://localhost:8501", page: str = "", more: Mapping[str, str] | None = None
) -> str:
    """The full link that opens this picture; it holds no space and survives chat programs.

    ``base`` is the address of the app, for example ``https://lab.example.org``; ``page`` is the page to open there,
    by itself Explore, or Contextual where users have features; ``more`` are fields of that page.
    """
    query = _query({**write(experiment), **(more or {})})
    if query and query[-1] in ",:;._-~)":
        if query[-1] == ")":  # its partner would have none
            query = "%28".join(query.rsplit("(", 1))
        query = f"{query[:-1]}%{ord(query[-1]):02X}"  # a mark at the end would be taken for the sentence's
    page = page or ("explore" if experiment.contexts is None else "contextual")
    return f"{base.rstrip('/')}/{page}" + (f"?{query}" if query else "")


def too_long(experiment: Experiment) -> bool:
    """Whether the link is longer than what servers and chat programs reliably pass on; a file travels better then."""
    return len(_query(write(experiment))) > LONGEST


def unread(experiment: Experiment) -> list[Issue]:
    """The fields of the experiment's link that are longer than what `read` takes: no link opens such a picture."""
    return [
        Issue(key, f"{len(text):,} characters", f"a link holds at most {MAX_TEXT:,} of one field; save the spec")
        for key, text in write(experiment).items()
        if len(text) > MAX_TEXT
    ]


# ---------------------------------------------------------------------------------------------------------------
# Reading


def read(params: Mapping[str, str], ignored: Collection[str] = ()) -> tuple[Experiment, list[Issue]]:
    """The experiment that a link asks for, as far as it can be read, and what is wrong with the link.

    Never raises: a parameter that cannot be read falls back to its default; where parameters do not fit together,
    the lines that do not fit go first, then all of ``lines``, then ``arms`` and ``contexts``.

    Parameters
    ----------
    params
        Decoded query parameters.
    ignored
        Parameters that belong to someone else and are passed over, besides those of the display.
    """
    issues: list[Issue] = []
    base = load_preset("default")
    if "preset" in params:
        try:
            base = load_preset(params["preset"])
        except InputError as error:
            [issue] = error.issues
            issues.append(replace(issue, allowed=f"the preset default opens instead; {issue.allowed}"))
    fields: dict[str, Any] = {}
    for key in sorted(params, key="lines".__eq__):
        text = params[key]
        if key in DISPLAY or key in ignored or key == "preset":
            continue
        if key not in _FIELDS:
            issues.append(Issue(path_of((key,)), text, f"no such parameter; allowed: {', '.join(KEYS)}"))
            continue
        name, reader = _FIELDS[key]
        if len(text) > MAX_TEXT:
            issues.append(Issue(key, text[:40], f"at most {MAX_TEXT} characters in a link; upload the spec as a file"))
            continue
        try:
            if key in ("arms", "lines") and any(run[1] for run in _RUN.finditer(text)):
                there = _fit(base, dict(fields), []).with_lines(base.lines)
                preset = base if key == "arms" else _at(there, fields.pop("eps", None), issues)
                text = _in_full(text, key, getattr(preset, key))
            fields[name] = reader(text)
        except InputError as error:
            issues += [replace(each, path="eps") for each in error.issues[:1]] if key == "eps" else error.issues
    budget, tail, names = (fields.pop(name, None) for name in ("eps", "tail", "names"))
    experiment = _fit(base, dict(fields), issues)
    own_words: dict[str, str] = {name: getattr(experiment, name) for name in ("title", "note") if name in fields}
    moved = _at_tail(_at(experiment, budget, issues), tail, issues)
    return _named(moved, names or [], issues).model_copy(update=own_words), issues


def _at(experiment: Experiment, budget: dict[str, Any] | None, issues: list[Issue]) -> Experiment:
    """The experiment at the shared budget that a link asks for, where it takes it; appends to ``issues``."""
    shared = shared_budget(experiment)
    try:
        if budget is not None and (shared is None or (budget["kind"] == "fixed" and shared.fixed is None)):
            raise InputError([Issue("eps", "", "no field of this picture: its policies share no single ε")])
        return experiment if budget is None else trust_table.moved(experiment, budget)
    except InputError as error:
        issues += [replace(issue, path="eps") for issue in error.issues[:1]]
        return experiment


def _tail(experiment: Experiment) -> float | None:
    """The exponent v of most lines for heavy tails; None without such lines."""
    tails = [tail for line in experiment.lines if (tail := _exponent(line)) is not None]
    return max(tails, key=tails.count, default=None)


def _exponent(line: Line) -> float | None:
    parameters = line.entry.parameters
    return parameters(**line.params).v if issubclass(parameters, HeavyParameters) else None


def _at_tail(experiment: Experiment, tail: float | None, issues: list[Issue]) -> Experiment:
    """The experiment with another exponent of the lines that share one; tails of Pareto and Student arms move along.

    Where that is refused, as it was; appends to ``issues``.
    """
    if tail is None or tail == (shared := _tail(experiment)):
        return experiment
    document = experiment.spec()
    try:
        if shared is None or isinstance(tail, str):
            raise InputError([Issue("tail", tail, "a number, where policies of the picture have an exponent v")])
        for arm in document.get("arms", ()):
            arm |= {name: round(arm[name] + tail - shared, 6) for name in ("shape", "df") if name in arm}
        for line, stated in zip(document["lines"], experiment.lines, strict=True):
            if _exponent(stated) == shared:
                line["params"] = {**line.get("params", {}), "v": tail}
        return experiment.with_changes(**{name: document[name] for name in ("arms", "lines") if name in document})
    except InputError as error:
        issues += [replace(issue, path="tail") for issue in error.issues[:1]]
        return experiment


def _named(experiment: Experiment, names: Sequence[str], issues: list[Issue]) -> Experiment:
    """The experiment whose lines have these labels, from the first on; an empty one changes nothing."""
    if not names:
        return experiment
    document = experiment.spec()
    lines = document["lines"]
    try:
        if len(names) > len(lines):
            raise InputError([Issue("names", ",".join(names), f"at most {len(lines)} names, one for each line")])
        for line, name in zip(lines, names, strict=False):
            line.update({"label": name} if name else {})
        return Experiment.model_validate(document)
    except InputError as error:
        issues += [replace(issue, path="names") for issue in error.issues[:1]]
        return experiment


_NO_FIELD = "is no field of an experiment; if the page has such a control, copy the link on Explore instead"


def opened(address: str) -> Experiment:
    """The experiment of a whole address; see `read`.

    Raises
    ------
    InputError
        Where it is no link of the app, or a part of it cannot be read.
    """
    _, mark, query = address.partition("?")
    refuse_if(not mark, "link", address, "a link of the app, such as .../explore?preset=trust")
    fields = dict(parse_qsl(query, keep_blank_values=True))
    others = fields.keys() - {*KEYS, *DISPLAY}
    experiment, issues = read(fields, others)
    issues += [Issue(path_of((key,)), fields[key], _NO_FIELD) for key in sorted(others)]
    raise_any(issues)
    return experiment


def _fit(base: Experiment, fields: dict[str, Any], issues: list[Issue]) -> Experiment:
    """Give up what is wrong, least first, until the rest is an experiment; appends to ``issues``.

    ``fields`` are those that the link gives, by their place in the spec: ``horizon``, ``view.x``. Every round takes
    away one of them or a line, so it ends.
    """
    spec = base.spec()
    numbers = list(range(len(fields.get("lines", spec["lines"]))))  # the link's number of every line that is left
    while True:
        own = [name for name in ("arms", "contexts") if name in fields]
        document = {name: value for name, value in spec.items() if not own or name not in ("arms", "contexts")}
        document |= {name: value for name, value in fields.items() if "." not in name}
        document |= {part: {**spec.get(part, {}), **_below(part, fields)} for part in _PARTS}
        document["lines"] = [document["lines"][number] for number in numbers]
        try:
            experiment = Experiment.model_validate(document)
        except InputError as error:
            found = error.issues
        else:
            return _renumbered(experiment.after(base, fields), numbers)
        at_fault = {_top(issue.path) for issue in found}
        simple = [name for name in at_fault if name != "lines" and (name in fields or _below(name, fields))]
        bad_lines = {int(match[1]) for issue in found if (match := re.match(r"lines\[(\d+)\]", issue.path))}
        if simple:
            issues += [_in_link(issue, numbers) for issue in found if _top(issue.path) in simple]
            for name in [name for name in fields if name in simple or name.partition(".")[0] in simple]:
                del fields[name]
        elif 0 < len(bad_lines) < len(numbers):
            issues += [_in_link(issue, numbers, "; this line was left out") for issue in found]
            numbers = [number for place, number in enumerate(numbers) if place not in bad_lines]
        elif "lines" in fields:
            issues += [_in_link(issue, numbers) for issue in found]
            del fields["lines"]
            numbers = list(range(len(spec["lines"])))
        elif fields:
            issues += [_in_link(issue, numbers) for issue in found]
            if own:
                for name in own:
                    del fields[name]
            else:
                fields.clear()
            numbers = list(range(len(spec["lines"])))
        else:  # a preset that is wrong by itself: its own tests would have said so
            return base


def _below(part: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part of the spec, by their names there."""
    return {name.removeprefix(f"{part}."): value for name, value in fields.items() if name.startswith(f"{part}.")}


def _top(path: str) -> str:
    """The field of the spec that a path lies in: ``arms``, ``view.x``."""
    match = re.match(rf"(({'|'.join(_PARTS)})\.)?\w+", path)
    return match[0] if match else path


def _in_link(issue: Issue, numbers: list[int], more: str = "") -> Issue:
    """The same problem in the words of the link: its parameter's key, and the number that the line has there."""
    top = _top(issue.path)
    rest = issue.path[len(top) :]
    if top == "lines" and (match := re.match(r"\[(\d+)\]", rest)):
        rest = f"[{numbers[int(match[1])]}]{rest[match.end() :]}"
    return Issue(_KEY_OF.get(top, top) + rest, issue.value, issue.allowed + more)


def _renumbered(experiment: Experiment, numbers: list[int]) -> Experiment:
    """After lines were left out, those that are hidden keep being hidden under their new numbers."""
    hidden = experiment.view.hidden
    if numbers == list(range(len(numbers))) or not hidden:
        return experiment
    renumbered = tuple(numbers.index(number) for number in hidden if number in numbers)
    return experiment.model_copy(update={"view": experiment.view.model_copy(update={"hidden": renumbered})})
