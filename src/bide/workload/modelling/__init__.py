"""Models of a workload: how long, when, in what sessions, with what shared prefixes; and drawing from them."""
