"""Typed amounts of two parts and refunds: against the lognormal distribution, and end to end."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from scipy import integrate, stats

from bandit_core import read_observations
from bandit_core.data.observations import cut_misleads
from bandit_core.studies.business_case import DRAWS, PARTS, purchases, ranges_of, sales, typed_options
from bandit_core.studies.price import price_question, rows_of


@pytest.mark.parametrize(("mean", "sd"), [(40.0, 60.0), (1.0, 0.1), (5.0, 25.0)])
def test_the_amounts_are_means_of_parts_of_a_lognormal_distribution(mean, sd):
    sigma = np.sqrt(np.log1p((sd / mean) ** 2))
    law = stats.lognorm(sigma, scale=mean * np.exp(-(sigma**2) / 2))
    assert (law.mean(), law.std()) == pytest.approx((mean, sd))
    ends = law.ppf(np.arange(PARTS + 1) / PARTS)
    for place in (0, PARTS // 2, PARTS - 2):
        part = integrate.quad(lambda amount: amount * law.pdf(amount), ends[place], ends[place + 1])[0] * PARTS
        assert purchases(mean, sd)[0][place] == pytest.approx(part, rel=1e-4)
    amounts, weights = purchases(mean, sd)
    average = np.average(amounts, weights=weights)
    assert average == pytest.approx(mean) and np.average((amounts - mean) ** 2, weights=weights) > 0.85 * (
        min(sd, 1.5 * mean) ** 2
    )


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("sd", [60.0, 400.0])
def test_limits_of_privacy_never_change_an_answer_without_it(sd, epsilon):
    found, stops = [], []
    for limit in (60.0, 100.0, 1000.0, 10_000.0):
        asked = price_question(baseline=0.03, lifts=[20], purchase=(40, sd), limits=(0, limit), epsilon=[epsilon])
        plain, local, central = rows_of(asked)
        assert central.test_users < local.test_users and plain.lift_users == plain.test_users
        found.append(plain.test_users)
        stops.append(replace(asked, trials=40).roll_out().specs(10**10)[0].arms)
    assert len(set(found)) == 1
    assert stops[0] == stops[1] and all(
        mine.mean == pytest.approx(first.mean) for each in stops for mine, first in zip(each, stops[0], strict=True)
    )


def test_a_planned_test_of_purchases_has_its_power_when_it_is_played():
    """Amounts are drawn anew, of the lognormal distribution; cut, and noised as each level of trust does."""
    limit, epsilon, played, draw = 100.0, 2.0, 2000, np.random.default_rng(0)
    asked = price_question(baseline=0.1, lifts=[30], purchase=(40, 60), limits=(0, limit), epsilon=[epsilon])
    sigma = np.sqrt(np.log1p(1.5**2))
    for row in rows_of(asked):
        each, means, variances = row.test_users // 2, [], []
        for rate, mean in zip((0.1, 0.13), asked.roll_out().view("local").means, strict=True):
            sums, squares = np.zeros(played), np.zeros(played)
            for place, bought in enumerate(draw.binomial(each, rate, played)):
                amounts = draw.lognormal(np.log(40) - sigma**2 / 2, sigma, bought) / limit
                amounts = amounts if row.privacy == "none" else np.minimum(amounts, 1)
                sums[place], squares[place] = amounts.sum(), (amounts**2).sum()
            if row.privacy == "local":
                keep = 1 / np.tanh(epsilon / 2)
                bits = draw.binomial(each, 0.5 + (mean - 0.5) / keep, played)
                sums = each * (0.5 + keep * (bits / each - 0.5))
                variances.append(((keep / 2) ** 2 - np.mean(sums / each - 0.5) ** 2) / each)
            else:
                noise = draw.laplace(0, 1 / epsilon, played) if row.privacy == "central" else 0.0
                variances.append(np.mean(squares / each - (sums / each) ** 2) / each)
                sums = sums + noise
            means.append(sums / each)
        found = np.mean(means[1] - means[0] > 1.96 * np.sqrt(sum(variances)))
        assert found == pytest.approx(0.8, abs=0.035)


def test_options_bring_their_rate_times_the_mean_and_limits_cut_the_large_amounts():
    amounts, weights = purchases(40, 60)
    rates = typed_options(3, [0.08, (0.1, 0.2)], True, (0, 100))
    found = sales("abc", rates, 40.0, 60.0, 100.0)
    scale = found.high - found.low
    for arm, option, rate in zip(found.options.arms, found.amounts, rates.arms, strict=True):
        assert found.low + scale * arm.expected == pytest.approx(40 * rate.mean, rel=1e-5) == option.mean
        assert option.outside(0, 100) / option.count == pytest.approx(
            rate.mean * np.average(amounts > 100, weights=weights), rel=1e-3
        )
    for (least, most), wanted in zip(ranges_of(found.options.beliefs), ranges_of(rates.beliefs), strict=True):
        assert (found.high * least, found.high * most) == pytest.approx((40 * wanted[0], 40 * wanted[1]))
    assert found.clip == (0.0, 100 / found.high) and len(found.options.draws) == DRAWS
    assert sales("ab", typed_options(3, [0], True, (0, 100)), 40.0, 60.0, 1e6).clip is None
    assert sales("ab", typed_options(0, [50], False, (0, 100)), 40.0, 60.0, 100.0).amounts[0].mean == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [((0, 1, 5), "mean purchase"), ((4, 0, 5), "standard deviation"), ((4, 1, 0), "largest amount"),
     ((np.nan, 1, 5), "mean purchase"), ((4, 1e3, 5), "standard deviation")],
)  # fmt: skip
def test_amounts_that_are_none_are_refused(given, field):
    with pytest.raises(Exception, match=field):
        sales("ab", typed_options(3, [0.1], True, (0, 100)), *given)


def test_the_question_of_a_shop_is_asked_in_its_unit():
    asked = {"baseline": 0.03, "lifts": [10], "weekly": 1000, "weeks": 20, "epsilon": [2]}
    shop = price_question(**asked, purchase=(40, 60), limits=(0, 100))
    rate = price_question(**asked)
    assert shop.keep == pytest.approx(40 * rate.keep, rel=1e-4) and shop.clip is not None
    plain = [rows_of(each)[0].test_users for each in (rate, shop)]
    assert plain[1] > plain[0]  # amounts vary more
    with refused("limits"):
        price_question(**asked, purchase=(40, 60))


def test_refunds_are_amounts_below_zero(tmp_path):
    draw = np.random.default_rng(0)
    columns = [np.where(draw.random(2000) < 0.02, -30, draw.choice([0, 30], 2000, p=[1 - p, p])) for p in (0.1, 0.3)]
    path = tmp_path / "refunds.csv"
    path.write_text("old,new\n" + "\n".join(f"{a},{b}" for a, b in zip(*columns, strict=True)))
    seen = read_observations(path.read_bytes(), rows="wide").data
    assert seen.limits == (-30, 30) and seen.holding(0.95)[0] <= 0 and not cut_misleads(seen.options, (-30, 30))
    question = price_question(path, rows="wide", limits=(-30, 30), weekly=1000, weeks=3, epsilon=[2])
    assert (question.low, question.scale) == (-30, 60)
    gap = seen.options[1].mean - seen.options[0].mean
    assert question.keep == pytest.approx(3000 * gap, rel=0.02)
    assert all(np.isfinite(row.test_users) for row in rows_of(question))
