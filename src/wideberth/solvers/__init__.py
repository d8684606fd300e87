"""Solvers: each takes a `Problem` and returns primal and dual points."""
