"""Mistakes in answers about rows that are read in chunks, and in runs that go on."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "columns of open data taken in the order of the file",
        "estimators/streaming.py",
        "            if self.order is not None:\n",
        "            if False:\n",
        "estimators/test_streaming.py::"
        "test_open_data_may_have_its_columns_in_another_order",
    ),
    Mutant(
        "weights of rows in chunks forgotten in a score",
        "estimators/streaming.py",
        "        if chunk.weight is None:\n",
        "        if True:\n",
        "test_roads.py::test_models_answer_alike_whatever_form_the_rows_come_in",
    ),
    Mutant(
        "rows of later parts of a table numbered from the first",
        "data/table.py",
        "            table.start = n\n",
        "            table.start = 0\n",
        "cli/test_cli_streaming.py::test_parts_of_a_table_are_told_as_the_whole",
    ),
    Mutant(
        "rows taken unchecked where a run goes on",
        "solvers/chunks/chunked.py",
        "_Asked(self.terms, question, self.beyond, not self.checked)",
        "_Asked(self.terms, question, self.beyond, False)",
        "solvers/test_checkpoint.py::test_data_is_checked_where_a_run_goes_on_too",
    ),
    Mutant(
        "a sample drawn from the first rows",
        "data/sampling.py",
        "np.random.default_rng((self.seed, chunk.number)).random(chunk.n)",
        "chunk.number + np.arange(chunk.n) / chunk.n",
        "estimators/test_streaming.py::"
        "test_a_sample_is_drawn_evenly_and_the_same_on_every_road",
    ),
    Mutant(
        "imputations whose mean is taken for the truth",
        "measurement/radius.py",
        "max(_student(confidence, m - 1), 0.0) * np.sqrt(1 + 1 / m)",
        "max(_student(confidence, m - 1), 0.0)",
        "measurement/test_radius.py::test_a_margin_along_one_direction_is_covered_exactly",
    ),
    Mutant(
        "a search that warns of every fold",
        "estimators/issuing.py",
        "            if str(note) in told:\n",
        "            if False:\n",
        "estimators/test_searches.py::test_a_search_warns_once_not_once_for_every_fold",
    ),
]
