"""`make test-machines` must not claim to have tested what it could not run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import kernels
import machines
from machines import NUMERICAL, Outcome, Setting, settings, survey, tried_out, verdict

TOOLS = Path(kernels.__file__).parent
HERE = {
    "blas": {"numpy": ["Haswell", 1], "scipy": ["Haswell", 1]},
    "numpy": ["X86_V3"],
}


def named(name):
    return machines._blas(name)


def test_a_name_that_the_library_ignores_is_noticed():
    assert named("Haswell").lacks(HERE) is None
    assert named("Zen").lacks(HERE) == "got Haswell"
    mixed = HERE | {"blas": {"numpy": ["Nehalem", 1], "scipy": ["Haswell", 1]}}
    assert named("Nehalem").lacks(mixed) == "got Haswell and Nehalem"
    assert named("Nehalem").lacks(HERE | {"blas": {}}) is not None


def test_dispatch_that_is_not_held_down_is_noticed():
    every = {setting.name: setting for setting in settings()}
    assert every["NumPy's baseline"].lacks(HERE) is not None
    assert every["two BLAS threads"].lacks(HERE) == "got [1] BLAS threads"


def test_a_setting_is_tried_out_on_real_products():
    found, why = tried_out(settings()[0])
    assert why == ""
    assert found["blas"]
    found, why = tried_out(named("Nonsense"))
    assert found is None
    assert "got" in why


def test_a_processor_without_the_instructions_is_said(monkeypatch):
    died = subprocess.CompletedProcess([], -4, "", "")
    monkeypatch.setattr(machines.subprocess, "run", lambda *args, **options: died)
    found, why = tried_out(named("SkylakeX"))
    assert found is None
    assert why == "not possible on this processor: SIGILL at the first product"


@pytest.fixture
def played(monkeypatch):
    """Settings whose kernels are their names, "absent" having none; and the runs."""
    ran = []

    def run(setting, found, jobs, seconds):
        ran.append(setting.name)
        return Outcome("failed" if setting.name == "bad" else "passed", "", found)

    monkeypatch.setattr(machines, "_shown", str)
    monkeypatch.setattr(machines, "run", run)
    monkeypatch.setattr(
        machines,
        "tried_out",
        lambda s: (None, "no") if s.name == "absent" else ({"k": s.name[:4]}, ""),
    )
    return ran


def test_what_could_not_run_is_not_counted(played, capsys):
    names = ("plain", "absent", "plain again", "other")
    outcomes = survey([Setting(name, {}) for name in names], 1, float("inf"))
    assert played == ["plain", "other"]
    assert outcomes["plain again"].detail == "the same kernels as 'plain'"
    code, text = verdict(outcomes, 2)
    assert code == 0
    assert "2 different sets of kernels tested, 0 failed" in text
    assert "not run: absent, plain again" in text
    assert verdict(outcomes, 3)[0] == 1
    assert "absent" in capsys.readouterr().out


def test_a_failure_or_too_little_time_fails_the_whole(played):
    two = [Setting("plain", {}), Setting("bad", {})]
    assert verdict(survey(two, 1, float("inf")), 1)[0] == 1
    late = survey(two, 1, 0.0)
    assert "minutes were over" in late["plain"].detail
    assert verdict(late, 1)[0] == 1


def test_tests_on_other_kernels_than_announced_end_at_once(tmp_path):
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    for expected, code in ((HERE | {"numpy": ["none"]}, 4), (None, 0)):
        environment = machines.environment_of(settings()[0])
        if expected is None:
            done = subprocess.run(
                [sys.executable, TOOLS / "kernels.py"],
                env=environment,
                capture_output=True,
                check=True,
            )
            expected = json.loads(done.stdout)
        environment |= {
            kernels.EXPECTED: json.dumps(expected),
            "PYTHONPATH": os.pathsep.join(
                [str(TOOLS), os.environ.get("PYTHONPATH", "")]
            ),
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "kernels", str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        assert ("kernels: expected" in done.stderr) == (code != 0)


def test_the_numerical_tests_are_there():
    for name in NUMERICAL:
        assert (Path(__file__).parents[1] / f"{name}.py").exists()
