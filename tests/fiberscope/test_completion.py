"""What the tab key offers, asked for as a shell asks for it."""

import pytest

from fiberscope import cli


def offered(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    words = line.split(" ")
    monkeypatch.setenv("_FIBERSCOPE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as ended:
        cli.run([])
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fiberscope inf", ["info"]),
        ("fiberscope sim ga", ["gamma"]),
        ("fiberscope compare e", ["extensor"]),
        ("fiberscope sim gamma wiki-V", ["wiki-Vote"]),
        ("fiberscope sim gamma a.mtx p2p-Gnutella31", ["p2p-Gnutella31"]),
        ("fiberscope sim gamma wiki-Vote --set pe.cou", ["pe.count=32"]),
        ("fiberscope sim gamma wiki-Vote --set fibercache.si", ["fibercache.size=3MiB"]),
        ("fiberscope sim --set pe.cou", []),
        ("fiberscope sim gama wiki-Vote --set pe.cou", []),
        ("fiberscope info ga", ["gamma"]),
        ("fiberscope info gamma pe.rad", ["pe.radix"]),
        ("fiberscope info wiki-Vote pe.rad", []),
        ("fiberscope model gamma wiki-Vote --set pe.cou", ["pe.count=32"]),
        ("fiberscope convert csr csc wiki-Vote --set memory.mod", ["memory.model=dram"]),
        ("fiberscope graph run spmv.gv --set dep", ["depth=16"]),
    ],
)
def test_words(line, words, capsys, monkeypatch):
    assert offered(capsys, monkeypatch, line) == words


def test_all_parameters_of_a_section(capsys, monkeypatch):
    words = offered(capsys, monkeypatch, "fiberscope sim extensor a.mtx --set tile.")
    assert words == ["tile.m=0", "tile.k=0", "tile.n=0"]
