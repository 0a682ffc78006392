#!/usr/bin/env python3
"""Rewrites the golden texts: the compiler's stages, tests/golden/<case>.<stage>.txt, and the pictures
of `meshwork explain`, tests/explain/pictures/<case>.txt.

A change of the compiler shows itself in `git diff tests`; that diff is to be read like code.
"""
import argparse
import os
import pathlib
import subprocess
import sys


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=root / "build",
                        help="the build directory, build by default")
    build = parser.parse_args().build.resolve()
    if not (build / "build.ninja").is_file():
        parser.error(f"{build} is no build directory; set one up with meson setup")
    folders = {"compile_test": root / "tests" / "golden",
               "explain_test": root / "tests" / "explain" / "pictures"}
    subprocess.run(["ninja", "-C", build, *(f"tests/{test}" for test in folders)], check=True)
    for test, folder in folders.items():
        for text in folder.glob("*.txt"):
            text.unlink()
        subprocess.run(
            [build / "tests" / test, "--minimal", "--test-case=every*"],
            cwd=root,
            env={**os.environ, "MESHWORK_UPDATE_GOLDEN": "1"},
            check=True,
        )
    return subprocess.run(["git", "--no-pager", "diff", "--stat", *folders.values()],
                          cwd=root).returncode


if __name__ == "__main__":
    sys.exit(main())
