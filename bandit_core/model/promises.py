"""The promises of privacy, and in which measure each is kept: one object for each, which everyone else reads.

Which lower bound speaks of which policy
----------------------------------------
A lower bound is stated for every policy that keeps some promise P. It binds a policy that keeps Q exactly if whatever
can be played under Q can be played under P with the same budget: then Q is at least as strong. Each step of the chain

    local  >=  shuffle  >=  distributed  >=  central  >=  none

is one such simulation (`Promise.weaker`, with the reason in `why`), and none of them goes back with the same answers
(`not_back`). So a bound for a curator also binds those who trust a shuffler or no one, and one of local privacy binds
local policies alone.

Joint DP stands beside central DP, below distributed DP (`Promise.also`). It hides a user's features and reward from
everyone else, central DP hides the reward from everyone who sees all choices. Neither implies the other. Central DP
may show the features. For the other direction: a curator tosses a coin, plays it for user t, and shows user t + 1 the
exclusive or of the coin and user t's reward. What user t + 1 sees is a fair coin, whatever the reward; with user t's
own choice beside it the reward is plain.

Two promises that no policy of the lab keeps stand beside the chain: central DP implies them with
a larger budget only, so their bounds are drawn beside no one's curve.

The same for the measures: epsilon-DP gives epsilon^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4), and rho-zCDP gives
(rho + 2 sqrt(rho ln(1/delta)), delta)-DP for every delta (Proposition 1.3). Neither goes back: one Gaussian release is
zCDP and has no pure epsilon. A bound that is stated for pure privacy says nothing of a run that keeps less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Privacy = Literal["none", "local", "shuffle", "distributed", "joint", "central"]  # what a policy can keep
Model = Literal["none", "local", "shuffle", "distributed", "joint", "central", "instantaneous", "environment"]
Measure = Literal["pure", "concentrated", "approximate"]


@dataclass(frozen=True)
class Party:
    """Whom a reward passes on its way, and what they see; ``private`` if it is hidden from them. ``on_the_way`` is what
    happens to it just before."""

    name: str
    sees: str
    private: bool
    on_the_way: str = ""


@dataclass(frozen=True, kw_only=True)
class Promise:
    """One promise of privacy.

    ``key`` is what specs, tables and files say; ``name`` stands within a sentence, ``who`` is trusted in a few words.
    ``says`` is the promise, ``formula`` the same in LaTeX: x_1, x_2, ... are the rewards of the users, z_t is what a
    device sends in place of x_t, a_1, a_2, ... are the arms that are played, theta their means. ``neighbouring`` are
    the tables that must look alike, ``unit`` is what they differ in. ``weaker`` is the next promise that it implies
    with the same budget, ``also`` are others beside that one, ``why`` the reason, and ``not_back`` why none of them
    implies this. ``lower`` says which
    lower bounds bind it where none is known that speaks of this promise itself. ``sign`` stands before the names of
    lines.
    """

    key: Model
    title: str
    name: str
    who: str
    sign: str = ""
    says: str
    formula: str = ""
    neighbouring: str = ""
    unit: str = "one user's reward"
    trusted: str = ""
    seen: str
    example: str = ""
    parties: tuple[Party, ...] = ()
    weaker: Model | None = "none"
    also: tuple[Model, ...] = ()
    why: str = "A bound for every policy binds the private ones, too."
    not_back: str = ""
    lower: str = ""

    @property
    def words(self) -> str:
        """Name and what is said, as one sentence."""
        return f"{self.name}: {self.says[0].lower()}{self.says[1:].rstrip('.')}"

    @property
    def short(self) -> str:
        """Who is trusted, with the name of the promise where there is one."""
        return self.who if self.key == "none" else f"{self.who} ({self.name})"

    def implied(self) -> tuple[Model, ...]:
        """Itself and every promise that it implies with the same budget, the strongest first."""
        return (self.key, *self.also, *(PROMISES[self.weaker].implied() if self.weaker else ()))


_REWARD = Party("user", "reward", False)
_CHOICES = Party("public", "sees the choices", True)
_BY_IMPLICATION = (
    "none is known here that speaks of this promise itself. A pure promise is bound by those of central DP, which it "
    "implies; with a δ only by those that hold without privacy, too, as the others are proved for pure privacy."
)
_TABLES = "two tables of rewards x and x' that differ in the rewards of one user"
_KNOWN = (
    Promise(
        key="none",
        title="No privacy",
        name="without privacy",
        who="no privacy",
        sign="–",
        says="The learner sees every reward as it is.",
        unit="nothing",
        trusted="everyone who runs or reads the learner",
        seen="the learner sees every reward, the public the arms that were played",
        parties=(_REWARD, Party("learner", "sees every reward", False), Party("public", "sees the choices", False)),
        weaker=None,
        why="",
    ),
    Promise(
        key="local",
        title="Local DP",
        name="local DP",
        who="trust no one",
        sign="●",
        says="What leaves a user's device could have come from any other reward about as well.",
        formula=r"P(z_t\in S\mid x_t)\;\le\;e^{\epsilon}\,P(z_t\in S\mid x_t')\qquad\text{for every }t\text{ and }S",
        neighbouring="any two rewards of one user",
        trusted="no one but one's own device",
        seen="the learner sees noisy answers, the public the arms that were played",
        example="A phone tosses a coin before it says whether you clicked. Even the learner cannot be sure of any "
        "answer.",
        parties=(_REWARD, Party("learner", "sees noisy answers", True, "+ noise"), _CHOICES),
        weaker="shuffle",
        why="An answer that is private by itself stays so in any company and any order: a shuffler, even of batches of "
        "one, only computes from it (post-processing).",
        not_back="A single answer carries too little noise to hide its reward; it is hidden only among the others.",
    ),
    Promise(
        key="shuffle",
        title="Shuffle DP",
        name="shuffle DP",
        who="trust a shuffler",
        sign="◆",
        says="Someone who sees the answers of a batch, but not who sent which, cannot tell one user's reward from "
        "another one's.",
        formula=r"P(\mathrm{shuffle}(z_1,\dots,z_n)\in S\mid x)\;\le\;e^{\epsilon}\,"
        r"P(\mathrm{shuffle}(z_1,\dots,z_n)\in S\mid x')+\delta",
        neighbouring=_TABLES,
        trusted="a shuffler that forgets who sent what and tells no one, and that the other users of the batch add "
        "their share of the noise",
        seen="the learner sees the answers of a batch in random order, the public the arms that were played",
        example="Ballots in a box: each voter now and then writes the result of a coin toss, and once the box has been "
        "shaken no one knows which ballot is whose.",
        parties=(
            _REWARD,
            Party("trusted shuffler", "sees answers with little noise", False, "+ little noise"),
            Party("learner and public", "see nameless answers, choices", True, "shuffled"),
        ),
        weaker="distributed",
        why="Let every device send a list of zeros with a 1 at the place of its answer: the sum of the lists counts "
        "each answer, which is all that a shuffler shows. So sums can stand in for it (with finitely many answers).",
        not_back="The same answers, read one by one, carry shares of the noise that hide no one; only their sum has "
        "all of it. (Users who send many answers each can make a shuffler do what a sum does, at a δ.)",
        lower=_BY_IMPLICATION,
    ),
    Promise(
        key="distributed",
        title="Distributed DP",
        name="distributed DP",
        who="trust a secure sum",
        sign="▲",
        says="Someone who sees the sums of the answers of whole batches, and nothing else, cannot tell one user's "
        "reward from another one's.",
        formula=r"P\Big(\sum_t z_t\in S\,\Big|\,x\Big)\;\le\;e^{\epsilon}\,P\Big(\sum_t z_t\in S\,\Big|\,x'\Big)+\delta"
        r"\qquad\text{for every batch and }S",
        neighbouring=_TABLES,
        trusted="the protocol that adds up encrypted answers (secure aggregation), and that the users of the batch "
        "add their share of the noise and stay until the end",
        seen="the learner sees noisy sums of whole batches, the public the arms that were played",
        example="Phones add up their counts behind masks that cancel out, a pinch of noise each: the sum has enough "
        "noise for all, and no single count is ever seen.",
        parties=(
            _REWARD,
            Party("secure aggregation", "adds up what it cannot read", True, "+ little noise"),
            Party("learner and public", "see noisy sums, choices", True, "added up"),
        ),
        weaker="central",
        also=("joint",),
        why="The arms are computed from sums that are private already, and from what the user who gets the arm knows "
        "(post-processing).",
        not_back="A curator who adds noise to sums has seen every reward: no ε, however large, makes up.",
        lower=_BY_IMPLICATION,
    ),
    Promise(
        key="joint",
        title="Joint DP",
        name="joint DP",
        who="trust a curator with features",
        sign="□",
        says="All other users together, from the arms that they get, cannot tell one user's features and reward from "
        "another one's. The user's own arm may depend on the user's own features.",
        formula=r"P(a_s,\,s\ne t\mid x)\;\le\;e^{\epsilon}\,P(a_s,\,s\ne t\mid x')+\delta\qquad\text{for every }t",
        neighbouring="two tables x and x' that differ in the features and the reward of one user t",
        unit="one user's features and reward",
        trusted="a curator who sees all features and rewards as they are, and that no one else sees the arm of a user",
        seen="every other user sees the own arm only; all of them may compare theirs",
        example="A shop recommends by what you looked at. The shop knows you; no other customer learns from their "
        "recommendations that you were there.",
        parties=(
            Party("user", "features, reward and own arm", False),
            Party("trusted curator", "sees features and rewards", False),
            Party("all other users", "see their own arms", True, "+ noise"),
        ),
    ),
    Promise(
        key="central",
        title="Central DP",
        name="central DP",
        who="trust a curator",
        sign="■",
        says="Someone who sees every arm that was played cannot tell one user's reward from another one's.",
        formula=r"P(a_1,\dots,a_T\mid x)\;\le\;e^{\epsilon}\,P(a_1,\dots,a_T\mid x')",
        neighbouring=_TABLES,
        trusted="a curator who sees every reward as it is",
        seen="the public sees the arms that were played",
        example="A hospital knows its patients' results; who reads which treatment was chosen, when, learns almost "
        "nothing about any one patient.",
        parties=(
            _REWARD,
            Party("trusted curator", "sees every reward", False),
            Party("learner and public", "see noisy sums, choices", True, "+ noise"),
        ),
    ),
    Promise(
        key="instantaneous",
        title="Instantaneous DP",
        name="instantaneous DP",
        who="trust a curator",
        says="Each single choice, given the earlier ones, says almost nothing about any one earlier reward.",
        formula=r"P(a_t\mid a_{1:t-1},x)\;\le\;e^{\epsilon}\,P(a_t\mid a_{1:t-1},x')\qquad\text{for every }t",
        neighbouring=f"{_TABLES}, for one choice at a time",
        trusted="a curator who sees every reward, and whoever counts what all the choices together give away",
        seen="the public sees the arms that were played, and is asked about one choice",
        example="Today's advertisement hides yesterday's click. The advertisements of a whole year may still show it, "
        "because every choice gives away a little more.",
    ),
    Promise(
        key="environment",
        title="Environment privacy",
        name="environment privacy",
        who="trust the person who runs the learner",
        says="Someone who sees every arm that was played cannot tell what people like on the whole.",
        formula=r"P(a_1,\dots,a_T\mid\theta)\;\le\;e^{\epsilon\,\rho(\theta,\theta')}\,P(a_1,\dots,a_T\mid\theta')",
        neighbouring="any two environments theta and theta', the closer (rho), the harder to tell apart",
        unit="the means of the arms",
        trusted="the person who runs the learner",
        seen="the public sees the arms that were played",
        example="A shop's rivals watch what it recommends and shall not learn what its customers prefer. But playing "
        "the best arm shows it: this promise and learning exclude each other in the long run.",
    ),
)
PROMISES: dict[Model, Promise] = {promise.key: promise for promise in _KNOWN}
# By policies, in the order of lists.
KEPT: tuple[Privacy, ...] = ("none", "local", "shuffle", "distributed", "joint", "central")


@dataclass(frozen=True, kw_only=True)
class MeasureWords:
    """In what a privacy budget is counted. ``weaker`` is the next measure it converts into, ``conversion`` how."""

    key: Measure
    name: str
    symbol: str
    says: str
    weaker: Measure | None = None
    conversion: str = ""

    def implied(self) -> tuple[Measure, ...]:
        """Itself and what it converts into; the budget changes on the way."""
        return (self.key, *(MEASURES[self.weaker].implied() if self.weaker else ()))


MEASURES: dict[Measure, MeasureWords] = {
    measure.key: measure
    for measure in (
        MeasureWords(
            key="pure",
            name="pure DP",
            symbol="ε",
            says="No outcome becomes more than e^ε times as likely by another reward.",
            weaker="concentrated",
            conversion="ε-DP gives (ε²/2)-zCDP, and (ε, δ)-DP for every δ",
        ),
        MeasureWords(
            key="concentrated",
            name="zero-concentrated DP (zCDP)",
            symbol="ρ",
            says="The Rényi divergence of order a between the outcomes of two rewards is at most ρ a, for every a > 1.",
            weaker="approximate",
            conversion="ρ-zCDP gives (ρ + 2 √(ρ ln(1/δ)), δ)-DP for every δ",
        ),
        MeasureWords(
            key="approximate",
            name="approximate DP",
            symbol="(ε, δ)",
            says="As pure DP, with δ added to what each chance may become.",
        ),
    )
}
