"""Sentences of the documentation are short: a test holds each page to a mean and to a share of long ones.

Only prose counts: paragraphs and list items, without code, tables, headings, pictures and targets of links.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in [
        *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "DEVIATIONS")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
}
MEAN_WORDS = 19
LONG_WORDS = 35
LONG_SHARE = 0.05
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+).*?^(?P=indent)(?P=fence) *$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
NO_PROSE = re.compile(r"^ *(\||#|!\[|:::|<)")
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")
ITEM = re.compile(r"^ *([-*]|\d+\.) +")
LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\]\([^)]*\)")
CODE = re.compile(r"`+[^`]*`+")
END = re.compile(r"(?<=[.!?])[\")*]*\s+(?=[\"(*`]*[A-Z0-9`])")
STOPS = re.compile(r"\b(?:e\.g|i\.e|et al|vs|Fig|cf|approx)\.")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose, in order."""
    text = INDENTED.sub("", COMMENT.sub("", FENCE.sub("\n", text)))
    return [sentence for block in _blocks(text) for sentence in END.split(_plain(block)) if _words(sentence)]


def _blocks(text: str) -> list[str]:
    """The paragraphs and list items, each as one line."""
    blocks = [""]
    for line in text.splitlines():
        if not line.strip() or NO_PROSE.match(line):
            blocks.append("")
        elif ITEM.match(line):
            blocks.append(ITEM.sub("", line))
        else:
            blocks[-1] += " " + line.strip()
    return [block for block in blocks if block.strip()]


def _plain(block: str) -> str:
    """A block without what is no word: code is one word, a link is its text."""
    block = CODE.sub("`code`", LINK.sub(r"\g<text>", block))
    return STOPS.sub(lambda stop: stop[0].replace(".", ""), block).strip()


def _words(sentence: str) -> int:
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def find_faults(text: str) -> list[str]:
    """Describe how the sentences of a page break the rule, with its longest sentences."""
    sentences = split_sentences(text)
    if not sentences:
        return []
    counts = [_words(sentence) for sentence in sentences]
    mean = sum(counts) / len(counts)
    long = [sentence for sentence, count in zip(sentences, counts, strict=True) if count > LONG_WORDS]
    faults = []
    if mean > MEAN_WORDS:
        faults.append(f"{mean:.1f} words a sentence; {MEAN_WORDS} at most")
    if len(long) > LONG_SHARE * len(sentences):
        share = 100 * len(long) / len(sentences)
        faults += [f"{share:.1f} % of {len(sentences)} sentences have over {LONG_WORDS} words:", *long]
    return faults


@pytest.mark.parametrize("name", PAGES)
def test_the_sentences_of_the_page_are_short(name: str) -> None:
    assert find_faults(PAGES[name].read_text(encoding="utf-8")) == []


PAGE = """\
# A heading of any number of words does not count as prose at all, whatever is in it

One two [three four](a/long/target.md) `a b c d`. Six
seven? See Table 4.
<!-- a comment -->
- An item
  of one sentence
- Another. With two.

| a | table |

```sh
code is no prose
```

1. Last, by Zhang et al. in 2021
"""


def test_sentences_are_split_as_a_reader_would() -> None:
    assert split_sentences(PAGE) == [
        "One two three four `code`.",
        "Six seven?",
        "See Table 4.",
        "An item of one sentence",
        "Another.",
        "With two.",
        "Last, by Zhang et al in 2021",
    ]


def test_planted_long_sentences_are_found() -> None:
    short = "Five words are in here. " * 30
    assert find_faults(short) == []
    assert find_faults(short + ("word " * 36 + "here. ").capitalize() * 2) != []
    assert find_faults(("word " * 19 + "here. ").capitalize() * 2) != []
