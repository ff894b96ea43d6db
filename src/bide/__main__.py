"""`python -m bide`, and the script `bide`: an interrupt while the command line is being loaded is one line too."""

import sys


def run() -> int:
    """The exit code of `bide.cli.main.main`, or 130."""
    try:
        from bide.cli.main import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
