"""Did it pay? A plain verdict and its numbers, on the screen, in JSON, in the report.

What was asked for beyond an ordinary SVM pays if it is ahead of both ordinary ones, the
one with the same C and the one whose C is tuned: more accurate on rows left out, on the
data as given or under worst-case noise, beyond what chance explains (`gain.py`).
"""

from __future__ import annotations

from wideberth.cli.gain import tell_points
from wideberth.cli.output import number

#: The verdict, by what was found on the data as given and under worst-case noise.
_FINDINGS = {
    ("better", "better"): "more accurate, on the data as given and under worst-case "
    "noise",
    ("better", "even"): "more accurate on the data as given; no measurable difference "
    "under worst-case noise",
    ("better", "worse"): "more accurate on the data as given, less accurate under "
    "worst-case noise",
    ("better", None): "more accurate",
    ("even", "better"): "more accurate under worst-case noise; no measurable "
    "difference on the data as given",
    ("even", "even"): "no measurable difference, on the data as given or under "
    "worst-case noise",
    ("even", "worse"): "less accurate under worst-case noise; no measurable "
    "difference on the data as given",
    ("even", None): "no measurable difference",
    ("worse", "better"): "more accurate under worst-case noise, less accurate on the "
    "data as given",
    ("worse", "even"): "less accurate on the data as given; no measurable difference "
    "under worst-case noise",
    ("worse", "worse"): "less accurate, on the data as given and under worst-case "
    "noise",
    ("worse", None): "less accurate",
}
#: The ordinary SVMs, and what they are called.
_RIVALS = {
    "ordinary": "an ordinary SVM of the same C",
    "tuned": "one whose C is tuned",
}
_HOW = "--radius, --noise, --errors or --replicates"


def judge_worth(result: dict) -> dict:
    """The verdict, its numbers, both as one text, and what was found.

    `as_measured` and `under_noise` are better, worse or even (not told apart), and None
    where there is nothing to compare.
    """
    found, subject = result["evaluation"], _subject(result)
    if not subject or (found is not None and not found["gains"]):
        return _told(
            "This is an ordinary SVM.",
            "It expects no noise, so there is no robustness to judge; "
            f"{_HOW} say how far values may be off.",
        )
    if found is None:
        return _told(
            f"Whether {subject} paid is not known.", "There was no cross-validation."
        )
    noisy = None
    if result["uncertainty"]["asked"] is not None:
        noisy = _finding(found, "certified")
    measured = _finding(found, "accuracy")
    paid = "paid" if "better" in (measured, noisy) else "did not pay"
    verdict = f"{subject} {paid}: {_FINDINGS[measured, noisy]}."
    if _useless(found, "accuracy"):
        verdict = (
            f"{subject} did not pay: the model is no better than always naming one "
            "class."
        )
    numbers = _numbers(result)
    if noisy is not None and result["uncertainty"]["largest"] == 0:
        numbers += " Cross-validation chose radius 0."
    return _told(verdict[0].upper() + verdict[1:], numbers, measured, noisy)


def _told(verdict: str, numbers: str, measured=None, noisy=None) -> dict:
    return {
        "verdict": verdict,
        "numbers": numbers,
        "sentence": f"{verdict} {numbers}",
        "as_measured": measured,
        "under_noise": noisy,
    }


def _subject(result: dict) -> str:
    """What was asked for beyond an ordinary SVM; empty if nothing was."""
    model, noise = result["model"], result["uncertainty"]
    if result["verdicts"] is not None:
        return f"a model of the {'gaps' if noise['errors'] is None else 'errors'}"
    parts = {
        "robustness": noise["largest"] > 0 or noise["asked"] is not None,
        "the norm penalty": model["norm_penalty"] > 0,
        "doubting labels": model["ramp"] is not None,
    }
    return " and ".join(name for name, there in parts.items() if there)


def _useless(found: dict, kind: str) -> bool:
    """Whether the model is no better than always naming one class.

    A model that ignores its features withstands any noise, and is of no use.
    """
    own = next(iter(found["models"].values()))[kind]
    return not own["mean"] > found["majority"]


def _finding(found: dict, kind: str) -> str:
    """Better than both, and than naming one class; worse than some; even."""
    gains = [found["gains"][name][kind] for name in _RIVALS]
    if all(gain["low"] > 0 for gain in gains) and not _useless(found, kind):
        return "better"
    return "worse" if any(gain["high"] < 0 for gain in gains) else "even"


def _numbers(result: dict) -> str:
    """What the model is ahead of each ordinary SVM."""
    found, noise = result["evaluation"], result["uncertainty"]
    same, tuned = _RIVALS
    plain, under = "", ""
    if noise["asked"] is not None:
        at = f"of radius {number(noise['asked'])} {noise['unit']}"
        at = "at the radius of each row" if noise["per_row"] else at
        plain, under = " on the data as given", f" under worst-case noise {at}"

    def ahead(name: str, plain: str = "", under: str = "") -> str:
        gains = found["gains"][name]
        told = f"{tell_points(gains['accuracy'])}{plain}"
        if noise["asked"] is None:
            return told
        return f"{told} and {tell_points(gains['certified'])}{under}"

    points = f" percentage points of {found['measure']}{plain}"
    return (
        f"Compared with {_RIVALS[same]}: {ahead(same, points, under)}. Compared with "
        f"{_RIVALS[tuned]}: {ahead(tuned)}."
    )
