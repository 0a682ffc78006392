#!/usr/bin/env python3
"""Records what small GPT-2, Llama, Mistral, Qwen3, Mixtral and BERT of Hugging Face's transformers compute.

    scripts/make_hugging_face_fixtures.py

Writes tests/fixtures/hugging_face/<case>/: weights as transformers names them (model.safetensors, or
shards with their index), config.json, x.npy with tokens, for `pairs` also segment.npy, and
expected.npy with the outputs. The models are random, seed 20261124; tokens are of 3 sequences of 8.
Needs transformers, torch, safetensors and numpy.
"""

import json
import pathlib
import re
import shutil
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "hugging_face"
VOCABULARY = 50
SEQUENCES, STEPS = 3, 8


def randomized(model, dtype=torch.float32):
    """The model with random weights, norms and biases included, that `dtype` holds."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = torch.randn(parameter.shape) * 0.2
            is_scale = re.search(r"(?i)(norm|ln_\w).*weight", name) is not None
            parameter.copy_((spread + is_scale).to(dtype))
    return model.eval()


def tokens():
    return torch.randint(1, VOCABULARY, (SEQUENCES, STEPS))


def padded(x):
    """Token 0 behind 8, 5 and 3 tokens, and the mask of it."""
    for row, length in enumerate((8, 5, 3)):
        x[row, length:] = 0
    return x, (x != 0).long()


def save(case, model, tensors, arrays, shards=1):
    folder = ROOT / case
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.config.to_json_file(folder / "config.json")
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    tensors = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        names = list(tensors)[shard::shards]
        save_file({name: tensors[name] for name in names}, folder / file, metadata={"format": "pt"})
        weight_map.update({name: file for name in names})
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(weight_map.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def without(tensors, *names):
    return {name: tensor for name, tensor in tensors.items() if name not in names}


def outputs(model, head="logits", **inputs):
    with torch.no_grad():
        return getattr(model(**inputs), head).numpy()


def gpt2(case, shards):
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=12,
        n_embd=16,
        n_layer=2,
        n_head=4,
        resid_pdrop=0,
        embd_pdrop=0,
        attn_pdrop=0,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = randomized(transformers.GPT2LMHeadModel(config))
    x = tokens()
    tensors = without(model.state_dict(), "lm_head.weight")
    for layer in range(2):  # as older files have it
        mask = torch.tril(torch.ones(12, 12)).reshape(1, 1, 12, 12)
        tensors[f"transformer.h.{layer}.attn.bias"] = mask
    save(case, model, tensors, {"x": x.int().numpy(), "expected": outputs(model, input_ids=x)}, shards)


DECODER = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
}


def llama(case, tied, rope, dtype=torch.float32):
    config = transformers.LlamaConfig(
        **DECODER,
        max_position_embeddings=131072,
        rope_parameters={"rope_theta": 500000.0} | rope,
        tie_word_embeddings=tied,
    )
    model = randomized(transformers.LlamaForCausalLM(config), dtype)
    x = tokens()
    tensors = {name: tensor.to(dtype) for name, tensor in model.state_dict().items()}
    if tied:
        tensors = without(tensors, "lm_head.weight")
    save(case, model, tensors, {"x": x.int().numpy(), "expected": outputs(model, input_ids=x)})


def mistral(case):
    """Each token sees itself and two before it."""
    config = transformers.MistralConfig(**DECODER, sliding_window=3)
    model = randomized(transformers.MistralForCausalLM(config))
    x = tokens()
    save(case, model, model.state_dict(), {"x": x.int().numpy(), "expected": outputs(model, input_ids=x)})


def mixtral(case):
    config = transformers.MixtralConfig(
        **DECODER,
        num_local_experts=11,
        num_experts_per_tok=3,
        rope_parameters={"rope_theta": 1000000.0, "rope_type": "default"},
        sliding_window=None,
    )
    save_experts(case, randomized(transformers.MixtralForCausalLM(config)))


def save_experts(case, model):
    """A tensor for each product of each expert, as files have them."""
    x = tokens()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tensors = load_file(pathlib.Path(folder) / "model.safetensors")
    save(case, model, tensors, {"x": x.int().numpy(), "expected": outputs(model, input_ids=x)}, shards=2)


QWEN3 = DECODER | {
    "head_dim": 6,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
}


def qwen3(case):
    """Heads wider than a part of the model, whose queries and keys are normalized."""
    model = randomized(transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**QWEN3, tie_word_embeddings=True)))
    x = tokens()
    tensors = without(model.state_dict(), "lm_head.weight")
    save(case, model, tensors, {"x": x.int().numpy(), "expected": outputs(model, input_ids=x)})


def qwen3_experts(case):
    config = transformers.Qwen3MoeConfig(
        **QWEN3,
        moe_intermediate_size=12,
        num_experts=6,
        num_experts_per_tok=4,
        norm_topk_prob=True,
    )
    save_experts(case, randomized(transformers.Qwen3MoeForCausalLM(config)))


def bert_config(**more):
    return transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=12,
        hidden_dropout_prob=0,
        attention_probs_dropout_prob=0,
        **more,
    )


def bert(case):
    """Masked tokens; padding; the old names of what normalizations have; float16."""
    model = randomized(transformers.BertForMaskedLM(bert_config()), torch.float16)
    x, mask = padded(tokens())
    tensors = without(model.state_dict(), "cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {}
    for name, tensor in tensors.items():
        for new, word in old.items():
            name = name.replace(new, word)
        renamed[name] = tensor.half()
    renamed["bert.embeddings.position_ids"] = torch.arange(12).reshape(1, 12)
    renamed["bert.pooler.dense.weight"] = torch.zeros(16, 16).half()
    renamed["bert.pooler.dense.bias"] = torch.zeros(16).half()
    expected = outputs(model, input_ids=x, attention_mask=mask)
    save(case, model, renamed, {"x": x.int().numpy(), "expected": expected})


def bert_pairs(case):
    """Classes of pairs of sentences; padding."""
    model = randomized(transformers.BertForSequenceClassification(bert_config(num_labels=3)))
    x, mask = padded(tokens())
    segment = (torch.arange(STEPS) >= 2).long().expand(SEQUENCES, STEPS).contiguous()
    expected = outputs(model, input_ids=x, attention_mask=mask, token_type_ids=segment)
    arrays = {"x": x.int().numpy(), "segment": segment.int().numpy(), "expected": expected}
    save(case, model, model.state_dict(), arrays)


def main():
    torch.manual_seed(20261124)
    gpt2("gpt2", shards=2)
    llama("llama", tied=False, rope={"rope_type": "default"})
    stretched = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    llama("llama_tied", tied=True, rope={"rope_type": "llama3"} | stretched, dtype=torch.bfloat16)
    bert("bert")
    bert_pairs("bert_pairs")
    mixtral("mixtral")
    qwen3("qwen3")
    qwen3_experts("qwen3_experts")
    mistral("mistral")


if __name__ == "__main__":
    main()
