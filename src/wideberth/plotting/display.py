"""What the displays share."""

from __future__ import annotations

import numpy as np

#: Where a legend stands that would hide lines inside the axes.
BESIDE = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "fontsize": "small"}


class Display:
    """What the displays share: axes to draw on, one below the other."""

    _n_axes = 1

    def plot(self, *, ax=None):
        """Draw on `ax`, or on new axes (an array of them where there are more)."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    "The displays need matplotlib: pip install 'wideberth[plots]'."
                ) from error
            _, ax = pyplot.subplots(self._n_axes, sharex=True, layout="constrained")
        self.ax_ = ax if self._n_axes == 1 else np.asarray(ax)
        self.figure_ = np.ravel(self.ax_)[0].figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax) -> None:
        raise NotImplementedError
