"""Mistakes in what is computed from data in chunks."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "one chunk left out of the certificate",
        "scale/work.py",
        "        hinge = math.fsum(self._hinges)\n",
        "        hinge = math.fsum(self._hinges[1:])\n",
        "test_scale.py::test_the_certificate_is_that_of_the_whole_problem",
    ),
    Mutant(
        "free b decided by a ball",
        "scale/tall.py",
        "if self.terms.intercept == 0:\n            return None\n",
        "if False:\n            return None\n",
        "test_scale.py::test_decisions_about_rows_in_chunks_are_right",
    ),
    Mutant(
        "margins of a ball taken where rows were settled",
        "scale/passes.py",
        "problem.rows.margins(self.ball.w)",
        "problem.rows.margins(self.rule[0])",
        "test_scale.py::test_a_row_is_decided_iff_its_margin_keeps_to_one_side_all_over_the_ball",
    ),
    Mutant(
        "shares of the classes swapped",
        "scale/passes.py",
        "upper, lower = (share * problem.weights for share in self.shares)",
        "lower, upper = (share * problem.weights for share in self.shares)",
        "test_scale.py::test_rows_settled_at_a_share_of_their_weight_have_that_dual_weight",
    ),
    Mutant(
        "members of other chunks",
        "scale/passes.py",
        "if k == number}",
        "if k != number}",
        "test_scale.py::test_rows_settled_at_a_share_of_their_weight_have_that_dual_weight",
    ),
    Mutant(
        "rows drawn folded besides",
        "scale/passes.py",
        "_without(near & active, piece.indices)",
        "near & active",
        "test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "rows kept folded besides",
        "scale/passes.py",
        "_without(self.active, J)",
        "self.active",
        "test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "rows far from the margin folded on either side",
        "scale/passes.py",
        "fold_samples(problem, ~near & active)",
        "fold_samples(problem, ~near)",
        "test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "majority out of core without λ_b",
        "scale/tall.py",
        "(light.total + penalty) / max",
        "light.total / max",
        "test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
    Mutant(
        "hinge of the null model for the other class",
        "scale/tall.py",
        "max(1 - toward, 0.0) * heavy.total + (1 + toward) * light.total",
        "(1 + toward) * heavy.total + max(1 - toward, 0.0) * light.total",
        "test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
    Mutant(
        "noise of a class not scaled with its share",
        "scale/tall.py",
        "s=share * fold.s",
        "s=fold.s",
        "test_scale.py::test_the_null_model_out_of_core_is_proven",
    ),
    Mutant(
        "chunks' shares of α not those of the null model",
        "scale/tall.py",
        "shares = (share, 1.0) if heavy.balance > 0 else (1.0, share)",
        "shares = (1.0, share) if heavy.balance > 0 else (share, 1.0)",
        "test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
]
