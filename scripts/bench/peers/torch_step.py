#!/usr/bin/env python3
"""Times training steps, or one whole epoch, of a workload in PyTorch, fed from memory.

Prints one JSON object. Under RANK and WORLD_SIZE it is one of several processes (DDP over gloo)
that share each batch, and only the first one prints.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time

import torch  # noqa: E402  (the time of the import counts)
from torch import nn  # noqa: E402

import peer_data  # noqa: E402
import torch_models  # noqa: E402


def load(workload, part="train"):
    inputs, labels = map(torch.from_numpy, peer_data.load(workload, part))
    if inputs.dim() == 4:
        inputs = inputs.permute(0, 3, 1, 2).contiguous()
    elif inputs.is_floating_point():
        inputs = inputs.unsqueeze(1)
    return inputs, labels.long()


class Trainer:
    def __init__(self, arguments):
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.arguments = arguments
        if self.size > 1:
            torch.distributed.init_process_group("gloo")
        # Not PyTorch's default; we do it, and Adam's moments decay through subnormal numbers.
        torch.set_flush_denormal(not arguments.subnormals)
        torch.set_num_threads(arguments.threads)
        torch.manual_seed(1337)
        self.format = (torch.channels_last if arguments.channels_last
                       else torch.contiguous_format)
        workload = arguments.workload
        self.device = arguments.device
        if self.device == "cuda":
            # The numbers of float32, as ours: cuDNN takes fewer bits by default.
            torch.backends.cudnn.allow_tf32 = False
            torch.backends.cudnn.benchmark = True
        self.model = torch_models.MODELS[workload]().to(self.device, memory_format=self.format)
        if self.size > 1:
            self.model = nn.parallel.DistributedDataParallel(self.model)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        compiled = arguments.optimizer == "compiled"
        self.optimizer = torch_models.optimizer(workload, trained,
                                                "foreach" if compiled else arguments.optimizer)
        self.update = torch.compile(self.optimizer.step) if compiled else self.optimizer.step
        self.inputs, self.labels = (tensor.to(self.device) for tensor in load(workload))
        self.batch = arguments.batch // self.size
        self.loss = nn.CrossEntropyLoss()
        self.forward = self.compiled(self.loss_of)
        self.batches = self.endless()

    def loss_of(self, x, y):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.arguments.bf16):
            # [.., classes] -> a line for each label
            return self.loss(self.model(x).flatten(0, -2), y.flatten())

    def compiled(self, function):
        if not self.arguments.compile:
            return function
        import torch._inductor.config as inductor  # 1 s, which eager steps do not need
        inductor.cpp_wrapper = self.arguments.compile == "cpp-wrapper"
        autotuned = self.arguments.compile == "max-autotune"
        mode = None
        if autotuned:
            mode = "max-autotune" if self.device == "cuda" else "max-autotune-no-cudagraphs"
        elif self.arguments.compile == "reduce-overhead":
            mode = "reduce-overhead"  # with CUDA graphs
        return torch.compile(function, dynamic=False, mode=mode)

    def epoch(self):
        """Shuffled batches of this rank, the same permutation on all."""
        order = torch.randperm(len(self.inputs), device=self.device)
        for begin in range(0, len(order) - self.arguments.batch + 1, self.arguments.batch):
            rows = order[begin + self.rank * self.batch:begin + (self.rank + 1) * self.batch]
            yield self.inputs[rows].to(memory_format=self.format), self.labels[rows]

    def endless(self):
        while True:
            yield from self.epoch()

    def step(self, x, y):
        loss = self.forward(x, y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.update()
        return loss.detach()

    def run(self, count):
        """Mean seconds of `count` steps; all ranks."""
        self.meet()
        start = time.perf_counter()
        total = torch.zeros((), device=self.device)
        for _ in range(count):
            total += self.step(*next(self.batches))
        self.meet()
        return (time.perf_counter() - start) / count

    def meet(self):
        """Until all ranks have done all that they began."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        if self.size > 1:
            torch.distributed.barrier()

    def agree(self, number):
        """The number of rank 0."""
        shared = torch.tensor([number])
        if self.size > 1:
            torch.distributed.broadcast(shared, 0)
        return shared.item()


def time_steps(trainer, seconds):
    trainer.run(3)
    once = trainer.run(2)
    samples = int(trainer.agree(min(7, max(3, round(seconds / once)))))
    count = int(trainer.agree(max(1, round(seconds / samples / once))))
    trainer.run(count)
    return [trainer.run(count) for _ in range(samples)]


def fit(trainer, steps):
    """An epoch (or so many steps of it), the test data if it was whole, the weights to a file."""
    for i, batch in enumerate(trainer.epoch()):
        if i == steps:
            return
        trainer.step(*batch)
    images, labels = load(trainer.arguments.workload, "t10k")
    correct = 0
    with torch.no_grad():
        for x, y in zip(images.split(trainer.batch), labels.split(trainer.batch)):
            correct += (trainer.model(x).argmax(1) == y).sum()
    torch.save(trainer.model.state_dict(), os.devnull)
    print(f"accuracy {correct.item() / len(labels):.4f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", choices=torch_models.MODELS)
    parser.add_argument("--batch", type=int, required=True, help="of all ranks together")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--fit", type=int, metavar="STEPS",
                        help="train so many steps instead, 0 for an epoch, and exit")
    parser.add_argument("--optimizer", choices=["fused", "foreach", "compiled"], default="fused")
    parser.add_argument("--compile", choices=["default", "cpp-wrapper", "reduce-overhead", "max-autotune"],
                        help="what computes the loss and its gradients; eager if left out")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--subnormals", action="store_true")
    arguments = parser.parse_args()
    trainer = Trainer(arguments)
    if arguments.fit is not None:
        fit(trainer, arguments.fit or None)
        return
    samples = time_steps(trainer, arguments.seconds)
    if trainer.rank == 0:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"step": statistics.median(samples), "samples": samples,
                          "peak_resident_bytes": peak}))


main()
