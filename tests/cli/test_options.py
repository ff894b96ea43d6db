"""The deployment flags become one dict, with the file format's keys."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bide.cli.options import Quantity, Whole, deployment_options, explain_option, json_option, output_option
from bide.errors import BadInput
from bide.units import parse_seconds

FLAGS = {
    "gpu", "tp", "pp", "dp", "ep", "gpus", "engine", "engine_version", "weights", "kv_dtype", "gpu_memory_utilization",
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size", "enforce_eager", "enable_prefix_caching",
    "enable_chunked_prefill", "speculative_tokens", "pool_bytes_per_gpu",
}  # fmt: skip


def parse(*args: str) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    @click.command()
    @click.argument("model")
    @deployment_options
    @json_option
    @explain_option
    @output_option(".html", ".json")
    @click.option("--within", type=Quantity("seconds", parse_seconds))
    def command(**values: Any) -> None:
        seen.update(values)

    result = CliRunner().invoke(command, ["llama", *args], catch_exceptions=False, standalone_mode=False)
    if result.exception:
        raise result.exception
    return seen


def test_what_was_not_given_is_left_out() -> None:
    seen = parse()
    assert (seen["deployment"], seen["model"], seen["as_json"], seen["output"]) == ({}, "llama", False, None)


def test_every_flag_of_the_contract_is_there() -> None:
    given = {
        "--enforce-eager": None, "--no-enable-prefix-caching": None, "--enable-chunked-prefill": None,
        "--gpu": "h100", "--tp": "2", "--pp": "1", "--dp": "1", "--ep": "2", "--gpus": "4", "--engine": "vllm",
        "--engine-version": "0.19", "--weights": "fp8", "--kv-dtype": "fp8", "--gpu-memory-utilization": "0.9",
        "--max-model-len": "128k", "--max-num-seqs": "256", "--max-num-batched-tokens": "8k", "--block-size": "16",
        "--speculative-tokens": "3", "--pool-bytes-per-gpu": "53GB",
    }  # fmt: skip
    deployment = parse(*(part for flag in given.items() for part in flag if part is not None))["deployment"]
    assert set(deployment) == FLAGS
    assert deployment["max_model_len"] == 131072
    assert deployment["pool_bytes_per_gpu"] == 53_000_000_000
    assert deployment["enable_prefix_caching"] is False
    assert deployment["enforce_eager"] is True
    assert deployment["gpu_memory_utilization"] == 0.9


def test_sizes_and_times_that_cannot_be_read_name_the_flag() -> None:
    with pytest.raises(BadInput, match=r"^max_model_len: got 'long'"):
        parse("--max-model-len", "long")
    with pytest.raises(BadInput, match=r"^within: got 'soon'"):
        parse("--within", "soon")
    assert parse("--within", "50ms")["within"] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--tp", "two"), "tp: got 'two'; allowed: a whole number"),
        (("--tp", "1.5"), "tp: got '1.5'; allowed: a whole number"),
        (("--gpu-memory-utilization", "0,9"), "allowed: a number such as 0.9 or 12. With a decimal point: 0.9"),
        (("--gpu-memory-utilization", "90%"), "As a share: 0.9"),
        (("--max-model-len", "1,5k"), "With a decimal point: 1.5k"),
        (("--gpu", "h100", "--gpu", "l4"), "gpu: got 'h100, l4'; allowed: one GPU here. `bide curve` takes several"),
        (("--gpu", "h100,l4"), "gpu: got 'h100,l4'; allowed: one GPU here"),
    ],
)
def test_a_value_that_cannot_be_read_says_what_can_and_the_likely_fix(args: tuple[str, ...], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(*args)
    assert said in str(caught.value)


def test_whole_numbers_have_limits() -> None:
    kind = Whole(1, 100_000_000)
    assert kind.convert(" 12 ", None, None) == 12
    with pytest.raises(BadInput, match=r"got '1k'; allowed: a whole number from 1 to 100,000,000. Without letters"):
        kind.convert("1k", None, None)
    with pytest.raises(BadInput, match="a whole number, 0 or more"):
        Whole(0).convert("-1", None, None)


def test_several_gpus_are_repeated_or_have_commas() -> None:
    seen: dict[str, Any] = {}

    @click.command()
    @partial(deployment_options, several_gpus=True)
    def command(deployment: dict[str, Any]) -> None:
        seen.update(deployment)

    CliRunner().invoke(command, ["--gpu", "h100-sxm,l40s", "--gpu", "l4"], catch_exceptions=False)
    assert seen["gpu"] == ("h100-sxm", "l40s", "l4")
