"""The models that are timed, at the sizes that people train them at, with random weights.

    row = ALL["gpt2"]
    model, inputs = row.build().to("cuda"), row.inputs(row.batch, "cuda")
    row.loss(model, inputs).backward()
    logits = row.logits(model.eval(), inputs)
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import timm
import torch
import transformers
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class Row:
    name: str
    batch: int
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[int, str], dict[str, torch.Tensor]]  # batch, device
    loss: Callable[[Any, dict[str, torch.Tensor]], torch.Tensor]
    logits: Callable[[Any, dict[str, torch.Tensor]], torch.Tensor]


def transformer(name, batch, model, config, inputs):
    """A model of transformers that makes its loss itself. inputs: batch, device -> its arguments."""
    config = getattr(transformers, f"{config.pop('of')}Config")(**config)
    return Row(name, batch, lambda: getattr(transformers, model)(config),
               lambda batch, device: inputs(config, batch, device),
               lambda model, inputs: model(**inputs).loss,
               lambda model, inputs: model(
                   **{key: value for key, value in inputs.items() if key != "labels"}).logits)


def language(name, batch, length, model, **config):
    def inputs(config, batch, device):
        tokens = torch.randint(config.vocab_size, (batch, length), device=device)
        return {"input_ids": tokens, "labels": tokens}

    return transformer(name, batch, model, config, inputs)


def to_text(name, batch, length, model, features, **config):
    """Text from what `features` makes: batch, device -> arguments."""
    def inputs(config, batch, device):
        labels = torch.randint(config.vocab_size, (batch, length), device=device)
        return features(config, batch, device) | {"labels": labels, "decoder_input_ids": labels}

    return transformer(name, batch, model, config, inputs)


def tokens_of(length):
    return lambda config, batch, device: {
        "input_ids": torch.randint(config.vocab_size, (batch, length), device=device)}


def spectrum(config, batch, device):
    frames = 2 * config.max_source_positions
    return {"input_features": torch.randn(batch, config.num_mel_bins, frames, device=device)}


def seconds_of_speech(config, batch, device, seconds=5, rate=16000):
    return {"input_values": torch.randn(batch, seconds * rate, device=device),
            "labels": torch.randint(config.num_labels, (batch,), device=device)}


def vision(name, batch, timm_name, size=224):
    def inputs(batch, device):
        return {"images": torch.randn(batch, 3, size, size, device=device),
                "labels": torch.randint(1000, (batch,), device=device)}

    return Row(name, batch, lambda: timm.create_model(timm_name), inputs,
               lambda model, inputs: cross_entropy(model(inputs["images"]), inputs["labels"]),
               lambda model, inputs: model(inputs["images"]))


ROWS = {row.name: row for row in [
    language("bert", 32, 512, "BertForMaskedLM", of="Bert"),
    language("gpt2", 16, 512, "GPT2LMHeadModel", of="GPT2", use_cache=False),
    language("llama", 8, 1024, "LlamaForCausalLM", of="Llama", hidden_size=1024,
             intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16,
             num_key_value_heads=16, vocab_size=32000, use_cache=False),
    vision("resnet50", 128, "resnet50"),
    vision("convnext", 128, "convnext_tiny"),
    vision("vit", 128, "vit_small_patch16_224"),
    vision("efficientnet", 128, "efficientnet_b0"),
    vision("swin", 64, "swin_tiny_patch4_window7_224"),
]}

# What else people train, for --further.
FURTHER = {row.name: row for row in [
    language("roberta", 32, 512, "RobertaForMaskedLM", of="Roberta", vocab_size=50265,
             max_position_embeddings=514),
    language("distilbert", 32, 512, "DistilBertForMaskedLM", of="DistilBert"),
    language("albert", 16, 512, "AlbertForMaskedLM", of="Albert", hidden_size=768,
             num_attention_heads=12, intermediate_size=3072),
    language("electra", 32, 512, "ElectraForMaskedLM", of="Electra"),
    language("deberta_v2", 8, 512, "DebertaV2ForMaskedLM", of="DebertaV2", hidden_size=768,
             num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
             relative_attention=True, pos_att_type=["c2p", "p2c"]),
    language("opt", 16, 512, "OPTForCausalLM", of="OPT", use_cache=False),
    language("bloom", 4, 512, "BloomForCausalLM", of="Bloom", hidden_size=1024, n_layer=24,
             n_head=16, use_cache=False),
    language("gpt_neox", 16, 512, "GPTNeoXForCausalLM", of="GPTNeoX", vocab_size=50304,
             hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
             use_cache=False),
    language("qwen2", 4, 1024, "Qwen2ForCausalLM", of="Qwen2", hidden_size=896,
             intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
             num_key_value_heads=2, use_cache=False),
    language("mistral", 4, 1024, "MistralForCausalLM", of="Mistral", hidden_size=1024,
             intermediate_size=3584, num_hidden_layers=16, num_attention_heads=16,
             num_key_value_heads=4, use_cache=False),
    to_text("t5", 16, 512, "T5ForConditionalGeneration", tokens_of(512), of="T5", use_cache=False),
    to_text("bart", 16, 512, "BartForConditionalGeneration", tokens_of(512), of="Bart",
            d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072,
            decoder_ffn_dim=3072, encoder_attention_heads=12, decoder_attention_heads=12,
            use_cache=False),
    to_text("whisper", 16, 128, "WhisperForConditionalGeneration", spectrum, of="Whisper",
            use_cache=False),
    transformer("wav2vec2", 16, "Wav2Vec2ForSequenceClassification",
                {"of": "Wav2Vec2", "mask_time_prob": 0.0}, seconds_of_speech),
    vision("densenet", 64, "densenet121"),
    vision("regnet", 128, "regnety_016"),
    vision("mobilenet_v2", 128, "mobilenetv2_100"),
    vision("mobilenet_v3", 128, "mobilenetv3_large_100"),
    vision("ghostnet", 128, "ghostnet_100"),
    vision("mlp_mixer", 64, "mixer_b16_224"),
    vision("beit", 64, "beit_base_patch16_224"),
    vision("deit", 64, "deit_base_patch16_224"),
    vision("resnext", 64, "resnext50_32x4d"),
    vision("res2net", 64, "res2net50_26w_4s"),
    vision("inception", 64, "inception_v3", 299),
    vision("vgg", 64, "vgg16"),
    vision("hrnet", 64, "hrnet_w18"),
    vision("poolformer", 64, "poolformer_s12"),
]}

ALL = ROWS | FURTHER
