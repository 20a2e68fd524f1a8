"""Architectures of timm, few channels and blocks each, on images of 64 by 64."""
import timm
import torch
from timm.models.convnext import ConvNeXt
from timm.models.densenet import DenseNet
from timm.models.mlp_mixer import MlpMixer
from timm.models.resnet import Bottleneck, ResNet
from timm.models.swin_transformer import SwinTransformer
from timm.models.vision_transformer import VisionTransformer
from torch.nn.functional import cross_entropy

from task import Row, Task, without_dropout

CLASSES, SIDE = 10, 64


def image_inputs(batch):
    return {"images": torch.randn(batch, 3, SIDE, SIDE),
            "labels": torch.randint(CLASSES, (batch,))}


def loss_and_logits(model, images, labels):
    logits = model(images)
    return cross_entropy(logits, labels), logits


def task(model):
    return Task(without_dropout(model), image_inputs, loss_and_logits)


def named(name, **options):
    return lambda: task(timm.create_model(name, num_classes=CLASSES, **options))


ROWS = [
    Row("resnet50", lambda: task(ResNet(Bottleneck, (2, 1, 1, 1), num_classes=CLASSES,
                                        channels=(8, 16, 24, 32), stem_width=16)), quick=True),
    Row("densenet", lambda: task(DenseNet(growth_rate=8, block_config=(2, 2, 2, 2),
                                          num_classes=CLASSES))),
    Row("regnet", named("regnetx_002")),
    Row("efficientnet", named("efficientnet_b0")),
    Row("mobilenet_v3", named("mobilenetv3_small_050")),
    Row("ghostnet", named("ghostnet_050")),
    Row("convnext", lambda: task(ConvNeXt(num_classes=CLASSES, depths=(1, 1, 2, 1),
                                          dims=(16, 24, 32, 48)))),
    Row("vit", lambda: task(VisionTransformer(SIDE, 8, num_classes=CLASSES, embed_dim=32, depth=2,
                                              num_heads=4))),
    Row("swin", lambda: task(SwinTransformer(SIDE, 2, num_classes=CLASSES, embed_dim=16,
                                             depths=(2, 2), num_heads=(2, 4), window_size=4))),
    Row("mlp_mixer", lambda: task(MlpMixer(CLASSES, SIDE, patch_size=8, num_blocks=2,
                                           embed_dim=32))),
]
