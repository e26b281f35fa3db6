"""The standing benchmark as one page of tables."""

from __future__ import annotations

import math
from html import escape

from bandit_core.spec.number_text import number
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark_scores import Contest, contests, scores
from ui import benchmark_view, theme
from ui.site.frame import Site, words

_HEADS = ("", "Policy", "Its own promise", "Score", "", "95 % interval", "Best in", "Price of privacy")


def write(site: Site) -> None:
    """The page, with a table for each promise."""
    rows = benchmark.load()
    known = {contest.key: contest for contest in contests(rows)}
    parts = [f"<p>{words(benchmark_view.ABOUT)}</p>"]
    for key, contest in known.items():
        found = scores(rows, contest)
        worst = max(math.log(found["factor"].max()), 1e-9)
        told = "".join(_row(row, known, worst) for row in found.to_dict("records"))
        heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
        parts.append(
            f'<h2 id="{key}">{escape(contest.words)}</h2><div class="table"><table><thead><tr>{heads}</tr></thead>'
            f"<tbody>{told}</tbody></table></div>"
        )
    parts.append(site.hosted("benchmark", {}, "Scores by users, budget, arms and gap, with pictures"))
    site.add("benchmark.html", "Which policy loses least, promise by promise?", "".join(parts))


def _row(row: dict[str, object], known: dict[str, Contest], worst: float) -> str:
    values = {name: float(str(row[name])) for name in ("factor", "low", "high", "price")}
    own = known[str(row["promises"])]
    cells = (
        str(row["rank"]), f"{theme.TRUST_SIGNS[own.privacy]} {row['title']}", own.words, number(values["factor"]),
        None, f"{number(values['low'])} to {number(values['high'])}", f"{row['first_in']} of {row['cells']}",
        number(values["price"]),
    )  # fmt: skip
    bar = f'<meter min="0" max="1" value="{math.log(values["factor"]) / worst:.3f}" aria-hidden="true"></meter>'
    return "<tr>" + "".join(f"<td>{bar if cell is None else escape(cell)}</td>" for cell in cells) + "</tr>"
