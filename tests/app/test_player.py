"""The screen "Play the learner yourself": its users, its opponent and its count are those of the lab."""

import numpy as np
import pytest
import screen as on

from bandit_core import Experiment, simulate
from bandit_core.mechanisms.randomised_response import CTB
from ui.learn import player


def test_thompson_sampling_loses_what_the_lab_says() -> None:
    games = [player.deal(False, np.random.default_rng(seed)) for seed in range(1500)]
    lost = np.array([game.lost(game.theirs)[-1] for game in games])
    arms = [{"kind": "bernoulli", "mean": mean} for mean in player.MEANS]
    document = {"arms": arms, "lines": [{"policy": "thompson"}], "horizon": player.USERS, "trials": 1500}
    line = simulate(Experiment.model_validate(document), jobs=1).lines[0]
    assert line is not None
    error = np.hypot(lost.std() / np.sqrt(len(lost)), line.stderr[-1])
    assert abs(lost.mean() - line.mean[-1]) < 4.5 * error


@pytest.mark.parametrize("hidden", [False, True])
def test_users_answer_by_their_jokes_and_the_coin_of_the_lab(hidden: bool) -> None:
    games = [player.deal(hidden, np.random.default_rng(seed)) for seed in range(400)]
    said, truth = (np.array([getattr(game, name) for game in games]) for name in ("answers", "means"))
    assert set(np.unique(said)) == {0.0, 1.0} and np.all(np.sort(truth) == np.sort(player.MEANS))
    for mean in player.MEANS:
        shown = said.transpose(0, 2, 1)[truth == mean]
        expected = float(CTB.mean(mean, player.EPSILON)) if hidden else mean
        assert abs(shown.mean() - expected) < 4.5 * np.sqrt(0.25 / shown.size)


def test_a_game_is_played_to_its_end_and_again_behind_a_coin() -> None:
    screen = on.visit("learn", step=player.NAME)
    for user in range(player.USERS):
        assert f"**{user} of {player.USERS} users.**" in on.words(screen) and not screen.get("plotly_chart")
        on.press(screen, screen.button(key=f"player-{user % 4}"))
    game = screen.session_state["learn-player"]
    assert screen.button(key="player-0").disabled and player.SO in on.words(screen)
    assert f"**{game.lost(game.mine)[-1]:.1f}**" in on.words(screen)
    chart = on.chart(screen, "player-chart")
    np.testing.assert_allclose(chart.y("you"), game.lost([user % 4 for user in range(player.USERS)]))
    on.press(screen, screen.button(key="player-new-True"))
    assert screen.session_state["learn-player"].hidden and not screen.get("plotly_chart")
