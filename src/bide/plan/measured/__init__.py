"""A replica's benchmark in place of its simulation."""
