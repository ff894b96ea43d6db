"""The command line: one file a command, each exposing `command`; parse, call, show, no arithmetic."""
