"""Side by side with what users would pick instead; see `benchmarks/README.md`."""
