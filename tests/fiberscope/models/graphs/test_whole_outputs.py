"""All that commands print and write, to the last word and number: that nothing has moved."""

from pathlib import Path

import pytest
from whole_outputs import check_outputs, read_commands

HERE = Path(__file__).parent


@pytest.mark.parametrize("commands", read_commands(HERE))
def test_no_word_and_no_number_of_the_commands_has_moved(commands, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    check_outputs(HERE, capsys, commands)
