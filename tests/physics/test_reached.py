"""Which of a profile's terms a deployment takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bide.calibrate.terms import terms
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.gpus import all_gpus, find_gpu
from bide.physics.profile import Profile
from bide.physics.reached import ROLES, era, generation, on_nvlink, reached, term_names

PROFILE = Profile("test", "2026-01-01", {term.name: term.start for term in terms()}, {}, {}, "")


def names(gpu: str = "h100-sxm", *, stated: bool = True, widened: bool = False, **raw: object) -> dict[str, object]:
    deployment = Deployment.resolve({"model": "qwen3-30b-a3b", "gpu": gpu, **raw})
    return dict(term_names(deployment, find_gpu(gpu), stated, widened=widened))


@pytest.mark.parametrize(
    ("gpu", "family"),
    [
        ("t4", "gddr"),
        ("a10g", "gddr"),
        ("l40s", "gddr"),
        ("v100-32g-sxm2", "ampere"),
        ("a100-80g-sxm", "ampere"),
        ("gh200-96g", "hopper"),
        ("b200-sxm", "blackwell"),
        ("rtx-5090", "blackwell-gddr"),
        ("mi300x", "amd"),
    ],
)
def test_a_gpu_takes_the_terms_of_its_kind(gpu: str, family: str) -> None:
    assert generation(find_gpu(gpu)) == family
    assert names(gpu)["bandwidth"] == (f"bandwidth.{family}",)
    assert names(gpu)["bandwidth_of"] == (f"bandwidth_of.{gpu}",)


def test_every_gpu_has_a_kind_that_fitting_knows() -> None:
    assert {f"bandwidth.{generation(gpu)}" for gpu in all_gpus()} <= PROFILE.terms.keys()


@pytest.mark.parametrize(
    ("engine", "version", "stated", "loop"),
    [
        ("vllm", "0.7.3", True, "vllm-v0"),
        ("vllm", "0.8.0", True, "vllm-v1"),
        ("vllm", "0.19.0", True, "vllm-v1"),
        ("vllm", "0.19.0", False, "vllm-unstated"),
        ("trtllm", None, False, "trtllm"),
        ("sglang", None, True, "sglang"),
    ],
)
def test_an_engine_takes_the_terms_of_its_step_loop(engine: str, version: str | None, stated: bool, loop: str) -> None:
    raw = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "engine": engine, "engine_version": version}
    assert era(Deployment.resolve(raw), stated) == loop
    found = names(engine=engine, engine_version=version, stated=stated)
    assert found["fixed_s"][0] == f"fixed_s.{loop}"  # type: ignore[index]
    assert found["separate_prefill"] == (1.0 if loop in ("vllm-v0", "vllm-unstated") else 0.0)


def test_links_below_nvlink_take_the_terms_of_pcie() -> None:
    assert on_nvlink(find_gpu("h100-sxm"))
    assert not on_nvlink(find_gpu("l40s"))
    assert names("l40s")["sum_s"] == ("sum_s.pcie",)
    assert names("h100-sxm")["link"] == ("link.vllm-v1", "link.vllm-v1")


def test_widening_and_imbalance_are_taken_only_where_they_are() -> None:
    assert (names()["compute_widened"], names(widened=True)["compute_widened"]) == (1.0, ("compute_widened",))
    assert (names()["imbalance"], names(dp=2)["imbalance"]) == (1.0, ("imbalance",))
    dense = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", "dp": 2})
    assert term_names(dense, find_gpu("h100-sxm"), True, widened=False)["imbalance"] == 1.0


def test_every_role_of_every_case_is_found_in_a_fitted_profile() -> None:
    for gpu in all_gpus():
        for engine in ("vllm", "sglang", "trtllm"):
            deployment = Deployment.resolve({"model": "qwen3-30b-a3b", "gpu": gpu, "engine": engine, "dp": 2})
            found = reached(PROFILE, term_names(deployment, gpu, False, widened=True))
            assert all(getattr(found, role) >= 0 for role in ROLES)


def test_a_gpu_without_runs_has_no_factor_of_its_own() -> None:
    bare = replace(PROFILE, terms={name: value for name, value in PROFILE.terms.items() if "_of." not in name})
    found = reached(bare, names())  # type: ignore[arg-type]
    assert (found.bandwidth_of, found.compute_of) == (1.0, 1.0)


def test_an_engine_without_terms_takes_those_of_the_newest_vllm() -> None:
    fewer = {name: value for name, value in PROFILE.terms.items() if not name.endswith(".sglang")}
    found = reached(replace(PROFILE, terms=fewer), names(engine="sglang"))  # type: ignore[arg-type]
    assert found.layer_s == PROFILE.terms["layer_s.vllm-v1"]


def test_a_profile_that_lacks_a_term_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"profile: .*bandwidth\.hopper"):
        reached(replace(PROFILE, terms={}), names())  # type: ignore[arg-type]
