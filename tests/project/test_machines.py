"""`make test-machines` must not claim to have tested what it could not run."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import machines


@pytest.fixture
def played(monkeypatch):
    """Settings whose kernels are the value of K; "absent" has none, "bad" fails."""
    ran = []

    def python(environment, *words):
        kernels = environment["K"]
        if "--describe" not in words:
            ran.append(kernels)
        code = kernels == ("absent" if "--describe" in words else "bad")
        return subprocess.CompletedProcess(words, int(code), f"{kernels}\n", "")

    monkeypatch.setattr(machines, "_python", python)
    return ran


def test_each_set_of_kernels_is_tested_once_and_counted_once(played, capsys):
    names = ["one", "absent", "one", "two", "three", "four"]
    assert machines.survey({f"{k}": {"K": name} for k, name in enumerate(names)}) == 0
    assert played == ["one", "two", "three", "four"]
    said = capsys.readouterr().out
    assert "1: not possible here" in said
    assert "4 different sets of kernels tested, 0 failed" in said


def test_a_failure_and_too_few_kernels_fail_the_whole(played):
    assert machines.survey({"a": {"K": "one"}, "b": {"K": "two"}}) == 1
    names = ["one", "two", "three", "four", "bad"]
    assert machines.survey({name: {"K": name} for name in names}) == 1


def test_kernels_of_this_process_are_found():
    found = machines.describe()
    assert found["blas"]
    assert "as it comes" in machines.settings()
