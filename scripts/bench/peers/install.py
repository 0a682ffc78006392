#!/usr/bin/env python3
"""Makes a virtual environment with the newest PyTorch, and Keras on JAX, from PyPI.

    scripts/bench/peers/install.py FOLDER [--cuda]

With --cuda both are those for GPUs, with CUDA's libraries. Without:
PyTorch comes as its wheel for processors from pytorch.org. Where that cannot be reached, it is PyPI's
wheel, which wants 3 GB of CUDA's libraries; libraries of the same names that say "no device" stand
in for them, so that the process starts as fast and is as small as one for processors. If even that
does not import, CUDA's libraries are installed.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import venv

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# keras-hub asks for TensorFlow besides, for texts alone.
KERAS_HUB_NEEDS = ["absl-py", "kagglehub", "kagglesdk", "packaging", "regex", "rich",
                   "sentencepiece", "tokenizers"]
NEEDED_TOO = ["filelock", "fsspec", "jinja2", "networkx", "numpy", "setuptools>=77", "sympy",
              "typing_extensions"]


def output(*words):
    return subprocess.run([str(word) for word in words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def imports(python):
    return subprocess.run([python, "-c", "import torch"], check=False).returncode == 0


def is_cuda(name):
    return re.match(r"lib(cu|nv|nccl)", name) is not None


def stand_in(folder):
    """Libraries for those of CUDA that are not in the folder of PyTorch's libraries."""
    libraries = sorted(folder.glob("*.so*"))
    needed = {name for library in libraries
              for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library))}
    missing = sorted(filter(is_cuda, needed - {library.name for library in libraries}))
    defined, functions = set(), {}  # functions: the version of each
    for library in libraries:
        for line in output("nm", "-D", library).splitlines():
            kind, symbol = line.split()[-2:]
            name, _, version = symbol.partition("@")
            if kind != "U":
                defined.add(name)
            elif re.match(r"(__)?(cu|nv|nccl)", name):
                functions[name] = version.lstrip("@")
    functions = {name: version for name, version in functions.items() if name not in defined}
    # 100 is cudaErrorNoDevice.
    code = "".join(f"long {name}(void) {{ return 100; }}\n" for name in functions)
    versions = "".join(
        f"{version} {{ {'; '.join(n for n, v in functions.items() if v == version)}; }};\n"
        for version in sorted(set(functions.values())) if version)
    with tempfile.TemporaryDirectory() as scratch:
        source, script = pathlib.Path(scratch, "cuda.c"), pathlib.Path(scratch, "cuda.map")
        source.write_text(code, encoding="utf-8")
        script.write_text(versions, encoding="utf-8")
        output("gcc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,--version-script={script}",
               "-o", folder / missing[0], source)
    for name in missing[1:]:
        (folder / name).symlink_to(missing[0])


def install_torch(python):
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *NEEDED_TOO], check=True)
    from_pytorch = [*pip, "torch", "--index-url", CPU_INDEX, "--retries", "0", "--timeout", "15"]
    if subprocess.run(from_pytorch, check=False, stderr=subprocess.DEVNULL).returncode == 0:
        return
    subprocess.run([*pip, "--no-deps", "torch"], check=True)
    try:
        stand_in(next(python.parent.parent.glob("lib/python*/site-packages/torch/lib")))
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        print(f"no libraries stand in for CUDA's: {error}", file=sys.stderr)
    if not imports(python):
        subprocess.run([*pip, "--force-reinstall", "torch"], check=True)


def main():
    with_cuda = sys.argv[2:] == ["--cuda"]
    if len(sys.argv) != (3 if with_cuda else 2):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    python = folder / "bin/python3"
    venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    if with_cuda:
        subprocess.run([*pip, "torch"], check=True)
    else:
        install_torch(python)
    jax = "jax[cuda13]" if with_cuda else "jax"
    subprocess.run([*pip, "keras", jax, *KERAS_HUB_NEEDS], check=True)
    subprocess.run([*pip, "--no-deps", "keras-hub"], check=True)
    (folder / "complete").touch()


main()
