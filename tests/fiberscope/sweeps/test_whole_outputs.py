"""All that commands print and write, to the last word and number: that nothing has moved."""

import pytest
from whole_outputs import outputs_test

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")
test_no_word_and_no_number_of_the_commands_has_moved = pytest.mark.usefixtures("sweeps_here")(
    outputs_test(__file__)
)
