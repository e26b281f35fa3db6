"""From a simulated line to what people would use: what a device runs, a server keeps, is public, and is asked.

Nothing here is written for one policy: the sentences follow from the promise of the line, its releases and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.model import Guarantee, Release, RunSetup, any_rewards
from bandit_core.spec.notation import write_epsilon, write_value
from bandit_core.spec.number_text import write_number
from bandit_core.studies.noise_programs import LIBRARIES, PROGRAMS, program

NOTICE = (
    "A plan, not a product: this lab simulates private learning and protects no one's data. Its policies are made to "
    "be measured, and none of its code is meant to run where people use it."
)

# What stays in the open whatever the noise, and what numbers must not be taken from the data.
PUBLIC = {
    "budgets": "Each user's own ε travels in the clear beside the answer: it must not depend on what is to be hidden.",
    "eps_min": "The threshold ε_min is public, and so is whose answers are discarded.",
    "moments": "A bound u on the moments, and v, are public and fixed before anyone looks at a reward: a bound taken "
    "from the rewards would tell of them.",
    "ranges": "The range of the rewards is public and fixed before anyone looks: noise is made for it, and a range "
    "taken from the data gives its extremes away.",
    "horizon": "The number of users (the horizon) is public; some policies make their noise for it.",
    "scaling": "A table scaled by its own smallest and largest values is not private, whatever comes after. Use limits "
    "that are known without it.",
    "doubles": "The simulator draws noise in floating-point numbers (doubles). Such Laplace noise is not "
    "differentially private to the last bit: which last digits can occur depends on the input (Mironov 2012). "
    "A deployment needs discrete noise or snapping.",
}

# What a simulation leaves out, whatever the policy.
LEFT_OUT = {
    "doubles": PUBLIC["doubles"],
    "sums": "A sum of doubles is rounded at every step, so that one reward can move it by a little more than its "
    "range. Add up whole units (cents, clicks), or let the library add: OpenDP's sums count that in.",
    "randomness": "The simulator draws from a fast generator with a known seed, so that anyone can repeat a run. "
    "Noise that hides something needs a generator made for cryptography, and no one may know its state.",
    "messages": "Here every answer comes, and comes once. Elsewhere messages are lost, late or sent again. Whether "
    "and when one is sent must not depend on what it hides, and one that is sent again must be the same one: noise "
    "drawn anew is a further release.",
    "side channels": "Time, size and address of a message, logs, crash reports and the time that a draw takes tell of "
    "people, too. The promise speaks of the released numbers only.",
    "other uses": "Every other number computed from the same rewards (a dashboard, a test, a copy for someone) is a "
    "further release, and its ε adds up with this one.",
    "change": "Here the distributions of rewards never change. Where they do, the regret is another one; the "
    "promise does not depend on it.",
}


SEARCH = (
    "Who may end the search, and by which threshold? Looking at the numbers and stopping when they please is another "
    "rule, whose chance of error is not δ."
)

CUT = "A reward beyond the public limits is cut to them first, and every reward is rescaled to [0, 1]."

# Promises that hold for what a whole batch sends, and the way an answer takes.
BATCHES = {
    "shuffle": "to a shuffler that takes its name off",
    "distributed": "behind a mask, to a protocol that adds up what it cannot read (secure aggregation)",
}


CURATORS = ("central", "joint")  # whoever is trusted here sees everything as it is


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one line would take where people use it, in sentences; ``code`` runs, and is empty without privacy."""

    promise: str
    device: str
    server: str
    noise: str
    code: str
    public: tuple[str, ...]
    not_hidden: tuple[str, ...]
    questions: tuple[str, ...]


def plan(experiment: Experiment, line: int) -> Plan:
    """The plan of one line of an experiment."""
    chosen, setup = experiment.lines[line], experiment.setups[line]
    policy, releases = chosen.entry, chosen.entry.releases(setup)
    guarantee = policy.guarantee(setup)
    return Plan(
        promise=guarantee.words,
        device=_device(chosen, releases) + (f" {CUT}" if setup.uncut is not None else ""),
        server=_server(chosen, releases),
        noise=_noise(setup, releases),
        code=program(releases[0], guarantee.delta) if releases and releases[0].mechanism in PROGRAMS else "",
        public=_public(chosen, setup),
        not_hidden=(_arm(chosen), *_end(chosen), *_again(chosen, setup, guarantee)),
        questions=_questions(chosen, releases),
    )


def _device(line: Line, releases: list[Release]) -> str:
    features = line.entry.setting == "contexts"
    if line.entry.privacy == "local":
        shows = (
            "The server sends its model, which is public. The device chooses by it (in turns during a warm-up, where "
            "there is one) and shows the arm."
            if features
            else "The device shows the arm that the server chose."
        )
        hides = "The user's features, the choice and the reward stay" if features else "The reward itself stays"
        return (
            f"{shows} Where the rule asks for an answer, one thing leaves the device, randomised on it: "
            f"{releases[0].released if releases else 'the answer'}. {hides} there."
        )
    if line.entry.privacy in BATCHES:
        shows = (
            "The server sends its model, which is public, and the device shows the arm that it chooses by it."
            if features
            else "The device shows the arm that the server chose."
        )
        return (
            f"{shows} When its batch is asked it sends one answer, with its own "
            f"share of the noise, {BATCHES[line.entry.privacy]}. A share alone hides little; the promise is for "
            "batches in which everyone's share is there."
        )
    sent = "sends the user's features, shows the arm that comes back, and sends" if features else (
        "shows the arm that the server chose and, where the rule asks for it, sends"
    )  # fmt: skip
    whom = "the curator" if line.entry.privacy in CURATORS else "the server"
    return f"The device {sent} the reward as it is to {whom}. It draws no noise."


def _server(line: Line, releases: list[Release]) -> str:
    if line.entry.privacy == "none":
        return "Totals are enough to choose by, but whoever receives the rewards sees every one of them as it is."
    if line.entry.privacy == "local":
        kept = (
            "What the randomised messages add up to, or only the model that each of them moves a little"
            if line.entry.setting == "contexts"
            else "A few totals for each arm: how many answers came, and what they add up to after decoding"
        )
        return f"{kept}. It never holds anything exact; single answers need not be kept."
    what = "; ".join(dict.fromkeys(each.released for each in releases)) or "nothing, as this line lists no release"
    if line.entry.privacy in BATCHES:
        return f"The server sees no single user's answer, only {what}. Trusted is {line.entry.promise.trusted}."
    times = sum(each.times for each in releases)
    exact = (
        "The curator holds the exact sum of the batch of each arm that is open. A reward can be erased as soon as it "
        "is added, and the sum as soon as it is released."
        if times <= 1
        else f"One reward is in up to {times:,} releases, so the curator holds exact sums of rewards for long: they "
        "are guarded like the rewards themselves."
    )
    return (
        f"{exact} The part that chooses arms is kept apart from it. It sees only what is released with noise: {what}."
    )


def _noise(setup: RunSetup, releases: list[Release]) -> str:
    if not releases:
        return "This line lists no release, so there is no noise to draw."
    first = releases[0]
    amount = (
        f"a budget of ε = {first.budget:g}" + (f" with δ = {first.delta:g}" if first.delta else "")
        if first.budget is not None
        else f"scale {first.scale:g} on what {first.unit} moves by at most {first.sensitivity:g} ({first.norm})"
    )
    library = LIBRARIES[first.mechanism]
    message = f"{library[0].upper()}{library[1:]}: {amount}."
    if first.times > 1 and first.mechanism in PROGRAMS:
        message += (
            f" That is one release; {first.unit} is in up to {first.times:,} of them, which add up to the promise."
        )
    if setup.epsilon is not None and setup.epsilon.fixed is None:
        message += " That is the largest budget; each user's device draws for its own."
    if len(releases) > 1 and first.mechanism in PROGRAMS:
        message += " The program has the numbers of the first row of the list of releases; the others have their own."
    return message


def _public(line: Line, setup: RunSetup) -> tuple[str, ...]:
    """Every number that the rule is computed with, and why it must not come from the data."""
    policy, named = line.entry, {}
    if setup.epsilon is not None:
        named["epsilon" if setup.visits == 1 else "epsilon of one answer"] = write_epsilon(setup.epsilon)
    if setup.visits > 1:
        named["visits"] = str(setup.visits)
        if setup.visits_delta > 0:
            named["delta of the visits"] = write_number(setup.visits_delta)
    named["arms"] = str(len(setup.arms) or (setup.contexts.arms if setup.contexts else 0))
    if policy.knows_horizon(setup):
        named["horizon"] = f"{setup.horizon:,}"
    named |= {name: write_value(value) for name, value in setup.parameters.model_dump().items() if value is not None}
    numbers = ", ".join(f"{name} = {value}" for name, value in named.items())
    if policy.privacy == "none":
        return (f"Nothing has to be. The numbers of the rule: {numbers}.", *_unknown(line))
    message = [f"The rule itself and its numbers, chosen before anyone looks at a reward: {numbers}."]
    if setup.epsilon is not None and setup.epsilon.fixed is None:
        message += [PUBLIC["budgets"], PUBLIC["eps_min"]]
    if policy.knows_horizon(setup):
        message.append(PUBLIC["horizon"])
    if policy.setting == "arms" and policy.accepts is not any_rewards:
        message.append(PUBLIC["ranges"])
    if "u" in policy.parameters.model_fields:
        message.append(PUBLIC["moments"])
    return (*message, *_unknown(line))


def _unknown(line: Line) -> tuple[str, ...]:
    """A number that only a simulation can know."""
    if "u" not in line.entry.parameters.model_fields or line.params.get("u", "auto") != "auto":
        return ()
    return ("Here u was taken from the simulated arms. No one knows real arms: bring a bound of your own.",)


def _arm(line: Line) -> str:
    """Who knows what a user was shown."""
    if line.entry.privacy == "local" and line.entry.setting == "contexts":
        return (
            "The choice follows from the user's features, so it is part of what is hidden. A device that fetches the "
            "chosen arm's content gives it away: have all arms there beforehand."
        )
    if line.entry.privacy == "local":
        return (
            "The server knows which arm each user was shown, since it chose it. The choice follows from earlier, "
            "randomised answers, and tells nothing of the reward that comes after it."
        )
    if line.entry.privacy == "joint":
        return (
            "The arm that a user is shown follows from that user's own features: whoever sees it may learn about them. "
            "Only what all others get hides them. The curator, its operators and whoever breaks in see everything."
        )
    if line.entry.privacy == "central":
        return (
            "Who was shown which arm is known to the curator, and may be known to others: it follows from the noisy "
            "releases. The curator, its operators and whoever breaks in see every reward."
        )
    if line.entry.privacy in BATCHES and line.entry.setting == "contexts":
        return (
            "The choice follows from the user's features, so it is part of what is hidden: the device keeps it from "
            "the server. The server knows who was in which batch."
        )
    if line.entry.privacy in BATCHES:
        return (
            "The server knows which arm each user was shown, and who was in which batch: it follows from earlier "
            "batches, whose answers were noisy."
        )
    return "Everything: the server knows what each user was shown and what came of it."


def _end(line: Line) -> tuple[str, ...]:
    """What the end of a search tells."""
    if not line.entry.stops:
        return ()
    if line.entry.privacy == "none":
        return ("When the search ended, and what it recommended, tells of the rewards like any other total.",)
    return (
        "When the search ended, and what it recommended, may be told to anyone: both are computed from what was "
        "randomised. No one is asked afterwards; whoever goes on asking spends ε on further people for nothing.",
    )


def _again(line: Line, setup: RunSetup, guarantee: Guarantee) -> tuple[str, ...]:
    """What the promise is for a person who comes more than once."""
    if line.entry.privacy == "none":
        return ()
    if setup.visits > 1:
        return (
            f"The promise is for a person who comes at most {setup.visits} times. Someone counts visits and takes no "
            "answer after the last of them: each further one spends more than was promised.",
        )
    unit = "reward" if line.entry.setting == "arms" else "visit"
    whose = "m times their own" if guarantee.epsilon is None else f"m times {guarantee.epsilon:g}"
    return (
        f"The promise is for one {unit}. For a person who comes m times, ε is up to {whose}"
        + (", and δ grows at least as fast" if guarantee.delta else "")
        + ": limit the visits that count, or give each a part of ε.",
    )


def _questions(line: Line, releases: list[Release]) -> tuple[str, ...]:
    if line.entry.privacy == "none":
        return (
            "What is each reward kept for, who can read it, and when is it erased?",
            "Why is no private rule used, and who decided that?",
        )
    exact = (
        "Who can read the curator's memory, backups and logs, and for how long?"
        if line.entry.privacy in CURATORS
        else "Who runs the service between users and server, what could they see together with the server, and what "
        "happens to a batch from which users drop out before their share of the noise has come?"
        if line.entry.privacy in BATCHES
        else "What else does the device send: logs, crash reports, requests for content?"
    )
    return (
        *(_about_releases(releases) if releases else ()),
        *((SEARCH,) if line.entry.stops else ()),
        "Which library in which version draws the noise, from which source of randomness?",
        "Was any of the public numbers chosen, or changed, after a look at rewards?",
        exact,
        "What happens to a message that is lost, late, or sent twice?",
        "Has the program itself been measured, with two inputs and many draws? That can refute, never prove.",
    )


def _about_releases(releases: list[Release]) -> tuple[str, ...]:
    first, times = releases[0], sum(each.times for each in releases)
    limit = (
        "Where are rewards cut to their range, before noise is added?"
        if first.sensitivity is None
        else f"Where is it enforced that {first.unit} moves what is released by at most {first.sensitivity:g} "
        f"({first.norm}, in the units of the release)?"
    )
    return (
        f"The promise compares two runs that differ in {first.unit}. What can an outsider see of them besides the "
        "releases?",
        limit,
        f"How many releases is {first.unit} in? Here at most {times:,}. Do they add up to the promise?",
    )


def build(experiment: Experiment) -> str:
    """What each line would take where people use it, as Markdown with programs that draw its noise; a plan only."""
    parts = [NOTICE]
    for line in range(len(experiment.lines)):
        made = plan(experiment, line)
        parts += [f"# {experiment.label(line)}", f"{made.promise[:1].upper()}{made.promise[1:]}."]
        for title, words in SECTIONS.items():
            found = getattr(made, words)
            parts += [f"## {title}", found if isinstance(found, str) else _listed(found)]
        if made.code:
            parts.append(f"```python\n{made.code}```")
    return "\n\n".join([*parts, "# What the simulation leaves out", _listed(tuple(LEFT_OUT.values()))]) + "\n"


SECTIONS = {
    "On the device": "device",
    "On the server": "server",
    "What is public": "public",
    "What is not hidden": "not_hidden",
    "What an auditor would ask": "questions",
    "Who draws the noise": "noise",
}


def _listed(sentences: tuple[str, ...]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
