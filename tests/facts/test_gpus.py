"""Laws over every accelerator in the catalogue, its spellings, and figures seen in the world."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import UnknownName
from bide.facts import catalogue
from bide.facts.gpu_names import matching
from bide.facts.gpus import Gpu, all_gpus, find_gpu
from bide.units import GIB, MIB

GPUS = all_gpus()
every_gpu = pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.id)

FP8_RATIO_EXCEPTIONS = {"gaudi3": 1.0}
"""Gaudi 3's matrix engines run bf16 as fast as fp8: 1,835 TFLOPS each (Intel, Hot Chips 2024)."""

INT8_RATIO_EXCEPTIONS = {
    "mi210": 1.0,  # CDNA2's matrix cores have one rate for int8 and fp16
    "mi250x": 1.0,
    "rtx-3090": 4.0,  # GeForce halves 16-bit products summed in fp32, not integer ones
    "rtx-4090": 4.0,
    "rtx-5090": 4.0,
    "b300-sxm": 0.068,  # Blackwell Ultra gave int8's area to fp4
    "gb300": 0.066,
}


def test_there_are_53() -> None:
    assert len(GPUS) == 53


@every_gpu
def test_fp8_is_twice_as_fast_as_bf16_when_both_are_dense(gpu: Gpu) -> None:
    # A sparse figure beside a dense one would give 4 or 1.
    if {"fp8", "bf16"} <= gpu.tflops.keys():
        assert gpu.tflops["fp8"] / gpu.tflops["bf16"] == pytest.approx(FP8_RATIO_EXCEPTIONS.get(gpu.id, 2.0), rel=0.03)


@every_gpu
def test_int8_is_twice_as_fast_as_bf16_but_for_known_designs(gpu: Gpu) -> None:
    if {"int8", "bf16"} <= gpu.tflops.keys():
        expected = INT8_RATIO_EXCEPTIONS.get(gpu.id, 2.0)
        assert gpu.tflops["int8"] / gpu.tflops["bf16"] == pytest.approx(expected, rel=0.03)


@every_gpu
def test_fp16_and_bf16_have_one_rate(gpu: Gpu) -> None:
    assert gpu.tflops.get("fp16", 0) in (0, gpu.tflops.get("bf16", gpu.tflops.get("fp16", 0)))


@every_gpu
def test_the_ridge_point_lies_where_accelerators_have_it(gpu: Gpu) -> None:
    # H20, cut for export, is the lowest (148 / 4.0 = 37); TPU v6e the highest (918 / 1.638 = 560).
    for kind in gpu.tflops.keys() & {"bf16", "fp16"}:
        assert 30 < gpu.ridge_flop_per_byte(kind) < 600


@every_gpu
def test_memory_shrinks_from_the_box_to_the_engine(gpu: Gpu) -> None:
    assert 0.85 * gpu.marketing_gb * GIB < gpu.usable_bytes <= gpu.memory_bytes <= gpu.marketing_gb * GIB
    assert gpu.engine_memory_bytes in (None, gpu.usable_bytes)


@every_gpu
def test_physical_figures_are_positive(gpu: Gpu) -> None:
    assert gpu.bandwidth_bytes_per_s > 1e11
    assert all(value > 0 for value in gpu.tflops.values())
    assert gpu.link_bytes_per_s >= 0
    assert 1 <= gpu.node_gpus <= gpu.link_domain_gpus
    assert gpu.tdp_w is None or 50 < gpu.tdp_w < 2000


@every_gpu
def test_prices_run_from_low_to_high(gpu: Gpu) -> None:
    assert all(0 < price.usd_per_hour <= price.usd_per_hour_high < 100 for price in gpu.prices)
    assert all(price.source.kind == "price" for price in gpu.prices)


@every_gpu
def test_every_figure_has_a_source_and_unverified_ones_say_so(gpu: Gpu) -> None:
    for figure in gpu.figures().values():
        assert figure.source.text
        assert figure.source.checked or not figure.source.verified or figure.source.kind == "derived"


@every_gpu
def test_an_estimate_is_marked_derived_and_a_sighting_measured(gpu: Gpu) -> None:
    assert gpu.sources["usable"].kind == ("derived" if gpu.engine_memory_bytes is None else "measured")
    assert gpu.sources["memory"].kind == "driver" or not gpu.sources["memory"].verified


def test_source_dates_are_dates() -> None:
    sources = catalogue.table("gpus/_sources.json")["sources"]
    assert all(re.fullmatch(r"(20\d\d(-\d\d(-\d\d)?)?)?", date) for _text, date, _kind in sources.values())
    assert all(date for key, (_text, date, kind) in sources.items() if kind != "price" and key != "UNV")


def test_every_source_is_used() -> None:
    used = set()
    for record in catalogue.records("gpus").values():
        lists = [
            value for name, value in record.items() if isinstance(value, list) and name not in ("aliases", "prices")
        ]
        used |= {key for figure in lists for key in figure[1].split(",")}
        used |= {key for price in record.get("prices", ()) for key in price[3].split(",")}
    assert used == set(catalogue.table("gpus/_sources.json")["sources"])


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [
        # vLLM and torch logs: the total they print, in GiB.
        ("h100-sxm", 79.19),
        ("a100-80g-sxm", 79.25),
        ("h200-sxm", 139.80),
        ("mi300x", 191.98),
        ("rtx-3090", 23.58),
        ("l40s", 44.52),
        ("b200-sxm", 178.35),
        # not seen under this name, but the same chips as one that was
        ("h100-pcie", 79.19),
        ("a100-80g-pcie", 79.25),
    ],
)
def test_usable_memory_is_what_engines_print(gpu: str, gib: float) -> None:
    assert find_gpu(gpu).usable_bytes / GIB == pytest.approx(gib, abs=0.005)


@pytest.mark.parametrize(("gpu", "mib"), [("h100-sxm", 81559), ("a100-40g-sxm", 40960), ("l4", 23034), ("t4", 15360)])
def test_memory_is_what_nvidia_smi_prints(gpu: str, mib: int) -> None:
    assert find_gpu(gpu).memory_bytes == mib * MIB


def test_the_ridge_point_by_hand() -> None:
    # 989.4e12 FLOP/s over 3.35e12 B/s = 295.3 FLOP a byte
    assert find_gpu("h100-sxm").ridge_flop_per_byte("bf16") == pytest.approx(295.34, abs=0.01)


def test_the_cheapest_price_is_an_offer_rather_than_a_range_of_the_market() -> None:
    price = find_gpu("h100-sxm").cheapest
    assert price is not None
    assert (price.usd_per_hour, price.provider) == (2.29, "Verda")  # the market range begins at 1.99
    assert find_gpu("gaudi3").cheapest is None


@every_gpu
def test_ids_names_and_printed_names_find_their_gpu(gpu: Gpu) -> None:
    assert {find_gpu(name).id for name in (gpu.id, gpu.id.upper(), gpu.name, *gpu.aliases)} == {gpu.id}


def test_printed_names_are_unique() -> None:
    aliases = [alias.lower() for gpu in GPUS for alias in gpu.aliases]
    assert len(aliases) == len(set(aliases))


def test_only_variants_of_one_product_share_a_spelling() -> None:
    lines = {gpu_id: record["words"] for gpu_id, record in catalogue.records("gpus").items()}
    for gpu in GPUS:
        families = {found.split("-")[0] for found in matching(gpu.id, lines)}
        assert len(families) <= 1, (gpu.id, families)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H100", "h100-sxm"),
        ("h100 80gb sxm", "h100-sxm"),
        ("H100-SXM5-80GB", "h100-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("H100 PCIe", "h100-pcie"),
        ("nvidia h100 nvl", "h100-nvl"),
        ("A100", "a100-80g-sxm"),
        ("A100-SXM4-80GB", "a100-80g-sxm"),
        ("A100 40GB", "a100-40g-sxm"),
        ("A100-PCIE-40GB", "a100-40g-pcie"),
        ("rtx 4090", "rtx-4090"),
        ("RTX4090", "rtx-4090"),
        ("GeForce RTX 3090", "rtx-3090"),
        ("MI300X", "mi300x"),
        ("AMD_Instinct_MI300X_OAM", "mi300x"),
        ("6000 ada", "rtx-6000-ada"),
        ("A6000", "rtx-a6000"),
        ("RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"),
        ("Gaudi 3", "gaudi3"),
        ("DGX Spark", "gb10"),
        ("TPU v6e", "tpu-v6e"),
        ("Tesla V100-SXM2-32GB", "v100-32g-sxm2"),
        ("B200 192 GB", "b200-sxm"),
    ],
)
def test_common_spellings(name: str, expected: str) -> None:
    assert find_gpu(name).id == expected


@pytest.mark.parametrize(
    "name", ["RTX 4090 D", "RTX 3090 Ti", "H100 MIG 1g.10gb", "H200 NVL", "H20-3e", "RTX 6000", "", "gpu", "nvidia"]
)
def test_a_different_card_is_not_taken_for_a_known_one(name: str) -> None:
    with pytest.raises(UnknownName):
        find_gpu(name)


@pytest.mark.parametrize(("name", "near"), [("h10", "h100"), ("mi300", "mi300x"), ("rtx-4900", "rtx-4090")])
def test_an_unknown_name_gets_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UnknownName, match=rf"^gpu: .*Did you mean .*\b{near}\b"):
        find_gpu(name)


@given(st.text(max_size=40) | st.integers() | st.none() | st.lists(st.text()))
def test_any_name_is_a_gpu_or_one_clear_error(name: object) -> None:
    try:
        assert find_gpu(name) in GPUS
    except UnknownName as error:
        assert error.field == "gpu"


def test_word_order_does_not_matter() -> None:
    orders = itertools.permutations(["h100", "80gb", "sxm", "nvidia"])
    assert {find_gpu(" ".join(words)).id for words in orders} == {"h100-sxm"}


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3 MIG 3g.40gb", "h100 1g.10gb"])
def test_a_slice_of_a_card_is_told_what_to_do(name: str) -> None:
    with pytest.raises(UnknownName, match="MIG slices"):
        find_gpu(name)
