"""Values far outside the range of training are remarked upon, with their columns."""

import numpy as np
import pandas as pd
import pytest

from wideberth.cli import main


def table(seed, n, unit=lambda t: t, mass=1.0):
    """Temperatures and lognormal masses of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({"temp": unit(20 + 4 * rng.normal(size=n) + 3 * y)})
    frame["mass"] = mass * np.exp(rng.normal(size=n) + y)
    frame["state"] = np.where(y, "sick", "well")
    return frame.round(4)


def fahrenheit(celsius):
    return 1.8 * celsius + 32


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    """What a command says of the rows of a table on standard error."""
    monkeypatch.chdir(tmp_path)
    table(0, 200).to_csv("train.csv", index=False)

    def said(command, frame, *options):
        fit = "fit train.csv --target state --radius 0 --folds 0 --out m.wideberth"
        assert main([*fit.split(), "--force", *options]) == 0
        frame.to_csv("new.csv", index=False)
        capfd.readouterr()
        answer = [command, "m.wideberth", "new.csv", "--out", "p.csv", "--force"]
        assert main(answer) == 0
        return capfd.readouterr().err

    return said


@pytest.mark.parametrize("command", ["predict", "certify"])
@pytest.mark.parametrize("options", [(), ("--memory", "4GB"), ("--standardize",)])
def test_another_unit_is_remarked_upon_with_its_column(said, command, options):
    new = table(1, 120, fahrenheit)
    told = said(command, new, *options)
    known = pd.read_csv("train.csv")["temp"]
    assert "column 'temp'" in told
    assert f"{known.min():.4g} to {known.max():.4g}" in told
    assert f"from {new['temp'].min():.4g} to {new['temp'].max():.4g}" in told
    assert "120 of 120 values" in told
    assert "mass" not in told


def test_ranges_of_logarithms_are_told_in_the_units_of_the_table(said):
    new = table(1, 120, mass=1e6)
    told = said("predict", new, "--log", "mass")
    known = pd.read_csv("train.csv")["mass"]
    assert "column 'mass'" in told
    assert f"{known.min():.4g} to {known.max():.4g}" in told


def test_rows_like_those_of_training_are_not_remarked_upon(said):
    for seed in range(2, 6):
        assert said("predict", table(seed, 120)) == ""


def test_single_outliers_are_not_remarked_upon(said):
    new = table(1, 120)
    new.loc[:5, "temp"] = 1e6
    assert said("predict", new) == ""


def test_missing_values_are_not_counted(said):
    new = table(1, 120, fahrenheit)
    new.loc[:49, "temp"] = np.nan
    assert "70 of 70 values in column 'temp'" in said("predict", new)
    filled = ("--missing", "median")
    assert "70 of 70 values in column 'temp'" in said("predict", new, *filled)


def test_a_column_that_was_constant_in_training_has_no_range_to_leave(said):
    frame = pd.read_csv("train.csv").assign(year=2024)
    frame.to_csv("train.csv", index=False)
    assert said("predict", table(1, 120).assign(year=2025)) == ""


def test_sparse_tables_are_remarked_upon_as_well(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)

    def lines(factor):
        for k in range(80):
            size, other = rng.random(2)
            yield f"{k % 2} 1:{size + k % 2:.3f} 3:{factor * other:.3f}\n"

    for name, factor in {"t": 1.0, "new": 1000.0}.items():
        (tmp_path / f"{name}.libsvm").write_text("".join(lines(factor)))
    fit = "fit t.libsvm --target label --radius 0 --folds 0 --out m.wideberth"
    assert main(fit.split()) == 0
    capfd.readouterr()
    assert main(["predict", "m.wideberth", "new.libsvm", "--out", "p.csv"]) == 0
    told = capfd.readouterr().err
    assert "column 'x3'" in told
    assert "'x1'" not in told
