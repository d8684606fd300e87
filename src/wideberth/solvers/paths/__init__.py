"""One problem after the other: each from its neighbours, and which there are."""
