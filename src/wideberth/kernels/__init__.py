"""Loops over rows, compiled when the package is built (Cython).

A kernel takes arrays and numbers, releases the GIL and decides nothing. Each has a
plain NumPy reference in the tests.
"""
