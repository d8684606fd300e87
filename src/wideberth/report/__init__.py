"""What every report of this package shares: the page, its tables and its figures."""
