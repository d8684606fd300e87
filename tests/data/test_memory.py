"""How much memory the process holds, on systems with and without /proc."""

import ctypes
import resource
import sys
from types import SimpleNamespace

import pytest

from wideberth.data import DataError, open_data
from wideberth.data.memory import physical_memory, resident, room


def test_macos_counts_in_bytes_and_others_in_kilobytes(monkeypatch):
    usage = SimpleNamespace(ru_maxrss=300_000_000)
    monkeypatch.setattr(resource, "getrusage", lambda who: usage)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert resident() == 300_000_000
    monkeypatch.setattr(sys, "platform", "freebsd14")
    assert resident() == 1024 * 300_000_000


class Kernel:
    """As much of Windows as is asked for."""

    def __init__(self, works=True):
        self.GetCurrentProcess = lambda: 1
        self.GetCurrentProcess.restype = None

        def held(process, counters, size):
            found = counters._obj
            assert size == ctypes.sizeof(found)
            found.WorkingSetSize, found.PeakWorkingSetSize = 123_456_789, 1 << 40
            return works

        def memory(status):
            assert status._obj.dwLength == ctypes.sizeof(status._obj)
            status._obj.ullTotalPhys = 1 << 35
            return works

        self.K32GetProcessMemoryInfo, self.GlobalMemoryStatusEx = held, memory


def test_windows_is_asked_for_the_working_set(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(
        ctypes, "windll", SimpleNamespace(kernel32=Kernel()), raising=False
    )
    assert resident() == 123_456_789
    assert physical_memory() == 1 << 35
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=Kernel(False)))
    assert resident() == 200 * 2**20  # a guess
    assert physical_memory() == 16 * 2**30


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_a_cap_counts_what_is_held_on_every_system(system, monkeypatch):
    usage = SimpleNamespace(ru_maxrss=123_456_789)
    monkeypatch.setattr(resource, "getrusage", lambda who: usage)
    monkeypatch.setattr(
        ctypes, "windll", SimpleNamespace(kernel32=Kernel()), raising=False
    )
    monkeypatch.setattr(sys, "platform", system)
    assert room("1GB") == 10**9 - 123_456_789
    with pytest.raises(DataError, match="less than the 123 MB"):
        open_data([([[1.0]], [1])], memory="100MB")
