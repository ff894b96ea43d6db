"""Put the real output of README's examples between their markers: `python tools/refresh_readme.py`.

A marker is `<!-- output: COMMAND -->`, closed by `<!-- end of output -->`. The first example shows its answer and
folds the rest away. `--check` changes nothing and exits 1 where README shows something else.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
EXAMPLE = re.compile(r"(<!-- output: bide (?P<arguments>.*?) -->\n)(?P<shown>.*?)(<!-- end of output -->)", re.DOTALL)
COLUMNS = 108
FOLD_AT = re.compile(r"^ *GPUs +kept\?", re.MULTILINE)
"""The line before which the first screen ends."""


def real_output(arguments: str) -> str:
    """What `bide <arguments>` prints, 108 columns wide; CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        given = [word.replace("report.html", str(Path(folder) / "report.html")) for word in shlex.split(arguments)]
        command = [sys.executable, "-m", "bide", *given]
        environment = {**os.environ, "COLUMNS": str(COLUMNS)}
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=environment)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip() + "\n"


def shown(output: str) -> str:
    """`output` as code; what follows the first service's steps is folded away."""
    fold = FOLD_AT.search(output)
    if not fold:
        return f"```\n{output}```\n"
    head, rest = output[: fold.start()], output[fold.start() :]
    more = "<details><summary>the rest of the output: every fleet size, other GPUs, assumptions, sources</summary>"
    return f"```\n{head.rstrip()}\n```\n\n{more}\n\n```\n{rest}```\n\n</details>\n"


def main() -> int:
    text = README.read_text(encoding="utf-8")
    fresh = EXAMPLE.sub(lambda found: found[1] + shown(real_output(found["arguments"])) + found[4], text)
    if "--check" in sys.argv[1:]:
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
