"""Step 9: is the promise kept? The audit of a mechanism that is broken on purpose."""

from __future__ import annotations

import plotly.graph_objects as go

from bandit_core import AuditResult
from bandit_core.auditing.auditor import audit
from bandit_core.auditing.subjects import subject
from bandit_core.spec.number_text import count
from ui import theme
from ui.learn import pictures
from ui.learn.step import Choice, Message, Number, Slider, Step

SUBJECT, CLAIM, SURE = "ctl-half-noise", 0.1, 0.999
SAMPLES = (2_000, 5_000, 10_000, 40_000, 200_000)


def _sample(at: float, seed: int) -> AuditResult:
    return audit(SUBJECT, CLAIM, samples=int(at), confidence=SURE, seed=seed)


def _draw(found: AuditResult, at: float, dark: bool, height: int) -> go.Figure:
    figure = go.Figure()
    shade = pictures.colour(pictures.PRIVATE, dark)
    top = 0.5
    figure.add_scatter(
        x=[found.lower_bound, top],
        y=[1, 1],
        mode="lines",
        name="where the real ε can be",
        line={"color": theme.transparent(shade, 0.35), "width": 18},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[found.lower_bound],
        y=[1],
        mode="markers",
        name=f"at least {found.lower_bound:.3g}",
        marker={"color": shade, "size": 14, "symbol": "triangle-right"},
        hovertemplate="at least %{x:.3~g}<extra></extra>",
    )
    seen = _measured(found, at)
    figure.add_scatter(
        x=[seen.value],
        y=[1],
        mode="markers",
        name=f"seen: {seen}",
        marker={"color": theme.ink(dark), "size": 12, "symbol": "diamond"},
        hovertemplate="seen %{x:.3~g}<extra></extra>",
    )
    figure.add_scatter(
        x=[CLAIM, CLAIM],
        y=[0.4, 1.6],
        mode="lines",
        name=f"claimed: {CLAIM:g}",
        line={"color": theme.quiet(dark), "dash": "dash", "width": 2},
        hovertemplate="claimed %{x:.3~g}<extra></extra>",
    )
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="ε", range=[0, top], zeroline=False)
    figure.update_yaxes(visible=False, range=[0.3, 1.8])
    return figure


def _told(found: AuditResult, at: float) -> Message:
    bound, seen = Number(float(f"{found.lower_bound:.3g}")), _measured(found, at)
    numbers = {"bound": bound, "seen": seen}
    head = f"From {count(int(at))} samples for each secret, "
    head += f"the audit sees a leak of **{seen}** and is 99.9% sure that the real ε is at least **{bound}**"
    if found.verdict == "violates":
        return Message(f"{head}. The claim was {CLAIM:g}: it is broken.", numbers, found.verdict)
    return Message(f"{head}. The claim of {CLAIM:g} may still be true; that is no proof.", numbers, found.verdict)


def _measured(found: AuditResult, at: float) -> Number:
    low, seen, high = found.event_loss
    return Number(seen, (high - low) / 6)  # 99.9% limits lie about three standard errors away


STEP = Step(
    name="promise",
    title="Is the promise kept?",
    idea="A phone maker says: our noise keeps ε = 0.1. Do you believe it? You need not. Feed the phone two different "
    "secrets many times, and look at what comes out. If some outputs are far more common after one secret than after "
    "the other, the claim is false. Such a test is called an **audit**.",
    question="What does the audit see, with {at}?",
    guess=Choice(
        (
            ("about 0.1, as claimed", -float("inf"), 0.15),
            ("about twice the claim", 0.15, 0.3),
            ("far more", 0.3, float("inf")),
        )
    ),
    unit="for ε",
    slider=Slider(
        label="Samples for each secret",
        help="More samples see smaller leaks.",
        stops=SAMPLES,
        start=40_000,
        words=lambda at: f"{count(int(at))} samples",
    ),
    sample=_sample,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="A test can show that a claim is false, but never that it is true.",
    exact="The subject is a negative control: Laplace noise of half the scale that ε = 0.1 needs, so that its real ε "
    "is 0.2. Half of the samples choose a range of outputs that tells the two inputs apart, the other half measure "
    "it, with exact (Clopper-Pearson) limits. If the range has at least probability p after one input and at most q "
    "after the other, the real ε is at least ln(p/q), here with confidence 99.9%. An audit can refute a claim and "
    "never prove it.",
    notes="Ask what the class would do as the phone maker who knows that audits come, and what the auditor does then. "
    "With few samples the broken phone gets through: no finding is not the same as no fault. A wrong claim is found "
    "by anyone who can run the phone, and a true one stays unproved however long one looks.",
    exercise="An audit with few samples finds nothing. What do you know then?",
    answer="Only that this test did not see a fault. The fault may be too small for so few samples, or be elsewhere.",
    page="mechanisms",
    link=lambda at: {"part": "audit", "subject": SUBJECT, "eps": f"{CLAIM:g}", "samples": f"{int(at)}", "run": "1"},
    link_words="The same audit, with all its settings",
)
assert subject(SUBJECT).kind == "negative control"
