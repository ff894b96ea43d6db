"""Traffic as an engine's scheduler reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.requests import Requests, only_shared
from bide.workload.blocks import Blocks, resized, starts_of
from bide.workload.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]


def servable(traffic: Traffic, config: SchedulerConfig) -> Booleans:
    """Requests that the model's length and the pool can hold, even alone; the engine refuses the others."""
    import numpy as np

    short = traffic.prompt_tokens < config.max_model_len
    reach = np.minimum(traffic.prompt_tokens + traffic.output_tokens, config.max_model_len)
    return np.asarray(short & (reach <= longest_tokens(config)))


def longest_tokens(config: SchedulerConfig) -> int:
    """The longest request that the pool holds alone, by halving."""
    low, high = 0, config.max_model_len
    while low < high:
        middle = (low + high + 1) // 2
        if config.blocks_for(middle) <= config.num_blocks - 1:
            low = middle
        else:
            high = middle - 1
    return low


def requests_of(traffic: Traffic, config: SchedulerConfig, loaded: bool = False) -> Requests:
    """The columns that the scheduler reads; sharing in blocks of its own size, if it looks for any.

    `loaded`: prompts come with their cache.
    """
    content = _content(traffic, config) if traffic.blocks and config.enable_prefix_caching else None
    prompts = traffic.prompt_tokens
    sent = prompts if loaded else None
    return Requests.of(traffic.arrival_s, prompts, traffic.output_tokens, content=content, loaded_tokens=sent)


def _content(traffic: Traffic, config: SchedulerConfig) -> tuple[Ints, Ints]:
    """Ids of full blocks that several prompts have, in the scheduler's blocks."""
    import numpy as np

    assert traffic.blocks is not None
    starts, ids = only_shared(traffic.blocks.starts, traffic.blocks.ids)
    size = config.hash_block_tokens
    fitted = resized(Blocks(starts, ids, traffic.blocks.tokens), traffic.prompt_tokens, size)
    counts = np.minimum(fitted.counts, traffic.prompt_tokens // size)
    full = starts_of(counts)
    where = np.repeat(fitted.starts[:-1] - full[:-1], counts) + np.arange(full[-1])
    return only_shared(full, fitted.ids[where])
