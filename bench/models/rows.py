"""The models that are timed, at the sizes that people train them at, with random weights.

    row = ROWS["gpt2"]
    model, inputs = row.build().to("cuda"), row.inputs(row.batch, "cuda")
    row.loss(model, inputs).backward()
    logits = row.logits(model.eval(), inputs)
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import timm
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM)


@dataclass(frozen=True)
class Row:
    name: str
    batch: int
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[int, str], dict[str, torch.Tensor]]  # batch, device
    loss: Callable[[Any, dict[str, torch.Tensor]], torch.Tensor]
    logits: Callable[[Any, dict[str, torch.Tensor]], torch.Tensor]


def language(name, batch, length, model, config):
    def inputs(batch, device):
        tokens = torch.randint(config.vocab_size, (batch, length), device=device)
        return {"input_ids": tokens, "labels": tokens}

    return Row(name, batch, lambda: model(config), inputs,
               lambda model, inputs: model(**inputs).loss,
               lambda model, inputs: model(input_ids=inputs["input_ids"]).logits)


def vision(name, batch, timm_name):
    def inputs(batch, device):
        return {"images": torch.randn(batch, 3, 224, 224, device=device),
                "labels": torch.randint(1000, (batch,), device=device)}

    return Row(name, batch, lambda: timm.create_model(timm_name), inputs,
               lambda model, inputs: cross_entropy(model(inputs["images"]), inputs["labels"]),
               lambda model, inputs: model(inputs["images"]))


ROWS = {row.name: row for row in [
    language("bert", 32, 512, BertForMaskedLM, BertConfig()),
    language("gpt2", 16, 512, GPT2LMHeadModel, GPT2Config(use_cache=False)),
    language("llama", 8, 1024, LlamaForCausalLM, LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16,
        num_key_value_heads=16, vocab_size=32000, use_cache=False)),
    vision("resnet50", 128, "resnet50"),
    vision("convnext", 128, "convnext_tiny"),
    vision("vit", 128, "vit_small_patch16_224"),
    vision("efficientnet", 128, "efficientnet_b0"),
    vision("swin", 64, "swin_tiny_patch4_window7_224"),
]}
