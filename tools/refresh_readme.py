"""Put the real output of README's first command between its markers: `python tools/refresh_readme.py`.

`--check` changes nothing and exits 1 where README shows something else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BEGIN = "<!-- output of the command above: begin -->\n"
END = "<!-- output of the command above: end -->\n"


def real_output() -> str:
    """What `bide plan examples/two-services.yaml -o report.html` prints; CalledProcessError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "report.html")
        command = [sys.executable, "-m", "bide", "plan", "examples/two-services.yaml", "-o", report]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip() + "\n"


def with_output(text: str, output: str) -> str:
    """`text` with `output` as a code block between the markers."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}```\n{output}```\n{END}{after}"


def main() -> int:
    text = README.read_text(encoding="utf-8")
    fresh = with_output(text, real_output())
    if "--check" in sys.argv[1:]:
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
