"""What a server is told when it starts: where it listens, who may ask, and how much of the machine they may use."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field

from bide.errors import BadInput
from bide.i18n import _

MIB, GIB = 2**20, 2**30
_SHORTEST_TOKEN = 16
_SENDABLE = re.compile(r"[!-~]+")
"""By a header, whatever the client thinks of its encoding."""


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _jobs_at_once() -> int:
    return max(1, cores() // 2)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one server. Times are seconds."""

    body_bytes: int = MIB
    """Of a JSON body, and of an uploaded file that the server itself reads: a config.json, a profile."""
    least_body_bytes_per_s: float = 16 * 1024
    """That bodies come at, on the whole; slower ones are not waited for."""
    upload_bytes: int = 64 * MIB
    all_uploads_bytes: int = GIB
    uploads: int = 1000
    upload_s: float = 3600.0
    """That an upload is kept."""
    job_memory_bytes: int = 4 * GIB
    """Of memory that it can write to, each process of a job."""
    job_file_bytes: int = GIB
    job_s: float = 900.0
    jobs_at_once: int = field(default_factory=_jobs_at_once)
    jobs_waiting: int = 32
    jobs_waiting_each: int = 16
    """Of one client."""
    result_s: float = 3600.0
    """That a finished job is kept."""
    results: int = 200
    """Finished jobs that are kept at most; the oldest go first."""
    all_results_bytes: int = 4 * GIB
    """That they left, together."""
    answers: int = 512
    """Of `memory` and `curve`, kept for who asks the same."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a server listens and who may ask. `token`: what a client has to know; None: nobody is asked."""

    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = None
    hub: bool = False
    """Whether models may be looked up on Hugging Face."""
    cors: tuple[str, ...] = ()
    """Origins of other sites (`https://tools.example.com`) whose pages may ask."""
    hosts: tuple[str, ...] = ()
    """Names that clients may call the server by, beside those of the loopback."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies, which say for whom they ask (X-Forwarded-For) and how (X-Forwarded-Proto)."""
    limits: Limits = field(default_factory=Limits)
    spare: bool = True
    """Whether a process for the next job stands by, which takes memory and spares it seconds."""

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    def check(self) -> None:
        """Raises BadInput for a server that anybody could use, for a token that is soon guessed or cannot be sent, and
        for a proxy that is no address.
        """
        for proxy in self.proxies:
            _check_address(proxy)
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            allowed = _("at least {n} characters").format(n=_SHORTEST_TOKEN)
            raise BadInput("token", "…", allowed, _("such as that of `openssl rand -hex 16`"))
        if self.token is not None and not _SENDABLE.fullmatch(self.token):
            raise BadInput("token", "…", _("printable ASCII characters without spaces"))
        if self.token is None and not self.loopback:
            allowed = _("127.0.0.1, ::1 or localhost; any address with --token")
            hint = _("others could reach it: give a secret that they have to know, --token or BIDE_TOKEN")
            raise BadInput("host", self.host, allowed, hint)


def _check_address(proxy: str) -> None:
    """Not a network of all: anybody could then claim to be anybody."""
    try:
        network = ipaddress.ip_network(proxy)
    except ValueError as error:
        raise BadInput("trusted-proxy", proxy, _("an IP address or a network"), str(error)) from error
    if network.prefixlen == 0:
        raise BadInput("trusted-proxy", proxy, _("the addresses of your proxies, not all that there are"))


def is_loopback(host: str) -> bool:
    """Whether an address or a name is that of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
