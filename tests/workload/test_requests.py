import numpy as np
import pytest

from bide.sourced import Source
from bide.workload.requests import Workload


def workload(prompt: list[int], output: list[int]) -> Workload:
    return Workload(np.array(prompt), np.array(output), np.ones(len(prompt)), Source("by hand", kind="given"))


def test_a_running_request_is_longer_than_the_mean_request() -> None:
    # 10 + 100 / 2 = 60 tokens seen 100 steps, 10 + 300 / 2 = 160 seen 300 steps: (60 x 100 + 160 x 300) / 400 = 135
    work = workload([10, 10], [100, 300])
    assert work.mean_resident_tokens == pytest.approx(135)
    assert np.mean(work.prompt_tokens + work.output_tokens / 2) == 110


def test_a_short_workload_repeats_whole() -> None:
    twice = workload([1, 2, 3], [4, 5, 6]).repeated(5)
    assert twice.prompt_tokens.tolist() == [1, 2, 3, 1, 2, 3]
    assert twice.output_tokens.tolist() == [4, 5, 6, 4, 5, 6]
    assert twice.repeated(6) is twice


def test_the_largest_context_is_prompt_and_output_together() -> None:
    assert workload([10, 50], [100, 20]).largest_tokens == 110
