"""Hold the files of a release against what must be in it, and what must not.

python tools/contents.py dist/wideberth-*.tar.gz dist/wideberth-*.whl
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
#: What Python, the compiler and the tests leave in the sources.
LEFT_OVER = {".c", ".so", ".pyd", ".pyc", ".nbi", ".nbc"}
#: Sources of the compiled modules, which a wheel may have or not.
SOURCES = {".pyx", ".pxd", ".h"}
#: Endings of a compiled module.
COMPILED = (".so", ".pyd")


def faults(archive: Path) -> list[str]:
    """What is missing in an archive or does not belong there."""
    package = [file for file in (ROOT / "src").rglob("*") if file.is_file()]
    package = [file for file in package if file.suffix not in LEFT_OVER]
    package = [file for file in package if ".egg-info" not in str(file)]
    wanted = {file.relative_to(ROOT / "src").as_posix() for file in package}
    kernels = {PurePosixPath(name).stem for name in wanted if name.endswith(".pyx")}
    if archive.suffix == ".whl":
        held = set(zipfile.ZipFile(archive).namelist())
        wanted = {name for name in wanted if PurePosixPath(name).suffix not in SOURCES}
        built = {
            PurePosixPath(name).name.partition(".")[0]
            for name in held
            if name.endswith(COMPILED)
        }
        missing = {f"the compiled {name}" for name in kernels - built}
        extra = {name for name in held if name.endswith((".c", ".pyc"))}
    else:
        with tarfile.open(archive) as opened:
            names = [name.partition("/")[2] for name in opened.getnames()]
        held = {name.removeprefix("src/") for name in names}
        missing = {"setup.py", "pyproject.toml", "Makefile"} - held
        extra = {name for name in held if PurePosixPath(name).suffix in LEFT_OVER}
    return [
        *(f"{archive.name} lacks {name}" for name in sorted(missing | wanted - held)),
        *(f"{archive.name} should not have {name}" for name in sorted(extra)),
    ]


if __name__ == "__main__":
    found = [fault for name in sys.argv[1:] for fault in faults(Path(name))]
    print("\n".join(found) or "sdist and wheel hold what they must, and nothing else")
    sys.exit(1 if found else 0)
