"""Find a C compiler for the kernels: the Makefile evaluates what this prints.

Nothing is printed where CC is set or Python's own compiler is there. Elsewhere the
package `ziglang`, which is a C compiler, is installed beside this Python and named by
its path, for pip builds in an environment that does not see its module.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig

#: Where there is neither a compiler nor a package index.
ADVICE = """\
wideberth's kernels are compiled when it is installed, and there is no C compiler here.
Install one (Debian: apt install build-essential; Fedora: dnf install gcc; macOS:
xcode-select --install), or set CC to the one you have."""


def variables() -> dict[str, str]:
    """What to set for pip, besides what is set."""
    usual = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
    if os.environ.get("CC") or shutil.which(usual):
        return {}
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "ziglang"]
    print(f"No {usual}: taking the C compiler of ziglang.", file=sys.stderr)
    if subprocess.run([*pip, "--disable-pip-version-check"]).returncode:
        sys.exit(ADVICE)
    where = "import ziglang, os; print(os.path.dirname(ziglang.__file__))"
    folder = subprocess.check_output([sys.executable, "-c", where], text=True).strip()
    compiler = shlex.quote(os.path.join(folder, "zig")) + " cc"
    return {"CC": compiler, "LDSHARED": f"{compiler} -shared"}


if __name__ == "__main__":
    for name, value in variables().items():
        print(f"export {name}={shlex.quote(value)}")
