"""The standing benchmark as one page of tables."""

from __future__ import annotations

import math
from html import escape

from bandit_core.spec.number_text import number
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark_scores import Contest, contests, scores
from ui import benchmark_view, theme
from ui.site.frame import Site, words

_HEADS = (
    "", "Policy", "Its own guarantee", "Score", "", "95% interval", "Where something can be learned",
    "Clearly best in", "Price of privacy",
)  # fmt: skip


def write(site: Site) -> None:
    """The page, with a table for each guarantee."""
    rows = benchmark.load()
    known = {contest.key: contest for contest in contests(rows)}
    about = f"{benchmark_view.ABOUT} = marks policies that the runs cannot tell from the first."
    parts = [f"<p>{words(about)}</p>"]
    for key, contest in known.items():
        found = scores(rows, contest)
        worst = max(math.log(found["factor"].max()), 1e-9) if len(found) > 1 else 1.0
        message = "".join(_row(row, known, worst) for row in found.to_dict("records"))
        heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
        parts.append(
            f'<h2 id="{key}">{escape(contest.words)}</h2><div class="table"><table><thead><tr>{heads}</tr></thead>'
            f"<tbody>{message}</tbody></table></div>"
        )
    parts.append(site.hosted("benchmark", {}, "Scores by users, budget and task, with pictures"))
    site.add("benchmark.html", "Which method is best at each privacy level?", "".join(parts))


def _row(row: dict[str, object], known: dict[str, Contest], worst: float) -> str:
    values = {name: float(str(row[name])) for name in ("factor", "low", "high", "learned", "price")}
    own, scored = known[str(row["promises"])], not math.isnan(values["factor"])
    alike = " =" if row["alike"] and row["rank"] != 1 and scored else ""
    cells = (
        f"{row['rank']}{alike}" if scored else "",
        f"{theme.TRUST_SIGNS[own.privacy]} {row['title']}",
        own.words,
        _number(values["factor"]),
        None,
        f"{number(values['low'])} to {number(values['high'])}" if scored else "",
        _number(values["learned"]),
        f"{row['clear_in']} of {row['learned_cells']}" if scored else "",
        _number(values["price"]),
    )
    length = max(0.0, math.log(values["factor"])) / worst if scored else 0.0
    bar = f'<meter min="0" max="1" value="{length:.3f}" aria-hidden="true"></meter>'
    return "<tr>" + "".join(f"<td>{bar if cell is None else escape(cell)}</td>" for cell in cells) + "</tr>"


def _number(value: float) -> str:
    return "" if math.isnan(value) else number(value)
