"""Names of error columns: what is paired, and what is refused."""

import pytest

from wideberth.errors import columns as error_columns


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("flux", "flux_err"),
        ("mag_g", "mag_err_g"),
        ("x", ("x_error_min", "x_error_max")),
        ("x", ("x_err_lower", "x_err_upper")),
        ("pl_mass", ("pl_masserr2", "pl_masserr1")),
        ("x", "x_std"),
        ("x", "x_se"),
        ("x", "e_x"),
        ("x", "x_unc"),
        ("x", "sigma_x"),
        ("FLUX_AUTO", "FLUXERR_AUTO"),
        ("Flux", "flux_ERR"),
    ],
)
def test_usual_names_are_known(name, errors):
    """A value column and its errors, between others, are found in any order."""
    own = [errors] if isinstance(errors, str) else list(errors)
    for names in ([name, *own, "other"], [*own[::-1], "other", name]):
        assert error_columns(names) == {name: errors}


def test_patterns():
    """A pattern finds what it says and nothing else."""
    names = ["a", "a_err", "b", "e_b", "c", "c_lo", "c_hi", "err_free"]
    assert error_columns(names, "suffix:_err") == {"a": "a_err"}
    assert error_columns(names, "prefix:e_") == {"b": "e_b"}
    assert error_columns(names, "suffix:_lo,_hi") == {"c": ("c_lo", "c_hi")}
    assert error_columns(names, "suffix:_x") == {}
    assert error_columns(["x", "x_err", "x_err_err"], "suffix:_err") == {"x": "x_err"}


@pytest.mark.parametrize("pattern", ["err", "suffix:", "suffix:a,a", "in:x", None, 3])
def test_what_is_no_pattern_is_refused(pattern):
    """The message names what may be given."""
    with pytest.raises(ValueError, match="suffix:_err"):
        error_columns(["x"], pattern)
