"""Reading traces and logs: from files in any known format to a Trace, and a report of what was read."""
