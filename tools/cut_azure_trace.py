"""Cut a contiguous window out of an Azure LLM inference trace, rows unchanged.

    python tools/cut_azure_trace.py AzureLLMInferenceTrace_conv.csv examples/traces/azure-conv-2023-peak15min.csv

The window is the `--minutes` whole minutes, counted from the first request, that hold the most
requests. Nothing is drawn at random: the arrivals keep their real pattern, and each prompt its output.
"""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

STAMP_LENGTH = len("2023-11-16 18:15:46.680590")


def minute_of(rows: list[str]) -> list[int]:
    """The whole minute, from the first row on, in which each row's request arrived."""
    times = [datetime.fromisoformat(row.split(",", 1)[0][:STAMP_LENGTH]) for row in rows]
    return [int((time - times[0]).total_seconds() // 60) for time in times]


def busiest(minutes: list[int], width: int) -> int:
    """The first minute of the `width` consecutive ones with the most requests; the earliest of equals."""
    starts = range(max(minutes) - width + 2)
    return max(starts, key=lambda start: sum(start <= minute < start + width for minute in minutes))


def cut(source: Path, target: Path, width: int) -> tuple[int, int]:
    """Write the busiest `width` minutes of `source`; gives the first minute and the number of rows."""
    header, *rows = source.read_text(encoding="ascii").splitlines()
    minutes = minute_of(rows)
    start = busiest(minutes, width)
    kept = [row for row, minute in zip(rows, minutes, strict=True) if start <= minute < start + width]
    target.write_text("\n".join([header, *kept, ""]), encoding="ascii", newline="\n")
    return start, len(kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--minutes", type=int, default=15)
    given = parser.parse_args()
    first, count = cut(given.source, given.target, given.minutes)
    print(f"{count} rows of minutes {first} to {first + given.minutes} written to {given.target}")
