"""Error bars: a set of its own around every sample."""
