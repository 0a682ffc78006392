#!/usr/bin/env python3
"""Checks that a folder of src includes only what the matrix below lets it see, and that only
the files of a backend include its headers.

    scripts/check_layers.py [SRC]

Prints file:line for every include that does not fit and exits 1 if there is one.
"""

import pathlib
import re
import sys

# Who may include whom, in the order in which data passes through the folders: a row names all that a
# folder sees beside itself, and each of these stands above it. target.h, compile.h and their .cpp
# stand in src itself.
MAY_SEE = {
    "base": "",
    "target": "base",
    "config": "base",
    "graph": "base",
    "precompiled": "config graph",
    "elementwise": "graph",
    "ops": "base graph elementwise",
    "model": "base config graph ops",
    "autodiff": "base graph ops",
    "optim": "base config graph ops",
    "sharding": "base target config graph",
    "spmd": "base target config graph ops sharding",
    "rewrite": "base target graph ops",
    "plan": "base target config graph spmd",
    "compile": "base target config graph model autodiff optim sharding spmd rewrite plan",
    "machine": "base",
    "device": "base target machine",
    "comm": "base machine device",
    "backend": "base target graph elementwise device",
    "exec": "base graph plan device comm backend",
    "data": "base config",
    "state": "base comm data",
    "interchange": "base config graph model optim state",
    "job": "base target config graph model optim sharding plan compile machine device comm backend exec data state interchange",
    "train": "base config graph model optim sharding machine device comm exec data state job",
    "explain": "base config graph optim sharding spmd plan compile job train",
    "cli": "base config machine device comm data state interchange job train explain",
    "main": "machine cli",
}
ORDER = list(MAY_SEE)

# Folders within a folder that only their own files see.
CLOSED = ["backend/cpu/", "backend/cuda/"]

# Libraries that stay behind one folder.
PRIVATE = {
    "CLI/": "cli",
    "cublasLt.h": "backend",
    "cudnn_graph.h": "backend",
    "cuda.h": "device",
    "dnnl": "backend",
    "hdf5.h": "data",
    "mpi.h": "comm",
    "nccl.h": "comm",
    "nvrtc.h": "device",
    "utf8proc.h": "data",
    "yaml-cpp/": "config",
    "zip.h": "data",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """Of a path below src: 'ops/add.cpp' -> 'ops', 'compile.h' -> 'compile', 'main.cpp' -> 'main'."""
    if len(path.parts) > 1:
        return path.parts[0]
    return path.stem


def problem(path, bracket, target):
    """Why a file, by its path below src, may not include `target`; None if it may."""
    layer = layer_of(path)
    if bracket == "<":
        for library, owner in PRIVATE.items():
            if target.startswith(library) and layer != owner:
                return f"<{target}> stays inside {owner}"
        return None
    for folder in CLOSED:
        if target.startswith(folder) and not path.as_posix().startswith(folder):
            return f'"{target}" stays inside {folder}'
    other = layer_of(pathlib.PurePath(target))
    if other not in ORDER:
        return f'"{target}" names no folder of src; write "folder/file.h"'
    if other == layer or other in MAY_SEE[layer].split():
        return None
    return f"{layer} includes {other}; it may include only {', '.join(MAY_SEE[layer].split())}"


def wrong_rows():
    """Rows of the matrix that name what does not stand above them."""
    return [f"the row of {layer} names {other}, which does not stand above it"
            for i, layer in enumerate(ORDER) for other in MAY_SEE[layer].split() if other not in ORDER[:i]]


def check(source):
    problems = wrong_rows()
    for path in sorted(source.rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu", ".in"}:
            continue
        inside = path.relative_to(source)
        if layer_of(inside) not in ORDER:
            problems.append(f"{path}: '{layer_of(inside)}' has no row in the matrix")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            reason = match and problem(inside, *match.groups())
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
