"""Architectures of transformers, from their configurations, two layers of 32 channels each."""
import torch
from transformers import (
    AlbertConfig, AlbertForMaskedLM, BartConfig, BartForConditionalGeneration, BertConfig,
    BertForMaskedLM, BloomConfig, BloomForCausalLM, CLIPConfig, CLIPModel, DebertaV2Config,
    DebertaV2ForMaskedLM, DistilBertConfig, DistilBertForMaskedLM, ElectraConfig,
    ElectraForPreTraining, FalconConfig, FalconForCausalLM, Gemma2Config, Gemma2ForCausalLM,
    GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM,
    MambaConfig, MambaForCausalLM, MixtralConfig, MixtralForCausalLM, OPTConfig, OPTForCausalLM,
    PhiConfig, PhiForCausalLM, Qwen3Config, Qwen3ForCausalLM, RobertaConfig, RobertaForMaskedLM,
    T5Config, T5ForConditionalGeneration, Wav2Vec2Config, Wav2Vec2ForCTC, WhisperConfig,
    WhisperForConditionalGeneration)

from task import Row, Task, without_dropout

VOCABULARY, LENGTH = 97, 24
BERT = dict(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, max_position_embeddings=64)
LLAMA = dict(BERT, num_key_value_heads=2, head_dim=8, pad_token_id=0)
SEQUENCE_TO_SEQUENCE = dict(
    vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)


def loss_and_logits(model, **inputs):
    out = model(**inputs, return_dict=True)
    return out.loss, out.logits


def tokens(batch, length=LENGTH):
    return torch.randint(3, VOCABULARY, (batch, length))


def language_inputs(batch):
    return {"input_ids": tokens(batch), "labels": tokens(batch)}


def masked_inputs(batch):
    mask = torch.ones(batch, LENGTH, dtype=torch.int64)
    mask[:, LENGTH - 5:] = 0
    return {**language_inputs(batch), "attention_mask": mask}


def task(model, config, make_inputs=language_inputs, forward=loss_and_logits):
    model = model(config)
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = False
    return Task(without_dropout(model), make_inputs, forward)


def electra_inputs(batch):
    return {"input_ids": tokens(batch), "labels": torch.randint(2, (batch, LENGTH))}


def whisper_inputs(batch):
    return {"input_features": torch.randn(batch, 8, 48), "labels": tokens(batch, 10)}


def speech_inputs(batch):
    return {"input_values": torch.randn(batch, 1600), "labels": torch.randint(1, 20, (batch, 6))}


def clip_inputs(batch):
    return {"input_ids": tokens(batch), "pixel_values": torch.randn(batch, 3, 32, 32)}


def clip_loss(model, **inputs):
    out = model(**inputs, return_loss=True, return_dict=True)
    return out.loss, out.logits_per_image


def clip():
    text = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                num_attention_heads=4, max_position_embeddings=64, eos_token_id=2)
    vision = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                  image_size=32, patch_size=8)
    return task(CLIPModel, CLIPConfig(text_config=text, vision_config=vision, projection_dim=16),
                clip_inputs, clip_loss)


def mixtral(experts):
    return task(MixtralForCausalLM, MixtralConfig(
        **LLAMA, num_local_experts=4, num_experts_per_tok=2, experts_implementation=experts))


ROWS = [
    Row("bert", lambda: task(BertForMaskedLM, BertConfig(**BERT), masked_inputs), quick=True),
    Row("roberta", lambda: task(RobertaForMaskedLM, RobertaConfig(**BERT), masked_inputs)),
    Row("albert", lambda: task(AlbertForMaskedLM, AlbertConfig(**BERT, embedding_size=16),
                               masked_inputs)),
    Row("distilbert", lambda: task(DistilBertForMaskedLM, DistilBertConfig(
        vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
        max_position_embeddings=64), masked_inputs)),
    Row("electra", lambda: task(ElectraForPreTraining, ElectraConfig(**BERT, embedding_size=16),
                                electra_inputs)),
    Row("deberta", lambda: task(DebertaV2ForMaskedLM, DebertaV2Config(
        **BERT, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8),
        masked_inputs)),
    Row("gpt2", lambda: task(GPT2LMHeadModel, GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64))),
    Row("gpt_neox", lambda: task(GPTNeoXForCausalLM, GPTNeoXConfig(**BERT))),
    Row("opt", lambda: task(OPTForCausalLM, OPTConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        ffn_dim=64, max_position_embeddings=64, word_embed_proj_dim=32))),
    Row("bloom", lambda: task(BloomForCausalLM, BloomConfig(
        vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4))),
    Row("falcon", lambda: task(FalconForCausalLM, FalconConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4))),
    Row("phi", lambda: task(PhiForCausalLM, PhiConfig(**BERT))),
    Row("llama", lambda: task(LlamaForCausalLM, LlamaConfig(**LLAMA)), quick=True),
    Row("qwen3", lambda: task(Qwen3ForCausalLM, Qwen3Config(**LLAMA))),
    Row("gemma2", lambda: task(Gemma2ForCausalLM, Gemma2Config(**LLAMA, sliding_window=8))),
    Row("mixtral", lambda: mixtral("batched_mm")),
    # A loop over experts, each with as many rows as tokens chose it: a size a call.
    Row("mixtral_loop", lambda: mixtral("eager")),
    Row("mamba", lambda: task(MambaForCausalLM, MambaConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4))),
    Row("t5", lambda: task(T5ForConditionalGeneration, T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0))),
    Row("bart", lambda: task(BartForConditionalGeneration, BartConfig(
        **SEQUENCE_TO_SEQUENCE, max_position_embeddings=64))),
    Row("whisper", lambda: task(WhisperForConditionalGeneration, WhisperConfig(
        **SEQUENCE_TO_SEQUENCE, num_mel_bins=8, max_source_positions=24, max_target_positions=32),
        whisper_inputs)),
    Row("wav2vec2", lambda: task(Wav2Vec2ForCTC, Wav2Vec2Config(
        vocab_size=20, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 8, 4),
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0,
        apply_spec_augment=False, layerdrop=0.0), speech_inputs)),
    Row("clip", clip),
]
