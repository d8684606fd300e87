"""Mistakes in reading tables that are damaged, odd or very wide."""

from mistakes.mutant import Mutant

_UNTRUSTED = "data/test_untrusted.py::test_"
_UNNAMED = "data/test_unnamed.py::test_"
_NAMES = "data/test_names.py::test_"
_SOURCES = "cli/test_cli_sources.py::test_"

MUTANTS = [
    Mutant(
        "rows that a Parquet file promises and does not have",
        "data/columnar.py",
        "                if row != promised:\n",
        "                if False:\n",
        f"{_UNTRUSTED}a_table_of_fewer_rows_than_it_promises_is_damaged",
    ),
    Mutant(
        "a file that asks for any amount of memory ends in a MemoryError",
        "data/streams.py",
        "    except (DataError, ImportError, BrokenPipeError):\n",
        "    except (DataError, ImportError, MemoryError, BrokenPipeError):\n",
        f"{_UNTRUSTED}an_archive_that_asks_for_any_amount_of_memory",
    ),
    Mutant(
        "lists in a file taken for labels",
        "data/columnar.py",
        "            if types.is_nested(kind):\n",
        "            if False:\n",
        f"{_UNTRUSTED}a_label_is_one_value",
    ),
    Mutant(
        "lists in memory taken for labels",
        "problem/labels.py",
        "        if _is_collection(value):\n",
        "        if False:\n",
        "problem/test_labels.py::test_what_is_no_label_is_refused_on_every_road",
    ),
    Mutant(
        "a quote that is never closed takes all rows below",
        "data/quotes.py",
        "        return self.right and self.count % 2 == 0\n",
        "        return self.right\n",
        f"{_SOURCES}what_is_wrong_with_a_csv_is_said_with_row_and_column",
    ),
    Mutant(
        "quotes between two reads of a file overlooked",
        "data/quotes.py",
        "        self._last = data[-2:]\n",
        "        self._last = data[-1:]\n",
        f"{_SOURCES}quotes_that_pyarrow_would_misread_are_noticed",
    ),
    Mutant(
        "quotes within cells taken for those around them",
        "data/quotes.py",
        "            self.right = bool(self.border[beside].all())\n",
        "",
        f"{_SOURCES}what_is_wrong_with_a_csv_is_said_with_row_and_column",
    ),
    Mutant(
        "a line of blanks taken for a cell of the only column",
        "data/delimited.py",
        "    plain = plain and len(names) > 1",
        "    pass",
        f"{_SOURCES}blank_lines_and_quotes_are_the_same_in_every_encoding",
    ),
    Mutant(
        "rows of too few empty cells skipped",
        "data/delimited.py",
        "row.actual_columns == 1 and row.text.isspace()",
        "row.text.isspace()",
        f"{_SOURCES}what_is_wrong_with_a_csv_is_said_with_row_and_column",
    ),
    Mutant(
        "a header without a line end not skipped",
        "data/quotes.py",
        '            yield data\n    yield b"\\n"\n',
        "            yield data\n",
        f"{_SOURCES}what_is_wrong_with_a_csv_is_said_with_row_and_column",
    ),
    Mutant(
        "columns without a name as features",
        "data/table.py",
        "        return self.names.without({*aside, *self.unnamed})\n",
        "        return self.names.without(aside)\n",
        f"{_UNNAMED}an_empty_column_is_left_out_on_every_road",
    ),
    Mutant(
        "columns without a name left out, whatever they hold",
        "data/table.py",
        "empty = tuple(name for name in self.unnamed if name not in aside)\n",
        "pass\n",
        f"{_UNNAMED}an_index_is_refused_on_every_road",
    ),
    Mutant(
        "columns without a name turned into categories",
        "cli/training_options.py",
        "reader.text_columns(reader.others(aside))",
        "reader.text_columns(reader.names.without(aside))",
        f"{_UNNAMED}an_index_is_refused_on_every_road",
    ),
    Mutant(
        "columns without a name counted as those of a model",
        "data/opening.py",
        "        names = reader.others(aside)\n",
        "        names = reader.names.without(aside)\n",
        f"{_UNNAMED}an_empty_column_is_none_of_those_that_a_model_without_names_knows",
    ),
    Mutant(
        "columns without a name looked into where errors are read in pieces",
        "cli/reading.py",
        "    own: dict = dict.fromkeys(plan.features)\n",
        "    own: dict = dict.fromkeys((*plan.features, *plan.empty))\n",
        f"{_UNNAMED}an_empty_column_is_left_out_on_every_road",
    ),
    Mutant(
        "every feature named before one is asked for",
        "data/libsvm.py",
        "        self.features = Names(numbers=self.indices)\n",
        "        self.features = Names(list(Names(numbers=self.indices)))\n",
        f"{_NAMES}features_that_are_numbers_are_not_named_unless_somebody_asks",
    ),
    Mutant(
        "x01 taken for x1",
        "data/names.py",
        'r"x(0|[1-9]\\d{0,17})"',
        'r"x(\\d{1,18})"',
        f"{_NAMES}names_are_as_a_list_of_them",
    ),
    Mutant(
        "numbers that are not there found where they would be",
        "data/names.py",
        "            found = np.where(there, found, len(own))\n",
        "",
        f"{_NAMES}names_are_found_where_a_list_has_them",
    ),
    Mutant(
        "ranges of numbers laid side by side wherever they start",
        "data/names.py",
        "(ranges and own[:1] == numbers[:1])",
        "ranges",
        f"{_NAMES}names_are_found_where_a_list_has_them",
    ),
    Mutant(
        "features that no row has left out of sparse rows",
        "data/arrays.py",
        "    if width <= X.shape[1]:\n",
        "    if True:\n",
        f"{_NAMES}a_model_of_more_features_than_a_file_finds_zeros",
    ),
]
