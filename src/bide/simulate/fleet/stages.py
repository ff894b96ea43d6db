"""What a request goes through: one pool of replicas, or one for its prompt and one for its answer.

As in vLLM's proxies for disaggregated prefill: the engine for prompts gets the request with one token
to answer, which nobody sees; then the other gets it whole, holds blocks for the prompt, has their
contents sent, and computes the prompt's last token again, which gives the first one that the client
sees. (SGLang and TensorRT-LLM hand over the first token with the cache.)
"""

from __future__ import annotations

from dataclasses import replace

from bide.simulate.fleet.pool import Pool
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.replica_setup import ReplicaSetup
from bide.simulate.scheduler.requests import Requests


def stages_of(
    setup: ReplicaSetup, requests: Requests, rules: FleetRules, sample_every_s: float | None
) -> tuple[Pool, ...]:
    """The pools in the order in which a request comes to them."""
    import numpy as np

    if not rules.split:
        pool = Pool(setup, requests, rules, (0, rules.replicas), rules.router, sample_every_s)
        pool.watched = rules.users is not None
        return (pool,)
    prompts = replace(requests, output_tokens=np.ones_like(requests.output_tokens))
    answers = replace(requests, loaded_tokens=requests.prompt_tokens)
    counts = ((0, rules.prefill_replicas), (rules.prefill_replicas, rules.decode_replicas))
    first = Pool(setup, prompts, rules, counts[0], rules.router, sample_every_s)
    last = Pool(setup, answers, rules, counts[1], rules.decode_router or rules.router, sample_every_s)
    first.watched, last.watched = True, rules.users is not None
    return first, last
