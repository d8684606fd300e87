"""What cross-validation chose, in words: the choice, its score, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def tell_choice(choice: dict) -> list[str]:
    """Lines for the screen: what was chosen, and how flat its surroundings are."""
    made = {"C": choice["C"]}
    if len(choice["factors"]) > 1:
        made[choice["unit"]] = choice["factor"]
    for name, values in {"norm penalty": "norm_penalties", "ramp": "ramps"}.items():
        if len(choice.get(values, ())) > 1:
            made[name] = choice[name.replace(" ", "_")]
    told = " and ".join(f"{name} {value:.4g}" for name, value in made.items())
    score, folds = choice["score"], choice["folds"]
    about = f"{choice['measure']} {score:.3f} on rows left out, over {folds} folds"
    lines = [f"chosen     {told}: {about}"]
    beside = ", ".join(_neighbours(choice))
    return [*lines, f"beside it  {beside}"] if beside else lines


def _neighbours(choice: dict) -> Iterator[str]:
    """Scores at the next smaller and larger values; the end of a grid is said to be."""
    scores = np.array(choice["scores"])  # one row per factor, one column per C
    i, j = (
        choice["factors"].index(choice["factor"]),
        int(np.argmin(np.abs(np.array(choice["Cs"]) - choice["C"]))),
    )
    for name, values, own, place in (
        ("C", choice["Cs"], scores[i], j),
        (choice["unit"], choice["factors"], scores[:, j], i),
    ):
        for k in (place - 1, place + 1):
            if 0 <= k < len(values):
                yield f"{own[k]:.3f} at {name} {values[k]:.4g}"
            elif len(values) > 1:
                end = "smaller" if k < 0 else "larger"
                yield f"no {end} {name} was tried"
