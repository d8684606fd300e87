"""What `make mutants` draws from; running the mutants is its business."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from mutants import kernel_mutants_of, mutants_of


def changes(formula):
    """The mutants of one formula, as text."""
    text = f"def f():\n    return {formula}\n"
    return {mutant.after for mutant in mutants_of("x.py", text)}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a + b", {"a - b", "a", "b"}),
        ("a - b", {"a + b", "a"}),
        ("a * b", {"a / b"}),
        ("a / b", {"a * b"}),
        ("-a", {"a"}),
        ("not a", {"a"}),
        ("~a", {"a"}),
        ("a & b", {"a | b"}),
        ("a and b", {"a or b"}),
        ("a or b", {"a and b"}),
        ("a < b", {"a <= b", "a > b"}),
        ("a >= b", {"a > b", "a <= b"}),
        ("a == b", {"a != b"}),
        ("a < b < c", {"a <= b < c", "a > b < c", "a < b <= c", "a < b > c"}),
        ("a < LIMIT", {"a > LIMIT"}),
        ("2 * a", {"2 / a", "a"}),
        ("a / 2", {"a * 2", "a"}),
        ("a ** 2", {"a"}),
        ("LIMIT * a", set()),
        ("a * self.y[b]", set()),
        ("y * a", {"y / a"}),
        ("sum(a)", {"max(a)"}),
        ("x.sum(axis=0)", {"x.max(axis=0)", "x.sum()"}),
        ("np.var(a, ddof=1)", {"np.var(a)"}),
        ("np.maximum(a, 0)", {"np.minimum(a, 0)", "a"}),
        ("at_least(0.0, a)", {"minimum(0.0, a)", "a"}),
        ("np.abs(a)", {"a"}),
        ("max(a, b)", {"min(a, b)", "a"}),
        ("max(f for f in a)", {"min((f for f in a))"}),
        ("a if b else c", {"a", "c"}),
        ("True", {"False"}),
        ("'a' + b", set()),
        ("f'{a + b}'", set()),
        ("3 * a", {"3 / a"}),
    ],
)
def test_each_formula_has_the_mistakes_that_one_makes(formula, expected):
    assert changes(formula) == expected


@pytest.mark.parametrize(
    "way", ["raise ValueError(a + b)", "self._refuse(a + b)", "return a", "continue"]
)
def test_guards_are_dropped(way):
    text = f"def f(a):\n    for a in b:\n        if a:\n            {way}\n"
    (mutant,) = mutants_of("x.py", text)
    assert mutant.applied(text) == text.replace("if a:", "if (False):")


LEFT_ALONE = '''
"""Not a + b."""
LIMIT = 2 * 3 + 1

class A:
    """Not a - b."""
    field: int = 2 * 3

    def __repr__(self):
        return self.a + self.b

    def f(self, a: int | None = -1, b=2 * 3) -> int | None:
        """Not a * b."""
        c: int | None = a
        warnings.warn("a" * (2 + 3))
        raise ValueError(f"{a + b}" + str(a - b))
'''


def test_texts_annotations_and_constants_are_left_alone():
    assert mutants_of("x.py", LEFT_ALONE) == []


def test_kernels_are_changed_token_by_token_where_nothing_is_declared():
    text = dedent(
        """
        cdef double mean(const double *x, Py_ssize_t n) noexcept nogil:
            cdef double total = 0.0 * n
            for i in range(n):
                total += x[i]
            return total / n if n > 1 else 0.0
        """
    )
    mutants = kernel_mutants_of("kernels/x.pyx", text)
    assert {mutant.function for mutant in mutants} == {"mean"}
    assert [mutant.after for mutant in mutants] == [
        "total -= x[i]",
        "return total * n if n > 1 else 0.0",
        "return total / n if n < 1 else 0.0",
        "return total / n if n >= 1 else 0.0",
        "return total / n if n > 0 else 0.0",
        "return total / n if n > 1 else 1.0",
    ]
    assert "total -= x[i]" in mutants[0].applied(text)
