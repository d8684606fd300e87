"""Class labels as values, wherever they come from.

A file may write the same class as 1, +1 or 1.0, as True or true; another holds it as a
number or a truth value. All columns of labels, in training and when answers are
compared with them, are read here: as whole numbers where all of them are, as truth
values where all of them are, as text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import numpy as np

from wideberth.cli.errors import UserError, listed, quoted
from wideberth.data.numbers import looks_like_number

__all__ = ["as_labels", "check_classes", "label_values", "names_rows", "recognised"]

#: Largest number of different values that a column may hold whatever they are; beyond
#: it a column names rows if most values occur once, and fractions are measurements. A
#: choice, not measured: a message says what to do where it is wrong.
_FEW = 20
#: A whole number; not 007, which is a name, and no more digits than int64 holds.
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.0*)?", re.ASCII)
_TRUTH = {"true": True, "false": False}

Label = int | bool | str


def as_labels(texts: np.ndarray, target: str) -> np.ndarray:
    """Labels of rows to train on, as values."""
    values = label_values(set(texts.tolist()))
    check_classes(values, len(texts), target)
    return np.array([values[text] for text in texts])


def label_values(texts: Collection[str]) -> dict[str, Label]:
    """The value that each of the labels of a column stands for."""
    for read in (_truth, _whole):
        values = {text: read(text) for text in texts}
        if None not in values.values():
            return values  # type: ignore[return-value]
    return {text: text for text in texts}


def check_classes(values: dict[str, Label], n: int, target: str) -> None:
    """Refuse labels of n rows that cannot be classes."""
    distinct = sorted(values)
    if len(set(values.values())) < 2:
        raise UserError(
            f"the target column {quoted(target)} holds a single class, "
            f"{listed(distinct)}; a classifier needs at least two."
        )
    whole = not any(isinstance(value, str) for value in values.values())
    measured = not whole and all(map(looks_like_number, distinct))
    if (measured and len(distinct) > _FEW) or names_rows(len(distinct), n):
        raise UserError(
            f"the target column {quoted(target)} holds {len(distinct)} different "
            f"values in {n} rows ({listed(distinct, 3)}); it must hold a class, not a "
            "measurement or an identifier."
        )


def names_rows(distinct: int, n: int) -> bool:
    """Whether a column of n rows with so many different values names the rows."""
    return distinct > _FEW and 2 * distinct > n


def recognised(texts: Iterable[str | None], classes: Iterable) -> list:
    """The class of a model that each label names; None where there is no label.

    A label that names no class is given back as the text it is, which equals none.
    """
    by_text = {str(label): label for label in classes}
    by_value: dict = {}
    for text, label in by_text.items():
        # Two classes of one value, such as 1.1 and 1.10, are told apart by text alone.
        value = _value(text)
        by_value[value] = label if value not in by_value else None

    def found(text: str):
        if text in by_text:
            return by_text[text]
        label = by_value.get(_value(text))
        return f"{text}" if label is None else label

    return [None if text is None else found(text) for text in texts]


def _value(text: str) -> object:
    """What a label is compared by; Python holds 1, 1.0 and True to be equal."""
    for read in (_truth, _whole):
        value = read(text)
        if value is not None:
            return value
    try:
        return float(text) if text.isascii() and "_" not in text else text
    except ValueError:
        return text


def _whole(text: str) -> int | None:
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None


def _truth(text: str) -> bool | None:
    return _TRUTH.get(text.lower())
