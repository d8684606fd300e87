"""Did it pay? One sentence that answers, the same on the screen, in JSON and the report.

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
    ("better", "even"): "paid here without noise, with no difference that shows under it",
    ("better", "worse"): "paid here without noise, and cost accuracy under it",
    ("better", None): "paid here",
    ("worse", "even"): "did not pay here, it cost accuracy",
    ("worse", "worse"): "did not pay here, it cost accuracy",
    ("even", "worse"): "did not pay here, it cost accuracy under noise",
    ("worse", None): "did not pay here, it cost accuracy",
    ("even", "even"): "did not pay here, as far as the folds can tell",
    ("even", None): "did not pay here, as far as the folds can tell",
}
_HOW = "--radius, --noise-scales, --errors or --replicates"


def judge_worth(result: dict) -> dict:
    """The sentence, and what it found on each kind of data.

    `as_measured` and `under_noise` are better, worse or even (not told apart), and None
    where there is nothing to compare.
    """
    found, subject = result["evaluation"], _subject(result)
    nothing = {"as_measured": None, "under_noise": None}
    if not subject:
        about = (
            "This is an ordinary SVM: it expects no noise, so there is no robustness "
            f"to judge; {_HOW} say how far values may be off."
        )
        return {"sentence": about, **nothing}
    if found is None:
        why = "some class has a single row" if result["request"]["folds"] else (
            "there was no cross-validation"
        )  # fmt: skip
        return {"sentence": f"Whether {subject} paid is not known: {why}.", **nothing}
    kinds = {"as_measured": "accuracy", "under_noise": "certified"}
    said = {name: _finding(found, kind) for name, kind in kinds.items()}
    if not found["noise"]:
        said["under_noise"] = None
    finding = _FINDINGS[said["as_measured"], said["under_noise"]]
    if result["verdicts"] is None and result["uncertainty"]["largest"] == 0 < _asked(found):
        finding += ", and cross-validation chose radius 0"
    numbers = f"accuracy as measured {_against(found, 'accuracy')}"
    if said["under_noise"]:
        at = "" if result["uncertainty"]["per_row"] else f" of radius {number(found['noise'])}"
        others = " and ".join(
            tell_points(gain["certified"]) for gain in found["gains"].values()
        )
        numbers += f"; under the worst noise{at} {others}"
    text = f"{subject[0].upper()}{subject[1:]} {finding}: {numbers}."
    return {"sentence": text, **said}


def _asked(found: dict) -> float:
    return found["noise"] or 0.0


def _subject(result: dict) -> str:
    """What was asked for beyond an ordinary SVM; empty if nothing was."""
    if result["verdicts"] is not None:
        gaps = result["uncertainty"]["errors"] is None
        return f"a model of the {'gaps' if gaps else 'errors'}"
    model, found = result["model"], result["evaluation"]
    noisy = result["uncertainty"]["largest"] > 0 or (found and found["gains"] and found["noise"])
    parts = {
        "robustness": noisy,
        "the norm penalty": model["norm_penalty"] > 0,
        "doubting labels": model["loss"] == "ramp",
    }
    return " and ".join(name for name, there in parts.items() if there)


def _finding(found: dict, kind: str) -> str | None:
    """Better than both, and than naming the most common class; worse than some; even.

    A model that ignores its features withstands any noise, and is of no use.
    """
    own = next(iter(found["models"].values()))[kind]
    if own is None or not found["gains"]:
        return None
    gains = [gain[kind] for gain in found["gains"].values()]
    if all(gain["low"] > 0 for gain in gains) and own["mean"] > found["majority"]:
        return "better"
    return "worse" if any(gain["high"] < 0 for gain in gains) else "even"


def _against(found: dict, kind: str) -> str:
    same, tuned = (tell_points(gain[kind]) for gain in found["gains"].values())
    return (
        f"{same} percentage points against an ordinary SVM with the same C, {tuned} "
        "against one with C tuned"
    )
