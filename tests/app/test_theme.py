"""Colours can be told apart, also by colour-blind eyes and on both grounds."""

import tomllib
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bandit_core import Experiment
from bandit_core.experiments.experiment import Line
from bandit_core.experiments.presets import load_preset, presets
from bandit_core.model import KEPT, PROMISES
from bandit_core.policies import registry
from ui import charts, theme

with (Path(__file__).parents[2] / ".streamlit" / "config.toml").open("rb") as file:
    CONFIG = tomllib.load(file)["theme"]

# What is left of linear RGB without one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1).
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
JUST_NOTICEABLE = 2.3  # distance in CIE Lab
GROUNDS = {False: "#ffffff", True: "#11161c"}


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear(colour), 0, 1) / WHITE
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def contrast(one: str, other: str) -> float:
    bright, faint = sorted(((TO_XYZ[1] @ linear(colour)) + 0.05 for colour in (one, other)), reverse=True)
    return float(bright / faint)


def test_the_measure_itself() -> None:
    assert distance("#ffffff", "#000000", "normal") == pytest.approx(100, abs=0.1)
    assert contrast("#ffffff", "#000000") == pytest.approx(21, abs=0.01)
    assert distance("#d85800", "#8a8a00", "normal") > 30 > 3 * distance("#d85800", "#8a8a00", "deuteranopia")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_policies_have_different_colours(vision: str, dark: bool) -> None:
    """Eyes without blue cones, the rarest kind, see less difference; there it counts what can share a picture."""
    colours = {name: theme.policy_colour(name, dark) for name in registry()}
    least = (3 if vision == "tritanopia" else 4) * JUST_NOTICEABLE
    near = {
        (one, other): round(distance(colours[one], colours[other], vision), 1)
        for one, other in combinations(colours, 2)
        if vision != "tritanopia" or registry()[one].setting == registry()[other].setting
        if distance(colours[one], colours[other], vision) < least
    }
    assert near == {}, "give these policies shades in ui/theme.toml"


def _seen_together() -> set[tuple[str, str]]:
    """Pairs of policies of one trust model in one preset, and all that play without privacy on the same rewards."""
    shown = [sorted({line.policy for line in preset.experiment.lines}) for preset in presets()]
    open_ones = [name for name, policy in registry().items() if policy.privacy == "none" and policy.setting == "arms"]
    pairs = {pair for names in (*shown, sorted(open_ones)) for pair in combinations(names, 2)}
    return {(one, other) for one, other in pairs if registry()[one].privacy == registry()[other].privacy}


@pytest.mark.parametrize("dark", [False, True])
def test_policies_of_one_trust_model_that_share_a_picture_are_told_apart_at_a_glance(dark: bool) -> None:
    pairs = _seen_together()
    assert ("thompson", "ucb") in pairs and len(pairs) > 30
    near = {}
    for one, other in pairs:
        colours = theme.policy_colour(one, dark), theme.policy_colour(other, dark)
        seen = {vision: round(distance(*colours, vision), 1) for vision in VISIONS}
        private = registry()[one].privacy != "none"
        least = {"normal": 29 if private else 20, "tritanopia": 12}
        if any(value < least.get(vision, 15) for vision, value in seen.items()):
            near[one, other] = seen
    assert near == {}


@pytest.mark.parametrize("dark", [False, True])
def test_a_method_that_is_added_to_start_s_picture_changes_no_colour_and_has_its_own(dark: bool) -> None:
    start = load_preset("trust")
    before = theme.line_colours(start, dark)
    for name, policy in registry().items():
        if policy.setting == "arms":
            budget = {} if policy.epsilon == "none" else {"epsilon": {"kind": "fixed", "value": 1.0}}
            more = start.with_lines((*start.lines, Line.model_validate({"policy": name, **budget})))
            *same, added = theme.line_colours(more, dark)
            assert same == before, name
            assert min(distance(added, each, "normal") for each in same) > 4 * JUST_NOTICEABLE, name


def test_markers_tell_the_trust_models_apart_without_any_colour() -> None:
    assert len(set(theme.MARKERS.values())) == len(set(theme.TRUST_SIGNS.values())) == len(theme.TRUST_WORDS)
    for privacy, marker in theme.MARKERS.items():
        [drawn] = charts.Curve([*range(200)], [*range(200)], level=privacy).traces()
        assert drawn.mode == "lines+markers" and drawn.marker.symbol == marker
        assert drawn.marker.size > 0 and drawn.marker.maxdisplayed >= 3


@pytest.mark.parametrize("dark", [False, True])
def test_colours_stand_out_from_the_ground(dark: bool) -> None:
    faint = {name for name in registry() if contrast(theme.policy_colour(name, dark), GROUNDS[dark]) < 3}
    assert faint == set()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("policy", ["ucb", "heldp-ucb-b", "heldp-ucb-l"])
def test_lines_of_one_policy_have_different_shades(policy: str, dark: bool) -> None:
    line = {"policy": policy} | ({"epsilon": {"kind": "fixed", "value": 1.0}} if policy != "ucb" else {})
    experiment = Experiment.model_validate({"arms": [{"kind": "bernoulli", "mean": 0.5}], "lines": [line] * 5})
    colours = theme.line_colours(experiment, dark)
    for vision in VISIONS:
        assert min(distance(*pair, vision) for pair in combinations(colours, 2)) > 3 * JUST_NOTICEABLE
    assert min(contrast(colour, GROUNDS[dark]) for colour in colours) > 1.5


HUES = {  # of green to red, and of blue to yellow
    "local": lambda red, yellow: red > 10 or yellow > 30,
    "shuffle": lambda red, yellow: red > -5 and yellow > 5,
    "distributed": lambda red, yellow: red > 15 and yellow < -15,
    "joint": lambda red, yellow: yellow < 0 or red < 0,
    "central": lambda red, yellow: yellow < 0 or red < 0,
}


def test_trust_decides_the_hue() -> None:
    for name, policy in registry().items():
        for dark in (False, True):
            _, green_red, blue_yellow = lab(theme.policy_colour(name, dark), "normal")
            if policy.privacy == "none":
                assert np.hypot(green_red, blue_yellow) < 30 and green_red < 8 and blue_yellow > -12, name
            else:
                assert HUES[policy.privacy](green_red, blue_yellow), name


@pytest.mark.parametrize("vision", VISIONS)
def test_any_two_promises_have_different_colours(vision: str) -> None:
    assert set(theme.LOOKS) == set(PROMISES)
    for one, other in combinations(theme.LOOKS, 2):
        both = {one, other} <= set(KEPT) and {one, other} != {"joint", "central"}  # can share a picture of curves
        apart = distance(theme.LOOKS[one].colour, theme.LOOKS[other].colour, vision)
        assert apart > (9 if both else 4) * JUST_NOTICEABLE, (one, other)
    for look in theme.LOOKS.values():
        assert min(contrast(look.colour, ground) for ground in GROUNDS.values()) >= 3


@pytest.mark.parametrize("privacy", [key for key in KEPT if key != "none"])
def test_a_policy_without_a_shade_has_the_hue_of_its_promise(monkeypatch: pytest.MonkeyPatch, privacy: str) -> None:
    invented = {f"p{number}": SimpleNamespace(privacy=privacy) for number in range(40)}
    monkeypatch.setattr(theme, "registry", lambda: invented)
    for name, dark in ((name, dark) for name in invented for dark in (False, True)):
        assert HUES[privacy](*lab(theme.policy_colour(name, dark), "normal")[1:]), name


@pytest.mark.parametrize("dark", [False, True])
def test_words_can_be_read(dark: bool) -> None:
    """WCAG 2.2: 4.5 for words, 3 for controls and lines; 7 is its strictest demand, met by the page's own words."""
    colours = CONFIG["dark" if dark else "light"]
    assert colours["backgroundColor"] == GROUNDS[dark]
    grounds = (colours["backgroundColor"], colours["secondaryBackgroundColor"])
    for ground in grounds:
        assert contrast(colours["textColor"], ground) >= 7
        assert contrast(theme.ink(dark), ground) >= 7
        assert contrast(colours["primaryColor"], ground) >= 4.5
    for colour in theme.TRUST_COLOURS.values():
        assert contrast(colour, GROUNDS[dark]) >= 3


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", list(registry()))
def test_a_policy_named_in_its_colour_can_be_read(name: str, dark: bool) -> None:
    colour = theme.policy_colour(name, dark)
    written = theme.as_text(colour, dark)
    assert contrast(written, GROUNDS[dark]) >= 4.5
    assert theme.contrast(written, GROUNDS[dark]) == pytest.approx(contrast(written, GROUNDS[dark]), rel=1e-3)
    if contrast(colour, GROUNDS[dark]) >= 4.7:
        assert written == colour
