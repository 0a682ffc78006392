"""Meshwork, PyTorch and Keras as commands that time the steps of a workload."""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import rows

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = pathlib.Path(__file__).resolve().parent / "peers"
CORES = sorted(os.sched_getaffinity(0))


# The model of configs/bench_gpt.yaml, by which tokens are generated.
GENERATED = {"vocabulary": 65, "context": 256, "depth": 6, "heads": 6, "width": 384}


class Failed(Exception):
    """What a command said when it failed."""


class Process:
    """A command run to its end: `seconds` it took, `peak` bytes resident, `out` that it printed."""

    def __init__(self, words, environment, folder=ROOT):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            start = time.perf_counter()
            process = subprocess.Popen([str(word) for word in words], stdout=out, stderr=errors,
                                       cwd=folder, env=dict(os.environ, **environment))
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            self.peak = usage.ru_maxrss * 1024
            out.seek(0)
            errors.seek(0)
            self.out = out.read()
            self.errors = errors.read()
            if process.returncode != 0:
                lines = [line for line in self.errors.splitlines() if line.strip()]
                raise Failed(lines[-1] if lines else f"exit code {process.returncode}")


def bound(way):
    """One thread gets one core, for all that it does, whoever it belongs to."""
    return ["taskset", "-c", CORES[0]] if way.kind == "threads" and way.count == 1 else []


class Meshwork:
    """A build of Meshwork, run in the source tree that it was made from."""

    name = "Meshwork"

    def __init__(self, build=ROOT / "build", name=name):
        self.build, self.name = pathlib.Path(build).resolve(), name
        self.program = self.build / "src/meshwork"
        self.benchmark = self.build / "tests/speed/step_benchmark"
        meson = json.loads((self.build / "meson-info/meson-info.json").read_text())
        self.tree = pathlib.Path(meson["directories"]["source"])

    def process(self, words, environment):
        return Process(words, environment, self.tree)

    @functools.cache
    def versions(self):
        return self.process([self.program, "--version"], {}).out.strip()

    @functools.cache
    def gpu(self):
        """The name of the first one."""
        found = json.loads(self.process([self.program, "devices", "--json"], {}).out)
        return found["gpus"][0]["name"] if found["gpus"] else "no GPU"

    def runs(self, workload, way):
        """None if it does, else why not."""
        if not workload.bf16:
            return None
        try:
            self.process([self.program, "validate", *workload.arguments(1)], {})
        except Failed as reason:
            return str(reason)
        return None

    def mpirun(self, ranks):
        words = ["mpirun", "-n", ranks]
        return words + (["--oversubscribe"] if ranks > len(CORES) else [])

    def environment(self, threads=None):
        # A machine that does not know its own name asks for it at every start of mpirun.
        environment = {"RES_OPTIONS": "timeout:1 attempts:1"}
        if os.geteuid() == 0:
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        return environment

    def tune(self, workload):
        """Measures the products of a workload on the first GPU."""
        self.process([self.program, "tune", *workload.arguments(1), "--device", "cuda"], {})

    def on(self, way):
        """What the command line begins with, the number of devices, and the environment."""
        return (self.mpirun(way.count) if way.kind == "ranks" else bound(way),
                1 if way.kind in ("threads", "gpus") else way.count,
                self.environment(way.count if way.kind == "threads" else None))

    def step(self, workload, way, seconds, kernels):
        launcher, devices, environment = self.on(way)
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "step.json"
            words = [*launcher, self.benchmark, *workload.arguments(devices)]
            words += ["--seconds", seconds, "--json", file]
            if way.kind == "gpus":
                # Kernels are enqueued: what the host takes to do so is not their time.
                words, kernels = [*words, "--device", "cuda"], False
            self.process(words if kernels else words + ["--no-kernels"], environment)
            report = json.loads(file.read_text())
        report["samples"] = report["step"]["samples"]
        return report

    def steps(self, workload, way, count):
        """A whole `meshwork fit` of so many steps, a power of 4."""
        launcher, devices, environment = self.on(way)
        per_epoch = min(count, 64)
        with tempfile.TemporaryDirectory() as scratch:
            return self.process(
                [*launcher, self.program, "fit", *workload.arguments(devices), "--verbose", "0",
                 f"fit.steps_per_epoch={per_epoch}", f"fit.epochs={count // per_epoch}",
                 "fit.validation=false", f"run_directory={scratch}"], environment)

    def fit(self, workload, steps=None, directory=None, way=None):
        """A whole `meshwork fit`, with all cores, of an epoch or so many steps."""
        launcher = self.mpirun(way.count) if way and way.kind == "ranks" else []
        devices = way.count if way and way.kind != "threads" else 1
        words = [*launcher, self.program, "fit", *workload.arguments(devices), "--verbose", "0"]
        if steps:
            words += [f"fit.steps_per_epoch={steps}", "fit.validation=false", "fit.epochs=1"]
        with tempfile.TemporaryDirectory() as scratch:
            words.append(f"run_directory={directory or scratch}")
            threads = way.count if way and way.kind == "threads" else None
            return self.process(words, self.environment(threads))


    def generate(self, way, bf16):
        """Tokens a second, of a few runs."""
        launcher, _, environment = self.on(way)
        config = "configs/bench_gpt.yaml"
        with tempfile.TemporaryDirectory() as weights:
            self.process([self.program, "fit", config, "--verbose", "0", "fit.steps_per_epoch=1",
                          "fit.batch_size=1", f"run_directory={weights}", "--overwrite"],
                         environment)
            words = [*launcher, self.program, "generate", config, "--from", weights,
                     "--prompt-tokens", "1", "--max-tokens", GENERATED["context"] - 1, "--sampler",
                     "greedy", "--verbose", "2", *(rows.BF16 if bf16 else ())]
            said = [self.process(words, environment).errors for _ in range(5)]
        return [float(re.search(r"([\d.]+) tokens/s", text)[1]) for text in said]


class Peer:
    """A Python program in peers/, run by the virtual environment that peers/install.py makes."""

    def __init__(self, wanted=()):
        """`wanted`: names of variants, of which all others are left out."""
        self.wanted = wanted
        self.fastest = {}  # the name of a variant by what it runs
        usual = ".cache/meshwork-peers" + ("-cuda" if rows.on_gpu() else "")
        self.folder = pathlib.Path(os.environ.get("MESHWORK_PEERS") or pathlib.Path.home() / usual)
        self.python = self.folder / "bin/python3"
        if not (self.folder / "complete").exists():
            complain(f"installing peers into {self.folder}")
            words = [PEERS / "install.py", self.folder, *(["--cuda"] if rows.on_gpu() else [])]
            if subprocess.run([sys.executable, *words]).returncode != 0:
                raise Failed("its installation failed")
        self.version = Process([self.python, "-c", self.probe], self.settings()).out.strip()

    cache = {}  # settings by which later processes find what earlier ones compiled

    def keep_compiled(self):
        """From now on; some do so always."""

    def versions(self):
        return self.version

    def command(self, workload, *words):
        return [self.python, PEERS / self.script, workload.peer, "--batch", workload.batch,
                *words, *(["--bf16"] if workload.bf16 else [])]

    def fit(self, workload, steps=None):
        words = self.command(workload, "--fit", steps or 0, *self.all_cores())
        return Process(words, self.settings())

    def step(self, workload, way, seconds, kernels):
        """A turn of the variant that was the fastest the first time."""
        key = workload.name, self.on(way)
        if key not in self.fastest:
            self.fastest[key] = self.choose(workload, way, seconds)
        variant = self.fastest[key]
        found = self.turn(workload, way, seconds, self.tried(workload)[variant])
        return dict(found, variant=variant)

    def tried(self, workload):
        """Those that are wanted; all where none of them is."""
        variants = self.variants(workload)
        wanted = {name: words for name, words in variants.items() if name in self.wanted}
        return wanted or variants

    def choose(self, workload, way, seconds):
        variants, times = self.tried(workload), {}
        if len(variants) == 1:
            return next(iter(variants))
        for name, words in variants.items():
            try:
                times[name] = self.turn(workload, way, seconds, words)["step"]
                found = f"{1e3 * times[name]:.3f} ms"
            except Failed as reason:
                found = f"failed: {reason}"
            complain(f"{workload.name}-{way.name}: {self.name}, {name}: {found}")
        if not times:
            raise Failed("no variant of it runs")
        return min(times, key=times.get)


class Torch(Peer):
    name = "PyTorch"
    script = "torch_step.py"
    probe = ("import re, torch; shown = torch.__config__.show();"
             "mkl = re.search('Math Kernel Library Version ([^ -]+)', shown);"
             "onednn = re.search('MKL-DNN v([^ ]+)', shown);"
             "print(f'PyTorch {torch.__version__}', f'(MKL {mkl[1] if mkl else None},',"
             "      f'oneDNN {onednn[1] if onednn else None})')")

    def settings(self):
        # Else malloc gives the memory of large tensors back to the system in every step.
        return {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1073741824:"
                                  "glibc.malloc.trim_threshold=17179869184",
                "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}

    def all_cores(self):
        return ["--threads", len(CORES)]

    def runs(self, workload, way):
        if not workload.peer or way.count > 2:
            return "not compared"
        return None

    def variants(self, workload):
        """Words of the command line by name."""
        variants = {"eager": [], "compiled": ["--compile", "default"]}
        if rows.on_gpu():
            variants |= {"CUDA graphs": ["--compile", "reduce-overhead"],
                         "autotuned, CUDA graphs": ["--compile", "max-autotune"]}
            if workload.peer not in ("convnet", "resnet20", "resnet50"):
                return variants
            return variants | {f"{name}, channels last": [*words, "--channels-last"]
                               for name, words in variants.items()}
        if workload.peer in ("convnet", "resnet20"):
            last = {f"{name}, channels last": [*words, "--channels-last"]
                    for name, words in variants.items()}
            return variants | last
        variants["compiled with optimizer"] = ["--compile", "default", "--optimizer", "compiled"]
        if workload.peer == "gpt":
            return variants
        if workload.peer == "wide":
            return variants | {"autotuned": ["--compile", "max-autotune"]}
        return variants | {"eager, foreach": ["--optimizer", "foreach"],
                           "compiled with C++ wrapper": ["--compile", "cpp-wrapper"]}

    def on(self, way):
        """Virtual devices of ours are compared with its processes."""
        return way.kind if way.kind in ("threads", "gpus") else "processes", way.count

    def turn(self, workload, way, seconds, words):
        if way.kind == "gpus":
            words = self.command(workload, "--seconds", seconds, "--device", "cuda", *words)
            return json.loads(Process(words, self.settings()).out)
        if way.kind != "threads":
            return self.ranks(workload, way, seconds, words)
        environment = dict(self.settings(), OMP_NUM_THREADS=str(way.count))
        words = self.command(workload, "--seconds", seconds, "--threads", way.count, *words)
        return json.loads(Process(bound(way) + words, environment).out)

    def ranks(self, workload, way, seconds, words):
        """DDP over gloo, a process for each core, as mpirun binds ours."""
        words = self.command(workload, "--seconds", seconds, "--threads", 1, *words)
        environment = dict(os.environ, **self.settings(), OMP_NUM_THREADS="1",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + os.getpid() % 1000),
                           WORLD_SIZE=str(way.count))
        processes = []
        for rank in range(way.count):
            core = CORES[rank % len(CORES)]
            processes.append(subprocess.Popen(
                [str(word) for word in ["taskset", "-c", core, *words]], cwd=ROOT, text=True,
                env=dict(environment, RANK=str(rank)), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE))
        answers = [process.communicate() for process in processes]
        for process, (_, errors) in zip(processes, answers):
            if process.returncode != 0:
                raise Failed((errors.strip().splitlines() or ["failed"])[-1])
        return json.loads(answers[0][0])


class Keras(Peer):
    name = "Keras on JAX"
    script = "keras_step.py"
    probe = ("import os; os.environ['KERAS_BACKEND'] = 'jax'; import keras, jax;"
             "print(f'Keras {keras.__version__} on JAX {jax.__version__}')")

    def keep_compiled(self):
        self.cache = {"JAX_COMPILATION_CACHE_DIR": str(self.folder / "jax"),
                      "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                      # Of several at a time none takes all of a GPU's memory.
                      "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

    def settings(self):
        return {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cuda" if rows.on_gpu() else "cpu",
                **self.cache}

    def all_cores(self):
        return []

    def runs(self, workload, way):
        if not workload.peer or way.count > 2 or way.kind == "ranks":
            return "not compared"
        return None

    def on(self, way):
        return way.kind, way.count

    def variants(self, workload):
        """Words of the command line by name."""
        together = {"16 steps a call": ["--together", 16]} if workload.peer == "mlp" else {}
        return {"compiled": []} | together

    def generate(self, way, bf16):
        """Tokens a second, of a few runs."""
        words = [self.python, PEERS / "keras_generate.py"]
        if bf16:
            words += ["--policy", "mixed_bfloat16"]
        for name, value in GENERATED.items():
            words += [f"--{name}", value]
        found = json.loads(Process(bound(way) + words, self.settings()).out.splitlines()[-1])
        return [found["tokens"] / seconds for seconds in found["seconds"]]

    def turn(self, workload, way, seconds, words):
        environment = self.settings()
        words = self.command(workload, "--seconds", seconds, *words)
        if way.kind == "gpus" and not workload.bf16:
            # The numbers of float32, as ours: JAX rounds to TensorFloat-32 by default.
            environment["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
        if way.kind == "devices":
            environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={way.count}"
            words += ["--devices", way.count]
        # XLA has as many threads as the process has cores.
        return json.loads(Process(bound(way) + words, environment).out)


def complain(text):
    print(text, file=sys.stderr, flush=True)
