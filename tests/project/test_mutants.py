"""The mutants of `make mutants` must not rot; running them is its business."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from mutants import MUTANTS, place_of


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_applies_and_is_a_program(mutant):
    text = place_of(mutant).read_text(encoding="utf-8")
    broken = mutant.applied(text)
    assert broken != text
    ast.parse(broken)
    file, _, test = mutant.suspect.partition("::")
    assert f"def {test}" in (Path(__file__).parents[1] / file).read_text(
        encoding="utf-8"
    )


def test_a_mutant_that_does_not_apply_is_loud():
    with pytest.raises(ValueError, match="0 times, not once"):
        MUTANTS[0].applied("")
