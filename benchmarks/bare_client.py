"""The least that a client in Python can cost: requests are sent, pieces are stamped, and nothing is understood.

    python benchmarks/bare_client.py PORT [--loop uvloop|asyncio] [--streams 256] [--requests 768] [--tokens 128]

What `bide bench` costs beside it is what its understanding costs; what it costs itself is the system's: a loop, a
`recv` for each token. Prints JSON: CPU in ms for 1,000 tokens, mean TTFT in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time

STAY_S = 2.76
END = b"0\r\n\r\n"


def request(tokens: int) -> bytes:
    asked = {"model": "any", "stream": True, "max_tokens": tokens, "messages": [{"role": "user", "content": "a b c"}]}
    body = json.dumps(asked, separators=(",", ":")).encode()
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    return head % len(body) + body


class Load:
    """What all connections share: requests that are left, and times."""

    def __init__(self, requests: int, tokens: int) -> None:
        self.message, self.unsent, self.unanswered = request(tokens), requests, requests
        self.ttft_ns: list[int] = []
        self.ended = asyncio.get_running_loop().create_future()


class Bare(asyncio.Protocol):
    """One user: sends again when it is answered."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._stamps: list[int] = []
        self._pieces: list[bytes] = []
        self._sent_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def send(self) -> None:
        if self._load.unsent:
            self._load.unsent -= 1
            self._stamps, self._pieces, self._sent_ns = [], [], time.perf_counter_ns()
            self._transport.write(self._load.message)  # type: ignore[attr-defined]  # a stream transport

    def data_received(self, data: bytes) -> None:
        self._stamps.append(time.perf_counter_ns())
        self._pieces.append(data)
        if not data.endswith(END):
            return
        load = self._load
        load.ttft_ns.append(self._stamps[0] - self._sent_ns)
        load.unanswered -= 1
        if not load.unanswered:
            load.ended.set_result(None)
        self.send()


async def play(port: int, streams: int, requests: int, tokens: int) -> dict[str, float]:
    """A closed loop whose users begin over the time of one answer."""
    loop = asyncio.get_running_loop()
    load = Load(requests, tokens)
    users = [(await loop.create_connection(lambda: Bare(load), "127.0.0.1", port))[1] for _user in range(streams)]
    gc.freeze()
    gc.disable()
    begun, cpu_s = time.perf_counter(), time.process_time()
    for number, user in enumerate(users):
        await asyncio.sleep(number * STAY_S / streams - (time.perf_counter() - begun))
        user.send()
    await load.ended
    cpu_ms = (time.process_time() - cpu_s) * 1e3
    return {"cpu_ms_per_1000_tokens": cpu_ms / (requests * tokens / 1e3), "ttft_s": sum(load.ttft_ns) / requests / 1e9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("port", type=int)
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    for name, value in (("streams", 256), ("requests", 768), ("tokens", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    factory = None
    if given.loop == "uvloop":
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        print(json.dumps(runner.run(play(given.port, given.streams, given.requests, given.tokens))))


if __name__ == "__main__":
    main()
