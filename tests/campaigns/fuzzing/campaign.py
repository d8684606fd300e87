"""Runs cases by number, in a process that may crash, with little memory and time."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from numpy.linalg import LinAlgError

from fuzzing import TARGETS

__all__ = ["LIMIT", "Tally", "make_case", "run_cases"]

#: Kinds of ValueError that are no answer to a user.
_SLIPS = (UnicodeError, LinAlgError)
#: Seconds of work that a case may take, and bytes that the process may grow by.
LIMIT, MEMORY = 20, 3 << 30


#: Cases between two reports of a worker.
_PART = 500


class _TookTooLong(BaseException):
    """A case ran into the limit."""


@dataclass
class Tally:
    """What came of the cases of one target so far; `next` is the first not run."""

    next: int = 0
    accepted: int = 0
    refused: Counter = field(default_factory=Counter)
    #: Seconds of the slowest case, its number, and seconds of all.
    slowest: tuple[float, int] = (0.0, -1)
    seconds: float = 0.0
    #: Bytes by which the process grew at most, beyond what the first cases took.
    growth: int = 0
    findings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """Cases run."""
        return self.accepted + sum(self.refused.values()) + len(self.findings)


def load_targets() -> None:
    """Register all targets; they load the whole package."""
    import fuzzing.arguments
    import fuzzing.binaries
    import fuzzing.texts  # noqa: F401


def make_case(name: str, number: int):
    """Case number `number` of a target."""
    return TARGETS[name].case(Random(f"{name} {number}"))


def run_cases(name: str, tally: Tally, count: int, seconds: float) -> None:
    """Run up to `count` further cases; a crash of the process costs one of them."""
    load_targets()
    context = multiprocessing.get_context("fork")
    stop, deadline = tally.next + count, time.monotonic() + seconds
    while tally.next < stop and time.monotonic() < deadline:
        now = context.Value("q", tally.next)
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(
            target=_work, args=(name, tally.next, stop, deadline, now, theirs)
        )
        worker.start()
        theirs.close()
        try:
            while True:
                _add(tally, ours.recv())
        except EOFError:
            worker.join()
        if worker.exitcode != 0:
            tally.findings.append(
                (now.value, f"the process ended with {worker.exitcode}")
            )
            tally.next = now.value + 1


def _add(tally: Tally, part: Tally) -> None:
    tally.next = part.next
    tally.accepted += part.accepted
    tally.refused += part.refused
    tally.slowest = max(tally.slowest, part.slowest)
    tally.seconds += part.seconds
    tally.growth = max(tally.growth, part.growth)
    tally.findings += part.findings


def _work(name: str, start: int, stop: int, deadline: float, now, pipe) -> None:
    """In the worker: run cases and report every few hundred."""
    signal.signal(signal.SIGPROF, _ring)
    signal.signal(signal.SIGALRM, _ring)
    _limit_memory()
    base = None
    for first in range(start, stop, _PART):
        part = Tally()
        for number in range(first, min(first + _PART, stop)):
            now.value = number
            _one(name, number, part)
            part.next = number + 1
            if time.monotonic() > deadline:
                break
        peak = _peak()
        base = peak if base is None else base  # caches and imports fill up at first
        part.growth = peak - base
        pipe.send(part)
        gc.collect()
        if time.monotonic() > deadline:
            break
    pipe.close()


def _one(name: str, number: int, tally: Tally) -> None:
    case, started = make_case(name, number), time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        signal.alarm(10 * LIMIT)  # waiting is no work, but must end, too
        TARGETS[name].run(case)
        tally.accepted += 1
    except _SLIPS as error:
        _find(tally, number, error)
    except TARGETS[name].documented as error:
        tally.refused[type(error).__name__] += 1
    except MemoryError:
        tally.refused["MemoryError"] += 1
    except BaseException as error:
        _find(tally, number, error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    seconds = time.perf_counter() - started
    tally.slowest = max(tally.slowest, (seconds, number))
    tally.seconds += seconds


def _find(tally: Tally, number: int, error: BaseException) -> None:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:200]
    place = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
    tally.findings.append((number, f"{type(error).__name__} at {place}: {text}"))


def _ring(*_) -> None:
    raise _TookTooLong(f"more than {LIMIT} s")


def _limit_memory() -> None:
    import resource

    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def _peak() -> int:
    """The most memory this process has held."""
    import resource

    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
