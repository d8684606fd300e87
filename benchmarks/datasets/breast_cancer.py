"""Breast Cancer Wisconsin as the paper has it, standardised: 569×30."""

C, RADIUS = 1.0, 0.05


def load():
    from wideberth.datasets import load_breast_cancer, paper_preprocess

    X, y = load_breast_cancer()
    return paper_preprocess("breast_cancer", X), y
