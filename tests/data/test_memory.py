"""How much memory the process holds, and what a cap makes of it."""

import numpy as np
import pytest

from wideberth.data import DataError, files, open_data
from wideberth.data.files import physical_memory, resident, room


def test_what_the_process_takes_is_noticed():
    before = resident()
    block = np.ones(10_000_000)
    assert 7e7 < resident() - before < 2e8
    assert resident() < physical_memory()
    assert block.all()


def test_a_cap_counts_what_is_held(monkeypatch):
    monkeypatch.setattr(files, "resident", lambda: 123_456_789)
    assert room("1GB") == 10**9 - 123_456_789
    with pytest.raises(DataError, match="less than the 123 MB"):
        open_data([([[1.0]], [1])], memory="100MB")
