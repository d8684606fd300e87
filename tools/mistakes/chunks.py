"""Mistakes in how chunks are read, recognised and put together."""

from mistakes.mutant import Mutant

MUTANTS = [
    Mutant(
        "what is asked after a run told as part of it",
        "solvers/chunks/chunked.py",
        "search.dual_weights(screening, recorded=False)",
        "search.dual_weights(screening)",
        "problem/test_namespaces.py::test_what_is_proven_of_the_rows_is_asked_after_the_run",
    ),
    Mutant(
        "a chunk that changed taken for the same",
        "data/sources.py",
        "        if self._first.setdefault(number, found) != found:\n",
        "        if False:\n",
        "solvers/test_chunks.py::test_chunks_that_change_between_reads_are_noticed",
    ),
    Mutant(
        "a read that ends early taken for a whole one",
        "data/sources.py",
        "        if count != self._chunks:\n",
        "        if False:\n",
        "solvers/test_chunks.py::test_chunks_that_change_between_reads_are_noticed",
    ),
    Mutant(
        "a Dask partition that changed taken for the same",
        "data/dask.py",
        "            self._recognise(number, found, _ORIGIN)\n",
        "",
        "solvers/test_chunks.py::test_dask_partitions_that_change_are_noticed",
    ),
    Mutant(
        "labels left out of the checksum",
        "data/chunks.py",
        "        for part in (chunk.X, chunk.y, chunk.weight, chunk.radius)\n",
        "        for part in (chunk.X, chunk.weight, chunk.radius)\n",
        "solvers/test_chunks.py::test_chunks_that_change_between_reads_are_noticed",
    ),
    Mutant(
        "checksum blind to values that change places within a row",
        "data/chunks.py",
        "    return zlib.crc32(flat[whole:].data, zlib.crc32(columns.data, crc))\n",
        "    return zlib.crc32(flat[whole:].data, crc)\n",
        "solvers/test_chunks.py::test_a_checksum_tells_two_values_that_change_places",
    ),
    Mutant(
        "checksum blind to values that change places within a column",
        "data/chunks.py",
        "        crc = zlib.crc32(piece.sum(axis=1).data, crc)\n",
        "",
        "solvers/test_chunks.py::test_a_checksum_tells_two_values_that_change_places",
    ),
    Mutant(
        "checksum blind to pairs of signs",
        "data/chunks.py",
        "_WIDTHS = (1021, 1019, 1013)\n",
        "_WIDTHS = (1024, 1024, 1024)\n",
        "solvers/test_chunks.py::test_a_checksum_tells_signs",
    ),
    Mutant(
        "what was written to a copy-on-write map thrown away",
        "data/arrays.py",
        'self.X.mode in ("r", "r+", "w+")',
        'self.X.mode in ("r", "r+", "w+", "c")',
        "solvers/test_chunks.py::test_a_map_that_was_written_to_is_used_as_it_is",
    ),
    Mutant(
        "no second attempt out of core",
        "solvers/tall/working_set.py",
        "        if problem.shared and (work.exact or not found.meets(LITTLE)):\n",
        "        if False:\n",
        "problem/test_ends.py::test_chunks_with_weights_over_many_orders_are_solved",
    ),
    Mutant(
        "the null model beside a free intercept missed out of core",
        "solvers/tall/incumbent.py",
        "        if self._null is not None and self._null_is_optimal(self._null):\n",
        "        if False:\n",
        "problem/test_ends.py::test_chunks_know_the_null_model_that_memory_knows",
    ),
    Mutant(
        "a tiny model called the null model out of core",
        "solvers/tall/incumbent.py",
        "        if self.proof is None or self.proof.dual.w.any():\n",
        "        if self.proof is None:\n",
        "problem/test_ends.py::test_chunks_take_no_tiny_model_for_the_null_model",
    ),
    Mutant(
        "more features taken than their matrices have room for",
        "solvers/chunks/chunked.py",
        "    _check_room(source)\n",
        "",
        "solvers/test_chunks.py::test_more_features_than_their_matrices_have_room_for_are_refused",
    ),
]
