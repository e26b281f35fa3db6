"""Questions as generators: played, stopped, taken up again and refused as one run, whatever they ask."""

import numpy as np
import pytest
from helpers import experiment_of, memory

from bandit_core import InputError, simulate
from bandit_core.simulation.questions import Round, Study, answer, once, within

PLAIN = experiment_of(lines=[{"policy": "ucb"}], trials=4)
TRIALS = (4, 8, 12)


def growing(trials=TRIALS):
    """The mean loss after more and more trials; each round is a third of the work."""
    means = []
    for place, count in enumerate(trials):
        share = place / len(trials), (place + 1) / len(trials)
        [result] = yield Round([PLAIN.with_changes(trials=count, seed=place)], *share, later=1.0 * (3 - place), steps=7)
        means.append(float(result.lines[0].mean[-1]))
    return means


@pytest.fixture(scope="module")
def means():
    """What `growing` must answer, from runs of their own."""
    runs = [simulate(PLAIN.with_changes(trials=n, seed=k), store=memory()) for k, n in enumerate(TRIALS)]
    return [run.lines[0].mean[-1] for run in runs]


def test_a_question_is_sent_what_it_asks_and_progress_never_falls(means):
    study, seen = Study(growing(), memory()), []
    assert study.result() is None and study.fraction == 0 and study.missing_seconds > 3 and study.steps == 7
    assert study.run(1, lambda running: seen.append(running.fraction)) == means
    assert seen == sorted(seen) and study.finished and study.fraction == 1 and study.missing_seconds == 0
    assert not study.waiting and study.kept and study.notices == []


def test_what_the_store_holds_is_not_played_again_and_a_stopped_question_goes_on_where_it_was(means):
    store = memory()
    stopped = Study(growing(), store)
    assert stopped.run(1, lambda running: running.stop()) is None and stopped.run(1) is None and not stopped.finished
    left = Study(growing(), store)
    assert left.fraction == pytest.approx(1 / 3) and left.missing_seconds < Study(growing(), memory()).missing_seconds
    assert left.run(2) == means
    again = Study(growing(), store)
    assert again.finished and again.result() == means


def test_questions_ask_questions_one_after_the_other_or_side_by_side(means):
    def both():
        first = yield from within(growing(TRIALS[:1]), 0.0, 0.5, times=2, steps=9)
        side = yield Round([growing(), growing(TRIALS[:2])], 0.5)
        return first, *side

    study = Study(both(), memory())
    assert study.steps == 9 and study.missing_seconds > 2 * 3
    seen = []
    assert study.run(1, lambda running: seen.append(running.fraction)) == (means[:1], means, means[:2])
    assert seen == sorted(seen)


def test_a_question_hears_what_is_refused_and_may_go_on(monkeypatch):
    def careful(trials):
        try:
            [result] = yield Round([PLAIN.with_changes(trials=trials)])
        except InputError as error:
            return error.issues[0].path
        return result.lines[0].count

    monkeypatch.setenv("LAB_MAX_STEPS", str(4 * PLAIN.horizon))
    assert [answer(careful(trials), 1, memory()) for trials in (4, 5)] == [4, "horizon"]
    with pytest.raises(InputError, match="steps"):
        Study(once([PLAIN, PLAIN.with_changes(trials=5)]), memory())


def test_what_is_done_of_the_present_round_can_be_seen():
    study = Study(once([PLAIN, PLAIN.with_changes(seed=1)]), memory())
    study.run(1, lambda running: running.stop())
    first, second = study.results
    assert study.result() is None and first.lines[0] is not None and second.lines[0] is None
    np.testing.assert_array_equal(first.lines[0].trials, np.arange(first.lines[0].count))
