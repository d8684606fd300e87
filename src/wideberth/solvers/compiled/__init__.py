"""Compiled code for programs that solve many small problems."""
