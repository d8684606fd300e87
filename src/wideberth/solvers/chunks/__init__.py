"""`solve` for data in chunks: files and clusters."""
