"""`/docs`: the OpenAPI document as a page that needs no scripts and nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bide.web.page.markup import Child, h, table

if TYPE_CHECKING:
    from fastapi import FastAPI

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem;overflow-wrap:anywhere}pre,code{font:.9em ui-monospace,monospace}pre{padding:.75rem;overflow:auto;"
    "border:1px solid #8884;border-radius:6px}table{border-collapse:collapse;margin:.5rem 0}td,th{text-align:left;"
    "vertical-align:top;padding:.25rem .75rem .25rem 0;font-weight:normal}thead th{font-weight:600}caption{text-align:"
    "left;font-weight:600}.scroll{overflow-x:auto}h2{margin-top:2.5rem;border-top:1px solid #8884;padding-top:1rem}"
)
_METHODS = {"get": "GET", "post": "POST", "delete": "DELETE"}
Schema = Mapping[str, Any]


def serve_reference(app: FastAPI) -> None:
    """Add the page."""
    from fastapi.responses import HTMLResponse

    @app.get("/docs", include_in_schema=False)
    def reference() -> HTMLResponse:
        return HTMLResponse(reference_page(app.openapi()), headers={"content-security-policy": _POLICY})


def reference_page(document: Schema) -> str:
    """The whole document: what it is about, a section for each route, a table for each shape."""
    shapes = document["components"]["schemas"]
    routes = list(_routes(document))
    links = h("ul", [h("li", h("a", title, href=f"#{anchor}")) for anchor, title, _operation in routes])
    body = [
        h("h1", f"{document['info']['title']} {document['info']['version']}: API"),
        [h("p", _words(part)) for part in document["info"]["description"].split("\n\n")],
        h("p", "As OpenAPI: ", h("a", "/api/v1/openapi.json", href="/api/v1/openapi.json"), "."),
        h("nav", links, aria_label="Routes"),
        [_section(anchor, title, operation, shapes) for anchor, title, operation in routes],
        h("h2", "Shapes"),
        [_shape(name, shapes[name]) for name in sorted(shapes)],
    ]
    head = (
        h("meta", charset="utf-8") + h("meta", name="viewport", content="width=device-width") + h("title", "bide: API")
    )
    shown = h("body", h("main", body))
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>{shown}</html>'


def _routes(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """An anchor, the verb with the path, and the operation."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield operation["operationId"], f"{_METHODS[method]} {path}", operation


def _section(anchor: str, title: str, operation: Schema, shapes: Schema) -> Markup:
    body = operation.get("requestBody", {}).get("content", {})
    parts: list[Child] = [h("h2", h("code", title), id=anchor), h("p", _words(operation["description"]))]
    if operation.get("parameters"):
        parts.append(_keys("Parameters", ((each, each["schema"]) for each in operation["parameters"])))
    for kind, content in body.items():
        parts.append(h("p", "Body, ", h("code", kind), ": ", _type(content["schema"])))
        parts += [h("pre", _asked(title, kind, example)) for example in _examples(content["schema"], shapes)]
    answers = [(code, _words(each["description"]), _answer(each)) for code, each in operation["responses"].items()]
    return h("section", parts, table(("Status", "", "Body"), answers, "Answers", hidden_caption=False))


def _keys(caption: str, keys: Iterable[tuple[Schema, Schema]]) -> Markup:
    """What is said of each (its name, whether it is needed, words), beside its type."""
    rows = [
        (h("code", said["name"]), _type(schema), "needed" if said.get("required") else "", _words(_about(said, schema)))
        for said, schema in keys
    ]
    return table(("Name", "Type", "", ""), rows, caption, hidden_caption=False)


def _about(said: Schema, schema: Schema) -> str:
    example = next(iter(schema.get("examples", ())), None)
    words = said.get("description") or schema.get("description") or ""
    return " ".join(filter(None, (words, example and f"Such as `{example}`.")))


def _shape(name: str, schema: Schema) -> Markup:
    needed = set(schema.get("required", ()))
    keys = (({"name": key, "required": key in needed}, value) for key, value in schema.get("properties", {}).items())
    about = h("p", _words(schema.get("description", "")))
    return h("section", h("h3", h("code", name), id=f"shape-{name}"), about, _keys("Keys", keys))


def _type(schema: Schema) -> Child:
    """In words, with links to shapes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return h("a", name, href=f"#shape-{name}")
    if "anyOf" in schema:
        found = [_type(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return [part for each in found for part in (" or ", each)][1:]
    if "enum" in schema or "const" in schema:
        return ", ".join(json.dumps(value) for value in schema.get("enum") or [schema["const"]])
    if schema.get("type") == "array":
        return ["list of ", _type(schema["items"])]
    return str(schema.get("format") or schema.get("type") or "anything")


def _examples(schema: Schema, shapes: Schema) -> list[Any]:
    found: list[Any] = shapes.get(str(schema.get("$ref", "")).rpartition("/")[2], schema).get("examples", [])
    return found


def _asked(title: str, kind: str, example: Any) -> str:
    """The example as a command."""
    path = title.partition(" ")[2]
    return f"curl -s http://127.0.0.1:8321{path} -H 'content-type: {kind}' -d '{json.dumps(example, indent=2)}'"


def _answer(said: Schema) -> Child:
    kinds = said.get("content", {})
    return [
        part for kind, each in kinds.items() for part in (", ", h("code", kind), " ", _type(each.get("schema", {})))
    ][1:]


def _words(text: str) -> Child:
    """Text with code between backticks."""
    parts = re.split(r"`([^`]*)`", text)
    return [h("code", part) if place % 2 else part for place, part in enumerate(parts)]
