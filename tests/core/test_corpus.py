"""Files such as people have, and their right reading: by the library, by the shell, and as the page reads them."""

import shlex
import tomllib
from pathlib import Path

import pytest
from helpers import asked, refused

from bandit_core import InputError, cli
from bandit_core.data.observations import observations_of, read_observations
from bandit_core.data.reading import ROLES, Reading
from bandit_core.data.tables import read_sheet

CORPUS = Path(__file__).parent.parent / "corpus"
CASES = tomllib.loads((CORPUS / "cases.toml").read_text(encoding="utf-8"))


def library(name: str, answers: dict[str, str]) -> Reading:
    roles = {role: answers[role] for role in ROLES if role in answers}
    others = {key: answer for key, answer in answers.items() if key not in ROLES}
    return read_observations((CORPUS / name).read_bytes(), **roles, answers=others)


def page(name: str, answers: dict[str, str]) -> Reading:
    """As `ui.your_numbers.inputs` does: the sheet first, then its columns."""
    of_text = {key: answer for key, answer in answers.items() if key in ("sheet", "heading")}
    return observations_of(read_sheet((CORPUS / name).read_bytes(), of_text), answers)


def test_the_corpus_has_the_right_reading_of_each_of_its_files() -> None:
    files = {path.name for path in CORPUS.iterdir() if path.suffix != ".toml"}
    assert files == CASES.keys() and len(files) >= 60


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("read", [library, page], ids=["library", "page"])
def test_a_file_is_read_rightly_or_asked_about(name, read):
    case = CASES[name]
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    if "refused" in case and "doubts" not in case:
        with pytest.raises(InputError, match=case["refused"]):
            _ = read(name, {}).data
    if "doubts" in case:
        found = read(name, {})
        assert [doubt.key for doubt in found.doubts] == case["doubts"]
        proposed = {doubt.key: next(iter(doubt.choices), None) for doubt in found.doubts}
        assert proposed.items() >= case.get("proposed", {}).items()
        if case["doubts"]:
            with refused(*case["doubts"]):
                _ = found.data
    if "options" in case:
        found = read(name, case.get("answers", {}))
        told = {option.name: [option.count, option.mean] for option in found.data.options}
        assert told == {option: [count, pytest.approx(mean)] for option, (count, mean) in case["options"].items()}
        assert case.get("said", "") in " ".join([found.sentence, *found.notes, *found.checks, *map(str, found.asked)])


@pytest.mark.parametrize("name", CASES)
def test_the_shell_reads_what_the_library_reads(name, monkeypatch, capsys):
    case = CASES[name]
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")

    words = ["price", str(CORPUS / name), "--limits=-1000,10000000"]
    if case.get("doubts") or "refused" in case:
        assert cli.main(words) == cli.BAD_INPUT
        said = capsys.readouterr().err
        assert case.get("refused", "") in said
        for key, answer in case.get("answers", {}).items():
            hint = f"--{key} {shlex.quote(answer)}" if key in ROLES else f"--answer {shlex.quote(f'{key}={answer}')}"
            assert hint in said or key not in case.get("doubts", ())
    if "options" not in case:
        return
    for key, answer in case.get("answers", {}).items():
        words += [f"--{key}", answer] if key in ROLES else ["--answer", f"{key}={answer}"]
    question = asked(monkeypatch, *words[1:])
    found = [question.low + question.scale * arm.expected for arm in question.arms]
    told = {option: mean for option, (_, mean) in case["options"].items()}
    assert dict(zip(question.names, found, strict=True)) == {
        option: pytest.approx(mean, rel=1e-6, abs=1e-6) for option, mean in told.items()
    }
    assert library(name, case.get("answers", {})).sentence in capsys.readouterr().err
