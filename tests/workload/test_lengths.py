import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.workload.lengths import described_workload, parse_lengths


def test_a_bare_number_is_a_fixed_length() -> None:
    assert set(parse_lengths(1500, "prompt").even(100, 0)) == {1500}


def test_a_lognormal_passes_through_both_percentiles() -> None:
    # ln(20000 / 12000) / 1.645 = 0.3105; mean = 12000 x exp(0.3105^2 / 2) = 12,593
    tokens = parse_lengths({"p50": 12000, "p95": 20000}, "prompt").even(4096, 0)
    assert np.median(tokens) == pytest.approx(12000, rel=1e-3)
    assert np.percentile(tokens, 95) == pytest.approx(20000, rel=2e-3)
    assert tokens.mean() == pytest.approx(12593, rel=1e-3)


@given(mean=st.integers(50, 100_000), ratio=st.floats(1.01, 3.5), share=st.sampled_from(["p75", "p90", "p95", "p99"]))
def test_a_lognormal_keeps_a_mean_and_a_percentile(mean: int, ratio: float, share: str) -> None:
    z = {"p75": 0.6745, "p90": 1.2816, "p95": 1.6449, "p99": 2.3263}[share]
    percentile = round(mean * ratio)
    if ratio > np.exp(z * z / 2) * 0.99:  # no lognormal has a percentile that far above its mean
        return
    lengths = parse_lengths({"mean": mean, share: percentile}, "prompt")
    assert np.exp(lengths.mu + lengths.sigma**2 / 2) == pytest.approx(mean, rel=1e-6)
    assert lengths.quantile_tokens(int(share[1:]) / 100) == pytest.approx(percentile, abs=1)


def test_a_mean_alone_assumes_a_spread_and_says_so() -> None:
    lengths = parse_lengths({"mean": 210}, "output")
    assert [assumption.value for assumption in lengths.assumptions] == [1.0]
    assert lengths.even(4096, 0).mean() == pytest.approx(210, rel=0.03)


def test_max_cuts_lengths_off() -> None:
    assert parse_lengths({"p50": 1000, "p95": 5000, "max": 6000}, "prompt").even(4096, 0).max() == 6000


@pytest.mark.parametrize(
    "given_lengths",
    [
        {},
        {"p50": 5000, "p95": 100},
        {"mean": 100, "p95": 10_000},
        {"mean": 100, "p50": 200},
        {"fixed": 3, "mean": 3},
        {"p50": 3, "p90": 2, "p95": 4},
        {"mean": 3, "p50": 1, "p95": 2},
        {"p50": 0, "p95": 5},
        {"p50": 1.5, "p95": 5},
        {"p50": 100, "p95": 200, "max": 50},
        "many",
        None,
    ],
)
def test_lengths_that_mean_nothing_are_refused(given_lengths: object) -> None:
    with pytest.raises(BadInput, match="prompt"):
        parse_lengths(given_lengths, "prompt")


def test_an_unknown_figure_names_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"Did you mean .*median"):
        parse_lengths({"p50": 1, "medium": 2}, "prompt")


def test_prompts_and_outputs_are_drawn_apart() -> None:
    work = described_workload({"prompt": {"p50": 1000, "p95": 4000}, "output": {"p50": 100, "p95": 400}}, "lengths")
    assert abs(np.corrcoef(work.prompt_tokens, work.output_tokens)[0, 1]) < 0.05
    assert work.burstiness == pytest.approx(1, abs=0.05)
