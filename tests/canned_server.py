"""A server that answers every request with the same bytes and closes: for answers that no server should give."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from stale_server import read_request


@contextlib.contextmanager
def canned_server(answer: bytes) -> Iterator[str]:
    """Its URL, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, answer), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listening: socket.socket, answer: bytes) -> None:
    while True:
        try:
            connection, _address = listening.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            if read_request(connection):
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
