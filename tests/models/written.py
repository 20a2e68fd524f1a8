"""Architectures that no package builds small: recurrences, graphs, detection, diffusion, click rates."""
import math

import torch
from torch import nn
from torch.nn.functional import (binary_cross_entropy_with_logits, cross_entropy, mse_loss, relu,
                                 silu, smooth_l1_loss, softplus)
from torchvision.ops import nms, roi_align

from task import Row, Task

WORDS, TAGS = 50, 7


class LstmTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(48, TAGS)

    def forward(self, words, tags):
        logits = self.head(self.lstm(self.embed(words))[0])
        return cross_entropy(logits.flatten(0, 1), tags.flatten()), logits


class GruTranslator(nn.Module):
    """An encoder, a decoder cell that is called once a word, attention between them."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.encoder = nn.GRU(16, 24, batch_first=True)
        self.cell = nn.GRUCell(16 + 24, 24)
        self.head = nn.Linear(24, WORDS)

    def forward(self, words, tags):
        memory, last = self.encoder(self.embed(words))
        state, logits = last[0], []
        for word in self.embed(tags).unbind(1):
            weights = torch.softmax(memory @ state[:, :, None] / math.sqrt(24), 1)
            state = self.cell(torch.cat([word, (weights * memory).sum(1)], 1), state)
            logits.append(self.head(state))
        logits = torch.stack(logits, 1)
        return cross_entropy(logits[:, :-1].flatten(0, 1), tags[:, 1:].flatten()), logits


class LinearAttention(nn.Module):
    """RWKV's kind of recurrence: decayed sums of keys and values, one step a word."""

    def __init__(self, width=24):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.norm = nn.LayerNorm(width)
        self.key, self.value, self.gate = (nn.Linear(width, width, False) for _ in range(3))
        self.decay, self.bonus = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
        self.head = nn.Linear(width, TAGS)

    def forward(self, words, tags):
        x = self.norm(self.embed(words))
        previous = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
        key, value, gate = self.key(previous), self.value(x), torch.sigmoid(self.gate(x))
        decay = torch.exp(-softplus(self.decay))
        top, bottom = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
        mixed = []
        for k, v in zip(key.unbind(1), value.unbind(1)):
            now = torch.exp(k + self.bonus)
            mixed.append((top + now * v) / (bottom + now))
            top, bottom = decay * top + torch.exp(k) * v, decay * bottom + torch.exp(k)
        logits = self.head(gate * torch.stack(mixed, 1))
        return cross_entropy(logits.flatten(0, 1), tags.flatten()), logits


def tagging_inputs(batch):
    return {"words": torch.randint(WORDS, (batch, 12)), "tags": torch.randint(TAGS, (batch, 12))}


class GraphNetwork(nn.Module):
    """Two rounds of messages along edges: gathered, weighted by a softmax over a node's edges, scattered."""

    def __init__(self, width=16):
        super().__init__()
        self.lift = nn.Linear(8, width)
        self.message, self.score, self.update = (
            nn.Linear(2 * width, width), nn.Linear(2 * width, 1), nn.GRUCell(width, width))
        self.head = nn.Linear(width, TAGS)

    def forward(self, nodes, source, target, labels):
        x = relu(self.lift(nodes))
        for _ in range(2):
            ends = torch.cat([x[source], x[target]], 1)
            score = self.score(ends)[:, 0]
            largest = torch.full_like(x[:, 0], -math.inf).scatter_reduce(
                0, target, score, "amax", include_self=False)
            weight = torch.exp(score - largest.detach()[target])
            total = torch.zeros_like(x[:, 0]).index_add(0, target, weight)
            messages = self.message(ends) * (weight / total[target])[:, None]
            x = self.update(torch.zeros_like(x).index_add(0, target, messages), x)
        logits = self.head(x)
        return cross_entropy(logits, labels), logits


def graph_inputs(batch):
    count = 10 * batch
    source, target = torch.randint(count, (2, 4 * count))
    target = torch.cat([target, torch.arange(count)])  # each node has an edge
    return {"nodes": torch.randn(count, 8), "source": torch.cat([source, torch.arange(count)]),
            "target": target, "labels": torch.randint(TAGS, (count,))}


class Detector(nn.Module):
    """Boxes from a feature map, the best of them by NMS, their features pooled and classified."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1),
            nn.BatchNorm2d(16), nn.ReLU())
        self.boxes, self.scores = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 1, 1)
        self.head = nn.Linear(16 * 9, TAGS)

    def forward(self, images, boxes, labels):
        features = self.features(images)
        deltas = self.boxes(features).flatten(2).mT
        scores = self.scores(features).flatten(1)
        losses, logits = [], []
        for i in range(images.size(0)):
            proposals = boxes[i] + deltas[i]
            kept = nms(proposals.detach(), scores[i].detach(), 0.5)[:8]
            pooled = roi_align(features[i:i + 1], [proposals[kept].detach()], 3, 0.25)
            logits.append(self.head(pooled.flatten(1)))
            losses.append(cross_entropy(logits[-1], labels[i, :pooled.size(0)])
                          + smooth_l1_loss(proposals, boxes[i] + 1) - scores[i].mean())
        return torch.stack(losses).mean(), torch.cat(logits)


def detection_inputs(batch):
    corners = torch.rand(batch, 64, 2) * 24
    return {"images": torch.randn(batch, 3, 32, 32), "labels": torch.randint(TAGS, (batch, 8)),
            "boxes": torch.cat([corners, corners + 4 + 4 * torch.rand(batch, 64, 2)], 2)}


class ResidualBlock(nn.Module):
    def __init__(self, width_in, width):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, width_in), nn.GroupNorm(4, width)
        self.conv1 = nn.Conv2d(width_in, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.time, self.skip = nn.Linear(32, width), nn.Conv2d(width_in, width, 1)

    def forward(self, x, time):
        y = self.conv1(silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(silu(self.norm2(y)))


class DiffusionUNet(nn.Module):
    """Predicts the noise in an image: down, attention, up, with the time step embedded."""

    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.down1, self.down2 = ResidualBlock(16, 16), ResidualBlock(16, 32)
        self.norm, self.attend = nn.GroupNorm(4, 32), nn.MultiheadAttention(32, 4, batch_first=True)
        self.up2, self.up1 = ResidualBlock(64, 16), ResidualBlock(32, 16)
        self.last = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, images, noise, steps):
        rates = torch.exp(-math.log(1e4) * torch.arange(8, dtype=images.dtype) / 8)
        angles = steps[:, None].to(images.dtype) * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        alpha = torch.cos(steps.to(images.dtype) / 1000 * math.pi / 2)[:, None, None, None]
        x = self.first(alpha * images + (1 - alpha**2).sqrt() * noise)
        high = self.down1(x, time)
        low = self.down2(nn.functional.avg_pool2d(high, 2), time)
        rows = self.norm(low).flatten(2).mT
        attended = self.attend(rows, rows, rows, need_weights=False)[0]
        middle = low + attended.mT.reshape(low.shape)
        x = self.up2(torch.cat([middle, low], 1), time)
        x = nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
        predicted = self.last(silu(self.up1(torch.cat([x, high], 1), time)))
        return mse_loss(predicted, noise), predicted


def diffusion_inputs(batch):
    return {"images": torch.randn(batch, 3, 16, 16), "noise": torch.randn(batch, 3, 16, 16),
            "steps": torch.randint(1, 999, (batch,))}


class ClickRate(nn.Module):
    """DLRM: bags of ids and dense features, their products in pairs."""

    def __init__(self, fields=3, width=8):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(40, width, mode="sum") for _ in range(fields))
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        pairs = fields * (fields + 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense, ids, clicked):
        lifted = self.bottom(dense)
        fields = [lifted] + [bag(ids[:, i]) for i, bag in enumerate(self.bags)]
        stacked = torch.stack(fields, 1)
        rows, columns = torch.tril_indices(len(fields), len(fields), -1)
        pairs = (stacked @ stacked.mT)[:, rows, columns]
        logits = self.top(torch.cat([lifted, pairs], 1))[:, 0]
        return binary_cross_entropy_with_logits(logits, clicked), logits


def click_inputs(batch):
    return {"dense": torch.randn(batch, 6), "ids": torch.randint(40, (batch, 3, 5)),
            "clicked": torch.randint(2, (batch,)).float()}


def task(model, make_inputs):
    return Task(model, make_inputs, lambda model, **inputs: model(**inputs))


ROWS = [
    Row("lstm_tagger", lambda: task(LstmTagger(), tagging_inputs), quick=True),
    Row("gru_translator", lambda: task(GruTranslator(), tagging_inputs)),
    Row("linear_attention", lambda: task(LinearAttention(), tagging_inputs)),
    Row("graph_network", lambda: task(GraphNetwork(), graph_inputs), quick=True),
    Row("detector", lambda: task(Detector(), detection_inputs)),
    Row("diffusion_unet", lambda: task(DiffusionUNet(), diffusion_inputs)),
    Row("click_rate", lambda: task(ClickRate(), click_inputs)),
]
