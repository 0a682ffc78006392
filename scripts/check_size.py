#!/usr/bin/env python3
"""Prints the lines of code per folder; exits 1 if a file has more than 400.

    scripts/check_size.py [ROOT]
"""

import collections
import pathlib
import sys

LIMIT = 400
SUFFIXES = {".h", ".cpp", ".cu", ".py", ".sh"}


def main():
    default = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    lines = collections.Counter()
    too_long = []
    for top in ("src", "tests", "scripts"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            count = len(path.read_text(encoding="utf-8").splitlines())
            parts = path.relative_to(root).parts
            lines["/".join(parts[:2]) if len(parts) > 2 else top] += count
            if count > LIMIT:
                too_long.append(f"{path}: {count} lines, more than {LIMIT}; split it")
    for folder, count in lines.items():
        print(f"{count:7} {folder}")
    print(f"{sum(lines.values()):7} in all")
    for line in too_long:
        print(line)
    sys.exit(1 if too_long else 0)


if __name__ == "__main__":
    main()
