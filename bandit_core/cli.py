"""The command line: ``bandit-lab COMMAND`` or ``python -m bandit_core COMMAND`` (see ``--help``).

Results go to standard output, progress and errors (one line each, never a traceback) to standard error.
Exit codes: 0 done, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bandit_core import paths
from bandit_core.export import command_options, frames
from bandit_core.export.terminal import finished
from bandit_core.spec import notation, number_text
from bandit_core.spec.errors import InputError, Issue, unreadable

if TYPE_CHECKING:
    from bandit_core.experiments.experiment import Experiment

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130
_RELEASES_HELP = "print what each private line releases, for an account of your own"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError([Issue("command line", " ".join(message.split()), f"see {self.prog} --help")])


# ---------------------------------------------------------------------------------------------------------------
# Input


def _document(spec: str) -> Any:
    """What SPEC names: an experiment, or a document that no one has checked yet."""
    from bandit_core.experiments.arguments import document_of
    from bandit_core.experiments.experiment import MAX_SPEC_BYTES, parse_document

    if spec != "-":
        try:
            return document_of(spec)
        except InputError as error:
            [issue, *others] = error.issues
            if issue.path != "preset":
                raise
            raise InputError(
                [Issue("spec", spec, f"{issue.allowed} A spec is {command_options.SPEC_HELP}"), *others]
            ) from None
    try:
        text = sys.stdin.read(MAX_SPEC_BYTES + 1)
    except UnicodeDecodeError as error:
        raise InputError([Issue("standard input", None, f"is not UTF-8 text: {error}")]) from None
    return parse_document(text, "json", "standard input")


def _experiment(options: argparse.Namespace) -> Experiment:
    """The experiment that SPEC names, with ``--horizon``, ``--trials`` and ``--seed`` put in."""
    from bandit_core.experiments.experiment import Experiment

    experiment = Experiment.model_validate(_document(options.spec))
    chosen = {name: getattr(options, name, None) for name in ("horizon", "trials", "seed")}
    changes = {name: notation.read_number(text) for name, text in chosen.items() if text is not None}
    return experiment.with_changes(**changes) if changes else experiment


def _jobs(text: str | None) -> int | None:
    if text is None:
        return None
    jobs = notation.read_number(text)
    if not isinstance(jobs, int) or not 1 <= jobs <= 1024:
        raise InputError([Issue("jobs", text, "a whole number from 1 to 1024")])
    return jobs


# ---------------------------------------------------------------------------------------------------------------
# Commands


def _run(options: argparse.Namespace) -> int:
    frames.check(options.out, () if options.compare else frames.PICTURES)
    jobs = _jobs(options.jobs)
    experiment = _experiment(options)
    from bandit_core.simulation.engine import Simulation

    result = finished(Simulation(experiment), jobs)
    if result is None:
        return INTERRUPTED
    if options.compare:
        frames.write(result.comparisons, options.out)
    else:  # of two hundred checkpoints a table to read has the last one
        table = result.final if options.out is None and sys.stdout.isatty() else result.curves
        frames.write(table, options.out, {".tex": result.to_latex, ".md": result.to_markdown}, result.save)
    return DONE


def _sweep(options: argparse.Namespace) -> int:
    frames.check(options.out, frames.PICTURES)
    jobs = _jobs(options.jobs)
    experiment = _experiment(options)
    from bandit_core.studies.sweep import Sweep

    epsilons = [notation.read_number(text) for text in options.epsilon.split(",")]
    name, equals, values = (options.vary or "").partition("=")
    second = None
    if options.vary is not None:
        if not (name and equals and values):
            raise InputError([Issue("vary", options.vary, "a parameter and its values, such as alpha=2,3")])
        second = (name.strip(), [notation.read_number(text) for text in values.split(",")])
    result = finished(Sweep(experiment, epsilons, second), jobs)
    if result is None:
        return INTERRUPTED
    frames.write(result.curves, options.out, picture=result.save)
    return DONE


def _study(options: argparse.Namespace) -> int:
    frames.check(options.out, () if options.compare else frames.PICTURES)
    jobs = _jobs(options.jobs)
    from bandit_core.studies.study import StudyRun, place_of_picture, read_study

    run = StudyRun(*read_study(Path(options.file)))
    pairs = [each.partition("=") for each in options.at.split(",")] if options.at else []
    at = {name.strip(): notation.read_number(text) for name, _, text in pairs}
    if Path(options.out or "").suffix.lower() in frames.PICTURES:
        place_of_picture(run.study.axes.named(), options.along, at)  # refuses before anything is computed
    result = finished(run, jobs)
    if result is None:
        return INTERRUPTED
    if options.compare:
        frames.write(result.comparisons, options.out)
    else:
        save = partial(result.save, along=options.along, at=at)
        frames.write(result.rows, options.out, {".tex": result.to_latex, ".md": result.to_markdown}, save)
    print(*result.summary, sep="\n", file=sys.stderr)
    return DONE


def _export(options: argparse.Namespace) -> int:
    from bandit_core.export import course
    from bandit_core.export.positions import Positions

    folder, names = course.check(options.out, options.specs), course.names(options.specs)
    at = options.at and [notation.read_number(text) for text in options.at.split(",")]
    made = []
    for spec in options.specs:
        options.spec = spec
        made.append(partial(Positions, _experiment(options), options.slider, at))
        made[-1]()  # refuses what it must before anything is computed
    lessons = []
    for place, make in enumerate(made):
        positions = make()
        results = finished(positions, _jobs(options.jobs))
        if results is None:
            return INTERRUPTED
        lessons.append(course.lesson(names, place, positions, results, folder=folder, base=options.base))
    print(*course.write(options.out, lessons, folder), sep="\n")
    return DONE


def _printed(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A command that prints the table which a function makes of an experiment."""

    def act(options: argparse.Namespace) -> int:
        frames.check(options.out)
        experiment = _experiment(options)
        frames.write(getattr(importlib.import_module(f"bandit_core.{module}"), function)(experiment), options.out)
        return DONE

    return act


def _thresholds(options: argparse.Namespace) -> int:
    frames.check(options.out)
    from bandit_core.experiments.experiment import read_json
    from bandit_core.theory.threshold import thresholds

    given = options.epsilon
    epsilon = read_json(given, "epsilon") if given.lstrip().startswith("{") else given
    eps_mins: list[Any] = [notation.read_number(text) for text in options.eps_min.split(",")]
    frame = thresholds(epsilon, eps_mins)
    frames.write(frame, options.out)
    best = frame.attrs["recommended"]
    for name, rule in (("Laplace mechanism, V_L", "v_l"), ("Bernoulli mechanism, V_B", "v_b")):
        print(f"recommended eps_min ({name}): {number_text.write_number(best[rule])}", file=sys.stderr)
    return DONE


def _power(options: argparse.Namespace) -> int:
    frames.check(options.out)
    from bandit_core.theory.power import power_table

    numbers: dict[str, Any] = {
        name: command_options.share(name, getattr(options, name)) for name in command_options.POWER_NUMBERS
    }
    if options.lift is not None:
        numbers["effect"] = numbers["baseline"] * command_options.share("lift", options.lift)
    frames.write(power_table(**numbers), options.out)
    return DONE


def _price(options: argparse.Namespace) -> int:
    jobs = _jobs(options.jobs)
    from bandit_core.export import price_command
    from bandit_core.studies.price import PriceStudy

    frames.check(options.out, (".html",))
    found = finished(PriceStudy(price_command.question(options)), jobs)
    if found is None:
        return INTERRUPTED
    price_command.write(found, options.out)
    print(*filter(None, (found.advice.words.replace("*", ""), found.unknown)), sep="\n", file=sys.stderr)
    return DONE


def _budget(options: argparse.Namespace) -> int:
    frames.check(options.out)
    from bandit_core import budget

    frames.write(budget(**command_options.read(options, command_options.BUDGET_NUMBERS)), options.out)
    return DONE


def _decide(options: argparse.Namespace) -> int:
    frames.check(options.out)
    jobs = _jobs(options.jobs)
    from bandit_core.studies.best_arm import StoppingStudy
    from bandit_core.studies.decisions import decision_table, stopping_lines

    trials: Any = None if options.trials is None else notation.read_number(options.trials)
    delta: Any = notation.read_number(options.delta)
    lines = stopping_lines(_document(options.spec), delta, options.rule, trials, options.split_visits)
    results = finished(StoppingStudy([line.spec for line in lines]), jobs)
    if results is None:
        return INTERRUPTED
    frames.write(decision_table(lines, results), options.out)
    return DONE


def _stopping(options: argparse.Namespace) -> int:
    frames.check(options.out)
    jobs = _jobs(options.jobs)
    from bandit_core.studies.best_arm import StoppingStudy, asked, table

    numbers = command_options.read(options, command_options.STOPPING_NUMBERS)
    instances, specs = asked(options.means, options.policy, **numbers)
    results = finished(StoppingStudy(specs), jobs)
    if results is None:
        return INTERRUPTED
    frames.write(table(results, instances), options.out)
    return DONE


def _audit(options: argparse.Namespace) -> int:
    frames.check(options.out)
    from bandit_core.auditing.auditor import MAX_SAMPLES, audit
    from bandit_core.auditing.subjects import subject

    known = subject(options.name)
    numbers = command_options.read(options, command_options.AUDIT_NUMBERS)
    allowed = {
        "epsilon": (lambda x: 0 < x <= 100, "a number above 0, at most 100"),
        "samples": (lambda x: x == int(x) and 4 <= x <= MAX_SAMPLES, f"a whole number from 4 to {MAX_SAMPLES}"),
        "seed": (lambda x: x == int(x) and 0 <= x < 2**63, "a whole number, 0 or more"),
        "confidence": (lambda x: 0.5 <= x < 1, "a number from 0.5 to below 1"),
    }
    wrong = [
        Issue(name, getattr(options, name), allowed[name][1])
        for name, value in numbers.items()
        if isinstance(value, str) or not math.isfinite(value) or not allowed[name][0](value)
    ]
    if wrong:
        raise InputError(wrong)
    epsilon, confidence = float(numbers["epsilon"]), float(numbers["confidence"])
    samples, seed = int(numbers["samples"]), int(numbers["seed"])
    found = audit(options.name, epsilon, samples=samples, confidence=confidence, seed=seed)
    import pandas as pd

    (p_low, p, p_high), (q_low, q, q_high) = found.chances
    row = {
        "name": known.name, "kind": known.kind, "epsilon": epsilon, "delta": found.delta, "samples": found.samples,
        "seed": seed, "confidence": confidence, "lower_bound": found.lower_bound, "verdict": found.verdict,
        "likelier_input": int(found.pair[0]), "event_low": found.event[0], "event_high": found.event[1],
        "p_low": p_low, "p": p, "p_high": p_high, "q_low": q_low, "q": q, "q_high": q_high,
    }  # fmt: skip
    frames.write(pd.DataFrame([row]), options.out)
    print(f"{known.title}. Input 0 or 1: {known.inputs}. Looked at: {known.seen}.", file=sys.stderr)
    print(f"{found.words} An audit can refute a claim, never prove it.", file=sys.stderr)
    return DONE


def _reproduce(options: argparse.Namespace) -> int:
    from bandit_core.literature import papers, reproductions
    from bandit_core.simulation.costs import estimated_seconds

    names = papers.names_of(options.names)
    here = reproductions.FOLDER if paths.IS_CHECKOUT or options.table else Path("results")  # never among packages
    folder = here if options.out is None else Path(options.out)
    if options.table:
        from bandit_core.literature.claims_table import changes, table

        now = table(names, folder, options.details)
        print(now if options.since is None else changes(_text(options.since), now), end="")
        return DONE
    jobs = _jobs(options.jobs)
    trials: int | None = None
    if options.trials is not None:
        asked = notation.read_number(options.trials)
        if not isinstance(asked, int) or asked < 2:
            raise InputError([Issue("trials", options.trials, "a whole number of at least 2")])
        trials = asked
    reproductions.check_folder(folder)
    wanted = sorted((papers.played()[name] for name in names), key=lambda each: estimated_seconds(each.experiment, 1))
    for place, each in enumerate(wanted, 1):
        whole = each.experiment.trials
        text = f"{each.name} ({place} of {len(wanted)}), {min(trials or whole, whole)} of {whole} trials"
        print(text, file=sys.stderr)
        path = reproductions.reproduce(each.name, folder, trials, jobs, options.fresh, finished)
        if path is None:
            return INTERRUPTED
        print(path)
    return DONE


def _benchmark(options: argparse.Namespace) -> int:
    frames.check(options.out)
    jobs = _jobs(options.jobs)
    from bandit_core.studies import benchmark, benchmark_table
    from bandit_core.studies.benchmark_scores import all_scores

    names = [*options.names, *options.added]
    wanted = benchmark.named(names) if names or options.play else []
    rows = benchmark.load() if names or not options.play else None
    for place, policy in enumerate(wanted, 1):
        print(f"{policy.name} ({place} of {len(wanted)})", file=sys.stderr)
        played = finished(benchmark.Play(policy), jobs)
        if played is None:
            return INTERRUPTED
        rows = played if rows is None else benchmark.replaced(rows, played)
        if options.data is not None:  # after each policy, so that an interrupted play keeps what it has
            benchmark.write(rows, options.data)
    if options.table:
        print(benchmark_table.document(rows), end="")
    else:
        frames.write(all_scores(rows, names), options.out)
    return DONE


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError([unreadable("since", path, error)]) from None


def _app(options: argparse.Namespace) -> int:
    port = notation.read_number(options.port)
    if not isinstance(port, int) or not 0 < port < 65536:
        raise InputError([Issue("port", options.port, "a whole number from 1 to 65535")])
    paths.require_app()
    from bandit_core.simulation.costs import check_settings

    check_settings()  # before a server starts that would refuse every run
    sys.argv = ["streamlit", "run", str(paths.ROOT / "app.py"), f"--server.port={port}"]
    runpy.run_module("streamlit", run_name="__main__")  # in this process, so that signals reach it; does not return
    return DONE


def _warm(options: argparse.Namespace) -> int:
    from bandit_core.jit.machine_code import kernel_folder
    from bandit_core.simulation.costs import check_settings
    from bandit_core.simulation.warm_up import warm

    check_settings()
    count = warm(_jobs(options.jobs))
    print(f"kernels of {count} policies are compiled, kept in {kernel_folder() or 'memory only: no folder to use'}")
    return DONE


def _check(options: argparse.Namespace) -> int:
    _experiment(options)
    print("ok")
    return DONE


def _check_policy(options: argparse.Namespace) -> int:
    from bandit_core.studies.policy_check import check_policy

    found = [each for file in options.files for each in check_policy(Path(file))]
    print(*found, sep="\n")
    return BAD_INPUT if any(each.holds is False for each in found) else DONE


def _link(options: argparse.Namespace) -> int:
    from bandit_core.experiments import links

    experiment = _experiment(options)
    if unread := links.unread(experiment):
        raise InputError(unread)
    print(links.address(experiment, options.base))
    return DONE


def _errata(options: argparse.Namespace) -> int:
    from bandit_core.literature.errata import KINDS, errata, erratum_of

    chosen = errata() if options.name is None else (erratum_of(options.name),)
    for erratum in chosen:
        outcome = erratum.check()
        print(f"{erratum.name}: {erratum.paper}, {erratum.place}")
        if outcome is None:
            print(f"  {KINDS[erratum.kind]}")
        else:
            print(f"  {'confirmed' if outcome.confirmed else 'NOT CONFIRMED'} ({erratum.kind}): {outcome.words}")
    return DONE


def _build(options: argparse.Namespace) -> int:
    from bandit_core.studies.production import build

    print(build(_experiment(options)), end="")
    return DONE


def _list(options: argparse.Namespace) -> int:
    from bandit_core.listings import listed

    things = listed(options.what)
    if options.json:
        print(json.dumps(things, indent=2, ensure_ascii=False))
        return DONE
    width = max(len(thing["name"]) for thing in things)
    for thing in things:
        print(f"{thing['name']:{width}}  {thing['title']}")
    return DONE


# ---------------------------------------------------------------------------------------------------------------
# The commands' options


def _parser() -> argparse.ArgumentParser:
    called = "bandit-lab" if Path(sys.argv[0]).stem == "bandit-lab" else "python -m bandit_core"
    parser = _Parser(prog=called, description="What privacy costs a learning system.", allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # groups of commands, below
    parser.add_argument("--version", action="version", version=paths.project_version())
    parser.set_defaults(act=lambda _: print(parser.format_help(), end=""))
    commands = parser.add_subparsers(metavar="COMMAND", help="one of those below")
    descriptions: dict[str, str] = {}
    drawn = ("run", "sweep", "study")

    def command(name: str, act: Any, words: str, spec: bool = True, out: bool = False) -> None:
        example = f"example: {called} {name} {command_options.EXAMPLES[name]}"
        options: argparse.ArgumentParser = commands.add_parser(
            name, description=words, epilog=example, allow_abbrev=False, formatter_class=parser.formatter_class
        )
        descriptions[name] = words
        options.set_defaults(act=act)
        if spec:
            options.add_argument("spec", metavar="SPEC", help=command_options.SPEC_HELP)
        if spec or name in ("export", "study", "benchmark", "list"):
            options.add_argument("--policy", metavar="FILE", action="append", help="run a Python file with a policy")
        if out:
            options.add_argument(
                "--out",
                metavar="FILE",
                help=f"write {', '.join(frames.ENDINGS)} instead of printing CSV"
                + (f"; or the curves: {', '.join(frames.PICTURES)}" if name in drawn else ""),
            )
        for option, said in command_options.OPTIONS.get(name, ()):
            options.add_argument(option, **said)

    command("list", _list, "what there is", spec=False)
    command("run", _run, "simulate, and print the regret curves", out=True)
    command("sweep", _sweep, "simulate at several budgets, and print the regret curves", out=True)
    command("export", _export, "write lessons: a picture with a slider as one HTML file", spec=False)
    command("study", _study, "play every combination of what a file varies", spec=False, out=True)
    command("bounds", _printed("experiments.curves", "bounds"), "print the bounds of theory", out=True)
    command("releases", _printed("studies.accounts", "releases"), _RELEASES_HELP, out=True)
    command("build", _build, "print what each line would take where people use it, with programs that draw its noise")
    command("thresholds", _thresholds, "print V_L and V_B for several thresholds", spec=False, out=True)
    command("audit", _audit, "estimate the epsilon that a mechanism or a run really has", spec=False, out=True)
    command("power", _power, "users that an A/B test needs, with and without privacy", spec=False, out=True)
    command("price", _price, "what privacy costs with your numbers: losses, users and weeks", spec=False)
    command("stopping", _stopping, "users until a decision, and how often it is wrong", spec=False, out=True)
    command("decide", _decide, "users until each line of a spec has decided which arm is best", out=True)
    command("warm", _warm, "compile every kernel, so that the first visitor need not wait", spec=False)
    command("budget", _budget, "what a person in several tests may spend in each", spec=False, out=True)
    command("reproduce", _reproduce, "compute figures of the papers at their own scale", spec=False)
    command("benchmark", _benchmark, "scores of the standing benchmark", spec=False, out=True)
    command("app", _app, "start the app in a browser (settings of its server: STREAMLIT_...)", spec=False)
    command("check", _check, "print ok, or every error of a spec")
    command("check-policy", _check_policy, "say what holds of the policies in a Python file", spec=False)
    command("link", _link, "print the address that opens this picture")
    command("errata", _errata, "check the errata of the papers, or one of them", spec=False)
    parser.epilog = command_options.overview(descriptions)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        options = _parser().parse_args(argv)
        options.added = command_options.load_files(options)
        code: int | None = options.act(options)
        sys.stdout.flush()
        return code or DONE
    except InputError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains of it on leaving
        return DONE
    except SystemExit as finished:  # --help
        return int(finished.code or 0)
