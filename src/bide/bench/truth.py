"""A server that streams at known times and logs when it wrote: what a client says can be held against it.

`python -m bide.bench.truth` runs it in a process of its own and prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import ssl
from dataclasses import fields

from bide.bench.truth_log import Log
from bide.bench.truth_options import Behaviour
from bide.bench.truth_served import MODEL, Served


class Truth:
    """The state that all connections share."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.log = Log()
        self.count = 0
        self.known_prompts: set[str] = set()
        self.waiting: list[Served] = []
        self.prefix_queries = self.prefix_hits = 0
        self.loop = asyncio.get_running_loop()

    def begin(self, served: Served) -> None:
        """Answer now, or when a slot is free."""
        if self.behaviour.slots and self.log.active >= self.behaviour.slots:
            self.waiting.append(served)
            return
        self.log.active += 1
        self.log.most_active = max(self.log.most_active, self.log.active)
        served.answer()

    def end(self) -> None:
        self.log.active -= 1
        while self.waiting and (not self.behaviour.slots or self.log.active < self.behaviour.slots):
            self.begin(self.waiting.pop(0))

    def metrics(self) -> bytes:
        """A vLLM server's /metrics, as far as there is anything to say."""
        values = {
            "num_requests_running": self.log.active,
            "num_requests_waiting": len(self.waiting),
            "kv_cache_usage_perc": min(1.0, self.log.active / 1000),
            "num_preemptions_total": 0,
            "prefix_cache_queries_total": self.prefix_queries,
            "prefix_cache_hits_total": self.prefix_hits,
        }
        lines = [f'vllm:{name}{{engine="0",model_name="{MODEL}"}} {value}' for name, value in values.items()]
        lines.append('vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1.0')
        return ("\n".join(lines) + "\n").encode()


async def serve(
    behaviour: Behaviour, port: int = 0, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> tuple[asyncio.Server, Truth]:
    """A server on the loopback; its port is that of the first socket."""
    truth, loop = Truth(behaviour), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Served(truth), host, port, backlog=4096, ssl=tls)
    return server, truth


def port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


def _parsed() -> tuple[Behaviour, int]:
    parser = argparse.ArgumentParser(prog="python -m bide.bench.truth", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    for each in fields(Behaviour):
        flag = "--" + each.name.replace("_", "-")
        if isinstance(each.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=each.default)
        else:
            parser.add_argument(flag, type=type(each.default), default=each.default)
    given = vars(parser.parse_args())
    port = given.pop("port")
    return Behaviour(**given), port


async def _main() -> None:
    behaviour, port = _parsed()
    server, _truth = await serve(behaviour, port)
    print(json.dumps({"port": port_of(server)}), flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    from bide.bench.loop import run_on_loop

    with contextlib.suppress(KeyboardInterrupt):
        run_on_loop(_main())
