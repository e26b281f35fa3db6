"""One meaning for a number: 8, 8% and 0.08 are the same in every command, on the page and in files."""

import re

import pytest
from helpers import asked, refused

from bandit_core import InputError, cli
from bandit_core.data import tables
from bandit_core.spec import notation
from bandit_core.studies.business_case import ranges_of, read_lifts

ASKED, NONE = "may be", "numbers, ranges or ?"
SPELLINGS = {
    "8": 0.08, "8%": 0.08, "0.08": 0.08, ".08": 0.08, "8 %": 0.08, "8.0": 0.08, "+8%": 0.08, "+8": 0.08, "0.080": 0.08,
    "8e0": 0.08, " 8 ": 0.08, "8\u00a0%": 0.08, "-8": -0.08, "-8%": -0.08, "−8%": -0.08, "–8 %": -0.08, "-0.08": -0.08,
    "150": 1.5, "150%": 1.5, "1.5": 0.015, "1.5%": 0.015, "0.05%": 0.0005, "0.099": 0.099, "0": 0.0, "0%": 0.0,
    "1 500%": 15.0, "1 500": 15.0, "8-15": (0.08, 0.15), "8%-15%": (0.08, 0.15), "8 - 15 %": (0.08, 0.15),
    "0.08-0.15": (0.08, 0.15), "8–15%": (0.08, 0.15), "0.5-5": (0.005, 0.05), "-5 to 2.5": (-0.05, 0.025),
    "0.5": ASKED, "1": ASKED, "0.1": ASKED, "-0.5": ASKED, "0.05-5": ASKED, "0.2 - 0.5": ASKED,
    "8 15": NONE, "8 -15": NONE, "8 15%": NONE, "12 34": NONE, "8%%": NONE, "%": NONE, "0.1 5": NONE, "eight": NONE,
}  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), SPELLINGS.items())
def test_a_lift_is_the_same_in_every_command_and_on_the_page(text, meant, monkeypatch, capsys):
    if isinstance(meant, str):
        with refused("lifts[0]", value=text.replace(" - ", "-")) as issues:
            read_lifts(text)
        assert meant in issues[0].allowed
        assert cli.main(["price", "--baseline", "2%", "--lifts", text]) == cli.BAD_INPUT
        assert text.replace(" - ", "-") in capsys.readouterr().err
        return
    ends = meant if isinstance(meant, tuple) else (meant, meant)
    [lift] = read_lifts(text)
    assert (lift if isinstance(lift, tuple) else (lift, lift)) == tuple(round(100 * end, 10) for end in ends)
    question = asked(monkeypatch, "--baseline", "2%", "--lifts", text)
    shown = ranges_of(question.beliefs)[1] if question.beliefs else (question.arms[1].mean,) * 2
    assert shown == pytest.approx([0.02 * (1 + end) for end in ends], rel=1e-12)
    if not isinstance(meant, tuple) and meant > 0:
        tables_of = []
        for said in (text, f"{100 * meant:.6g}%"):
            assert cli.main(["power", "--baseline", "2%", "--lift", said]) == cli.DONE
            tables_of.append(capsys.readouterr().out)
        assert tables_of[0] == tables_of[1]


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("8,5", "8.5 or 8 and 5; write 8.5 or 8, 5"), ("8,5%", "8.5% or 8 and 5%; write 8.5% or 8, 5%"),
        ("8,5-15,5", "write 8.5-15.5 or 8, 5-15, 5"), ("8,05", "8.05 or 8 and 05"),
        ("2,5, 8", "2.5, 8 or 2 and 5 and 8"),
    ],
)  # fmt: skip
def test_a_comma_between_lifts_that_may_be_decimal_is_asked(text, both, capsys):
    with refused("lifts", value=text) as issues:
        read_lifts(text)
    assert both in issues[0].allowed
    assert cli.main(["price", "--baseline", "2%", "--lifts", text]) == cli.BAD_INPUT
    assert both in capsys.readouterr().err
    assert read_lifts("8, 5") == read_lifts("8; 5") == [8, 5] and read_lifts("8,15") == [8, 15]


def test_commas_and_points_of_one_number_in_the_shell(monkeypatch, capsys):
    question = asked(monkeypatch, "--baseline", "3,1%", "--lifts", "8%", "--weekly", "40,000", "--weeks", "2,5")
    assert (question.arms[0].mean, question.weekly, question.users) == (0.031, 40_000, 100_000)
    for option, text, both in (("weekly", "50.000", "50 or 50,000"), ("baseline", "3,125%", "3.125% or 3,125%")):
        words = {"baseline": "2%", "lifts": "8%", option: text}
        assert cli.main(["price", *(f"--{name}={said}" for name, said in words.items())]) == cli.BAD_INPUT
        said = capsys.readouterr().err
        assert option in said and f"'{text}': may be {both}" in said


SINGLE = [(text, meant) for text, meant in SPELLINGS.items() if not re.search(r"\d( %)?( |%)?([-–]|to)", text)]


@pytest.mark.parametrize(("text", "meant"), SINGLE)
def test_a_cell_of_a_file_means_the_same_as_far_as_its_sign_goes(text, meant):
    """In a file rewards may be amounts: what has no sign is the amount itself, never a percentage."""
    read = tables.read_number(text)
    if meant == NONE:
        assert read is None
    elif "%" in text:
        assert read.value == meant and read.unit == "%"
    else:
        assert read.value == float(text.replace("−", "-").replace(" ", "")) and read.unit == ""


@pytest.mark.parametrize("text", ["8%", "0.08", ".08", "+8%"])
def test_an_arm_of_a_spec_or_a_link_may_be_a_percentage(text):
    assert notation.read_arms(f"{text}, beta(4,1)")[0] == {"kind": "bernoulli", "mean": 0.08}
    with refused("arms[0].mean", value=8) as issues:
        notation.read_arms("8")
    assert "8% or 0.08" in issues[0].allowed


@pytest.mark.parametrize("rate", ["8", "8%", "0.08"])
def test_rates_and_chances_of_every_command(rate, monkeypatch, capsys):
    question = asked(monkeypatch, "--baseline", rate, "--lifts", "8", "--delta", rate, "--power", "80", "--zone", rate)
    assert (question.arms[0].mean, question.delta, question.power) == (0.08, 0.08, 0.8)
    assert question.zone == pytest.approx(0.08 * 0.08)
    printed = []
    for said in (rate, "8%"):
        words = ["power", "--baseline", said, "--effect", said, "--alpha", said, "--power", "0.9"]
        assert cli.main(words) == cli.DONE
        printed.append(capsys.readouterr().out)
        words = ["stopping", "--means", f"90%,{said}", "--delta", said, "--trials", "5", "--policy", "ctb-tt"]
        assert cli.main(words) == cli.DONE
        printed.append(capsys.readouterr().out)
    assert printed[:2] == printed[2:]


def test_a_negative_number_after_an_option_is_read(monkeypatch, tmp_path, capsys):
    file = tmp_path / "sales.csv"
    file.write_text("control,new\n" + "\n".join(f"{-7 * place % 40 - 20},{place % 7}.5" for place in range(40)))
    question = asked(monkeypatch, str(file), "--rows", "wide", "--limits", "-200,100", "--weekly", "40")
    assert (question.low, question.scale) == (-200, 300)
    assert asked(monkeypatch, "--baseline", "50%", "--lifts", "-5, 8").arms[1].mean == pytest.approx(0.475)
    assert cli.main(["price", "--baseline", "50%", "--lifts", "5", "--weeks", "-.5"]) == cli.BAD_INPUT
    assert "weeks: -0.5" in capsys.readouterr().err


def test_points_and_plain_amounts_take_no_percent_sign():
    assert read_lifts("0.5, 8, -1-2", relative=False) == [0.5, 8, (-1, 2)]
    with pytest.raises(InputError, match="8%"):
        read_lifts("5, 8%", relative=False)
