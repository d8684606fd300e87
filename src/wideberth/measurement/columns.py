"""Which columns of a table hold the errors of which others, by their names.

A column holds the errors of the one whose name is left once a mark such as `_err` is
taken out of its own: `flux_err` of `flux`, `e_mass` of `mass`, `mag_err_g` of `mag_g`.
Two marks name the lower and the upper error of a lopsided tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from wideberth.problem.validation import short

#: Words for lower and upper errors.
_SIDES = (
    *(("min", "max"), ("lower", "upper"), ("low", "high")),
    *(("minus", "plus"), ("down", "up"), ("neg", "pos")),
)
_PAIRS = (
    *(f"suffix:_{w}_{d},_{w}_{u}" for w, (d, u) in product(("err", "error"), _SIDES)),
    "suffix:err2,err1",
)
_ENDS = ("err", "error", "stderr", "se", "sem", "std", "sd", "sigma", "unc")
_STARTS = ("e", "err", "error", "se", "std", "sd", "sigma", "unc")
#: Patterns that tables are known to use; the first that fits a column counts.
_KNOWN = (
    *_PAIRS,
    *(f"suffix:_{word}" for word in (*_ENDS, "uncertainty")),
    *(f"prefix:{word}_" for word in (*_STARTS, "uncertainty")),
    *("infix:_err", "infix:_error", "infix:err"),
)
_PLACES = ("suffix", "prefix", "infix")


def error_columns(
    names: Iterable[str], pattern: str = "auto"
) -> dict[str, str | tuple[str, str]]:
    """Map columns of values to the columns that hold their errors.

    Parameters
    ----------
    names : iterable of str
        The columns of a table.
    pattern : str, default="auto"
        Where the mark of an error column stands, and the mark: `"suffix:_err"`,
        `"prefix:e_"` or `"infix:_err"`. Two marks with a comma between them are of
        lower and upper errors: `"suffix:_error_min,_error_max"`. "auto" tries the usual
        ones. Marks and names are compared without regard to case.

    Returns
    -------
    dict of str to str, or to a pair (down, up) of them
        In the order of the names, without columns that have no errors; as `X_err` of
        `wideberth.solve` takes it beside the path of a table.

    Examples
    --------
    >>> from wideberth.measurement import error_columns
    >>> error_columns(["flux", "flux_err", "mag_g", "mag_err_g", "class"])
    {'flux': 'flux_err', 'mag_g': 'mag_err_g'}
    >>> error_columns(["x", "x_lo", "x_hi"], "suffix:_lo,_hi")
    {'x': ('x_lo', 'x_hi')}
    """
    columns = list(names)
    by_name = {name.casefold(): name for name in columns}
    text = "\n".join(by_name)
    found: dict[str, str | tuple[str, str]] = {}
    taken: set[str] = set()
    for one in _KNOWN if pattern == "auto" else (pattern,):
        place, marks = _read(one)
        if any(mark not in text for mark in marks):
            continue  # at once, where millions of features are only numbers
        for name in columns:
            if name in found or name in taken:
                continue
            for marked in _marked(name.casefold(), place, marks):
                errors = [by_name[own] for own in marked if own in by_name]
                free = taken.isdisjoint(errors) and found.keys().isdisjoint(errors)
                if len(errors) == len(marks) and free:
                    found[name] = (
                        errors[0] if len(errors) == 1 else (errors[0], errors[1])
                    )
                    taken.update(errors)
                    break
    return {name: found[name] for name in columns if name in found}


def _read(pattern) -> tuple[str, list[str]]:
    """The place of the marks in names, and one mark or two."""
    place, _, rest = pattern.partition(":") if isinstance(pattern, str) else ("",) * 3
    marks = rest.casefold().split(",")
    plain = all(marks) and len(set(marks)) == len(marks) <= 2
    if place not in _PLACES or not plain:
        raise ValueError(
            f"pattern={short(pattern)} does not say how error columns are named; give "
            "'auto', 'suffix:_err', 'prefix:e_', 'infix:_err', or two marks of lower "
            "and upper errors, 'suffix:_error_min,_error_max'."
        )
    return place, marks


def _marked(name: str, place: str, marks: list[str]) -> Iterator[list[str]]:
    """The names that the error columns of a column may have."""
    if place == "suffix":
        yield [name + mark for mark in marks]
    elif place == "prefix":
        yield [mark + name for mark in marks]
    else:
        for k in range(1, len(name)):
            yield [name[:k] + mark + name[k:] for mark in marks]
