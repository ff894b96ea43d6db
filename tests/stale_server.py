"""A server that closes a kept connection when it gets a second request on it, as one does whose timeout ran out."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator

_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_ANSWER = (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(_EVENT)) + _EVENT


@contextlib.contextmanager
def stale_server(before_the_first: bool = False) -> Iterator[str]:
    """Its URL, until the block ends. `before_the_first`: the first connection is closed at its first request."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, before_the_first), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listening: socket.socket, before_the_first: bool) -> None:
    for number in itertools.count():
        try:
            connection, _address = listening.accept()
        except OSError:
            return
        with connection:
            if read_request(connection) and not (before_the_first and number == 0):
                connection.sendall(_ANSWER)
                read_request(connection)


def read_request(connection: socket.socket) -> bool:
    """Read one whole request; False where the client has closed."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65536)
        if not more:
            return False
        got += more
    head, _blank, content = got.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(content) < length:
        content += connection.recv(65536)
    return True
