"""Where requests go: a URL taken apart, headers, TLS; secrets stay in here."""

from __future__ import annotations

import base64
import os
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from bide.errors import BadInput
from bide.i18n import _

Endpoint = Literal["chat", "completions"]
PATHS: Mapping[Endpoint, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
KEY_VARIABLE = "OPENAI_API_KEY"
_HIDDEN = "***"
_SHORTEST_SECRET = 4
_CONNECT_S = 3.0
_FIELDS = (("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "bide"))
_IN_PATHS = "/%!$&'()*+,;=:@~"
"""What a path holds as it is (RFC 3986)."""
_OWN_HEADERS = ("host", "content-length", "content-type", "transfer-encoding", "connection")


@dataclass(frozen=True, slots=True)
class Tls:
    """How the server's certificate is looked at."""

    verify: bool = True
    ca_file: Path | None = None

    def context(self) -> ssl.SSLContext:
        """One for all connections, for certificates take long to read. Raises BadInput for a file that holds none."""
        return _context(self)


@lru_cache(maxsize=8)
def _context(tls: Tls) -> ssl.SSLContext:
    try:
        made = ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise BadInput("ca", str(tls.ca_file), _("a file of certificates (PEM)"), str(error)) from error
    if not tls.verify:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made


@dataclass(frozen=True, slots=True)
class Target:
    """A server and what every request to it carries. `headers` are secret: they are never shown or written."""

    scheme: str
    host: str
    port: int
    base: str
    """Path before /v1."""
    endpoint: Endpoint = "chat"
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    tls: Tls = Tls()

    @property
    def shown(self) -> str:
        """The URL without user, password and query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"

    @property
    def path(self) -> str:
        return self.base + PATHS[self.endpoint]

    def head(self, method: str, path: str) -> bytes:
        """The request's head as far as it is the same every time, without the blank line."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        own = (("Host", f"{host}:{self.port}"), *_FIELDS)
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in (*own, *self.headers))]
        return ("\r\n".join(lines) + "\r\n").encode("latin-1")

    def hide(self, text: str) -> str:
        """`text` without any secret that a server may have put into an error message."""
        secrets = {secret for _name, value in self.headers for secret in (value, value.rpartition(" ")[2])}
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = _without_beginning(text.replace(secret, _HIDDEN), secret)
        return text

    def address(self) -> tuple[str, int]:
        """The IP address that the name has now, so that no request waits for a name server. Raises BadInput.

        Of several the first that takes a connection: `localhost` may be ::1 and the server listen on 127.0.0.1.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise BadInput("url", self.shown, _("a host that can be found"), str(error)) from error
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        open_ones = (each for each in addresses if len(addresses) == 1 or _listens(each, self.port))
        return next(open_ones, addresses[0]), self.port


def _without_beginning(text: str, secret: str) -> str:
    """`text`, which may have been cut in the middle of the secret, without what is left of that at its end."""
    for length in range(len(secret) - 1, _SHORTEST_SECRET - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + _HIDDEN
    return text


def _listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), _CONNECT_S):
            return True
    except OSError:
        return False


def is_here(address: str) -> bool:
    """Whether an IP address is this machine's own: nothing else can be bound to it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as made:
            made.bind((address, 0))
    except OSError:
        return False
    return True


def target_of(
    url: str, endpoint: Endpoint | None = None, headers: Sequence[str] = (), tls: Tls | None = None
) -> Target:
    """From a URL such as http://host:8000, with or without /v1 and what follows it.

    The key in OPENAI_API_KEY becomes a bearer token unless `headers` ("Name: value") say otherwise.
    Raises BadInput for a URL that is none and for a header that is none; the value is not repeated.
    """
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        host = _in_ascii(parts.hostname or "")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        hint = "" if "@" in text else str(error)  # which may repeat a part of a password
        raise BadInput("url", "…", _("a URL such as http://localhost:8000"), hint) from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput("url", parts.scheme + "://…", _("a URL such as http://localhost:8000"))
    base, said = _base(quote(parts.path, safe=_IN_PATHS))
    found = _headers(headers, unquote(parts.username or ""), unquote(parts.password or ""))
    return Target(parts.scheme, host, port, base, endpoint or said or "chat", found, tls or Tls())


def _in_ascii(host: str) -> str:
    """Raises ValueError for a name that cannot be one."""
    return host if host.isascii() else host.encode("idna").decode()


def _base(path: str) -> tuple[str, Endpoint | None]:
    """What stands before /v1, and the endpoint where the URL names it."""
    trimmed = path.rstrip("/")
    for endpoint in PATHS:
        if trimmed.endswith(PATHS[endpoint]):
            return trimmed.removesuffix(PATHS[endpoint]), endpoint
    return trimmed.removesuffix("/v1"), None


def _sendable(value: str) -> bool:
    """Whether it can stand in a header as it is (RFC 9110, 5.5)."""
    return value.isprintable() and all(ord(letter) < 256 for letter in value)


def _headers(given: Sequence[str], user: str, password: str) -> tuple[tuple[str, str], ...]:
    found = {}
    for text in given:
        name, colon, value = text.partition(":")
        name, value = name.strip(), value.strip()
        wrong = not colon or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum()
        if wrong or not _sendable(value) or name.lower() in _OWN_HEADERS:
            allowed = _("NAME: VALUE, not one of {names}").format(names=", ".join(_OWN_HEADERS))
            raise BadInput("header", name if colon else _HIDDEN, allowed)
        found[name.lower()] = (name, value)
    if "authorization" not in found and user:
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        found["authorization"] = ("Authorization", f"Basic {token}")
    elif "authorization" not in found and (key := os.environ.get(KEY_VARIABLE, "").strip()):
        if not _sendable(key):
            raise BadInput(KEY_VARIABLE, _HIDDEN, _("a key of printable characters, without line ends"))
        found["authorization"] = ("Authorization", f"Bearer {key}")
    return tuple(found.values())
