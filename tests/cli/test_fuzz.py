"""A first part of the fuzzing campaign (`make fuzz`), and that it would notice."""

import os
import signal
from dataclasses import replace

import pytest

from fuzzing import TARGETS, Target, Violation
from fuzzing.campaign import Tally, load_targets, make_case, run_cases
from fuzzing.workshop import PLACE
from wideberth.data import DataError, open_table

pytest.importorskip("resource", reason="cases run under limits that only Unix has")
load_targets()
#: Cases; what a case takes differs by a factor of a hundred.
COUNTS = {"csv": 800, "libsvm": 800, "commands": 40, "model": 60, "fit": 100}


@pytest.mark.parametrize("name", TARGETS)
def test_what_users_give_is_taken_or_refused_as_documented(name):
    count = COUNTS.get(name, 150)
    tally = Tally()
    run_cases(name, tally, count, seconds=20)
    assert tally.findings == []
    assert tally.cases == tally.next > 20
    # Neither a generator of rubbish nor a reader that takes everything.
    assert 0 < tally.accepted < tally.cases


def test_every_case_can_be_had_again():
    for name in ("csv", "libsvm", "parquet"):
        assert repr(make_case(name, 7)) == repr(make_case(name, 7))


def read(text, encoding, request, form):
    """The cells of a table, or None if it is refused."""
    PLACE.write_bytes(text.encode(encoding))
    try:
        table, _ = open_table(str(PLACE), request, replace(form, encoding=encoding))
    except DataError:
        return None
    columns = table.texts | table.numbers
    return repr((table.X, {name: own.tolist() for name, own in columns.items()}))


def test_text_is_the_same_table_in_every_encoding():
    """pyarrow cuts UTF-8 into cells, Python whatever is written otherwise."""
    seen = []
    for number in range(1200):
        content, request, form = make_case("csv", number)
        text = content.decode("utf-8", "ignore").removeprefix("\ufeff")
        if form.encoding in (None, "utf-8") and not text.startswith("BZ"):
            ours, theirs = (read(text, c, request, form) for c in ("utf-8", "utf-16"))
            assert ours == theirs, number
            seen.append(ours)
    assert 100 < seen.count(None) < len(seen) - 100


def crash(case):
    os.kill(os.getpid(), signal.SIGKILL)


def mistake(case):
    raise KeyError(case)


def lie(case):
    raise Violation("an answer that is wrong")


@pytest.mark.parametrize(
    ("run", "found"),
    [(crash, "ended with -9"), (mistake, "KeyError"), (lie, "Violation")],
)
def test_crashes_strange_exceptions_and_wrong_answers_are_findings(
    monkeypatch, run, found
):
    broken = Target("broken", lambda rng: rng.random(), run, (ValueError,), 1.0)
    monkeypatch.setitem(TARGETS, "broken", broken)
    tally = Tally()
    run_cases("broken", tally, 3, seconds=20)
    assert [number for number, _ in tally.findings] == [0, 1, 2]
    assert all(found in text for _, text in tally.findings)
