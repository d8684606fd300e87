"""Code on pages: `python tools/pages.py docs/install.md` runs it from top to bottom.

Python blocks run first, in one name space; then commands behind `$` in console blocks,
in a shell. Both run in an empty folder. The tests take blocks apart by the same
functions and compare what code and commands print with what the page shows: a text
block right below a Python block is its output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def code_blocks(page: Path, language: str = "python") -> list[str]:
    """The blocks of one language on a page."""
    pattern = rf"```{language}\n(.*?)```"
    return re.findall(pattern, page.read_text("utf-8"), re.DOTALL)


def commands(page: Path) -> list[tuple[str, str]]:
    """What is typed behind each prompt of a page, and what is printed below it."""
    blocks = "".join(code_blocks(page, "console"))
    typed = re.split(r"^\$ ", blocks, flags=re.MULTILINE)[1:]
    return [_split_command(each) for each in typed]


def _split_command(typed: str) -> tuple[str, str]:
    lines, end = typed.splitlines(keepends=True), 1
    while "".join(lines[:end]).count('"') % 2 or lines[end - 1].endswith("\\\n"):
        end += 1
    return "".join(lines[:end]), "".join(lines[end:])


def shown_outputs(page: Path) -> list[str]:
    """For each Python block, the text block right below it; "" where there is none."""
    pattern = r"```python\n.*?```(?:\s*?\n```text\n(.*?)```)?"
    return re.findall(pattern, page.read_text("utf-8"), re.DOTALL)


def run_python(page: Path, printed: list[str] | None = None) -> dict:
    """Execute the Python blocks of a page; return the names that they define.

    What each block prints is appended to `printed`, where that is given.
    """
    names: dict = {}
    for block in code_blocks(page):
        code, out = compile(block, str(page), "exec"), io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        if printed is not None:
            printed.append(out.getvalue())
    return names


def main(pages: list[str]) -> None:
    """Run pages one after the other, each in a folder of its own."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for page in [Path(each).resolve() for each in pages]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run_python(page)
            for command, _ in commands(page):
                done = subprocess.run(
                    command, shell=True, env=os.environ | {"PATH": tools}
                )
                if done.returncode:
                    raise SystemExit(f"{page.name}: {command}exits {done.returncode}")
            os.chdir(page.parent)
        print(f"{page.name} runs")


if __name__ == "__main__":
    main(sys.argv[1:])
