"""Links: short, exact there and back, and never a traceback from a broken one."""

import json
import re
from itertools import combinations
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
import spec_strategies as specs
from helpers import REFUSED
from hypothesis import given, settings
from hypothesis import strategies as st

from bandit_core.cli import main
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import load_preset, preset_names, shared_budget
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError

BASE = "https://lab.example.org"


def default() -> Experiment:
    return load_preset("default")


def opened(address: str) -> Experiment:
    """What a browser and the app make of an address."""
    parts = urlsplit(address)
    assert parts.path == "/explore"
    experiment, problems = links.read(dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True)))
    assert problems == []
    return experiment


def paths(problems):
    return [problem.path for problem in problems]


def test_the_default_experiment_is_named_too():
    """An address without any field opens what a page opens with, which may be another picture."""
    assert links.write(default()) == {"preset": "default"}
    assert links.address(default(), BASE + "/") == f"{BASE}/explore?preset=default"
    assert links.read({}) == (default(), [])


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_a_name(name):
    experiment = load_preset(name)
    assert links.read({"preset": name}) == (experiment, [])
    assert links.read(links.write(experiment)) == (experiment, [])
    assert len(links.address(experiment, "")) < 40


def test_only_what_differs_from_the_preset_is_written():
    experiment = load_preset("ren-1c").with_changes(horizon=10**6, seed=7)
    assert links.write(experiment) == {"preset": "ren-1c", "T": "1e6", "seed": "7"}


def test_parameters_in_another_order_have_the_same_link():
    preset = load_preset("tenenbaum-1").with_changes(horizon=2000)
    turned = [line.model_copy(update={"params": dict(reversed(line.params.items()))}) for line in preset.lines]
    assert links.write(Experiment.model_validate(preset.model_dump() | {"lines": turned})) == links.write(preset)


def test_every_parameter_has_its_key():
    changed = default().with_changes(
        title="Mine",
        note="",
        arms=[{"kind": "beta", "a": 4, "b": 1}, {"kind": "bernoulli", "mean": 0.5, "count": 2}],
        lines=[{"policy": "ucb"}, {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1}}],
        horizon=1000,
        trials=3,
        seed=9,
        view={"x": "log", "y": "log", "quantity": "price", "band": "quarter-sd", "bounds": True, "worst_case": True,
              "shapes": True, "runs": True, "hidden": [0, 1], "against": "own"},
    )  # fmt: skip
    written = links.write(changed)
    assert written == {
        "title": "Mine", "arms": "beta(4,1),0.5x2", "lines": "ucb,dp-ucb(1)", "T": "1000", "n": "3",
        "seed": "9", "x": "log", "y": "log", "show": "price", "band": "quarter-sd", "shapes": "1", "worst": "1",
        "runs": "1", "hide": "0,1", "price": "own",
    }  # fmt: skip
    assert links.read(written) == (changed, [])
    assert opened(links.address(changed, BASE)) == changed
    assert links.write(default().with_changes(view={"bounds": False})) == {"bounds": "0"}


@pytest.mark.parametrize("x", ["log", "linear"])
@pytest.mark.parametrize("y", ["log", "linear"])
def test_an_axis_that_is_not_stated_is_as_the_other_one(x, y):
    drawn = default().with_changes(view={"x": x, "y": y})
    assert (drawn.view.x, drawn.view.y) == (x, y)
    assert links.read(links.write(drawn)) == (drawn, []) and Experiment.model_validate(drawn.spec()) == drawn
    for alone in ({"x": x}, {"y": x}):
        view = links.read(alone)[0].view
        assert (view.x, view.y) == (x, x)


def test_twenty_arms_fit_a_chat_message():
    mixed = "0.91,beta(4,1)x5,two-point(0.4,1,0.5)x5,0.6x5,uniform(0,1)x4"
    lines = "ucb,heldp-ucb-b(discrete(0,0.2,1,2,100),eps_min=1),heldp-ucb-l%280.2%29"
    experiment, problems = links.read({"arms": mixed, "lines": unquote(lines)})
    address = links.address(experiment, BASE)
    assert problems == []
    assert len(experiment.single_arms) == 20
    assert opened(address) == experiment
    assert len(address) <= len(f"{BASE}/explore?arms={mixed}&lines={lines}")


def other_budget(preset: Experiment) -> Experiment | None:
    """The preset at another budget of the lines that share one."""
    shared = shared_budget(preset)
    return None if shared is None or shared.fixed is None else trust_table.moved(preset, 0.3)


CHANGES = (
    other_budget,
    lambda preset: preset.with_changes(lines=[{**line, "label": f"line {place}"} if place < 2 else line
                                              for place, line in enumerate(preset.spec()["lines"])]),
    lambda preset: preset.with_changes(horizon=200_000),
    lambda preset: preset.with_changes(view={**preset.view.model_dump(), "bounds": not preset.view.bounds}),
)  # fmt: skip


def test_a_preset_with_two_changes_has_a_link_of_at_most_eighty_characters():
    long, tried = {}, 0
    for name in preset_names():
        for first, second in combinations(CHANGES, 2):
            changed = (once := first(load_preset(name))) and second(once)
            if changed is None:
                continue
            tried += 1
            address = links.address(changed, "")
            experiment, problems = links.read(dict(parse_qsl(address.partition("?")[2], strict_parsing=True)))
            assert (experiment, problems) == (changed, []) and links.address(experiment, "") == address
            if len(address) > 80:
                long[name] = address
    assert tried > 200
    # Two distributions in labelled lines; 81 characters; and a long name.
    assert set(long) <= {"shy-users", "unbounded-rewards", "people-who-come-back"}


@pytest.mark.parametrize(
    ("params", "lines"),
    [
        ({"lines": "dp-robust-se(1,v=0.9),ucb", "tail": "0.5"}, "dp-robust-se(1,v=0.5),ucb"),
        ({"lines": "2-3,heldp-ucb-b(1),1-1", "eps": "0.3"}, "heldp-ucb-b(0.3),heldp-ucb-l(0.3),heldp-ucb-b(1),ucb"),
        ({"lines": '1-2,ucb(label="a,1-2,b")'}, 'ucb,heldp-ucb-b(2),ucb(label="a,1-2,b")'),
        ({"lines": 'ucb,heldp-ucb-b(2,label="a")', "eps": "0.3"}, 'ucb,heldp-ucb-b(0.3,label="a")'),
        ({"lines": "heldp-ucb-l(2)", "title": "Mine", "eps": "0.3"}, "heldp-ucb-l(0.3)"),
        ({"eps": "uniform(0,1)"}, "ucb,heldp-ucb-b(uniform(0,1)),heldp-ucb-l(uniform(0,1))"),
    ],
)
def test_lines_may_be_numbers_of_the_preset_s_and_eps_moves_what_they_share(params, lines):
    experiment, problems = links.read(params)
    assert problems == [] and experiment.title == params.get("title", "")
    assert notation.write_lines(experiment.lines).replace(", ", ",") == lines
    named = links.read({"names": ",my own"})[0]
    assert [line.label for line in named.lines] == [None, "my own", None] and named.title == default().title
    ahead = {"arms": "1-2,0.4,4-5"}
    assert [arm.mean for arm in links.read(ahead)[0].arms] == [0.9, 0.8, 0.4, 0.6, 0.5]


@settings(max_examples=20)  # the shortest link of lines that no preset has is looked for beside every preset
@given(specs.specs())
def test_links_round_trip(document):
    experiment = Experiment.model_validate(document)
    written = links.write(experiment)
    assert links.read(written) == (experiment, [])
    address = links.address(experiment, BASE)
    assert address.isascii() and not set(address) & set(' "<>\\^`{|}')
    assert opened(address) == experiment
    assert links.write(opened(address)) == written


@pytest.mark.parametrize(
    "title", ["It ends.", "a,", "why?", "1 + 1 = 2 & more", "50 %", "ε ≥ 1", "(", "https://x.org/#a"]
)
def test_titles_survive_chat_programs(title):
    experiment = default().with_changes(title=title)
    address = links.address(experiment, BASE)
    assert address[-1] not in ".,:;!?'\"("
    assert "#" not in address
    assert opened(address) == experiment


def test_parentheses_stay_in_pairs_so_that_programs_find_the_end_of_the_link():
    lines = [{"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": "half :("}]
    address = links.address(default().with_changes(lines=lines), BASE)
    assert address.count("(") == address.count(")")


def test_a_long_link_is_still_made_but_tells():
    values = [round(0.001 * number, 3) for number in range(1, 1000)]
    long = default().with_changes(
        arms=[{"kind": "empirical", "values": values}, *[{"kind": "empirical", "values": values}] * 2]
    )
    assert not links.too_long(default())
    assert links.too_long(long)
    assert opened(links.address(long, BASE)) == long


def _values(count: int) -> dict:
    return {"arms": [{"kind": "empirical", "values": [round(1 / number, 12) for number in range(3, 3 + count)]}]}


def _rows(count: int) -> dict:
    rows = [[round(0.3 / (number + place), 12) for place in range(1, 7)] for number in range(count)]
    contexts = {"structure": "single", "dimension": 3, "arms": 2, "law": {"kind": "table", "rows": rows}}
    return {"contexts": contexts, "lines": [{"policy": "ldp-sgd", "epsilon": {"kind": "fixed", "value": 1}}]}


@pytest.mark.parametrize("key, made, counts", [("arms", _values, (200, 2000)), ("contexts", _rows, (100, 400))])
def test_what_no_link_can_hold_is_told_where_links_are_written(key, made, counts, tmp_path, capsys):
    message = set()
    for count in counts:
        experiment = default().with_changes(**made(count))
        unread = links.unread(experiment)
        opens, problems = links.read(links.write(experiment))
        assert [problem.path for problem in unread] == ([key] if len(links.write(experiment)[key]) > 20_000 else [])
        assert (opens == experiment and not problems) == (not unread)
        file = tmp_path / "spec.json"
        file.write_text(json.dumps(experiment.spec()))
        assert main(["link", str(file)]) == (2 if unread else 0)
        assert key in capsys.readouterr().err if unread else "http" in capsys.readouterr().out
        message.add(bool(unread))
    assert message == {False, True}


@pytest.mark.parametrize(("params", "path", "words"), REFUSED["link"])
def test_a_bad_parameter_falls_back_and_is_told(params, path, words):
    experiment, problems = links.read(params)
    assert experiment == load_preset(params.get("preset", "default") if path != "preset" else "default")
    assert paths(problems) == ([path] if isinstance(path, str) else path)
    assert words in problems[0].allowed


def test_good_parameters_of_a_broken_link_are_kept():
    experiment, problems = links.read({"T": "500", "n": "many", "y": "log", "x": "?", "arms": "0.6,0.4"})
    assert paths(problems) == ["n", "x"]
    assert experiment == default().with_changes(
        horizon=500, arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.6, 0.4)], view={"y": "log"}
    )


def test_parameters_of_streamlit_and_of_the_caller_are_passed_over():
    params = {"embed": "true", "embed_options": "dark_theme", "page": "2"}
    assert links.read(params, ignored={"page"}) == (default(), [])
    assert paths(links.read(params)[1]) == ["page"]


def test_lines_that_do_not_fit_the_arms_are_left_out():
    lines = "ucb,heldp-ucb-l(2),heldp-ucb-bs(2)"
    experiment, problems = links.read({"arms": "gaussian(0,1),gaussian(1,1)", "lines": lines, "hide": "1,2"})
    assert [line.policy for line in experiment.lines] == ["ucb", "heldp-ucb-bs"]
    assert experiment.view.hidden == (1,)
    assert paths(problems) == ["lines[1].policy"]
    assert "heldp-ucb-ls" in problems[0].allowed


def test_numbers_of_lines_in_problems_are_those_of_the_link():
    lines = "nobody,ucb,heldp-ucb-l(2)"
    experiment, problems = links.read({"arms": "gaussian(0,1)", "lines": lines})
    assert [line.policy for line in experiment.lines] == ["ucb"]
    assert paths(problems) == ["lines[0].policy", "lines[2].policy"]


def test_lines_go_before_arms_when_no_line_fits():
    experiment, problems = links.read({"arms": "gaussian(0,1)", "lines": "heldp-ucb-l(2)"})
    assert [arm.kind for arm in experiment.arms] == ["gaussian"]
    assert [line.policy for line in experiment.lines] == ["ucb"]
    assert paths(problems)[0] == "lines[0].policy"


def test_arms_go_when_no_line_of_the_preset_fits():
    experiment, problems = links.read({"preset": "ren-1e", "arms": "gaussian(0,1)", "T": "100"})
    assert experiment == load_preset("ren-1e").with_changes(horizon=100)
    assert problems


values = st.one_of(
    st.text(max_size=20),
    st.sampled_from([
        "0.9,0.8x5", "gaussian(0,1)", "ucb,heldp-ucb-b(2)", "heldp-ucb-l(discrete(0,1),eps_min=5)", "1e5", "-1", "0",
        "log", "price", "1", "ren-1c", "0,1,2", "uniform(0,1)x3", "ucb(alpha=nan)", "1e999", "beta(", '"', "None",
    ]),
)  # fmt: skip


@settings(max_examples=150)
@given(st.dictionaries(st.one_of(st.sampled_from(links.KEYS), st.text(max_size=6)), values, max_size=8))
def test_any_query_opens_something(params):
    experiment, problems = links.read(params)
    assert isinstance(experiment, Experiment)
    assert links.read(links.write(experiment)) == (experiment, [])
    for problem in problems:
        assert problem.path and problem.allowed
        assert "\n" not in str(problem)
        assert re.split(r"[.\[]", problem.path)[0] in (*params, "lines", "")


def test_a_field_of_a_link_has_a_limit_that_is_told_before_it_is_read(monkeypatch):
    monkeypatch.setattr(links.notation, "read_arms", lambda text: pytest.fail("read"))
    experiment, problems = links.read({"arms": ",".join(["0.5"] * 25_000), "T": "500"})
    assert [problem.path for problem in problems] == ["arms"]
    assert len(str(problems[0])) < 300
    assert experiment.horizon == 500


def test_a_whole_address_may_carry_how_a_page_is_shown_and_no_control_of_a_page():
    shown = "http://lab/explore?preset=trust&controls=off&reveal=off&embed=true"
    assert links.opened(shown) == load_preset("trust")
    with pytest.raises(InputError) as message:
        links.opened("http://lab/trust?lines=ucb,dp-ucb&limit=3&note=%22")
    assert [issue.path for issue in message.value.issues] == ["lines[1].epsilon", "limit"]
