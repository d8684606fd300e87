"""Dual coordinate ascent: sweeps over the samples."""
