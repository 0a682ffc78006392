#!/usr/bin/env python3
"""Checks that a folder of src includes only folders above it.

    scripts/check_layers.py [SRC]

Prints file:line for every include that does not fit and exits 1 if there is one.
"""

import pathlib
import re
import sys

# In the order in which data passes through them. compile.h and compile.cpp stand in src itself.
ORDER = ["base", "config", "graph", "elementwise", "ops", "model", "autodiff", "optim", "sharding", "spmd", "rewrite", "plan",
         "compile", "comm", "backend", "exec", "data", "train", "cli"]

# Folders that may see less than all that is above them.
ONLY = {
    "backend": {"base", "elementwise", "graph"},
    "comm": {"base", "graph"},
    "data": {"base", "config"},
    "elementwise": {"graph"},
    "graph": {"base"},
}

# Libraries that stay behind one folder.
PRIVATE = {
    "CLI/": "cli",
    "dnnl": "backend",
    "mpi.h": "comm",
    "yaml-cpp/": "config",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """Of a path below src: 'ops/add.cpp' -> 'ops', 'compile.h' -> 'compile', 'main.cpp' -> None."""
    if len(path.parts) > 1:
        return path.parts[0]
    return path.stem if path.stem in ORDER else None


def problem(layer, bracket, target):
    """Why files of `layer` may not include `target`; None if they may."""
    if bracket == "<":
        for library, owner in PRIVATE.items():
            if target.startswith(library) and layer != owner:
                return f"<{target}> stays inside {owner}"
        return None
    other = layer_of(pathlib.PurePath(target))
    if other not in ORDER:
        return f'"{target}" names no folder of src; write "folder/file.h"'
    if layer is None or other == layer:
        return None
    if ORDER.index(other) > ORDER.index(layer):
        return f"{layer} includes {other}, which stands below it"
    if layer in ONLY and other not in ONLY[layer]:
        return f"{layer} includes {other}; it may include only {', '.join(sorted(ONLY[layer]))}"
    return None


def check(source):
    problems = []
    for path in sorted(source.rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu", ".in"}:
            continue
        layer = layer_of(path.relative_to(source))
        if layer is not None and layer not in ORDER:
            problems.append(f"{path}: '{layer}' has no place in the order of folders")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            reason = match and problem(layer, *match.groups())
            if reason:
                problems.append(f"{path}:{number}: {reason}")
    return problems


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "src"
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    if not source.is_dir():
        sys.exit(f"check_layers: {source} is not a directory")
    problems = check(source)
    for line in problems:
        print(line)
    print(f"layers: {len(problems)} wrong includes" if problems else "layers: fine")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
