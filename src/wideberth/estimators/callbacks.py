"""scikit-learn's callbacks, where the installed version has them (1.9 and later).

`CallbackSupport` adds `set_callbacks` to an estimator, `with_callbacks` ends callbacks
however a fit ends, and `Progress` tells them how far a fit has come: one task per
binary problem, and within it one per certified point. A callback that asks to stop does
so at the next certified point. Older versions have none of it, and nothing happens.
"""

from __future__ import annotations

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """No callbacks in this version of scikit-learn."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


class FitProgress:
    """Reports a fit to the callbacks set on an estimator; does nothing without any."""

    def __init__(self, estimator, n_problems: int, **data):
        self.root = None
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(
                max_subtasks=n_problems, sequential_subtasks=False
            )
            self.known = {"estimator": estimator, **data}
            self.root.call_on_fit_task_begin(**self.known)

    def watch(self, problem: int, verbose=None):
        """Return a callback for `solve`, and a function to call when it is done."""
        if self.root is None:
            return verbose, lambda: None
        context = self.root.subcontext(
            task_name="binary problem", task_id=problem, max_subtasks=None
        )
        context.call_on_fit_task_begin(**self.known)

        def certified(entry):
            point = context.subcontext(task_name="certified point")
            point.call_on_fit_task_begin(**self.known)
            stop = point.call_on_fit_task_end(**self.known)
            return stop or bool(verbose and verbose(entry))

        return certified, lambda: context.call_on_fit_task_end(**self.known)

    def end(self, **fitted) -> None:
        """Report the end of the fit, with the attributes that make it usable."""
        if self.root is not None:
            self.root.call_on_fit_task_end(
                reconstruction_attributes=fitted, **self.known
            )
