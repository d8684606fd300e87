"""Mistakes that no rule of `mutants.py` makes, each of them made once.

The wrong one of two things at hand, or a step left out. A lesson says what must hold;
its file; a text in it, found once; and the text that breaks it.
"""

LESSONS = [
    (
        "The chosen norm penalty is the one trained with.",
        "estimators/cv.py",
        "        model.norm_penalty = self.norm_penalty_\n",
        "",
    ),
    (
        "Rows left out of the fit keep their errors.",
        "estimators/left_out.py",
        "        found = [parts.posterior(part.X, part.E) for part in rows]\n",
        "        found = [parts.posterior(part.X, 0) for part in rows]\n",
    ),
    (
        "A fit forgets what the last fit found.",
        "estimators/one_vs_rest.py",
        '    for name in ("suspects_", "descent_"):\n',
        "    for name in ():\n",
    ),
    (
        "Columns of open data are taken in the order of the training data.",
        "estimators/streaming.py",
        "            if self.order is not None:\n",
        "            if False:\n",
    ),
    (
        "Radii may come with the chunks.",
        "estimators/training_data.py",
        "        per_row = self.each or (self.X.brings_radii and not by_class)\n",
        "        per_row = self.each\n",
    ),
    (
        "With an intercept samples of two classes are not equal.",
        "problem/merge.py",
        "        signs, label = ones, (problem.y > 0).astype(np.int32)\n",
        "        signs, label = ones, np.zeros(n, dtype=np.int32)\n",
    ),
    (
        "Labelled noise is matched by name, not by position.",
        "problem/validation.py",
        "    return np.array([places[name] for name in names], dtype=np.intp)\n",
        "    return np.arange(len(names))\n",
    ),
    (
        "Features of a smaller problem are renumbered.",
        "screening/features.py",
        "zero[kept[news]] = True",
        "zero[np.flatnonzero(news)] = True",
    ),
    (
        "A sample's slope changes where its bound does.",
        "screening/decisions.py",
        "earliest = y * (targets - np.where(positive, upper, lower))",
        "earliest = y * (targets - np.where(positive, lower, upper))",
    ),
    (
        "The ends of the bracket swap with the label.",
        "screening/decisions.py",
        "        lower = lower + np.where(positive, b_low, -b_high)\n",
        "        lower = lower + np.where(positive, b_high, -b_low)\n",
    ),
    (
        "Folded samples bring their noise, weighted.",
        "screening/decisions.py",
        "problem.noise.folded(weights)",
        "problem.noise.folded(chosen)",
    ),
    (
        "Rounds of screening count samples of the first problem.",
        "screening/decisions.py",
        "settled[self.free[saturated]] = small.weights[saturated]",
        "settled[np.flatnonzero(saturated)] = small.weights[saturated]",
    ),
    (
        "Rows in turned axes bring an allowance for the axes when they are folded.",
        "screening/decisions.py",
        "    relative += problem.noise.sets.rotation_error\n",
        "",
    ),
    (
        "The ellipsoid lies about the dual point.",
        "screening/regions.py",
        "anchor=(dual.w, anchor_margins)",
        "anchor=(point.w, point.margins)",
    ),
    (
        "A reduced problem's gap says nothing about the whole one's.",
        "solvers/base.py",
        "return self.found.meets(tol) and self.finish().meets(tol)",
        "return self.found.meets(tol)",
    ),
    (
        "The answer is judged on the problem as given.",
        "solvers/base.py",
        "        return control.judge(Pair(point, dual))\n",
        "        return control.judge(found)\n",
    ),
    (
        "A chunk that does not repeat still counts.",
        "data/batches.py",
        "        if equal is None or self.given_up:\n            self._give_up()\n",
        "        if equal is None or self.given_up:\n",
    ),
    (
        "Places of rows follow when chunks are merged.",
        "data/batches.py",
        "{k: found.label[place] for k, place in self._places.items()}",
        "dict(self._places)",
    ),
    (
        "A solution on some columns needs a certificate on all.",
        "solvers/columns.py",
        "return Pair(point, problem.dual_at(alpha))",
        "return Pair(point, part.small.dual_at(alpha))",
    ),
    (
        "A path of other data is not followed.",
        "solvers/shrinking.py",
        "    if not path.mismatch() <= 1 / LITTLE:\n        return None\n",
        "",
    ),
]
