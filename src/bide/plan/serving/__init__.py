"""The command that starts a planned replica, in each engine's own options."""
