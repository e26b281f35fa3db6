"""No view that opens by itself has a bound on the wrong side of its curve, or a curve that is no bound at all."""

from dataclasses import replace

import numpy as np
import pytest
from families import one_of_each_family

from bandit_core import load_preset, simulate
from bandit_core.experiments.curves import beside, in_the_long_run, line_bounds
from bandit_core.literature.reproductions import Shipped, load
from bandit_core.simulation.results import band
from bandit_core.simulation.summaries import drawn_bounds
from bandit_core.studies.sweep import sweep
from bandit_core.theory import finite_time_bounds
from ui import charts, theme, tradeoff_view


def shown(name):
    """The figure as it ships; else played, with fewer trials and, where it is long, fewer users."""
    shipped = load(name.removesuffix("-quick"))
    if shipped is not None:
        return shipped
    experiment = load_preset(name)
    return simulate(experiment.with_changes(horizon=min(experiment.horizon, 10_000), trials=20), jobs=2)


def drawn(figure):
    signs = ("↑ ", "↓ ", "slope:", "shape:")
    return [trace for trace in figure.data if trace.hoverinfo != "skip" and (trace.name or "").startswith(signs)]


@pytest.mark.parametrize("name", one_of_each_family())
def test_no_bound_is_on_the_wrong_side_in_a_default_view(name):
    result = shown(name)
    view = result.experiment.view
    assert not view.shapes and not view.worst_case  # what a preset does not ask for, no one sees
    visible = [number for number in range(len(result.experiment.lines)) if number not in view.hidden]
    for bound, values, lines in drawn_bounds(result, visible, lambda values: values):
        assert bound.form != "shape" and not bound.only and not bound.worst_case
        for line in (result.lines[number] for number in lines):
            ahead = np.nan_to_num(values - line.mean) * (1 if bound.side == "lower" else -1)
            slack = 5 * line.stderr + 1e-6 * (1 + line.mean)
            kept = slice(-1, None) if isinstance(result, Shipped) else slice(None)  # figures keep few times
            assert np.all((ahead <= slack)[kept]), (name, bound.label)
            assert bound.form == "bound" or ahead[-1] <= 1e-6 * line.mean[-1]
    names = [trace.name for trace in drawn(charts.regret_chart(result))]
    assert not [name for name in names if name.startswith("shape:")]


def test_what_is_no_limit_is_drawn_on_request_only_and_named_as_what_it_is():
    experiment = load_preset("trust").with_changes(horizon=3000, trials=5, view={})
    asked = experiment.with_changes(view={"shapes": True})
    result = simulate(experiment, jobs=2)
    before = {trace.name: trace for trace in drawn(charts.regret_chart(result))}
    after = {trace.name: trace for trace in drawn(charts.regret_chart(simulate(asked, jobs=2)))}
    assert set(before) < set(after)
    more = set(after) - set(before)
    assert any(name.startswith("slope:") for name in more)
    assert all(name.startswith(("slope:", "shape:")) for name in more)
    for name, trace in after.items():
        kind = name.split(" ")[0]
        assert trace.line.dash == {"↓": "solid", "↑": "dash", "slope:": "dot", "shape:": "longdash"}[kind]


def test_a_slope_is_drawn_where_its_curve_has_reached_it_for_long():
    times = np.unique(np.geomspace(1, 1e5, 100).round())
    slope = next(bound for bound in line_bounds(load_preset("default"), 0) if bound.form == "slope")
    values = slope.values(times, 0.4)
    above, late, below = 2 * values, np.where(times > 3e4, 2 * values, 0 * values), 0 * values
    early = np.where(times > 5e3, 2 * values, 0.5 * values)

    def visible(mean):
        kept = beside(slope, values, mean)
        return 0 if kept is None else int(np.isfinite(in_the_long_run(kept, times)).sum())

    assert visible(above) == len(times)
    assert visible(early) == (times > 5e3).sum()
    assert visible(late) == visible(below) == 0
    assert beside(slope, values, below, shapes=True) is values
    reversed_slope = replace(slope, side="upper")  # an upper one would stand above its curve as if that missed it
    assert beside(reversed_slope, values, below) is None and beside(reversed_slope, values, above) is None
    assert beside(reversed_slope, values, below, shapes=True) is values


def test_a_sweep_draws_limits_only_and_on_their_side():
    experiment = load_preset("trust").with_changes(horizon=1000, trials=5, view={})
    result = sweep(experiment, (0.2, 1.0, 5.0))
    figure = tradeoff_view.chart(result, False)
    bounds = drawn(figure)
    assert {trace.name.split(" ")[0] for trace in bounds} == {"↓", "↑"}
    assert any(trace.name.startswith("↓") and np.isfinite(np.asarray(trace.y, float)).all() for trace in bounds)
    means = [np.asarray(trace.y, float) for trace in figure.data if trace.line.width == 2.5]
    highest, lowest = np.max(means, axis=0), np.min(means, axis=0)
    for trace in bounds:
        y = np.asarray(trace.y, float)
        assert np.all(y <= highest if trace.name.startswith("↓") else y >= lowest)


def test_every_kind_of_bound_has_its_own_dash():
    seen = {theme.dash(bound): bound.sign for bound in line_bounds(load_preset("default"), 0)}
    assert seen == {"solid": "↓", "dash": "↑", "dot": "slope:", "longdash": "shape:"}


def test_long_names_leave_room_for_the_curves_of_a_phone():
    experiment = load_preset("two-treatments").with_changes(horizon=200, trials=3)
    figure = charts.regret_chart(simulate(experiment, jobs=2))
    rows = [row for note in figure.layout.annotations for row in note.text.split("<br>")]
    assert len(rows) > len(figure.layout.annotations)
    assert max(map(len, rows)) <= charts.ROW
    assert figure.layout.xaxis.domain[1] >= 0.8 and figure.layout.margin.r <= 10


def test_a_shaded_band_is_seen_whole_unless_it_dwarfs_its_curve():
    curve = np.array([0.0, 10.0])
    assert charts.vertical_range({0: curve}, log=False, highest=20)[1] > 20
    assert charts.vertical_range({0: curve}, log=False, highest=500)[1] <= 25
    assert charts.vertical_range({0: curve}, log=False) == (0, 13.5)
    result = simulate(load_preset("trust").with_changes(trials=20, view={}), jobs=2)
    top = max(band(line, result.experiment.view.band)[1].max() for line in result.lines)
    assert top < charts.regret_chart(result).layout.yaxis.range[1]


def test_a_bound_that_is_not_drawn_is_not_computed(monkeypatch):
    def asked(*_):
        raise AssertionError("computed for a picture that leaves it out")

    monkeypatch.setattr(finite_time_bounds, "_fast_learner", asked)
    monkeypatch.setattr(finite_time_bounds, "_at_share", asked)
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.83, 0.61)]  # which no other test has
    result = simulate(load_preset("default").with_changes(arms=arms, horizon=500, trials=2))
    assert drawn(charts.regret_chart(result))
    budgets = sweep(result.experiment, (0.5, 1.0))
    assert drawn(tradeoff_view.chart(budgets, False))
    with pytest.raises(AssertionError, match="leaves it out"):
        [bound.values(result.times, 0.3) for bound in line_bounds(result.experiment, 1) if bound.only]
