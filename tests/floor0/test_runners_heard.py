"""How far the work is, told as it goes: in this process and from others."""

from __future__ import annotations

from functools import partial

import pytest

from bide.runners import Runner, done, heard, processes, serial


def worked(item: int, parts: int) -> int:
    for _part in range(parts):
        done(1 / parts)
    return item * item


@pytest.mark.parametrize("run", [serial, processes(2)], ids=["serial", "processes"])
def test_all_shares_are_heard_and_results_come_in_order(run: Runner) -> None:
    told: list[float] = []
    with heard(told.append):
        assert list(run(done, [0.5, 0.25, 1.0])) == [None, None, None]
    assert sum(told) == pytest.approx(1.75)


def test_nobody_need_listen() -> None:
    assert list(serial(partial(worked, parts=2), range(2))) == [0, 1]


def test_who_listened_hears_nothing_afterwards() -> None:
    told: list[float] = []
    with heard(told.append):
        done(0.5)
    done(0.25)
    assert told == [0.5]
