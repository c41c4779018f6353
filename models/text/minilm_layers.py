"""Layers of MiniLM, by torch or by OpenVINO on a CPU (decision 0060).

OpenVINO's products and sums are torch's in another order, so states agree to some millionths. A
text of a few words reads all weights for little arithmetic: OpenVINO takes half of torch's time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import inference
from models.inference import library

MINILM_HIDDEN, MINILM_HEADS, MINILM_WIDE = 384, 12, 1536
EPSILON = 1e-12  # of layer norms


class LayerStack(nn.ModuleList):
    """Layers of MiniLM, one after another.

    Where OpenVINO is chosen it runs them for texts of equal length, such as a query: without
    gradients and dropout, on a CPU.
    """

    def __init__(self, layers: Iterable[PackedLayer] = ()) -> None:
        super().__init__(layers)
        by_openvino = inference.chosen == "openvino"
        self.compiled = DeferredLayers(self) if by_openvino else None

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H), the true positions of mask (L, T) in order, to (N, H)."""
        frozen = not (self.training or torch.is_grad_enabled())
        full = len(tokens) == mask.numel()
        if self.compiled and len(self) and frozen and full and tokens.device.type == "cpu":
            states = self.compiled(tokens.view(*mask.shape, -1))
            return states.flatten(0, 1).to(tokens.dtype)
        for layer in self:
            tokens = layer(tokens, mask)
        return tokens


class PackedLayer(nn.Module):
    """A BERT encoder layer without arithmetic on padding.

    Linear maps run over real tokens only, (N, H); attention alone sees the padded (L, T, H).
    Sentences of a batch differ in length so much that this halves the time of a step.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        H = MINILM_HIDDEN
        self.heads = MINILM_HEADS
        self.query, self.key, self.value, self.mix = (nn.Linear(H, H) for _ in range(4))
        self.attended = nn.LayerNorm(H, eps=EPSILON)
        self.widen, self.narrow = nn.Linear(H, MINILM_WIDE), nn.Linear(MINILM_WIDE, H)
        self.done = nn.LayerNorm(H, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H), the true positions of mask (L, T) in order, to (N, H)."""
        query, key, value = (
            self.pad(part(tokens), mask) for part in (self.query, self.key, self.value)
        )  # (L, heads, T, H / heads)
        # Sentences are short: written out, this is quicker on a processor than a fused kernel.
        agreement = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5  # (L, heads, T, T)
        full = len(tokens) == mask.numel()  # no padding: nothing to mask or to remove
        if not full:
            agreement = agreement.masked_fill(~mask[:, None, None, :], float("-inf"))
        context = (agreement.softmax(-1) @ value).transpose(1, 2).flatten(2)  # (L, T, H)
        context = context.flatten(0, 1) if full else context[mask]  # (N, H)
        tokens = self.attended(tokens + self.dropout(self.mix(context)))
        wide = F.gelu(self.widen(tokens))
        normed: Tensor = self.done(tokens + self.dropout(self.narrow(wide)))
        return normed

    def pad(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (N, H) back at their places, split into heads: (L, heads, T, H / heads)."""
        placed = tokens
        if len(tokens) < mask.numel():
            placed = tokens.new_zeros(*mask.shape, tokens.shape[-1])
            placed[mask] = tokens
        return placed.view(*mask.shape, self.heads, -1).transpose(1, 2)


class CompiledLayers:
    """Some layers, one after another; threads compute at the same time."""

    def __init__(self, layers: nn.ModuleList) -> None:
        """Compile layers with their current weights."""
        openvino = library()
        states = openvino.opset15.parameter([-1, -1, MINILM_HIDDEN], np.float32)
        last = states
        for layer in layers:
            assert isinstance(layer, PackedLayer)
            last = translate(layer, last)
        threads = torch.get_num_threads()
        options = {
            # A thread for each text: more have too little to do.
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        model = openvino.Model([last], [states])
        self.model = openvino.Core().compile_model(model, "CPU", options)
        self.idle: list[Any] = []  # requests that no thread uses
        self.layers = layers  # whose weights it reads

    def __call__(self, states: Tensor) -> Tensor:
        """States (L, T, H) of texts of equal length to those above the layers."""
        try:
            request = self.idle.pop()
        except IndexError:
            request = self.model.create_infer_request()
        request.infer([states.float().contiguous().numpy()])
        last = torch.from_numpy(np.array(request.get_output_tensor(0).data))
        self.idle.append(request)
        return last


class DeferredLayers:
    """CompiledLayers at first use: a checkpoint may still change the weights."""

    def __init__(self, layers: LayerStack) -> None:
        self.layers = layers

    @cached_property
    def compiled(self) -> CompiledLayers:
        """The layers with their current weights."""
        return CompiledLayers(self.layers)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeferredLayers:
        """Layers of the copied network with its own weights."""
        return DeferredLayers(copy.deepcopy(self.layers, memo))

    def __call__(self, states: Tensor) -> Tensor:
        """The states of the CompiledLayers."""
        return self.compiled(states)


def translate(layer: PackedLayer, states: Any) -> Any:
    """The output of a layer as a node of OpenVINO's, for states (L, T, H)."""
    ops = library().opset15
    query, key, value = (
        split(project(states, part), layer.heads) for part in (layer.query, layer.key, layer.value)
    )
    agreement = ops.matmul(query, key, False, True)  # (L, heads, T, T)
    shares = ops.softmax(
        ops.multiply(agreement, np.float32((MINILM_HIDDEN // layer.heads) ** -0.5)), -1
    )
    context = ops.transpose(ops.matmul(shares, value, False, False), np.array([0, 2, 1, 3]))
    context = ops.reshape(context, np.array([0, 0, MINILM_HIDDEN]), True)  # (L, T, H)
    states = normalize(ops.add(states, project(context, layer.mix)), layer.attended)
    wide = ops.gelu(project(states, layer.widen), "erf")
    return normalize(ops.add(states, project(wide, layer.narrow)), layer.done)


def project(states: Any, linear: nn.Linear) -> Any:
    """A linear map of the last dimension; weights in single precision stay torch's."""
    openvino = library()
    weight = linear.weight.detach().float().contiguous().numpy()
    same = bool(weight.ctypes.data == linear.weight.data_ptr())
    constant = openvino.op.Constant(weight, shared_memory=same)
    product = openvino.opset15.matmul(states, constant, False, True)
    return openvino.opset15.add(product, linear.bias.detach().float().numpy())


def split(states: Any, heads: int) -> Any:
    """States (L, T, H) split into heads: (L, heads, T, H / heads)."""
    ops = library().opset15
    placed = ops.reshape(states, np.array([0, 0, heads, -1]), True)
    return ops.transpose(placed, np.array([0, 2, 1, 3]))


def normalize(states: Any, norm: nn.LayerNorm) -> Any:
    """A layer norm."""
    ops = library().opset15
    weight, bias = (numbers.detach().float().numpy() for numbers in (norm.weight, norm.bias))
    normed = ops.mvn(states, np.array([-1]), True, norm.eps, "inside_sqrt")
    return ops.add(ops.multiply(normed, weight), bias)
