import os

# Before SciPy is loaded: scikit-learn's array API checks ask for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import HealthCheck, Phase, settings

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

settings.register_profile(
    "shared machine",
    deadline=None,
    derandomize=True,  # the same cases every time; --hypothesis-seed explores others
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "no shrinking",  # for `make mutants`, where any failure will do
    settings.get_profile("shared machine"),
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("shared machine")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A small reproduction of the paper, and the folder it is in.

    Workers share the folder: those that come later find what has been computed. Where
    files cannot be locked (Windows), each worker has a folder of its own.
    """
    from reproduction import reproduce_tiny

    base = tmp_path_factory.getbasetemp()
    shared = fcntl is not None and "PYTEST_XDIST_WORKER" in os.environ
    folder = (base.parent if shared else base) / "reproduction"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        if shared:
            fcntl.flock(lock, fcntl.LOCK_EX)
        return reproduce_tiny(folder), folder


def pytest_collection_modifyitems(items):
    """Pages of code first, so that the longest of them does not keep all others."""
    items.sort(key=lambda item: "test_the_code_on_a_page" not in item.nodeid)
