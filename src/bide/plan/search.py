"""How many GPUs: for each service and kind of GPU the fewest that keep the patience, and the cheapest of those."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

from bide.i18n import _
from bide.physics.profile import Profile, load_profile
from bide.plan.answer import Option, Plan, Reading, Row, ServicePlan
from bide.plan.candidate import Candidate, candidates
from bide.plan.choice import bill_of, cheapest_together
from bide.plan.cost import Cost, GpuPrice, price_of
from bide.plan.question import Hardware, Limit, Question, Service
from bide.plan.reading import read_replica
from bide.plan.rejection import Rejection
from bide.runners import Runner, serial
from bide.units import format_seconds

_IDLE = 1e-3
"""Of the highest stable rate: so light a load that nobody waits for anybody."""
_LARGEST_FLEET = 1_000_000


def plan(question: Question, run: Runner = serial, profile: Path | None = None) -> Plan:
    """The cheapest fleet for each service, services apart; `run` hands out the services.

    A longer patience never costs more, and a higher rate never less. `profile`: as in `load_profile`, which
    raises BadInput.
    """
    hardware, found = question.hardware, load_profile(profile)
    offers = tuple(run(partial(_offer, hardware=hardware, profile=found), question.services))
    able = [options for options, _rejections in offers if options]
    picked = cheapest_together(able, hardware.max_gpus)
    chosen = iter(picked or [min(options, key=bill_of) for options in able])
    services = tuple(
        _service_plan(service, next(chosen) if options else None, options, rejections, hardware)
        for service, (options, rejections) in zip(question.services, offers, strict=True)
    )
    over_limit = None if picked is not None else _too_many(able, hardware)
    return Plan(question, services, found, over_limit, profile.name if profile else "")


Offer = tuple[tuple[Option, ...], tuple[Rejection, ...]]


def _offer(service: Service, hardware: Hardware, profile: Profile) -> Offer:
    """Every candidate's smallest fleet, cheapest first, and why the others do not do."""
    found = [
        candidate if isinstance(candidate, Rejection) else _smallest(candidate, service, hardware)
        for candidate in candidates(service, hardware, profile)
    ]
    options = sorted((option for option in found if isinstance(option, Option)), key=bill_of)
    return tuple(options), tuple(rejection for rejection in found if isinstance(rejection, Rejection))


def _service_plan(
    service: Service,
    chosen: Option | None,
    options: tuple[Option, ...],
    rejections: tuple[Rejection, ...],
    hardware: Hardware,
) -> ServicePlan:
    others = tuple(option for option in options if option is not chosen)
    rows = tuple(_rows(chosen, service, hardware)) if chosen else ()
    return ServicePlan(service, chosen, others, rows, rejections)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A candidate being tried for its service; a fleet that was read once is not read again."""

    candidate: Candidate
    service: Service
    most: int
    """Replicas that the hardware allows."""

    @cached_property
    def reading(self) -> Callable[[int], Reading]:
        """What one of so many replicas does at the planned rate."""
        return cache(lambda replicas: self.at(self.service.traffic.planned_rps / replicas))

    def at(self, requests_per_s: float) -> Reading:
        """What one replica does at this rate."""
        return read_replica(self.candidate, self.service.patience, requests_per_s)

    def keeps(self, reading: Reading, *, surely: bool = False) -> bool:
        """Whether every limit is kept."""
        return all(reading.meets(limit, surely=surely) for limit in self.service.patience)

    def fewest(self, most: int, *, surely: bool = False) -> int | None:
        """The smallest number of replicas up to `most` that keeps every limit."""
        return _fewest(lambda replicas: self.keeps(self.reading(replicas), surely=surely), most)


def _smallest(candidate: Candidate, service: Service, hardware: Hardware) -> Option | Rejection:
    trial = _Trial(candidate, service, hardware.max_gpus // candidate.gpus)
    likely = trial.fewest(trial.most)
    if likely is None:
        return _why_not(trial, hardware)
    price = price_of(candidate.gpu, hardware.prices)
    return Option(
        candidate,
        likely,
        trial.fewest(trial.most, surely=True),
        trial.reading(likely),
        candidate.highest_stable_rps,
        price,
        _cost(likely * candidate.gpus, price, service),
    )


def _cost(gpus: int, price: GpuPrice | None, service: Service) -> Cost | None:
    work, rate = service.workload, service.traffic.peak_rps
    output = rate * float(work.output_tokens.mean())
    return Cost(gpus, price, output + rate * float(work.prompt_tokens.mean()), output) if price else None


def _fewest(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest count up to `most` that is enough, given that more is never worse; None where none is."""
    high = 1
    while high < most and not enough(high):
        high = min(2 * high, most)
    if high > most or not enough(high):
        return None
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _why_not(trial: _Trial, hardware: Hardware) -> Rejection:
    """Too slow at any size, or too few GPUs allowed."""
    idle = trial.at(trial.candidate.highest_stable_rps.mid * _IDLE)
    missed = [limit for limit in trial.service.patience if not idle.meets(limit, surely=False)]
    if missed:
        return _too_slow(trial.candidate, missed[0], idle)
    needed = trial.fewest(_LARGEST_FLEET)
    gpus = needed * trial.candidate.gpus if needed else None
    carried_rps = _carried_rps(trial)
    reason = _("needs {needed} GPUs for {rps:g} requests/s; at most {most} are allowed").format(
        needed=gpus or _("more than a million"), rps=trial.service.traffic.planned_rps, most=hardware.max_gpus
    )
    nearest = _("{most} GPUs carry {rps:.3g} requests/s within the patience.").format(
        most=trial.most * trial.candidate.gpus, rps=carried_rps
    )
    return Rejection(trial.candidate.name, reason + ".", gpus, hardware.max_gpus, "GPUs", nearest)


def _too_slow(candidate: Candidate, limit: Limit, idle: Reading) -> Rejection:
    seconds = idle.seconds[limit.measure]
    likely = seconds.mid if seconds else 0.0
    reason = _(
        "{limit} is {likely} with nobody else there, the limit is {seconds}; no number of GPUs cures that"
    ).format(limit=limit.measure.name, likely=format_seconds(likely), seconds=format_seconds(limit.seconds))
    nearest = _("The least patience that it can keep is {likely}.").format(likely=format_seconds(likely * 1.05))
    return Rejection(candidate.name, reason + ".", likely, limit.seconds, "s", nearest)


def _carried_rps(trial: _Trial) -> float:
    """The highest rate, to 1 %, that all the GPUs allowed carry within the patience."""
    low, high = 0.0, trial.candidate.highest_stable_rps.mid
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if trial.keeps(trial.at(middle)) else (low, middle)
    return low * trial.most


def _rows(option: Option, service: Service, hardware: Hardware) -> Iterator[Row]:
    """1, 2, 4, 8, ... replicas up to twice the sure answer, the two answers among them."""
    trial = _Trial(option.candidate, service, hardware.max_gpus // option.candidate.gpus)
    answers = {option.replicas, option.replicas_surely or option.replicas}
    doubled = {2**n for n in range((2 * max(answers) - 1).bit_length() + 1)}
    for replicas in sorted(answers | {count for count in doubled if count <= trial.most}):
        reading = trial.reading(replicas)
        met = trial.keeps(reading)
        yield Row(replicas * option.candidate.gpus, replicas, reading, met, met and trial.keeps(reading, surely=True))


def _too_many(offers: Sequence[Sequence[Option]], hardware: Hardware) -> Rejection:
    """Every service has an answer, but not all together."""
    needed = sum(min(option.gpus for option in options) for options in offers)
    reason = _("the services need {needed} GPUs together; at most {most} are allowed").format(
        needed=needed, most=hardware.max_gpus
    )
    nearest = _("Allow {needed}, wait longer, or lower the margin.").format(needed=needed)
    return Rejection(_("all services"), reason + ".", needed, hardware.max_gpus, "GPUs", nearest)
