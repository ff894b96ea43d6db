"""The one file of a multipart form, as it comes: nothing is held in memory and nothing is written elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.message import Message
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from starlette.requests import Request

_LONGEST_HEADERS = 8192


async def file_of(request: Request) -> tuple[str, AsyncIterator[bytes]]:
    """The name of the part `file`, and its content. Raises BadInput naming `body` where there is none."""
    reader = _Reader(request.stream(), _boundary(request))
    async for name in reader.parts():
        if name is not None:
            return name, reader.content()
    raise BadInput("file", None, _("a multipart form with the part `file`"))


def _boundary(request: Request) -> bytes:
    kind, options = _header(request.headers.get("content-type", ""))
    if kind != "multipart/form-data" or not options.get("boundary"):
        raise BadInput("body", kind[:80], _("multipart/form-data with the part `file`"))
    return str(options["boundary"]).encode("latin-1", "replace")


def _header(text: str) -> tuple[str, dict[str, Any]]:
    """A header's value and its parameters."""
    message = Message()
    message["content-type"] = text
    return message.get_content_type(), dict(message.get_params(failobj=[])[1:])


class _Reader:
    """Reads a stream part by part with python-multipart's parser, which calls back for each piece."""

    def __init__(self, stream: AsyncIterator[bytes], boundary: bytes) -> None:
        from python_multipart.multipart import MultipartParser

        self._stream = stream
        self._heard: list[tuple[str, bytes]] = []
        names = ("header_field", "header_value", "header_end", "headers_finished", "part_data", "part_end")
        self._parser = MultipartParser(boundary, {f"on_{name}": self._on(name) for name in names})  # type: ignore[arg-type]
        self._ended = False

    def _on(self, name: str) -> Any:
        if name in ("header_field", "header_value", "part_data"):
            return lambda data, start, end: self._heard.append((name, data[start:end]))
        return lambda: self._heard.append((name, b""))

    async def _pieces(self) -> AsyncIterator[tuple[str, bytes]]:
        """What the parser hears, as it comes. Raises BadInput for what is no multipart body, or ends in its middle."""
        from python_multipart.exceptions import FormParserError

        while True:
            while self._heard:
                yield self._heard.pop(0)
            chunk = await anext(self._stream, b"") if not self._ended else b""
            self._ended = not chunk and not self._heard
            if self._ended:
                return
            try:
                self._parser.write(chunk)
            except FormParserError as error:
                raise BadInput("body", None, _("a multipart form"), str(error)[:200]) from None

    async def parts(self) -> AsyncIterator[str | None]:
        """For each part the name of its file: None for one that is not `file`."""
        field, headers, size = b"", {}, 0
        last = b""
        async for what, data in self._pieces():
            size += len(data) if what.startswith("header") else 0
            if size > _LONGEST_HEADERS:
                raise BadInput("body", None, _("part headers of at most {n:,} bytes").format(n=_LONGEST_HEADERS))
            if what == "header_field":
                field += data
            elif what == "header_value":
                last += data
            elif what == "header_end":
                headers[field.decode("latin-1").lower()] = last.decode("utf-8", "replace")
                field, last = b"", b""
            elif what == "headers_finished":
                _kind, options = _header(headers.get("content-disposition", "").replace("form-data", "text/plain", 1))
                yield str(options.get("filename", "upload")) if options.get("name") == "file" else None
                headers, size = {}, 0

    async def content(self) -> AsyncIterator[bytes]:
        """Of the part whose headers were read last."""
        async for what, data in self._pieces():
            if what == "part_data":
                yield data
            elif what == "part_end":
                return
        raise BadInput("body", None, _("a whole multipart form"), _("it ends in the middle of the file"))
