"""Did it pay? One sentence, the same on the screen, in JSON and in the report.

What was asked for beyond an ordinary SVM pays if it is ahead of both ordinary ones, the
one with the same C and the one whose C is tuned: more accurate on rows left out, as
measured or under the worst noise, beyond what chance explains (`gain.py`).
"""

from __future__ import annotations

from wideberth.cli.gain import tell_points
from wideberth.cli.output import number

#: What the sentence begins with, by what it found as measured and under noise.
_FINDINGS = {
    ("better", "better"): "paid here",
    ("even", "better"): "paid here under noise, with no difference that shows without",
    ("worse", "better"): "paid here under noise, and cost accuracy without",
    (
        "better",
        "even",
    ): "paid here without noise, with no difference that shows under it",
    ("better", "worse"): "paid here without noise, and cost accuracy under it",
    ("better", None): "paid here",
    ("worse", "even"): "did not pay here, it cost accuracy",
    ("worse", "worse"): "did not pay here, it cost accuracy",
    ("even", "worse"): "did not pay here, it cost accuracy under noise",
    ("worse", None): "did not pay here, it cost accuracy",
    ("even", "even"): "did not pay here, as far as these rows can tell",
    ("even", None): "did not pay here, as far as these rows can tell",
}
_HOW = "--radius, --noise-scales, --errors or --replicates"


def judge_worth(result: dict) -> dict:
    """The sentence, and what it found on each kind of data.

    `as_measured` and `under_noise` are better, worse or even (not told apart), and None
    where there is nothing to compare.
    """
    found, subject = result["evaluation"], _subject(result)
    nothing = {"as_measured": None, "under_noise": None}
    if not subject or (found is not None and not found["gains"]):
        about = (
            "This is an ordinary SVM: it expects no noise, so there is no robustness "
            f"to judge; {_HOW} say how far values may be off."
        )
        return {"sentence": about, **nothing}
    if found is None:
        about = f"Whether {subject} paid is not known: there was no cross-validation."
        return {"sentence": about, **nothing}
    noise, radius = result["uncertainty"], result["uncertainty"]["asked"]
    measured, noisy = _finding(found, "accuracy"), None
    numbers = f"accuracy as measured {_against(found['gains'])}"
    if radius is not None:
        noisy = _finding(found, "certified")
        at = f" of radius {number(radius)} {noise['unit']},"
        at = ", at the radius of each row," if noise["per_row"] else at
        ahead = [tell_points(gain["certified"]) for gain in found["gains"].values()]
        numbers += f"; under the worst noise{at} {' and '.join(ahead)}"
    finding = _FINDINGS[measured, noisy]
    if radius is not None and noise["largest"] == 0:
        finding += ", and cross-validation chose radius 0"
    text = f"{subject[0].upper()}{subject[1:]} {finding}: {numbers}."
    return {"sentence": text, "as_measured": measured, "under_noise": noisy}


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


def _finding(found: dict, kind: str) -> str:
    """Better than both, and than naming the most common class; worse than some; even.

    A model that ignores its features withstands any noise, and is of no use.
    """
    own = next(iter(found["models"].values()))[kind]
    gains = [gain[kind] for gain in found["gains"].values()]
    if all(gain["low"] > 0 for gain in gains) and own["mean"] > found["majority"]:
        return "better"
    return "worse" if any(gain["high"] < 0 for gain in gains) else "even"


def _against(gains: dict) -> str:
    same, tuned = (tell_points(gain["accuracy"]) for gain in gains.values())
    return (
        f"{same} percentage points against an ordinary SVM with the same C, {tuned} "
        "against one with C tuned"
    )
