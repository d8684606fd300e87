"""How long the sentences of pages are: `python tools/readability.py docs/*.md`.

Code, tables, formulas, headings and directives do not count. A sentence ends at a full
stop, a question mark, an exclamation mark or a colon before a line break; a list entry
is a sentence of its own. The last line is that of all pages together.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: Words beyond which a sentence counts as long, the limit of plain-English guides.
LONG = 25


def prose(text: str) -> str:
    """The text without what is not read as a sentence."""
    text = re.sub(r"```.*?```", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^(:{3,}|\(.*\)=|:\w+:|#|\||    |<).*$", "\n", text, flags=re.M)
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text)
    text = re.sub(r"\{doc\}`([^<`]*)(<[^>]*>)?`", r"\1", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(text: str) -> list[int]:
    """The number of words of each sentence."""
    parts = re.split(r"\n\s*\n|\n\s*(?:[*-]|\d+\.)\s", prose(text))
    found = []
    for part in parts:
        line = " ".join(part.split())
        for each in re.split(r"(?<=[.?!])[*\])»”\"]*\s+(?=[\[*`“A-ZΩρα])|:$", line):
            words = [word for word in each.split() if re.search(r"\w", word)]
            if len(words) > 2:
                found.append(len(words))
    return found


def summary(name: str, lengths: list[int]) -> str:
    """One line: sentences, mean length, share of long ones."""
    count = max(len(lengths), 1)
    mean = sum(lengths) / count
    long = sum(length > LONG for length in lengths) / count
    return f"{name:32} {len(lengths):5} sentences {mean:5.1f} words {long:6.1%} long"


def main(paths: list[str]) -> None:
    """Print a line for each page and one for all."""
    every: list[int] = []
    for path in paths:
        lengths = sentences(Path(path).read_text("utf-8"))
        print(summary(Path(path).name, lengths))
        every += lengths
    print(summary("together", every))


if __name__ == "__main__":
    main(sys.argv[1:])
