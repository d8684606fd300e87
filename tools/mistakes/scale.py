"""Mistakes in what is computed from data in chunks."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "one chunk left out of the certificate",
        "solvers/work.py",
        "        hinge = math.fsum(self._hinges)\n",
        "        hinge = math.fsum(self._hinges[1:])\n",
        "solvers/test_scale.py::test_the_certificate_is_that_of_the_whole_problem",
    ),
    Mutant(
        "free b decided by a ball",
        "solvers/tall.py",
        "if self.terms.intercept == 0:\n            return None\n",
        "if False:\n            return None\n",
        "solvers/test_scale.py::test_decisions_about_rows_in_chunks_are_right",
    ),
    Mutant(
        "margins of a ball taken where rows were settled",
        "solvers/passes.py",
        "problem.rows.margins(self.ball.w)",
        "problem.rows.margins(self.rule[0])",
        "solvers/test_scale.py::test_a_row_is_decided_iff_its_margin_keeps_to_one_side_all_over_the_ball",
    ),
    Mutant(
        "shares of the classes swapped",
        "solvers/passes.py",
        "upper, lower = (share * problem.weights for share in self.shares)",
        "lower, upper = (share * problem.weights for share in self.shares)",
        "solvers/test_scale.py::test_rows_settled_at_a_share_of_their_weight_have_that_dual_weight",
    ),
    Mutant(
        "members of other chunks",
        "solvers/passes.py",
        "if k == number}",
        "if k != number}",
        "solvers/test_scale.py::test_rows_settled_at_a_share_of_their_weight_have_that_dual_weight",
    ),
    Mutant(
        "rows drawn folded besides",
        "solvers/passes.py",
        "_without(near & active, piece.indices)",
        "near & active",
        "solvers/test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "rows kept folded besides",
        "solvers/passes.py",
        "_without(self.active, J)",
        "self.active",
        "solvers/test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "rows far from the margin folded on either side",
        "solvers/passes.py",
        "fold_samples(problem, ~near & active)",
        "fold_samples(problem, ~near)",
        "solvers/test_scale.py::test_the_certificate_is_true_whatever_the_memory",
    ),
    Mutant(
        "majority out of core without λ_b",
        "solvers/tall.py",
        "(light.total + penalty) / max",
        "light.total / max",
        "solvers/test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
    Mutant(
        "hinge of the null model for the other class",
        "solvers/tall.py",
        "max(1 - toward, 0.0) * heavy.total + (1 + toward) * light.total",
        "(1 + toward) * heavy.total + max(1 - toward, 0.0) * light.total",
        "solvers/test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
    Mutant(
        "noise of a class not scaled with its share",
        "solvers/tall.py",
        "s=share * fold.s",
        "s=fold.s",
        "solvers/test_scale.py::test_the_null_model_out_of_core_is_proven",
    ),
    Mutant(
        "chunks' shares of α not those of the null model",
        "solvers/tall.py",
        "shares = (share, 1.0) if heavy.balance > 0 else (1.0, share)",
        "shares = (1.0, share) if heavy.balance > 0 else (share, 1.0)",
        "solvers/test_scale.py::test_the_null_model_out_of_core_has_the_value_of_the_null_model",
    ),
]
