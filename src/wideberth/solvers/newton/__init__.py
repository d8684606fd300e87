"""Newton's method on rows in memory: its engine, rounds of working sets, paths."""
