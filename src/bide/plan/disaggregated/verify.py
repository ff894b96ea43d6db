"""A disaggregated fleet run whole at the planned rate, grown by a replica at a time where it does not hold."""

from __future__ import annotations

from dataclasses import replace

from bide.plan.asks import Probe, asks_of
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.option import pooled_option
from bide.plan.disaggregated.pair import Pair
from bide.plan.findings import Verified
from bide.plan.offer import Terms
from bide.plan.option import Option
from bide.plan.reading import shown_probes
from bide.plan.trial import taken
from bide.plan.verify import TRIES, Proven, proof_of, run_whole
from bide.simulate.fleet.rules import FleetRules, RouterName

_STEPS = ((1, 0), (0, 1))


def pooled_proof(trial: PairCapacity, pair: Pair, most: int, router: RouterName) -> Verified:
    """The fleet of `pair`, or of more replicas, up to `most`, until it keeps what is asked.

    Of one replica more for prompts and one more for answers the better is taken. Then the same with one fewer of
    either, which mostly does not hold.
    """
    grown, fleet = pair, _run(trial, pair, router)
    for _attempt in range(TRIES):
        if grown.replicas >= most or fleet.keeps_all():
            break
        ways = [(_run(trial, grown.grown(*step), router), grown.grown(*step)) for step in _STEPS]
        fleet, grown = min(ways, key=lambda way: _worst(way[0]))
    proof = _proof(fleet, trial, grown, router)
    fewer, fewer_decode = (_fewer(trial, grown.grown(-more, -also), router) for more, also in _STEPS)
    return replace(proof, added=grown.replicas - pair.replicas, fewer=fewer, fewer_decode=fewer_decode)


def _worst(fleet: Proven) -> float:
    """What comes furthest above its limit, over it."""
    return max(taken(ask.probe, fleet.values(ask.probe))[1] / ask.most for ask in asks_of(fleet.service))


def _run(trial: PairCapacity, pair: Pair, router: RouterName) -> Proven:
    rules = FleetRules(prefill_replicas=pair.prefill, decode_replicas=pair.decode, router=router)
    return run_whole(trial.setup("likely"), trial.service, rules)


def _proof(fleet: Proven, trial: PairCapacity, pair: Pair, router: RouterName) -> Verified:
    probes: tuple[Probe, ...] = shown_probes(trial.service)
    return replace(proof_of(fleet, probes, pair.replicas, router), pair=pair)


def _fewer(trial: PairCapacity, pair: Pair, router: RouterName) -> Verified | None:
    """None where there is none of a kind, or it would be too busy to be run."""
    if min(pair.prefill, pair.decode) < 1 or trial.service.traffic.planned_rps > trial.saturated_rps(pair):
        return None
    return _proof(_run(trial, pair, router), trial, pair, router)


def pooled_proven(option: Option, terms: Terms, left_gpus: int) -> tuple[Option, Verified]:
    """The option with as many more replicas as the whole fleet turns out to need, and its run."""
    assert option.pools is not None
    trial = PairCapacity(option.candidate, shown_probes(option.candidate.service), terms.fleet.router)
    most = option.replicas + max(0, left_gpus) // option.candidate.gpus
    proof = pooled_proof(trial, option.pools.pair, most, terms.fleet.router)
    if not proof.added or proof.pair is None:
        return option, proof
    return pooled_option(trial, proof.pair, terms), proof
