"""How many Gaussians a population has, and which rows each of them starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wideberth.measurement.em import Fit
from wideberth.measurement.gaussians import GaussianFitter, thinned
from wideberth.measurement.population import Measurements, Prior, posterior_of
from wideberth.measurement.tables import ClassSample, MeasurementTable, MemoryTable


@dataclass(frozen=True)
class Components:
    """As `TrueFeatures` takes them: a number, one per class, or what is likelier."""

    n_components: Any
    fitter: GaussianFitter
    random_state: Any = None

    def fit(self, table: MeasurementTable, sample: ClassSample) -> tuple[Fit, Prior]:
        """Choose by a sample of the rows, and fit to it; then go on with all rows."""
        labelled = self.n_components in ("auto", "per_class")
        if labelled or self.n_components == 1:
            groups, rows = self._chosen(sample)
            fit, prior = self.fitter.fit(groups, rows)
        else:
            groups = self._clusters(sample.evenly)
            fit, prior = self.fitter.mixture(sample.evenly, groups)
        if not sample.whole:
            few, counts = sample.table, sample.counts
            if not labelled or len(groups) == 1:
                table, few = table.unlabelled(), MemoryTable(sample.evenly)
                counts = counts.sum(keepdims=True)
            fit = self.fitter.over_all(table, few, counts, fit, prior)
        return fit, prior

    def _chosen(self, sample: ClassSample) -> tuple[list[Measurements], list[float]]:
        """The rows of each Gaussian, and how many their priors count for."""
        choose, held_out = self.fitter.choose, self.fitter.held_out
        if self.n_components == "per_class":
            return sample.groups(), choose(sample.groups())
        one, groups = [sample.evenly], thinned(sample.groups(even=True))
        rows = choose(one)
        if len(groups) > 1 and min(map(len, groups)) > one[0].values.shape[1]:
            several, alike = choose(sample.groups()), Measurements.joined(groups)
            if held_out(groups, several) > held_out([alike], rows):
                return sample.groups(), several
        return one, rows

    def _clusters(self, part: Measurements) -> list[Measurements]:
        """Rows by k-means of their posterior means under one Gaussian."""
        from sklearn.cluster import KMeans

        fit, _ = self.fitter.fit([part], self.fitter.choose([part]))
        means = posterior_of(fit.population, part, None).mean
        if len(part) < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} Gaussians need as many rows; X has "
                f"{len(part)}."
            )
        k_means = KMeans(self.n_components, random_state=self.random_state, n_init=1)
        labels = k_means.fit_predict(means)
        return [part[labels == k] for k in range(labels.max() + 1)]
