"""Try to catch features wrongly proven zero; part of the campaign `safety.py`.

Problems under box noise, boxes per cell and a norm penalty, some with a feature next to
its threshold, are solved; one in twenty is also held against the conic oracle. From
points of all qualities features are proven zero and samples decided in turn. A feature
is wrong if its weight is further from 0 than the reference from the optimum, which is
within √(2G); a sample if its robust margin is on the other side of 1 by more than that.
"""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np

from sparse_problems import LEVELS, by_oracle, make_sparse, pairs
from wideberth.screening.features import screen_both

COLUMNS = ["problems", "zeros", "decisions", "wrong"]


def examine_features(seeds: range) -> dict[tuple[str, str], Counter]:
    """Examine a batch of random problems that leave features out."""
    total: dict[tuple[str, str], Counter] = {}
    for seed in seeds:
        reference, rng = make_sparse(seed), np.random.default_rng([seed, 31])
        kind = reference.problem.noise.sets.name
        kind = "boxes per cell" if not reference.problem.noise.proportional else kind
        references = [reference]
        if seed % 20 == 0:
            with contextlib.suppress(RuntimeError):  # then it is not judged by that
                references.append(by_oracle(reference.problem))
        exact = [each for each in references if each.exact]
        if not exact:
            total.setdefault(("not exact enough", kind), Counter()).update(problems=1)
            continue
        features, samples = (
            total.setdefault((what, kind), Counter())
            for what in ("features", "samples")
        )
        features["problems"] += 1
        samples["problems"] += 1
        for pair in pairs(exact[0], rng, rng.choice(LEVELS, size=2, replace=False)):
            partition = screen_both(reference.problem, pair)
            zero = partition.removed_features
            features["zeros"] += exact[0].zeros
            features["decisions"] += int(zero.sum())
            features["wrong"] += max(each.wrong(zero) for each in exact)
            samples["decisions"] += sum(partition.counts[1:])
            samples["wrong"] += max(each.wrong_samples(partition) for each in exact)
    return total
