"""All that commands print and write, to the last word and number: that nothing has moved."""

from whole_outputs import outputs_test

test_no_word_and_no_number_of_the_commands_has_moved = outputs_test(__file__)
