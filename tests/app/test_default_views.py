"""No view that opens by itself has a bound on the wrong side of its curve, or a curve that is no bound at all."""

import numpy as np
import pytest
from families import one_of_each_family
from screen import legend_entries

from bandit_core import InputError, bounds, load_preset, simulate
from bandit_core.experiments.catalogue import ABOVE, RATE, asked_by_link, corridor, in_focus, line_bounds, reached
from bandit_core.experiments.experiment import checkpoints
from bandit_core.literature.reproductions import Shipped, load
from bandit_core.policies import registry
from bandit_core.simulation.results import band
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
    """The bounds of a picture."""
    signs = (ABOVE, RATE, "no ", "↑ ", "↓ ", "slope:", "shape:")
    return [trace for trace in figure.data if trace.hoverinfo != "skip" and (trace.name or "").startswith(signs)]


@pytest.mark.parametrize("name", one_of_each_family())
def test_no_bound_is_on_the_wrong_side_in_a_default_view(name):
    result = shown(name)
    view = result.experiment.view
    assert not view.shapes and not view.worst_case  # what a preset does not ask for, no one sees
    visible = [number for number in range(len(result.experiment.lines)) if number not in view.hidden]
    for number in visible:
        line = result.lines[number]
        found = corridor(result.experiment, number, result.times, line.mean)
        slack = 5 * line.stderr + 1e-6 * (1 + line.mean)
        kept = slice(-1, None) if isinstance(result, Shipped) else slice(None)  # figures keep few times
        assert np.all((found.lower <= line.mean + slack)[kept]) and np.all((line.mean <= found.upper + slack)[kept])
        assert not found.rate[-1] > line.mean[-1]
    names = {trace.name.split(" ")[0] for trace in drawn(charts.regret_chart(result))}
    assert names <= {"proved:", "no", "in"}


def test_what_is_no_limit_is_drawn_on_request_only_and_named_as_what_it_is():
    experiment = load_preset("trust").with_changes(horizon=3000, trials=5, view={})
    result, line = simulate(experiment, jobs=2), in_focus(experiment)
    before = {trace.name for trace in drawn(charts.regret_chart(result))}
    asked = asked_by_link(experiment.with_changes(view={"shapes": True}), line)
    assert asked and asked_by_link(experiment, line) == ()
    figure = charts.regret_chart(result, asked=asked)
    more = [trace for trace in drawn(figure) if trace.name not in before]
    assert {trace.name.split(": ")[1] for trace in more} == {*asked}
    assert {trace.line.dash for trace in more} <= {"dot", "longdash"}
    assert len(legend_entries(figure)) <= charts.MOST


def test_a_rate_is_drawn_where_its_curve_has_reached_it_for_long():
    times = np.unique(np.geomspace(1, 1e5, 100).round())
    slope = next(bound for bound in line_bounds(load_preset("default"), 0) if bound.form == "slope")
    values = slope.values(times, 0.4)
    late, early = (np.where(times > since, 2 * values, below * values) for since, below in ((3e4, 0), (5e3, 0.5)))

    def visible(mean):
        return int(np.isfinite(reached(values, times, mean)).sum())

    assert visible(2 * values) == len(times)
    assert visible(early) == (times > 5e3).sum()
    assert visible(late) == visible(0 * values) == 0


def test_a_sweep_draws_limits_only_and_on_their_side():
    experiment = load_preset("with-bounds").with_changes(horizon=100_000, trials=3)
    figure = tradeoff_view.chart(sweep(experiment, (0.2, 1.0, 5.0)), False)
    bounds = drawn(figure)
    assert [trace.name for trace in bounds] == [ABOVE, "no local method can be below"]
    means = next(np.asarray(trace.y) for trace in figure.data if (trace.name or "").startswith("●"))
    above, below = (np.asarray(trace.y, float) for trace in bounds)
    assert np.isfinite(above[-1]) and np.isnan(above[0])  # where it says no more than choosing at random
    assert np.all(np.nan_to_num(above, nan=np.inf) >= means) and np.all(below <= means)


def held(experiment, line, times):
    """From the table of bounds: the largest lower and the smallest upper one that hold on these arms at every time."""
    rows = bounds(experiment.with_changes(horizon=int(times[-1])))
    rows = rows[(rows.line == line) & rows.t.isin(times) & rows.status.isin(("proved", "derived"))]
    rows = rows[~rows.name.str.contains("worst case|asymptotic|class of policies")]
    below, above = (rows[rows.side == side].groupby("t").value for side in ("lower", "upper"))
    return below.max(), above.min()


@pytest.mark.parametrize("policy", [name for name, policy in registry().items() if policy.setting == "arms"])
def test_the_corridor_is_that_of_the_table_of_bounds(policy):
    """At three numbers of users, for every policy that has bounds on both sides."""
    entry = registry()[policy]
    line = {"policy": policy} | ({} if entry.epsilon == "none" else {"epsilon": {"kind": "fixed", "value": 2.0}})
    try:
        experiment = load_preset("with-bounds").with_changes(lines=[line])
    except InputError:  # it does not play these arms
        assert entry.accepts(load_preset("with-bounds").single_arms) is not None
        return
    times = checkpoints(experiment.horizon)[[60, 130, 199]]
    found, (below, above) = corridor(experiment, 0, times), held(experiment, 0, times)
    assert np.allclose(found.upper, above.reindex(times))
    assert np.allclose(found.lower, below.reindex(times).fillna(0.0))
    assert np.all(found.lower <= found.upper)


def test_a_bound_of_one_guarantee_is_no_edge_of_a_weaker_one():
    experiment = load_preset("trust").with_changes(view={})
    words = [corridor(experiment, line, np.array([10_000.0])).below for line in range(3)]
    assert words == ["no method can be below", "no central method can be below", "no local method can be below"]


def test_a_bound_outside_the_frame_is_an_arrow_with_its_value():
    experiment = load_preset("with-bounds").with_changes(trials=2, view={})
    figure = charts.regret_chart(simulate(experiment, jobs=2))
    notes = [note.text for note in figure.layout.annotations]
    assert "↑ proved: never above: 19,400" in notes and "no local method can be below" not in notes


def test_every_kind_of_bound_has_its_own_dash():
    seen = {theme.dash(bound): bound.sign for bound in line_bounds(load_preset("default"), 0)}
    assert seen == {"solid": "↓", "dash": "↑", "dot": "slope:", "longdash": "shape:"}


def test_long_names_leave_room_for_the_curves_of_a_phone():
    experiment = load_preset("two-treatments").with_changes(horizon=200, trials=3)
    figure = charts.regret_chart(simulate(experiment, jobs=2))
    names = [note for note in figure.layout.annotations if note.hovertext]
    rows = [row for note in names for row in note.text.split("<br>")]
    assert len(rows) > len(names)
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
    result = simulate(load_preset("with-bounds").with_changes(arms=arms, horizon=500, trials=2))
    assert drawn(charts.regret_chart(result))
    budgets = sweep(result.experiment, (0.5, 1.0))
    assert drawn(tradeoff_view.chart(budgets, False))
    with pytest.raises(AssertionError, match="leaves it out"):
        [bound.values(result.times, 0.3) for bound in line_bounds(result.experiment, 1) if bound.only]
