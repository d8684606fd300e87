"""Spambase as the paper has it, standardised, then unit rows: 4601×57."""

C, RADIUS = 1.0, 0.05


def load():
    from wideberth.datasets import load_spambase, paper_preprocess

    X, y = load_spambase()
    return paper_preprocess("spambase", X), y
