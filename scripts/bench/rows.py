"""What is timed: workloads, and on what they run."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Way:
    """What a step runs on: threads of one device, or devices of one thread each."""

    name: str
    kind: str  # threads, devices (virtual ones), ranks, gpus
    count: int

    @property
    def text(self):
        kind = {"devices": "virtual devices", "gpus": "GPUs"}.get(self.kind, self.kind)
        return f"{self.count} {kind.removesuffix('s') if self.count == 1 else kind}"


ONE_THREAD = Way("1t", "threads", 1)
TWO_THREADS = Way("2t", "threads", 2)
TWO_RANKS = Way("2r", "ranks", 2)
TWO_DEVICES = Way("2d", "devices", 2)
EIGHT_RANKS = Way("8r", "ranks", 8)
EIGHT_DEVICES = Way("8d", "devices", 8)
ONE_GPU = Way("1g", "gpus", 1)
WAYS = (ONE_THREAD, TWO_THREADS, TWO_RANKS, TWO_DEVICES)
THREADS = (ONE_THREAD, TWO_THREADS)


@dataclasses.dataclass(frozen=True)
class Workload:
    """A configuration and batch; its rows are timed together, turn by turn."""

    name: str
    text: str
    config: str
    batch: int
    ways: tuple = WAYS
    keys: tuple = ()  # further keys of the configuration
    tiles: bool = False  # images are split, not batches
    bf16: bool = False
    peer: str = ""  # its name in peers/; "" for none
    products: bool = False  # are most of a step
    flops: float = 0  # multiplications and additions that the model needs for a sample; 0: not counted

    def rows(self):
        return [f"{self.name}-{way.name}" for way in self.ways]

    def arguments(self, devices):
        """Of our command line."""
        words = [self.config, f"fit.batch_size={self.batch}", *self.keys]
        if self.tiles:
            return words + ["--mesh", f"data=1,height={devices}", "strategy=model_parallel",
                            "layout_map={input/output: [data, height, null, null]}"]
        return words + ["--mesh", f"data={devices}"]


# Data that come with the packages, and as they are: the peers read the same.
DATA = ("dataset=fashion_mnist",)
CONVNET = "configs/jax_convnet_tuned.yaml"
RESNET = "configs/resnet.yaml"
BF16 = ("precision=mixed_bfloat16",)
GPT = "configs/bench_gpt.yaml"
VIT = "configs/vit.yaml"

# By appendix B of "PaLM" (2022): for each of 1024 tokens 6 for each weight but positions, and 12 for
# each layer, feature and place of attention.
GPT2_FLOPS = 1024 * (6 * (50257 * 768 + 12 * 12 * 768 * 768) + 12 * 12 * 768 * 1024)
VIT_BY_BATCHES = ("strategy=data_parallel", "layout_map=null")

WORKLOADS = (
    Workload("mlp", "MLP 784-128-10", "configs/bench_mlp.yaml", 128, products=True, peer="mlp"),
    Workload("convnet64", "convnet of the JAX guide", CONVNET, 64, keys=DATA,
             peer="convnet"),
    Workload("convnet512", "convnet of the JAX guide", CONVNET, 512,
             (*WAYS, EIGHT_RANKS, EIGHT_DEVICES), DATA, peer="convnet"),
    Workload("wide", "MLP 784-4096-4096-10", "configs/bench_wide.yaml", 512, products=True,
             peer="wide"),
    Workload("wide-bf16", "MLP 784-4096-4096-10 in bfloat16", "configs/bench_wide.yaml", 512,
             THREADS, BF16, bf16=True, products=True, peer="wide"),
    Workload("resnet20", "ResNet-20", RESNET, 128, keys=DATA, peer="resnet20"),
    Workload("resnet20-augmented", "ResNet-20, images augmented", RESNET, 128,
             (TWO_THREADS, TWO_RANKS)),
    Workload("gpt", "GPT, 6 blocks, 384 wide, context 256", GPT, 16, products=True, peer="gpt"),
    Workload("gpt-bf16", "GPT, 6 blocks, 384 wide, context 256, in bfloat16", GPT, 16, THREADS,
             (*BF16, "model.params.logits=bfloat16"), bf16=True, products=True, peer="gpt"),
    Workload("vit", "ViT, 4 blocks, 64 wide", VIT, 128, keys=VIT_BY_BATCHES, peer="vit"),
    Workload("vit-bf16", "ViT, 4 blocks, 64 wide, in bfloat16", VIT, 128, THREADS,
             (*VIT_BY_BATCHES, *BF16), bf16=True, peer="vit"),
    Workload("resnet50", "ResNet-50, images of 224", "configs/bench_resnet50.yaml", 64, (),
             peer="resnet50"),
    Workload("gpt2", "GPT-2 124M, context 1024, in bfloat16", GPT, 8, (),
             ("model.params={depth: 12, heads: 12, width: 768, context: 1024, characters: 50257, "
              "logits: bfloat16}",
              "dataset.splits.train={x: {integers: [64, 1024], below: 50257}, "
              "y: {integers: [64, 1024], below: 50257}}", *BF16), bf16=True, products=True, peer="gpt2", flops=GPT2_FLOPS),
    Workload("resnet20-tiles", "ResNet-20, images in two tiles", RESNET, 128,
             (TWO_RANKS, TWO_DEVICES), DATA, tiles=True),
)

# Rows that are no steps; see whole.py.
WHOLE = {
    "fit": "an epoch of the MLP 784-128-10 with validation, process start to exit",
    "first-step": "one step of it, process start to exit",
    "memory-mlp": "peak resident memory of that epoch",
    "memory-wide": "peak resident memory of three steps of the MLP 784-4096-4096-10",
    "all-reduce": "16 MiB over 2 ranks",
    "generate": "tokens added to one by a GPT, 6 blocks, 384 wide, with its cache",
    "busy": "100 steps of the convnet of the JAX guide, process start to exit",
}


# With --device cuda: what is timed on a GPU.
ON_GPU = ("mlp", "convnet64", "convnet512", "wide", "wide-bf16", "resnet20", "resnet50", "gpt",
          "gpt-bf16", "gpt2")


def turn_to_gpu():
    """From now on these are all that there is."""
    global WORKLOADS, WHOLE
    WORKLOADS = tuple(dataclasses.replace(workload(name), ways=(ONE_GPU,)) for name in ON_GPU)
    WHOLE = {}


def on_gpu():
    return WORKLOADS[0].ways == (ONE_GPU,)


def workload(name):
    return next(workload for workload in WORKLOADS if workload.name == name)


def names():
    return [row for workload in WORKLOADS for row in workload.rows()] + list(WHOLE)


def selects(prefixes, row):
    return not prefixes or any(row.startswith(prefix) for prefix in prefixes)
