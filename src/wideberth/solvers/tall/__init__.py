"""Few passes over many rows, wherever they live: sample, gather, solve, prove."""
