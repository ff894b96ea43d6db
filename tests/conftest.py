"""Settings for the whole suite: property tests have no deadline, because a busy machine is not a bug, and the
tests read English, whatever the machine speaks, in lines as long as in a pipe, whatever terminal there is.

The whole suite (`pytest`, no file named) is shared by two processes; `-n` says otherwise, `-n 0` for one.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

import sharing

settings.register_profile("bide", deadline=None)
settings.load_profile("bide")

os.environ["BIDE_LANG"] = "en"
os.environ.pop("COLUMNS", None)
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # hundreds of processes import bide: compiled once, each takes half the time


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Two processes, where pytest-xdist is there and nothing else was asked for."""
    if not config.pluginmanager.hasplugin("xdist") or config.option.usepdb or sharing.WORKER is not None:
        return  # a worker is asked too, and must not start others
    if config.option.numprocesses is None and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        config.option.numprocesses = 2
    if config.option.numprocesses and config.option.dist == "no":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return sharing.scheduling(config, log) if config.option.dist == "loadfile" else None


def pytest_configure() -> None:
    sharing.give_way()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if sharing.WORKER is not None:
        key = sharing.in_order([item.path for item in items])
        items.sort(key=lambda item: key(item.path))


def pytest_runtest_setup(item: pytest.Item) -> None:
    sharing.compile_once(item.path)
