"""Results of other load clients, and of our own, read as one value: `bide.bench.formats.reading.read_runs`."""
