"""`bide serve`: the page and the HTTP API. The only command that knows the web."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

import click

from bide.cli.options import BYTES, Quantity, Whole
from bide.cli.output import note
from bide.errors import BideError
from bide.i18n import _
from bide.units import parse_seconds

_SECONDS = Quantity("seconds", parse_seconds)
_NEEDED = ("fastapi", "uvicorn", "nicegui", "python_multipart")


@click.command(help=_("The page and the HTTP API, for this machine alone unless --host says otherwise."))
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help=_("To listen on (127.0.0.1); others need --token.")
)
@click.option("--port", type=Whole(0, 65535), default=8321, help=_("(8321; 0: any that is free)."))
@click.option(
    "--token",
    envvar="BIDE_TOKEN",
    metavar="SECRET",
    help=_("What clients have to know, 16 characters or more; BIDE_TOKEN keeps it out of lists of processes."),
)
@click.option("--hub/--no-hub", default=False, help=_("Look models up on Hugging Face (extra `hub`)."))
@click.option("--open/--no-open", "opened", default=None, help=_("Open a browser (where there is a terminal)."))
@click.option("--cors", multiple=True, metavar="ORIGIN", help=_("A site whose pages may ask the API. Repeatable."))
@click.option("--allow-host", multiple=True, metavar="NAME", help=_("A name that clients use for it. Repeatable."))
@click.option("--trusted-proxy", multiple=True, metavar="ADDRESS", help=_("Whose X-Forwarded-For counts. Repeatable."))
@click.option("--upload-limit", type=BYTES, metavar="SIZE", help=_("Of an uploaded file (64MiB)."))
@click.option("--job-memory", type=BYTES, metavar="SIZE", help=_("Of each process of a job (4GiB)."))
@click.option("--job-time", type=_SECONDS, metavar="TIME", help=_("Of a job (15min)."))
@click.option("--jobs", type=Whole(1, 256), help=_("That run at once (half of the cores)."))
def command(
    host: str,
    port: int,
    token: str | None,
    hub: bool,
    opened: bool | None,
    cors: Sequence[str],
    allow_host: Sequence[str],
    trusted_proxy: Sequence[str],
    upload_limit: float | None,
    job_memory: float | None,
    job_time: float | None,
    jobs: int | None,
) -> None:
    """Serve until interrupted."""
    _check_installed()
    from bide.web.run import serve
    from bide.web.settings import Limits, Settings

    asked = {
        "upload_bytes": None if upload_limit is None else int(upload_limit),
        "job_memory_bytes": None if job_memory is None else int(job_memory),
        "job_s": job_time,
        "jobs_at_once": jobs,
    }
    limits = Limits(**{name: value for name, value in asked.items() if value is not None})  # type: ignore[arg-type]
    settings = Settings(host, port, token, hub, tuple(cors), tuple(allow_host), tuple(trusted_proxy), limits)
    serve(settings, lambda address: _ready(address, opened, token))


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        text = _("`bide serve` needs packages that are not here ({names}): pip install 'bide[web]'")
        raise BideError(text.format(names=", ".join(missing)))


def _ready(address: str, opened: bool | None, token: str | None) -> None:
    note(_("bide is at {address} (stop: Ctrl-C)").format(address=address))
    if opened or (opened is None and token is None and sys.stdout.isatty() and sys.stderr.isatty()):
        import webbrowser

        webbrowser.open(address)
