"""A curve of a picture, as all charts and legends hand it around."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bandit_core.model import Privacy
from ui import theme


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve or points of a picture; a bound is one, too (see `charts.bound_curve`).

    ``low`` and ``high`` are the edges of a band around it, of opacity ``shade``. ``level`` gives it now and then the
    marker of that trust model, for eyes that see no hue. A click on an entry of the legend hides its whole ``group``;
    what is not ``listed`` has no entry. Without ``hover`` (a template) the pointer shows nothing. ``more`` is what else
    Plotly takes.
    """

    x: Any
    y: Any
    name: str = ""
    colour: str = theme.GREY
    hover: str = "%{y:,.4~g}"
    dash: str | None = None
    width: float = 2.5
    level: Privacy | None = None
    low: Any = None
    high: Any = None
    shade: float = 0.15
    group: str | None = None
    listed: bool = True
    legend: str | None = None
    rank: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def traces(self) -> Iterator[go.Scatter]:
        """What Plotly draws: the band, then the curve."""
        shared = {"legendgroup": self.group, "legend": self.legend}
        if self.low is not None:
            edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **shared}
            low, high, known = self.low, self.high, np.isfinite(self.low) & np.isfinite(self.high)
            x = self.x if known.all() else np.asarray(self.x)[known]  # a filled area with gaps is drawn across them
            yield go.Scatter(x=x, y=high[known], **edge)
            yield go.Scatter(
                x=x, y=low[known], fill="tonexty", fillcolor=theme.transparent(self.colour, self.shade), **edge
            )
        look: dict[str, Any] = {"mode": "lines", "line": {"color": self.colour, "width": self.width, "dash": self.dash}}
        if self.level is not None:
            few = max(3, len(self.y) // 40)
            marker = {"symbol": theme.MARKERS[self.level], "size": 8, "maxdisplayed": few, "color": self.colour}
            look |= {"mode": "lines+markers", "marker": marker}
        look |= {"hovertemplate": self.hover} if self.hover else {"hoverinfo": "skip"}
        look |= {"name": self.name or None, "showlegend": None if self.listed else False, "legendrank": self.rank}
        yield go.Scatter(x=self.x, y=self.y, **look | shared | dict(self.more))
