"""The gallery of papers: every figure that was computed again, what its paper says, and our verdict."""

from __future__ import annotations

from html import escape

from bandit_core.experiments import links
from bandit_core.literature import claims, papers, reproductions
from bandit_core.literature.papers import Figure, Paper
from ui.papers import view
from ui.site.frame import Site, words


def write(site: Site) -> None:
    """A page for each paper, and one that leads to them."""
    entries = []
    for paper in papers.papers():
        place = f"{paper.name}.html"
        entries.append(
            f'<li><a href="{place}">{escape(view.chip(paper))}: {escape(paper.title)}</a>'
            f'<p class="quiet">{words(paper.about)}</p></li>'
        )
        where = f'<a href="{escape(paper.link)}">{escape(paper.where)}</a>' if paper.link else escape(paper.where)
        head = f'<p>{escape(paper.authors)} ({paper.year}), {where}</p><p class="quiet">{words(paper.about)}</p>'
        shown = "".join(_figure(site, paper, figure, not place_) for place_, figure in enumerate(paper.figures))
        site.add(f"papers/{place}", paper.title, head + shown)
    message = f"<p>{words(view.tally())}</p>"
    site.add(
        "papers/index.html",
        "Can we reproduce the papers' figures?",
        f'{message}<ul class="pages">{"".join(entries)}</ul>',
    )


def _figure(site: Site, paper: Paper, figure: Figure, first: bool) -> str:
    """One figure with its first panel, and the statements about it."""
    parts = [f"<h2>{escape(figure.title)}</h2><p>{words(figure.shows)}</p>"]
    shipped = reproductions.load(figure.presets[0]) if figure.presets else None
    if shipped is not None:
        drawn = view.draw(shipped, figure, figure.presets[0], False, False)
        message = f"{figure.title}, {view.scale_words(shipped)}."
        parts.append(site.picture(f"papers/{figure.name}.svg", drawn, message, first))
        address = "explore" if shipped.experiment.contexts is None else "contextual"
        parts.append(f'<p class="quiet">{escape(view.scale_words(shipped))}. {words(figure.caveat)}</p>')
        fields = links.write(papers.played()[shipped.name].experiment)
        parts.append(site.hosted(address, fields, "Open it with all controls"))
    rows = "".join(
        f"<tr><td>{words(each.says)}{' (our reading)' if each.basis == 'reading' else ''}</td>"
        f"<td>{words(each.reported)}</td><td>{words(each.measured)}</td>"
        f'<td class="held">{each.held}</td></tr>'
        for each in claims.verdicts(figure)
    )
    if rows:
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("What it says", "Paper", "Here", "Verdict"))
        parts.append(f'<div class="table"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>')
    return "".join(parts)
