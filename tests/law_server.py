"""A streaming server with a known step law: OpenAI's API around `law_engine`.

`python tests/law_server.py DEPLOYMENT LAW` (both JSON: keys of a deployment, coefficients of a step law)
runs it in a process of its own and prints its port. A word is a token, as in `bide.bench.truth_words`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httptools

from bide.bench.loop import run_on_loop
from bide.bench.truth_options import Behaviour
from bide.bench.truth_words import Speaker, head, whole
from bide.facts.deployment import Deployment
from bide.physics.own import StepLaw
from bide.simulate.cases import case_of
from bide.simulate.replica_setup import scheduler_config
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.reference.live import Live
from law_engine import Engine

_BEHAVIOUR = Behaviour()
_READY_S = 20


def engine_of(deployment: Deployment, law: StepLaw, deliver: Any) -> Engine:
    """The deployment's own scheduler, whose steps take what the law says."""
    config = scheduler_config(case_of(deployment, stated=True))
    budget = config.token_budget
    cost = StepCost.affine(law.fixed_s, law.per_token_s, law.per_kv_token_s, law.per_sequence_s, budget)
    return Engine(config, cost, deliver)


class Service:
    """What all connections share."""

    def __init__(self, deployment: Deployment, law: StepLaw) -> None:
        self.model = deployment.model.name
        self.engine = engine_of(deployment, law, self._deliver)
        self.count = 0
        self.listening: dict[Live, Connection] = {}

    def _deliver(self, live: Live) -> None:
        connection = self.listening.get(live)
        if connection is not None:
            connection.say(live)

    def listed(self) -> dict[str, Any]:
        """Of /v1/models."""
        return {"id": self.model, "object": "model", "max_model_len": self.engine.config.max_model_len}

    def metrics(self) -> bytes:
        """As vLLM names them."""
        scheduler, blocks = self.engine.scheduler, self.engine.config.num_blocks
        values = {
            "num_requests_running": len(scheduler.running),
            "num_requests_waiting": len(scheduler.waiting),
            "kv_cache_usage_perc": 1 - scheduler.cache.pool.free_blocks / max(1, blocks - 1),
            "num_preemptions_total": self.engine.preemptions,
        }
        lines = [f'vllm:{name}{{engine="0",model_name="{self.model}"}} {value}' for name, value in values.items()]
        size = self.engine.config.hash_block_tokens
        lines.append(f'vllm:cache_config_info{{block_size="{size}",num_gpu_blocks="{blocks}"}} 1.0')
        return ("\n".join(lines) + "\n").encode()

    def truth(self) -> dict[str, Any]:
        """What the engine did: requests in seconds of its clock, steps with what was in them."""
        return {
            "late_s": self.engine.late_s,
            "preemptions": self.engine.preemptions,
            "requests": [asdict(each) for each in self.engine.served],
            "steps": [{**asdict(load), "seconds": seconds} for load, seconds in self.engine.steps],
        }


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport | None = None
        self._live: Live | None = None
        self._speaker: Speaker | None = None
        self._streams = self._stays = True
        self._reset()

    def _reset(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream transport, whatever its class

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._live is not None:
            self._service.listening.pop(self._live, None)
            self._service.engine.abort(self._live)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        path, content = self._path.decode(), b"".join(self._body)
        self._stays = self._parser.should_keep_alive()
        self._reset()
        if path.endswith("/completions"):
            self._generate(path, json.loads(content))
        else:
            self._tell(path)

    def _tell(self, path: str) -> None:
        service = self._service
        if path == "/metrics":
            self._answer(200, service.metrics(), "text/plain")
            return
        said: dict[str, Any] | None = None
        if path == "/v1/models":
            said = {"object": "list", "data": [service.listed()]}
        elif path == "/version":
            said = {"version": "0.33.0"}
        elif path == "/__truth":
            said = service.truth()
        self._answer(200 if said else 404, json.dumps(said or {"detail": "Not Found"}).encode())

    def _generate(self, path: str, asked: dict[str, Any]) -> None:
        service = self._service
        service.count += 1
        speaker = Speaker(_BEHAVIOUR, service.count, "/chat/" in path, asked)
        try:
            self._live = service.engine.submit(max(1, speaker.prompt_tokens), speaker.tokens)
        except ValueError as error:
            said = {"error": {"message": str(error), "type": "BadRequestError", "code": 400}}
            self._answer(400, json.dumps(said).encode())
            return
        self._speaker, self._streams = speaker, bool(asked.get("stream"))
        service.listening[self._live] = self
        if self._streams:
            self._write(head() + speaker.role())

    def say(self, live: Live) -> None:
        """Write the tokens that came, and the end after the last."""
        assert self._speaker is not None
        speaker, speaker_has = self._speaker, self._speaker.sent
        if self._streams:
            self._write(speaker.speak(live.outputs - speaker_has) + (speaker.close() if live.finished else b""))
        elif live.finished:
            self._answer(200, json.dumps(speaker.whole()).encode())
        if live.finished:
            del self._service.listening[live]
            self._live = self._speaker = None

    def _answer(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self._write(whole(status, content, kind, close=not self._stays))
        if self._transport is not None and not self._stays:
            self._transport.close()

    def _write(self, out: bytes) -> None:
        if self._transport is not None:
            self._transport.write(out)


async def serve(deployment: Deployment, law: StepLaw) -> tuple[asyncio.Server, Service, asyncio.Task[None]]:
    """A server on the loopback and the task that steps."""
    service = Service(deployment, law)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(service), "127.0.0.1", 0, backlog=1024)
    return server, service, asyncio.create_task(service.engine.run())


async def _main(deployment: dict[str, Any], law: dict[str, float]) -> None:
    server, _service, stepping = await serve(Deployment.resolve(deployment), StepLaw(**law))
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await stepping


@contextlib.contextmanager
def law_served(deployment: dict[str, Any], law: StepLaw) -> Iterator[str]:
    """Its URL, in a process of its own, until the block ends."""
    command = [sys.executable, str(Path(__file__)), json.dumps(deployment), json.dumps(law.to_dict())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], _READY_S)
            port = process.stdout.readline().strip() if ready else ""
            if not port:
                raise RuntimeError("the server did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


if __name__ == "__main__":
    run_on_loop(_main(json.loads(sys.argv[1]), json.loads(sys.argv[2])))
