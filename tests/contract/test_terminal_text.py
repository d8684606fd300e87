"""Names from a table cannot steer a terminal, and a CSV keeps them as they are."""

import csv
import io
import sys

import numpy as np
import pytest

from wideberth.cli import main

ESCAPE, FORGED, FORMULA = (
    "\x1b[31mevil",
    "ok\nverdict    perfect",
    "=1+cmd|' /C calc'!A0",
)


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal, and keeps what it is sent."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self):
        return True

    @property
    def shown(self):
        return self.buffer.getvalue().decode()


def write_table(path, labels, n=120):
    """One feature that mostly tells two labels apart."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    given = np.where(x + 0.5 * rng.normal(size=n) > 0, *labels)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["size", "kind"], *zip(x, given, strict=True)])
    return given.tolist()


def fit(*more):
    command = "fit e.csv --target kind --radius 0.1 --force --out m.wideberth"
    return main([*command.split(), *more])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("label", [ESCAPE, FORGED, "\u202egnp.exe", "bell\x07"])
def test_labels_with_control_characters_are_quoted_on_terminal_and_report(label, capfd):
    write_table("e.csv", ("fine", label))
    fit("--ramp", "-1", "--report", "r.html")
    shown = "".join(capfd.readouterr())
    with open("r.html", encoding="utf-8") as report:
        page = report.read()
    for text in (shown, page):
        assert label not in text
        assert label.encode("unicode_escape").decode() in text


def test_a_label_cannot_forge_a_line_of_the_result(capfd):
    write_table("e.csv", ("fine", FORGED))
    fit("--ramp", "-1")
    lines = capfd.readouterr().out.splitlines()
    assert sum(line.startswith("verdict") for line in lines) == 1
    assert not any(line.strip().startswith("verdict    perfect") for line in lines)


def test_names_of_files_and_columns_are_quoted_in_messages(capfd):
    write_table("e.csv", ("fine", "other"))
    assert main(["fit", f"{ESCAPE}.csv", "--target", "kind"]) == 1
    assert main(["fit", "e.csv", "--target", ESCAPE]) != 0
    said = capfd.readouterr().err
    assert "\x1b" not in said
    assert said.count(r"\x1b[31mevil") == 2


def test_a_table_on_a_terminal_is_quoted_and_one_in_a_file_is_not(monkeypatch):
    given = write_table("e.csv", (FORMULA, FORGED))
    fit()
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["predict", "m.wideberth", "e.csv"]) == 0
    assert len(terminal.shown.splitlines()) == 1 + len(given)
    monkeypatch.undo()


def test_labels_that_look_like_formulas_come_back_as_they_went_in(tmp_path):
    """So that predictions can be compared with labels; the page says so."""
    given = write_table(tmp_path / "e.csv", (FORMULA, "@sum"))
    paths = {name: str(tmp_path / name) for name in ("e.csv", "m.wideberth", "p.csv")}
    table, model, out = paths.values()
    code = main(f"fit {table} --target kind --radius 0.1 --out {model}".split())
    assert code == 0
    assert main(["certify", model, table, "--out", out]) == 0
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == given
    assert {row["prediction"] for row in rows} == set(given)
