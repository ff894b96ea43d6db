"""Distributions, their fits, and arrivals: each against what it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.units import parse_seconds
from bide.workload.arrivals import Gaps
from bide.workload.lengths import parse_lengths
from bide.workload.measuring.lengths import spearman
from bide.workload.measuring.rates import arrival_stats
from bide.workload.modelling import arriving, fitting
from bide.workload.modelling.distributions import Distribution, Mixture, Points
from bide.workload.modelling.pairs import Coupled, Recorded

RNG_SEED = 5


def drawn(distribution: Distribution, count: int = 20_000) -> np.ndarray:
    return distribution.tokens(np.random.default_rng(RNG_SEED).random(count))


@pytest.mark.parametrize(
    ("given_lengths", "mean", "p50", "p95"),
    [
        ({"fixed": 500}, 500, 500, 500),
        ({"uniform": {"low": 100, "high": 300}}, 200, 200, 290),
        ({"normal": {"mean": 500, "sd": 100}}, 500, 500, 664),  # 500 + 1.645 x 100
        ({"lognormal": {"mu": 6.0, "sigma": 0.5}}, 457, 403, 918),  # e^6, e^(6 + 1.645 x 0.5), e^(6 + 0.125)
        ({"mean": 400, "median": 300}, 400, 300, 1043),  # sigma^2 = 2 ln(4/3) = 0.575: 300 e^(1.645 x 0.7585)
        ({"mean": 400, "sd": 400}, 400, 283, 1112),  # sigma^2 = ln 2: 400 / sqrt 2, and that e^(1.645 x 0.8326)
        ({"mixture": [{"weight": 3, "fixed": 100}, {"weight": 1, "fixed": 1000}]}, 325, 100, 1000),
        ({"points": {0: 10, 50: 100, 100: 200}}, 102.5, 100, 190),
        ({"p10": 20, "p50": 100, "p90": 500, "max": 5000}, None, 100, None),
    ],
    ids=str,
)
def test_a_described_shape_gives_what_it_says(
    given_lengths: dict[str, object], mean: float | None, p50: float, p95: float | None
) -> None:
    tokens = drawn(parse_lengths(given_lengths, "prompt"))
    assert np.median(tokens) == pytest.approx(p50, rel=0.03)
    if mean and p95:
        assert tokens.mean() == pytest.approx(mean, rel=0.03)
        assert np.percentile(tokens, 95) == pytest.approx(p95, rel=0.03)


def test_every_percentile_that_is_given_is_kept() -> None:
    figures = {"p10": 20, "p25": 60, "p50": 100, "p90": 500, "p99.9": 6000}
    lengths = parse_lengths(figures, "prompt")
    for name, tokens in figures.items():
        assert lengths.quantile_tokens(float(name[1:]) / 100) == pytest.approx(tokens, rel=0.02)


def test_pauses_are_read_in_seconds() -> None:
    pause = parse_lengths({"p50": "10s", "p95": "2min"}, "think", parse_seconds)
    assert pause.values(np.array([0.5, 0.95])) == pytest.approx([10, 120])
    assert parse_lengths("250ms", "think", parse_seconds).values(np.array([0.3])) == pytest.approx([0.25])


@pytest.mark.parametrize(
    "given_lengths",
    [
        {"fixed": 7},
        {"uniform": {"low": 1, "high": 9}},
        {"normal": {"mean": 5, "sd": 2}, "max": 8},
        {"lognormal": {"mu": 1.0, "sigma": 0.5}, "max": 99},
        {"mixture": [{"weight": 1.0, "mu": 1.0, "sigma": 0.5}]},
        {"points": {0: 1.0, 100: 5.0}},
    ],
    ids=lambda lengths: next(iter(lengths)),
)
def test_what_a_distribution_says_of_itself_describes_it(given_lengths: dict[str, object]) -> None:
    one = parse_lengths(given_lengths, "prompt")
    again = parse_lengths(one.describe(), "prompt")
    shares = np.linspace(0.01, 0.99, 50)
    assert again.values(shares) == pytest.approx(one.values(shares))


@pytest.mark.parametrize(
    ("given_lengths", "said"),
    [
        ({"uniform": {"low": 9, "high": 1}}, "at least low"),
        ({"uniform": 5}, "a mapping"),
        ({"normal": {"mean": 5, "spread": 1}}, "one of mean, sd"),
        ({"mixture": []}, "a list of lognormals"),
        ({"mixture": [5]}, "a lognormal with its weight"),
        ({"mixture": [{"weight": 1, "p10": 1, "p50": 2, "p90": 3}]}, "a lognormal: two figures"),
        ({"mixture": [{"weight": "much", "mean": 3}]}, "weight"),
        ({"points": {10: 1, 100: 2}}, "from 0 to 100"),
        ({"points": {0: 5, 100: 2}}, "never fall"),
        ({"lognormal": {"mu": "x", "sigma": 1}}, "lognormal.mu"),
        ({"normal": {"mean": 5, "sd": 1}, "p50": 3}, "one of max, normal"),
    ],
    ids=str,
)
def test_a_shape_that_cannot_be_names_what_is_wrong(given_lengths: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match="prompt") as caught:
        parse_lengths(given_lengths, "prompt")
    assert said in str(caught.value)


def test_a_lognormal_by_moments_keeps_mean_and_spread() -> None:
    tokens = np.array([100, 200, 300, 400, 4000])
    fitted = fitting.lognormal_of(tokens)
    mean = math.exp(fitted.mu + fitted.sigma**2 / 2)
    assert mean == pytest.approx(1000)
    assert mean * math.sqrt(math.expm1(fitted.sigma**2)) == pytest.approx(tokens.std())
    assert fitted.largest == 4000


def test_measured_quantiles_are_fine_in_the_tail() -> None:
    tokens = np.random.default_rng(0).integers(1, 10_000, 5000)
    points = fitting.quantiles_of(tokens)
    assert len(points.shares) > 120
    assert sum(share > 0.98 for share in points.shares) >= 20
    for share in (0.5, 0.9, 0.99, 0.999):
        assert points.quantile_tokens(share) == pytest.approx(np.quantile(tokens, share), abs=1)


def test_a_mixture_finds_the_humps_that_are_there() -> None:
    rng = np.random.default_rng(0)
    humps = np.concatenate([rng.normal(4, 0.3, 6000), rng.normal(7, 0.2, 3000), rng.normal(9, 0.4, 1000)])
    fitted = fitting.mixture_of(np.rint(np.exp(humps)).astype(int))
    assert [part[0] for part in fitted.parts] == pytest.approx([0.6, 0.3, 0.1], abs=0.02)
    assert [part[1] for part in fitted.parts] == pytest.approx([4, 7, 9], abs=0.05)
    assert [part[2] for part in fitted.parts] == pytest.approx([0.3, 0.2, 0.4], abs=0.05)


@given(st.lists(st.integers(1, 100_000), min_size=2, max_size=200))
def test_fits_stay_within_what_was_observed(tokens: list[int]) -> None:
    array = np.array(tokens)
    for fitted in (fitting.quantiles_of(array), fitting.lognormal_of(array), fitting.mixture_of(array)):
        values = fitted.tokens(np.linspace(0, 1, 101))
        assert values.min() >= 1
        assert values.max() <= array.max()
        assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.35])
def test_coupled_lengths_have_the_rank_correlation_that_was_asked(rho: float) -> None:
    pairs = Coupled(parse_lengths({"mean": 900}, "p"), parse_lengths({"mean": 200}, "o"), rho)
    assert spearman(*pairs.draw(40_000, np.random.default_rng(0))) == pytest.approx(rho, abs=0.02)


def test_the_share_without_an_answer_is_kept() -> None:
    pairs = Coupled(Points((0, 1), (5, 5)), Points((0, 1), (5, 5)), 0.0, unanswered=0.25)
    assert np.mean(pairs.draw(20_000, np.random.default_rng(0))[1] == 0) == pytest.approx(0.25, abs=0.02)


def test_recorded_pairs_stay_together() -> None:
    recorded = Recorded(np.array([1, 2, 3]), np.array([10, 20, 30]))
    prompt, output = recorded.draw(1000, np.random.default_rng(0))
    assert (output == 10 * prompt).all()
    assert set(prompt) == {1, 2, 3}


@pytest.mark.parametrize(
    ("gaps", "variation"),
    [
        (Gaps("exponential"), 1.0),
        (Gaps("gamma", 0.25), 2.0),  # 1 / sqrt(shape)
        (Gaps("gamma", 4.0), 0.5),
        (Gaps("weibull", 0.5), math.sqrt(5)),  # gamma(5) / gamma(3)^2 - 1 = 24 / 4 - 1 = 5
        (Gaps("constant"), 0.0),
    ],
    ids=str,
)
def test_gaps_have_mean_1_and_the_variation_of_their_shape(gaps: Gaps, variation: float) -> None:
    drawn_gaps = gaps.draw(200_000, np.random.default_rng(0))
    assert drawn_gaps.mean() == pytest.approx(1, rel=0.02)
    assert drawn_gaps.std() == pytest.approx(variation, rel=0.05)


def test_rates_turn_expected_counts_into_times() -> None:
    # 2/s for 10 s, nothing for 10 s, 1/s for 10 s, and again: 30 requests a round of 30 s
    rates = arriving.Rates(10.0, (2.0, 0.0, 1.0))
    assert rates.seconds(np.array([10.0, 19.0, 25.0, 35.0])).tolist() == [5.0, 9.5, 25.0, 32.5]
    assert rates.mean_rps == 1.0


def test_measured_rates_keep_the_shape_of_the_day() -> None:
    rng = np.random.default_rng(0)
    recorded = np.sort(np.concatenate((rng.uniform(0, 500, 1000), rng.uniform(500, 1000, 5000))))
    times = arriving.measured_rates(recorded, 10.0).times_s(6000, rng)
    assert (times < 500).sum() == pytest.approx(1000, rel=0.15)


@pytest.mark.parametrize("kind", ["rates", "replay", "gamma", "wandering"])
def test_every_model_of_recorded_arrivals_has_their_rate_and_takes_another(kind: str) -> None:
    recorded = np.cumsum(np.random.default_rng(0).gamma(0.5, 0.4, 20_000))
    model = {
        "rates": lambda: arriving.measured_rates(recorded, 10.0),
        "replay": lambda: arriving.Replay(recorded),
        "gamma": lambda: arriving.measured_renewal(recorded),
        "wandering": lambda: arriving.measured_wandering(recorded, 10.0),
    }[kind]()
    assert model.mean_rps == pytest.approx(5, rel=0.03)
    times = model.at(20.0).times_s(20_000, np.random.default_rng(1))
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 0
    assert len(times) / times[-1] == pytest.approx(20, rel=0.05)


def test_replay_is_what_was_recorded_and_goes_on() -> None:
    # 0, 1, 5: span 5, a mean gap of 2.5 before it begins again at 7.5
    assert arriving.Replay(np.array([0.0, 1.0, 5.0])).times_s(5, np.random.default_rng(0)).tolist() == [
        0,
        1,
        5,
        7.5,
        8.5,
    ]


def test_a_wandering_rate_is_as_uneven_as_it_was_made() -> None:
    model = arriving.Wandering(10.0, 10.0, variation=0.5, persistence=0.6)
    times = model.times_s(200_000, np.random.default_rng(0))
    again = arriving.measured_wandering(times, 10.0)
    assert again.variation == pytest.approx(0.5, rel=0.1)
    assert again.persistence == pytest.approx(0.6, abs=0.1)
    # counts in a window of 100 expected: variance / mean = 1 + 100 x 0.5^2 = 26
    stats = arrival_stats(times)
    assert stats is not None
    assert stats.windows[1].dispersion == pytest.approx(26, rel=0.2)


def test_poisson_arrivals_do_not_wander() -> None:
    calm = arriving.measured_wandering(arriving.poisson(5.0).times_s(50_000, np.random.default_rng(0)), 10.0)
    assert calm.variation < 0.05
    assert arriving.Wandering(5.0, 10.0, 0.0).times_s(1000, np.random.default_rng(0))[-1] == pytest.approx(200, rel=0.1)


@pytest.mark.parametrize("peak", [1.1, 1.5, 2.2])
def test_a_day_has_the_hump_that_was_asked(peak: float) -> None:
    model = arriving.diurnal(2.0, peak)
    assert model.mean_rps == pytest.approx(2.0)
    assert max(model.rates.rps) / 2.0 == pytest.approx(peak, rel=1e-6)
    assert model.rates.rps.index(max(model.rates.rps)) / 4 == pytest.approx(14, abs=0.3)
    assert min(model.rates.rps) > 0


def test_a_day_by_the_hour() -> None:
    hours = (1.0,) * 12 + (3.0,) * 12
    model = arriving.diurnal(4.0, 1.0, hours)
    assert (model.rates.rps[0], model.rates.rps[23], model.rates.window_s) == (2.0, 6.0, 3600.0)


def test_one_lognormal_is_a_mixture_of_one() -> None:
    shares = np.linspace(0.01, 0.99, 99)
    one = parse_lengths({"lognormal": {"mu": 6.0, "sigma": 1.0}}, "prompt")
    assert Mixture(((2.0, 6.0, 1.0),)).values(shares) == pytest.approx(one.values(shares), rel=1e-3)
