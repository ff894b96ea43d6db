"""What a run says: percentiles with their intervals, rates, and whether it had settled."""
