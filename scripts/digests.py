#!/usr/bin/env python3
"""Trains every configuration for a few steps on many meshes, and compares the digests of all
variables, and the losses, with those of tests/fixtures/digests.txt.

    scripts/digests.py [--build BUILD] [--quick] [--update] [NAME ...]

    --build    the build directory, build by default
    --quick    the quick ones only, in some seconds
    --update   writes the list instead
    NAME       only configurations of this name

Sums depend on the processor's instructions and caches and on the version of oneDNN: where they are
not those of the list, nothing is compared, and the exit code is 77. Every device has one thread.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/fixtures/digests.txt"
SKIPPED = 77  # as Meson has it
INSTRUCTIONS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16",
                "amx_bf16")

COLUMNS = "layout_map={%s/kernel: [null, model], %s/bias: [model]}"
PAIR = "layout_map={%s/kernel: [null, model], %s/bias: [model], %s/kernel: [model, null]}"
TILES = "layout_map={input/output: [data, height, width, null]}"
MODEL = "strategy=model_parallel"
BF16 = "precision=mixed_bfloat16"
FASHION = "dataset=fashion_mnist"  # comes with the packages, other than MNIST
QUICK = {"uneven", "tiles", "keras_guide", "fashion_mnist"}


def perceptron(axis, layouts):
    """Meshes of which the second axis splits layers, with what they need."""
    meshes = {f"{axis}={n}": [] for n in (1, 8)}
    for n, m in (2, 4), (4, 2), (1, 8):
        meshes[f"{axis}={n},model={m}"] = [MODEL, layouts]
    return meshes


def images():
    meshes = {f"data={n}": [] for n in (1, 2, 8)}
    for n, h, w in (1, 2, 1), (2, 2, 2), (1, 4, 2):
        meshes[f"data={n},height={h},width={w}"] = [MODEL, TILES]
    return meshes


def own(*meshes):
    """Of the layouts that the configuration has."""
    return {mesh: [] for mesh in meshes}


# Configuration, keys, mesh -> further keys.
CASES = [
    ("uneven", (), own("1x1", "3x2", "2x4", "8x1", "1x8", "4x2")),
    ("uneven", (BF16,), own("1x1", "3x2")),
    ("tiles", (), own("1x1x1", "1x3x2", "2x2x2", "8x1x1", "1x8x1")),
    ("tiles", (BF16,), own("1x1x1", "2x2x2")),
    ("keras_guide", (), own("1x1", "8x1", "2x4", "4x2", "1x8")),
    ("fashion_mnist", (), own("1x1", "8x1", "2x4", "4x2", "1x8")),
    ("fashion_mnist", (BF16,), own("1x1", "2x4")),
    ("fashion_mnist", ("fusion=false",), own("2x2")),
    ("bench_mlp", (), perceptron("data", PAIR % ("dense", "dense", "dense_1"))),
    ("dtensor_mnist_tuned", (FASHION,), perceptron("batch", COLUMNS % ("d1", "d1"))),
    ("bench_wide", ("fit.batch_size=32",), own("data=1", "data=2", "data=8")),
    ("bench_wide", ("fit.batch_size=32", "optimizer_layout={}"),
     {"data=2,model=4": [MODEL, PAIR % ("dense", "dense", "dense_1")]}),
    ("bench_wide", ("fit.batch_size=32", BF16), own("data=1")),
    ("jax_convnet_tuned", (FASHION,), images()),
    ("jax_convnet_tuned", (FASHION, BF16), own("data=1", "data=2")),
    ("resnet", ("fit.batch_size=32",), images()),
    ("resnet", ("fit.batch_size=32", "model.params.kind=bottleneck"), own("data=2")),
]


def wanted(arguments):
    """(what the list calls it, words of the command line)"""
    for config, keys, meshes in CASES:
        if arguments.quick and config not in QUICK:
            continue
        if arguments.names and config not in arguments.names:
            continue
        for mesh, more in meshes.items():
            words = [f"configs/{config}.yaml", "--mesh", mesh, *keys, *more]
            yield " ".join([config, mesh, *keys]), words


def run(build, words):
    """Digest and loss of three steps."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        done = subprocess.run(
            [build / "src/meshwork", "fit", *words, "--verbose", "0", "fit.steps_per_epoch=3",
             "fit.epochs=1", "fit.validation=false", f"run_directory={scratch}"],
            cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    last = (done.stdout.splitlines() or [""])[-1]
    found = re.search(r"^final loss=(\S+) .*digest=(\w+)", last)
    return f"{found[2]} {found[1]}" if found else f"failed: {done.stderr.strip()}"


def machine(build):
    """What digests depend on beside the program."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(re.search(r"^flags\s*:(.*)$", file.read(), re.M)[1].split())
    caches = [path.read_text().strip() for path in
              sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index[23]/size"))]
    linked = subprocess.run(["ldd", build / "src/meshwork"], text=True, capture_output=True,
                            check=True).stdout
    library = re.search(r"libdnnl\S* => (\S+)", linked)
    onednn = pathlib.Path(library[1]).resolve().name if library else "none"
    return " ".join([onednn, *caches[:1], *(name for name in INSTRUCTIONS if name in flags)])


def differences(there, here):
    """How this machine is not that of the list.

    >>> differences("libdnnl.so.2.6 2048K avx2 amx_bf16", "libdnnl.so.3.1 1024K avx2 avx512f")
    'oneDNN is libdnnl.so.3.1, not libdnnl.so.2.6; the second-level cache 1024K, not 2048K; \
the processor has avx512f; it has no amx_bf16'
    >>> differences("libdnnl.so.2.6 avx2 avx512f", "libdnnl.so.2.6 512K avx2")
    'the second-level cache 512K, not unknown; the processor has no avx512f'
    """
    def parts(machine):
        onednn, *words = machine.split()
        caches = [word for word in words if word not in INSTRUCTIONS]
        return onednn, " ".join(caches) or "unknown", set(words) - set(caches)

    (onednn, cache, flags), (my_onednn, my_cache, my_flags) = parts(there), parts(here)
    found = []
    if my_onednn != onednn:
        found.append(f"oneDNN is {my_onednn}, not {onednn}")
    if my_cache != cache:
        found.append(f"the second-level cache {my_cache}, not {cache}")
    for verb, names in ("has", my_flags - flags), ("has no", flags - my_flags):
        if names:
            subject = "it" if found and found[-1].startswith("the processor") else "the processor"
            found.append(f"{subject} {verb} {', '.join(sorted(names))}")
    return "; ".join(found)


def stored():
    """(machine, digest and loss by name)"""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    on = next(line for line in lines if line.startswith("# on: ")).removeprefix("# on: ")
    entries = (line.rsplit(" ", 2) for line in lines if line and not line.startswith("#"))
    return on, {name: f"{digest} {loss}" for name, digest, loss in entries}


def compare(results, expected):
    different = 0
    for name, found in results.items():
        if found != expected.get(name):
            different += 1
            print(f"{name}: {found}, not {expected.get(name)}")
    print(f"{len(results)} runs, {different} different")
    return different == 0


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    if arguments.update and (arguments.quick or arguments.names):
        parser.error("--update writes the whole list")
    return arguments


def main():
    arguments = parse()
    build = arguments.build.resolve()
    here = machine(build)
    if not arguments.update:
        on, expected = stored()
        if on != here:
            print("skipped, nothing is compared: sums have other bits here than where the list was "
                  f"made; {differences(on, here)}")
            sys.exit(SKIPPED)
    results = {name: run(build, words) for name, words in wanted(arguments)}
    if not arguments.update:
        sys.exit(0 if compare(results, expected) else 1)
    lines = "".join(f"{name} {found}\n" for name, found in results.items())
    LIST.write_text(f"# Written by scripts/digests.py --update: configuration, mesh, keys, digest, "
                    f"loss.\n# on: {here}\n{lines}", encoding="utf-8")


if __name__ == "__main__":
    main()
