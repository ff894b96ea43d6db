"""The HTTP API of a Prometheus (or of what speaks like one: Thanos, Mimir, VictoriaMetrics).

https://prometheus.io/docs/prometheus/latest/querying/api/. httpx is imported when a client is made. No token, header
or password ever stands in a message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    import httpx

    from bide.workload.observing.asking import Connection

POINTS_AT_ONCE = 10_000
"""A range query may have 11,000 points a series (Prometheus, web/api/v1/api.go); longer ones are asked in pieces."""
_SHOWN = 200
Labels = Mapping[str, str]
Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Sample:
    """One series at one time."""

    labels: Labels
    value: float


@dataclass(slots=True)
class Prometheus:
    """A client for one address. Close it, or use it in `with`. `warnings` are what answers came with."""

    connection: Connection
    client: httpx.Client
    warnings: list[str] = field(default_factory=list)

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, *_error: object) -> None:
        self.client.close()

    def query(self, promql: str, at_s: float) -> list[Sample]:
        """Every series of `promql` at one time."""
        return self._parsed(_samples, self._get("query", {"query": promql, "time": f"{at_s:.3f}"}))

    def total(self, promql: str, at_s: float) -> float | None:
        """The one value of `promql`, None where it has none."""
        return next((sample.value for sample in self.query(promql, at_s)), None)

    def line(self, promql: str, start_s: float, end_s: float, step_s: float) -> dict[int, float]:
        """The one series of `promql` at start, start + step, ...: the value by the number of the step."""
        points: dict[int, float] = {}
        for first, last in _pieces(int((end_s - start_s) / step_s + 1e-6)):
            span = {"start": f"{start_s + first * step_s:.3f}", "end": f"{start_s + last * step_s + 1e-3:.3f}"}
            data = self._get("query_range", {"query": promql, **span, "step": f"{step_s:.3f}"})
            points |= self._parsed(partial(_points, start_s, step_s), data)
        return points

    def times(self, selector: str, at_s: float) -> list[float]:
        """When the samples of the longest series of a selector over a span were taken."""
        return self._parsed(_times, self._get("query", {"query": selector, "time": f"{at_s:.3f}"}))

    def series(self, selector: str, start_s: float, end_s: float) -> list[Labels]:
        """The labels of every series that matches and has a sample in that time."""
        return self._parsed(_labels, self._get("series", _span(selector, start_s, end_s)))

    def names(self, selector: str, start_s: float, end_s: float) -> set[str]:
        """The metric names among the series that match."""
        return self._parsed(_names, self._get("label/__name__/values", _span(selector, start_s, end_s)))

    def _get(self, path: str, params: Mapping[str, str]) -> Any:
        import httpx

        try:
            response = self.client.get(f"/api/v1/{path}", params=dict(params))
        except httpx.TimeoutException as error:
            given = f"{self.connection.timeout_s:g} s"
            hint = _("ask for a longer --timeout or a shorter --window")
            raise BadInput("timeout", given, _("a time in which this Prometheus answers"), hint) from error
        except httpx.HTTPError as error:
            raise _unreachable(self.connection, error) from error
        body = self._body(response)
        if body["status"] != "success" or "data" not in body:
            raise _refused(self.connection, body)
        self.warnings += [str(text) for text in body.get("warnings") or () if text not in self.warnings]
        return body["data"]

    def _body(self, response: httpx.Response) -> dict[str, Any]:
        if response.status_code in (401, 403):
            raise _denied(response.status_code, self.connection)
        try:
            body = response.json()
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or body.get("status") not in ("success", "error"):
            raise _no_prometheus(self.connection, f"HTTP {response.status_code}")
        return body

    def _parsed(self, parse: Callable[[Any], Parsed], data: Any) -> Parsed:
        try:
            return parse(data)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise _no_prometheus(self.connection, _("an answer of another form")) from error


def connect(connection: Connection, transport: httpx.BaseTransport | None = None) -> Prometheus:
    """A client for `connection`. Raises BadInput for an address or a header that cannot be; nothing is sent yet."""
    try:
        import httpx
    except ImportError as error:
        hint = _("pip install 'bide[prometheus]'")
        raise BadInput("prometheus", None, _("the package httpx, which is missing"), hint) from error
    _check_address(connection)
    client = httpx.Client(
        base_url=connection.url.rstrip("/"),
        headers=_headers(connection),
        timeout=connection.timeout_s,
        verify=_trusted(connection.ca_file),
        transport=transport,
    )
    return Prometheus(connection, client)


def _check_address(connection: Connection) -> None:
    import httpx

    allowed = _("an address such as http://prometheus.example:9090")
    try:
        url = httpx.URL(connection.url)
    except httpx.InvalidURL as error:
        raise BadInput("prometheus", connection.shown, allowed) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise BadInput("prometheus", connection.shown, allowed)
    if url.query or url.fragment:
        raise BadInput("prometheus", connection.shown, allowed, _("leave out what follows ? or #"))


def _headers(connection: Connection) -> dict[str, str]:
    """Every header to send; an error names a header but never its content."""
    headers = {**connection.headers}
    if connection.token:
        headers["Authorization"] = f"Bearer {connection.token}"
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            field_name = "token-env" if name == "Authorization" and connection.token else f"header.{name}"
            raise BadInput(field_name, "***", _("printable ASCII characters in one line"))
    return headers


def _trusted(ca_file: Path | None) -> Any:
    """What certificates are checked against."""
    if ca_file is None:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise BadInput("ca-file", str(ca_file), _("a file of PEM certificates")) from error


def _span(selector: str, start_s: float, end_s: float) -> dict[str, str]:
    return {"match[]": selector, "start": f"{start_s:.3f}", "end": f"{end_s:.3f}"}


def _pieces(last: int) -> Iterator[tuple[int, int]]:
    """The first and the last number of each query, when so many points are asked at once.

    >>> list(_pieces(10_000))
    [(0, 9999), (10000, 10000)]
    """
    for first in range(0, last + 1, POINTS_AT_ONCE):
        yield first, min(first + POINTS_AT_ONCE - 1, last)


def _samples(data: Any) -> list[Sample]:
    found = [Sample(each["metric"], float(each["value"][1])) for each in data["result"]]
    return [sample for sample in found if not math.isnan(sample.value)]  # NaN: a ratio of nothing


def _points(start_s: float, step_s: float, data: Any) -> dict[int, float]:
    found = ((time, float(value)) for each in data["result"][:1] for time, value in each["values"])
    return {round((time - start_s) / step_s): value for time, value in found if not math.isnan(value)}


def _times(data: Any) -> list[float]:
    longest: list[Any] = max((each["values"] for each in data["result"]), key=len, default=[])
    return [float(time) for time, _value in longest]


def _labels(data: Any) -> list[Labels]:
    return [{str(name): str(value) for name, value in each.items()} for each in data]


def _names(data: Sequence[str]) -> set[str]:
    return {str(name) for name in data}


def _unreachable(connection: Connection, error: Exception) -> BadInput:
    why = str(error) or type(error).__name__
    if "CERTIFICATE" in why.upper() or "SSL" in why.upper():
        hint = _("its certificate is not trusted or the address is not TLS: {why}. --ca-file FILE names the authority")
        return BadInput("prometheus", connection.shown, _("an address whose TLS can be checked"), hint.format(why=why))
    return BadInput("prometheus", connection.shown, _("an address that answers"), why)


def _denied(code: int, connection: Connection) -> BadInput:
    sent = _("what was sent was refused") if connection.token or connection.headers else _("none was sent")
    allowed = _("a token in the variable {name}, or a --header, that this Prometheus accepts")
    hint = _("it answered HTTP {code}; {sent}").format(code=code, sent=sent)
    return BadInput("token-env", connection.token_env, allowed.format(name=connection.token_env), hint)


def _no_prometheus(connection: Connection, found: str) -> BadInput:
    hint = _("what answers there is no Prometheus: {found}").format(found=found)
    allowed = _("the address of a Prometheus, with its path prefix if it has one")
    return BadInput("prometheus", connection.shown, allowed, hint)


def _refused(connection: Connection, body: Mapping[str, Any]) -> BadInput:
    why = str(body.get("error", _("no reason given")))[:_SHOWN]
    hint = _("it said: {why}").format(why=why)
    if "too many samples" in why or body.get("errorType") == "timeout":
        return BadInput("window", None, _("a time that this Prometheus can read at once"), hint)
    return BadInput("prometheus", connection.shown, _("a Prometheus that answers the query"), hint)
