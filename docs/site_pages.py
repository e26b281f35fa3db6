"""Pages that are made when the site is built: one for each policy, mechanism and bound, from what it says itself."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latex2mathml import converter

from bandit_core import address, mechanisms, policies, simulate
from bandit_core.experiments import catalogue
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import PROMISES, Policy
from bandit_core.model.policy import STATUS_WORDS, Bound
from bandit_core.spec.errors import InputError

FOLDER = Path(__file__).parent / "_made"
SETTINGS: tuple[dict[str, Any], ...] = (
    {"arms": [{"kind": "bernoulli", "mean": 0.8}, {"kind": "bernoulli", "mean": 0.6, "count": 4}]},
    {"arms": [{"kind": "gaussian", "mean": 0.9, "sd": 1}, {"kind": "gaussian", "mean": 0.5, "sd": 1}]},
    {"contexts": {"dimension": 3, "arms": 5}},
)


def _docstrings(package: Any, name: str) -> dict[str, str]:
    """The docstring of the file that each thing called ``name`` (or its plural) stands in."""
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        file = importlib.import_module(f"{package.__name__}.{module.name}")
        own = vars(file)
        things = own.get(f"{name[:-1]}IES" if name.endswith("Y") else f"{name}S", [own[name]] if name in own else [])
        found.update({each.name: file.__doc__ or "" for each in things})
    return found


def _literal(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text.strip()}\n```"


def _formula(text: str) -> str:
    """As MathML, which browsers draw without a script or a font of ours."""
    return _literal(f'<div class="formula">{converter.convert(text, display="block")}</div>', "{raw} html").replace(
        "\\", ""
    )


def _notes(docstring: str) -> str:
    """What a docstring says after its last pseudo-code."""
    paragraphs = docstring.split("\n\n")
    codes = [place for place, text in enumerate(paragraphs) if text.startswith("    ")]
    return "\n\n".join(paragraphs[codes[-1] + 1 :] if codes else paragraphs[1:])


def _experiment(policy: Policy) -> Experiment:
    """The policy beside the one without privacy, on the first setting that it takes."""
    budget = {"epsilon": {"kind": "fixed", "value": 1.0}}
    lines = [{"policy": policy.name, **({} if policy.epsilon == "none" else budget)}]
    lines += [{"policy": policy.parent}] if policy.parent else []
    for setting in SETTINGS:
        try:
            return Experiment.model_validate({**setting, "lines": lines, "horizon": 10_000, "trials": 30})
        except InputError as error:
            refused = error
    raise refused


def _identity(bound: Bound) -> tuple[str, ...]:
    return bound.name, bound.side, bound.model, bound.rewards


def _bound(bound: Bound) -> str:
    text = [f"{bound.words} *{STATUS_WORDS[bound.status].capitalize()}.* Source: {bound.source}."]
    text += [f"Assumptions: {bound.assumptions}.", _formula(bound.formula)]
    return "\n\n".join(text)


def _policy(policy: Policy, docstring: str, folder: Path) -> str:
    experiment = _experiment(policy)
    setup = experiment.setups[0]
    simulate(experiment).save(folder / f"{policy.name}.svg")
    sent = [f"- {each.released}: {each.mechanism}, {each.at}" for each in policy.releases(setup)[:3]]
    fields = policy.parameters.model_fields.items()
    pages = {_identity(each.bound): each for each in catalogue.entries(experiment)}
    own = []
    for bound in line_bounds(experiment, 0):
        page = pages.get(_identity(bound))
        if page is None:
            own.append(f"### {bound.name} ({bound.side})\n\n{_bound(bound)}")
        elif page.policies:
            own.append(f"- [{bound.name}](../bounds/{page.key}.md) ({bound.side})")
    parts = [
        f"# {policy.title}", f"`{policy.name}`, {policy.promise.name}. {policy.paper}.", policy.summary,
        "## Guarantee", f"{policy.guarantee_words[:1].upper()}{policy.guarantee_words[1:]}.", "\n".join(sent),
        "## Pseudo-code", _literal(policy.pseudo_code),
        "## Picture", f"![Regret of {policy.title} against users]({policy.name}.svg)",
        f"[Open it in the running app]({address(experiment)}).",
        *(["## Parameters", "\n".join(f"- `{name}`: {field.description}" for name, field in fields)] if fields else []),
        *(["## Notes", _literal(notes)] if (notes := _notes(docstring).strip()) else []),
        *(["## Its own bounds", "\n".join(own)] if own else []),
        "[Bounds of every policy](../bounds/index.md).",
    ]  # fmt: skip
    return "\n\n".join(filter(None, parts)) + "\n"


def _mechanism(one: Any, docstring: str) -> str:
    formulas = [f"{name}: \n\n{_formula(text)}" for name, text in vars(one.formulas).items()]
    notes = _notes(docstring).strip()
    parts = [
        f"# {one.title}", f"`{one.name}`. {one.paper}.", one.words, f"Guarantee: {one.guarantee}.",
        f"Sensitivity: {one.sensitivity}.", *formulas, *(["## Notes", _literal(notes)] if notes else []),
        "[Open it in the app](http://localhost:8501/mechanisms) (with the app running on this computer).",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _write(folder: Path, title: str, pages: Iterable[tuple[str, str]]) -> None:
    names = []
    for name, text in pages:
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        names.append(name)
    tree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```"])
    (folder / "index.md").write_text(f"# {title}\n\n{tree}\n", encoding="utf-8")


def write() -> None:
    """Write all pages into `FOLDER`, anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    folders = {name: FOLDER / name for name in ("policies", "mechanisms", "bounds")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    notes = _docstrings(policies, "POLICY") | _docstrings(policies.contextual, "POLICY")
    own = (policy for name, policy in policies.registry().items() if name in notes)
    _write(
        folders["policies"], "Policies", ((one.name, _policy(one, notes[one.name], folders["policies"])) for one in own)
    )
    notes = _docstrings(mechanisms, "DESCRIPTION")
    _write(
        folders["mechanisms"],
        "Mechanisms",
        ((n, _mechanism(one, notes[n])) for n, one in mechanisms.registry().items()),
    )
    everything = catalogue.entries(Experiment.model_validate({**SETTINGS[0], "lines": [{"policy": "ucb"}]}))
    _write(folders["bounds"], "Bounds", ((e.key, _bound_page(e)) for e in everything))


def _bound_page(entry: catalogue.Entry) -> str:
    bound, whose = entry.bound, ", ".join(f"`{name}`" for name in entry.policies)
    text = [
        f"# {bound.name}",
        f"{bound.side.capitalize()} bound for {PROMISES[bound.model].name}, rewards: {bound.rewards}.",
    ]
    text += [f"It speaks of {whose}."] if whose else []
    link = "[All bounds in the app](http://localhost:8501/theory) (with the app running on this computer)."
    return "\n\n".join([*text, _bound(bound), link]) + "\n"
