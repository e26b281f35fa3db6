"""The command line: ``bandit-lab COMMAND`` or ``python -m bandit_core COMMAND`` (see ``--help``).

Results go to standard output, progress and errors (one line each, never a traceback) to standard error.
Exit codes: 0 done, 1 an audit found a violation, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bandit_core import paths
from bandit_core.export import command_options
from bandit_core.export.command_options import finished
from bandit_core.spec import notation, number_text
from bandit_core.spec.errors import InputError, Issue, did_you_mean, raise_any, unreadable
from bandit_core.spec.later import pd

if TYPE_CHECKING:
    from bandit_core.experiments.experiment import Experiment

DONE, VIOLATED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
LONGEST = 1000  # characters of a message of the parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        words, near = " ".join(message.split())[:LONGEST], ""
        if wrong := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", words):
            near = did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2]))
        raise InputError([Issue("command line", None, f"{words}; {near or f'see {self.prog} --help'}")])


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
            [issue, *_] = error.issues
            if issue.path != "preset":
                raise
            raise InputError([Issue("spec", spec, f"{issue.allowed} A spec is {command_options.SPEC_HELP}")]) from None
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
    changes = {name: number for name, number in chosen.items() if number is not None}
    return experiment.with_changes(**changes) if changes else experiment


def _require_whole(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or not low <= value <= high:
        raise InputError([Issue(name, value, f"a whole number from {low} to {high}")])


# ---------------------------------------------------------------------------------------------------------------
# Commands


def _run(options: argparse.Namespace) -> None:
    experiment = _experiment(options)
    from bandit_core.simulation.engine import Simulation

    result = finished(Simulation(experiment), options.jobs)
    from bandit_core.simulation.sentences import refuted

    print("".join(each.replace("**", "") + ".\n" for each in refuted(result)), end="", file=sys.stderr)
    if options.compare:
        command_options.write(result.comparisons, options.out)
    else:  # of two hundred checkpoints a table to read has the last one
        table = result.final if options.out is None and sys.stdout.isatty() else result.curves
        command_options.write(table, options.out, {".tex": result.to_latex, ".md": result.to_markdown}, result.save)


def _sweep(options: argparse.Namespace) -> None:
    experiment = _experiment(options)
    from bandit_core.studies.sweep import Sweep

    name, equals, values = (options.vary or "").partition("=")
    second = None
    if options.vary is not None:
        if not (name and equals and values):
            raise InputError([Issue("vary", options.vary, "a parameter and its values, such as alpha=2,3")])
        second = (name.strip(), [notation.read_number(text) for text in values.split(",")])
    result = finished(Sweep(experiment, options.epsilon, second), options.jobs)
    command_options.write(result.curves, options.out, picture=result.save)


def _study(options: argparse.Namespace) -> None:
    from bandit_core.studies.study import StudyRun, place_of_picture, read_study

    run = StudyRun(*read_study(Path(options.file)))
    pairs = [each.partition("=") for each in options.at.split(",")] if options.at else []
    at = {name.strip(): notation.read_number(text) for name, _, text in pairs}
    if Path(options.out or "").suffix.lower() in command_options.PICTURES:
        place_of_picture(run.study.axes.named(), options.along, at)  # refuses before anything is computed
    result = finished(run, options.jobs)
    if options.compare:
        command_options.write(result.comparisons, options.out)
    else:
        save = partial(result.save, along=options.along, at=at)
        command_options.write(result.rows, options.out, {".tex": result.to_latex, ".md": result.to_markdown}, save)
    print(*result.summary, sep="\n", file=sys.stderr)


def _export(options: argparse.Namespace) -> None:
    from bandit_core.export import course
    from bandit_core.export.page import Positions

    names = course.check(options.out, options.specs)
    made = []
    for spec in options.specs:
        options.spec = spec
        made.append(partial(Positions, _experiment(options), options.slider, options.at))
        made[-1]()  # refuses what it must before anything is computed
    lessons = []
    for place, make in enumerate(made):
        positions = make()
        results = finished(positions, options.jobs)
        lessons.append(course.lesson(names, place, positions, results, options.base))
    print(*course.write(options.out, lessons), sep="\n")


def _bounds(options: argparse.Namespace) -> None:
    from bandit_core import bounds

    command_options.write(bounds(_experiment(options)), options.out)


def _releases(options: argparse.Namespace) -> None:
    from bandit_core import releases

    command_options.write(releases(_experiment(options)), options.out)


def _thresholds(options: argparse.Namespace) -> None:
    from bandit_core.experiments.experiment import read_json
    from bandit_core.theory.threshold import thresholds

    given = options.epsilon
    epsilon = read_json(given, "epsilon") if given.lstrip().startswith("{") else given
    frame = thresholds(epsilon, options.eps_min)
    command_options.write(frame, options.out)
    best = frame.attrs["recommended"]
    for name, rule in (("Laplace mechanism, V_L", "v_l"), ("Bernoulli mechanism, V_B", "v_b")):
        print(f"recommended eps_min ({name}): {number_text.write_number(best[rule])}", file=sys.stderr)


def _power(options: argparse.Namespace) -> None:
    from bandit_core.theory.power import power_table

    numbers = command_options.read(options, options.numbers)
    if options.lift is not None:
        numbers["effect"] = numbers["baseline"] * command_options.share(options, "lift")
    if numbers["baseline"] in (0, 1):
        raise InputError([Issue("baseline", options.baseline, "nothing to find; a rate between 0% and 100%")])
    numbers |= command_options.read(options, ("users", "solve", "goal", "spending"))
    found = power_table(**numbers, trusts=options.trust)
    if options.lift is not None:
        ends = numbers["baseline"], numbers["baseline"] + numbers["effect"]
        print("From {} to {}.".format(*map(number_text.percent, ends)), file=sys.stderr)
    command_options.write(found, options.out)


def _price(options: argparse.Namespace) -> None:
    from bandit_core.data.reading import ROLES
    from bandit_core.studies.business_case import read_lifts
    from bandit_core.studies.price import PriceStudy, price_question, read_epsilons, reading_of

    numbers = command_options.read(options, options.numbers)
    numbers["epsilon"], numbers["zone"] = read_epsilons(options.epsilon), round(100 * numbers["zone"], 10)
    numbers["trusts"] = options.trust
    if options.baseline is not None:
        numbers["baseline"] = command_options.share(options, "baseline")
        numbers["lifts"] = read_lifts(options.lifts) if options.lifts is not None else []
    for name in ("limits", "purchase"):
        if (pair := getattr(options, name)) is not None:
            if len(pair) != 2 or any(isinstance(number, str) for number in pair):
                message = "two numbers with a comma between them, such as 0,50"
                raise InputError([Issue(name, ",".join(map(str, pair)), message)])
            numbers[name] = tuple(pair)
    seen = None
    if options.file is not None:
        answers = dict(answer.partition("=")[::2] for answer in options.answer or ())
        reading = reading_of(Path(options.file), **{role: getattr(options, role) for role in ROLES}, answers=answers)
        print(reading.sentence, *reading.notes, *reading.checks, sep="\n", file=sys.stderr)
        if reading.doubts:
            hints = [f"; add {doubt.shell}" if doubt.choices else "" for doubt in reading.doubts]
            told = zip(reading.doubts, hints, strict=True)
            raise InputError([Issue(doubt.key, None, f"{doubt}{hint}") for doubt, hint in told])
        seen = reading.data
    found = finished(PriceStudy(price_question(seen, first=options.first, **numbers)), options.jobs)

    def page(path: str) -> None:
        html = paths.app_module("ui.your_numbers.drawing").one_page(found)
        Path(path).write_text(html, encoding="utf-8")

    command_options.write(found.table, options.out, picture=page)
    print(*filter(None, (found.advice.words.replace("*", ""), found.unknown)), sep="\n", file=sys.stderr)


def _budget(options: argparse.Namespace) -> None:
    from bandit_core import budget

    command_options.write(budget(**command_options.read(options, options.numbers)), options.out)


def _decide(options: argparse.Namespace) -> None:
    from bandit_core.studies.best_arm import StoppingStudy, decision_table, stopping_lines

    document = _document(options.spec)
    delta = command_options.share(options, "delta")
    lines = stopping_lines(document, delta, options.rule, options.trials, options.split_visits)
    results = finished(StoppingStudy([line.spec for line in lines]), options.jobs)
    command_options.write(decision_table(lines, results), options.out)


def _stopping(options: argparse.Namespace) -> None:
    from bandit_core.studies.best_arm import StoppingStudy, asked, table

    numbers = command_options.read(options, options.numbers)
    instances, specs = asked(options.means, options.policy, **numbers)
    results = finished(StoppingStudy(specs), options.jobs)
    command_options.write(table(results, instances), options.out)


def _audit(options: argparse.Namespace) -> int:
    from bandit_core.auditing.subjects import AuditResult, audit, audit_policy, subject
    from bandit_core.policies import registry

    numbers = command_options.read(options, options.numbers)
    if options.name is None and not options.added:
        raise InputError([Issue("name", "", "what to audit (`list audits` says what there is), or --policy FILE")])
    audits: list[tuple[str, str, str, AuditResult]] = []
    if options.name is not None:
        known = subject(options.name)
        looked = f"{known.title}. Input 0 or 1: {known.inputs}. Looked at: {known.seen}.\n"
        audits.append((known.name, known.kind, looked, audit(known.name, **numbers)))
    epsilon = numbers.pop("epsilon")
    for name in options.added:
        looks = list(audit_policy(registry()[name], [epsilon], **numbers))
        audits += [(name, "policy", f"{name}: {seen}. ", result) for seen, result in looks]
        if not looks:
            print(f"{name}: nothing of it can be sampled, so its privacy is as declared.", file=sys.stderr)
    rows = []
    for name, kind, looked, found in audits:
        (p_low, p, p_high), (q_low, q, q_high) = found.chances
        rows.append({
            "name": name, "kind": kind, "epsilon": found.epsilon, "delta": found.delta,
            "samples": found.samples, "seed": numbers["seed"], "confidence": found.confidence,
            "lower_bound": found.lower_bound, "verdict": found.verdict,
            "likelier_input": int(found.pair[0]), "event_low": found.event[0], "event_high": found.event[1],
            "p_low": p_low, "p": p, "p_high": p_high, "q_low": q_low, "q": q, "q_high": q_high,
        })  # fmt: skip
        print(f"{looked}{found.words} An audit can refute a claim, never prove it.", file=sys.stderr)
    command_options.write(pd.DataFrame(rows), options.out)
    return VIOLATED if any(row["verdict"] == "violates" for row in rows) else DONE


def _reproduce(options: argparse.Namespace) -> None:
    from bandit_core.literature import papers, reproductions
    from bandit_core.simulation.costs import estimated_seconds

    names = papers.names_of(options.names)
    here = reproductions.FOLDER if paths.IS_CHECKOUT or options.table else Path("results")  # never among packages
    folder = here if options.out is None else Path(options.out)
    if options.table:
        from bandit_core.literature.claims import changes, table

        now = table(names, folder, options.details)
        print(now if options.since is None else changes(_text(options.since), now), end="")
        return
    trials: int | None = options.trials
    if trials is not None:
        _require_whole("trials", trials, 2, 10**9)
    reproductions.check_folder(folder)
    wanted = sorted((papers.played()[name] for name in names), key=lambda each: estimated_seconds(each.experiment, 1))
    for place, each in enumerate(wanted, 1):
        whole = each.experiment.trials
        text = f"{each.name} ({place} of {len(wanted)}), {min(trials or whole, whole)} of {whole} trials"
        print(text, file=sys.stderr)
        path = reproductions.reproduce(each.name, folder, trials, options.jobs, options.fresh, finished)
        print(path)


def _benchmark(options: argparse.Namespace) -> None:
    from bandit_core.studies import benchmark

    names = [*options.names, *options.added]
    wanted = benchmark.named(names) if names or options.play else []
    rows = benchmark.load() if names or not options.play else None
    for place, policy in enumerate(wanted, 1):
        print(f"{policy.name} ({place} of {len(wanted)})", file=sys.stderr)
        played = finished(benchmark.Play(policy), options.jobs)
        rows = played if rows is None else benchmark.replaced(rows, played)
        if options.data is not None:  # after each policy, so that an interrupted play keeps what it has
            benchmark.write(rows, options.data)
    print("".join(each.replace("**", "") + ".\n" for each in benchmark.under_floors(rows)), end="", file=sys.stderr)
    if options.table:
        print(benchmark.document(rows), end="")
    else:
        command_options.write(benchmark.all_scores(rows, names), options.out)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError([unreadable("since", path, error)]) from None


def _app(options: argparse.Namespace) -> None:
    _require_whole("port", options.port, 1, 65535)
    paths.require_app()
    from bandit_core.simulation.costs import check_settings

    check_settings()  # before a server starts that would refuse every run
    sys.argv = ["streamlit", "run", str(paths.ROOT / "app.py"), f"--server.port={options.port}"]
    runpy.run_module("streamlit", run_name="__main__")  # in this process, so that signals reach it; does not return


def _warm(options: argparse.Namespace) -> None:
    from bandit_core.jit.decorators import kernel_folder
    from bandit_core.simulation.costs import check_settings
    from bandit_core.simulation.warm_up import warm

    check_settings()
    count = warm(options.jobs)
    print(f"kernels of {count} policies are compiled, kept in {kernel_folder() or 'memory only: no folder to use'}")


def _check(options: argparse.Namespace) -> None:
    _experiment(options)
    print("ok")


def _check_policy(options: argparse.Namespace) -> int:
    from bandit_core.studies.policy_check import check_policy

    findings = [each for file in options.files for each in check_policy(Path(file))]
    print(*findings, sep="\n")
    return BAD_INPUT if any(each.holds is False for each in findings) else DONE


def _link(options: argparse.Namespace) -> None:
    from bandit_core.experiments import links

    experiment = _experiment(options)
    raise_any(links.unread(experiment))
    print(links.address(experiment, options.base))


def _errata(options: argparse.Namespace) -> None:
    from bandit_core.literature.erratum import KINDS
    from bandit_core.literature.papers import errata, erratum_of

    chosen = errata() if options.name is None else (erratum_of(options.name),)
    for erratum in chosen:
        outcome = erratum.check()
        print(f"{erratum.name}: {erratum.paper}, {erratum.place}")
        if outcome is None:
            print(f"  {KINDS[erratum.kind]}")
        else:
            print(f"  {'confirmed' if outcome.confirmed else 'NOT CONFIRMED'} ({erratum.kind}): {outcome.words}")


def _build(options: argparse.Namespace) -> None:
    from bandit_core.studies.production import build

    print(build(_experiment(options)), end="")


def _list(options: argparse.Namespace) -> None:
    from bandit_core.listings import listed

    things = listed(options.what)
    if options.json:
        print(json.dumps(things, indent=2, ensure_ascii=False))
        return
    width = max(len(thing["name"]) for thing in things)
    for thing in things:
        print(f"{thing['name']:{width}}  {thing['title']}")


# ---------------------------------------------------------------------------------------------------------------
# The commands' options


def _parser() -> argparse.ArgumentParser:
    called = "bandit-lab" if Path(sys.argv[0]).stem == "bandit-lab" else "python -m bandit_core"
    parser = _Parser(prog=called, description="What privacy costs a learning system.", allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # groups of commands, below
    parser.add_argument("--version", action="version", version=paths.project_version())
    parser.set_defaults(act=lambda _: print(parser.format_help(), end=""), endings=None)
    commands = parser.add_subparsers(metavar="COMMAND", help="one of those below")
    for each in command_options.COMMANDS:
        options: argparse.ArgumentParser = commands.add_parser(
            each.name, description=each.words, epilog=f"example: {called} {each.name} {each.example}",
            allow_abbrev=False, formatter_class=parser.formatter_class,
        )  # fmt: skip
        options.set_defaults(act=globals()[f"_{each.name.replace('-', '_')}"], endings=each.out, numbers=each.numbers)
        if each.spec:
            options.add_argument("spec", metavar="SPEC", help=command_options.SPEC_HELP)
        if each.loads_policies:
            options.add_argument("--policy", metavar="FILE", action="append", help="run a policy file; repeatable")
        if each.out is not None:
            page = ", or a page to print (.html)," * (each.name == "price")
            curves = f"; or the curves: {', '.join(each.out)}" * (each.out == command_options.PICTURES)
            help = f"write {', '.join(command_options.ENDINGS)}{page} instead of printing CSV{curves}"
            options.add_argument("--out", metavar="FILE", help=help)
        for option, said in each.options:
            options.add_argument(option, **said)
    parser.epilog = command_options.overview()
    return parser


def _joined(words: Sequence[str]) -> list[str]:
    """The words of a command, a negative number joined to the option before it: argparse takes it for an option."""
    joined: list[str] = []
    for word in words:
        negative = re.match(r"-[\d.]", word) and joined and re.fullmatch(r"--[a-z-]+", joined[-1])
        joined[len(joined) - bool(negative) :] = [f"{joined[-1]}={word}" if negative else word]
    return joined


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = argparse.Namespace()
    try:
        _parser().parse_args(_joined(sys.argv[1:] if argv is None else argv), options)
        options.added = command_options.load_files(options)
        if options.endings is not None:
            command_options.check(options.out, () if getattr(options, "compare", False) else options.endings)
        if getattr(options, "jobs", None) is not None:
            _require_whole("jobs", options.jobs, 1, 1024)
        code: int | None = options.act(options)
        sys.stdout.flush()
        return code or DONE
    except InputError as error:
        print(command_options.as_typed(options, error), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains of it on leaving
        return DONE
    except SystemExit as finished:  # --help
        return int(finished.code or 0)
