"""Steady states in closed form, for many replicas at once: a closed loop, an open loop, and a batch run to its end.

With R requests running in a batch, N and c their steps and chunks (`simulate.pace`), x the GPU seconds that a prompt
adds to the steps and d a step that only decodes:

- a request's cycle takes T = R x + (N + c) d: every other request does one prefill while it is served;
- closed loop: R = min(clients, places) and the rate is R / T; clients without a place wait for one;
- open loop: R follows from rate = R / (T + x); the highest stable rate is that of a full replica. Prompts queue for
  the steps that prefill as at a server of constant service time, and requests for a place as at as many such servers.

Requests whose output lengths are alike stay in step after they start together: then half of the others' prefills
fall into a request's TTFT instead of its decoding. `burst` is the share that is in step whatever the engine does;
where prefills have steps of their own, cohorts hold together the better the longer their prefill is against their
decoding. Times of a cycle do not depend on it.

More load is never faster, and up to the places more clients never bring less. x itself may fall with R (experts that
the decodes read are there for the prompt too), so times are taken of whole steps, which do not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from bide.simulate.pace import Pace, Replicas

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = float | Floats
else:
    Numbers = Any

STEP_UNDER_WAY = 0.5
"""Of the step that runs when a request arrives, this much is still to come, on average."""
_HALVINGS = 30
_BUSIEST = 0.95
"""Share of time spent on prefill, and of places in use, at which an open loop's waits for them are capped: how near a
rate is to the highest is not known so well."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Means over requests, arrays of shape [n]; `ttft_s` and `e2e_s` are infinite where the load cannot be held."""

    running: Floats
    waiting: Floats
    decoding: Floats
    """In each batch."""
    decode_s: Floats
    """A step that only decodes."""
    others_s: Floats
    """For each output token: what others' prefills add."""
    own_prefill_s: Floats
    queue_s: Floats
    """Before the own prefill begins: for a slot, and for prompts ahead."""
    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    requests_per_s: Floats


def closed_loop(replicas: Replicas, clients: Floats) -> States:
    """`clients` clients, each sending its next request when the last has ended."""
    import numpy as np

    running = np.minimum(clients, replicas.places)
    pace = replicas.pace(running)
    waiting = clients - running
    found = _closed(replicas, pace, running, _in_step(replicas, running, pace))
    return _later(found, waiting, waiting / found.requests_per_s)


def open_loop(replicas: Replicas, rate: Floats) -> States:
    """Poisson arrivals. Above the highest stable rate the batch is full, and the queue grows without end."""
    import numpy as np

    places, highest = replicas.places, replicas.highest_rate
    unstable = rate >= highest
    low, high = np.zeros_like(rate), places.copy()
    for _turn in range(_HALVINGS):
        middle = (low + high) / 2
        enough = replicas.pace(middle).open_rate(middle) >= rate
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    running = np.where(unstable, places, high)
    pace = replicas.pace(running)
    full = _closed(replicas, pace, running, _in_step(replicas, running, pace))
    wait_s = _under_way_s(replicas, pace, running, running / rate, 0.0) + _prompts_wait_s(replicas, pace, rate)
    stable = _states(replicas, pace, running, pace.decoding * replicas.batches, 0.0, wait_s)
    place_s = _place_wait_s(running, places, rate)
    stable = _later(stable, rate * place_s, place_s)
    found = _chosen(unstable, _later(full, np.inf, np.inf), stable)
    return replace(found, requests_per_s=np.minimum(rate, highest))


def batch_run(replicas: Replicas, count: Floats) -> States:
    """`count` requests sent at once: as many waves as the places need. Rates are over the whole run, times means."""
    import numpy as np

    running = np.minimum(count, replicas.places)
    pace = replicas.pace(running)
    waves, wave_s = count / running, pace.cycle_s(running)
    found = _closed(replicas, pace, running, 1.0)
    wait_s = (waves - 1) / 2 * wave_s
    return replace(
        _later(found, count - running, wait_s),
        e2e_s=wait_s + wave_s + replicas.request_s,
        requests_per_s=count / (waves * wave_s + replicas.request_s),
    )


def _closed(replicas: Replicas, pace: Pace, running: Floats, in_step: Numbers) -> States:
    """One of `running` requests that all come back."""
    others = pace.others(running)
    ahead_s = in_step / 2 * others * _burst_s(replicas, running)
    queue_s = _under_way_s(replicas, pace, others, pace.cycle_s(running), in_step) + ahead_s
    return _states(replicas, pace, running, others, in_step, queue_s)


def _prompts_wait_s(replicas: Replicas, pace: Pace, rate: Floats) -> Floats:
    """For prompts that came before, beyond the one under way: rho^2 / (1 - rho) x service / 2, an M/D/1 queue."""
    import numpy as np

    service_s = pace.first_s / replicas.batches / replicas.chunks_a_step
    busy = np.minimum(rate * service_s, _BUSIEST)
    return np.asarray(busy**2 / (1 - busy) * service_s / 2)


def _place_wait_s(running: Floats, places: Floats, rate: Floats) -> Floats:
    """For a place: each is held for running / rate, as a server of constant service time, c of them.

    S / c x rho^(sqrt(2 (c + 1)) - 1) / (1 - rho) / 2 (Sakasegawa 1977, for M/G/c with constant service); with one
    place the Pollaczek-Khinchine wait of M/D/1.
    """
    import numpy as np

    busy = np.minimum(running / places, _BUSIEST)
    crowd = busy ** (np.sqrt(2 * (places + 1)) - 1) / (1 - busy)
    return np.asarray(running / rate / places * crowd / 2)


def _chosen(which: NDArray[np.bool_], these: States, those: States) -> States:
    import numpy as np

    return States(*(np.where(which, getattr(these, f.name), getattr(those, f.name)) for f in fields(States)))


def _later(states: States, waiting: Numbers, wait_s: Numbers) -> States:
    """The same where `waiting` requests wait, and each has waited `wait_s` before it had a place."""
    return replace(
        states,
        waiting=states.waiting + waiting,
        queue_s=states.queue_s + wait_s,
        ttft_s=states.ttft_s + wait_s,
        e2e_s=states.e2e_s + wait_s,
    )


def _in_step(replicas: Replicas, running: Floats, pace: Pace) -> Floats:
    """The share of a closed loop's requests that prefill together."""
    import numpy as np

    prefill_s = running * pace.spread_s
    decode_s = replicas.output_tokens * pace.decode_s
    together = (prefill_s / (prefill_s + replicas.bunching_scale * decode_s)) ** replicas.bunching_power
    burst = replicas.burst
    return np.asarray(np.where(replicas.separate, burst + (1 - burst) * together, burst))


def _states(
    replicas: Replicas, pace: Pace, running: Floats, others: Floats, in_step: Numbers, queue_s: Floats
) -> States:
    """A request that has its place at once, and `others` that prefill while it is there; the rate by Little's law.

    What is left of steps when it arrives is work that the others count too, so it is not in the rate.
    """
    import numpy as np

    later = np.maximum(replicas.output_tokens - 1, 0.0)
    others_s = (1 - in_step / 2) * others * pace.spread_s / np.maximum(later, 1.0)
    ttft_s = replicas.request_s + pace.first_s + queue_s
    tpot_s = pace.decode_s / replicas.tokens_got + others_s
    e2e_s = ttft_s + tpot_s * later
    return States(
        running=running,
        waiting=np.zeros_like(running),
        decoding=pace.decoding,
        decode_s=pace.decode_s,
        others_s=others_s,
        own_prefill_s=pace.first_s,
        queue_s=queue_s,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        e2e_s=e2e_s,
        requests_per_s=running / (pace.cycle_s(running) + replicas.request_s),
    )


def _under_way_s(replicas: Replicas, pace: Pace, met: Floats, cycle_s: Floats, in_step: Numbers) -> Floats:
    """What is left of the steps that run when a request arrives and meets others: one that decodes, or prefills."""
    import numpy as np

    first_s = pace.first_s / replicas.batches
    busy = np.minimum(met / pace.together * first_s / cycle_s, 1.0)
    return np.asarray(STEP_UNDER_WAY * (np.minimum(met, 1.0) * pace.decode_s + (1 - in_step) * busy * first_s))


def _burst_s(replicas: Replicas, running: Floats) -> Floats:
    """What each of `running` prompts that were sent together takes of the time to prefill them all."""
    import numpy as np

    together = np.clip(running / replicas.batches, 1.0, replicas.chunks_a_step)
    return replicas.table.burst_s(replicas.prompt_tokens, replicas.budget_tokens, together) / replicas.batches
