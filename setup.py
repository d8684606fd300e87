"""The compiled part of the build; everything else is in pyproject.toml.

Every `.pyx` file in `src/wideberth/kernels` becomes an extension module.
"""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FOLDER = Path("src/wideberth/kernels")
#: Sums keep their order: no flag here lets a compiler reassociate them. Without -g0
#: Python's own flags make the modules five times as large, for debuggers.
UNIX = ["-O3", "-fno-math-errno", "-g0"]
FLAGS = ["/O2", "/utf-8"] if sys.platform == "win32" else UNIX

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"wideberth.kernels.{source.stem}",
                [str(source)],
                depends=[str(header) for header in FOLDER.glob("*.h")],
                extra_compile_args=FLAGS,
            )
            for source in sorted(FOLDER.glob("*.pyx"))
        ],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
        },
    )
)
