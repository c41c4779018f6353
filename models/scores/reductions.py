"""Reductions of products over the regions of each photo: sums above a threshold, and maxima.

torch's operators make three to six arrays of the products' size for each, with their gradients;
the loops here read them once and write the gradient once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.scores.kernels import (
    gradients_above,
    gradients_of_maxima,
    gradients_of_products,
    maxima_over_regions,
    nonzeros,
    sums_above,
)

SPARSE = 1 / 32  # the share of gradients up to which it is quicker to take them one by one
KNOWN = (torch.float32, torch.float64)  # the precisions of the compiled loops


def is_compilable(products: Tensor) -> bool:
    """Return whether the loops can read the products in place."""
    return products.device.type == "cpu" and products.dtype in KNOWN


def sum_positive(products: Tensor, real: Tensor, shift: float = 0.0) -> Tensor:
    """Σ_i max(0, p_nki + shift) over the real regions i of photo k: (N, K).

    Shapes: products (N, K, R), real (K, R).
    """
    if is_compilable(products):
        sums: Tensor = RectifiedSums.apply(products, real, shift)
        return sums
    return ((products + shift).clamp_min(0) * real).sum(2)


def maxima(products: Tensor, real: Tensor) -> Tensor:
    """max_i p_nki over the real regions i of photo k: (N, K).

    Shapes: products (N, K, R), real (K, R).
    """
    if is_compilable(products):
        most: Tensor = Maxima.apply(products, real)
        return most
    return products.masked_fill(~real, float("-inf")).max(2).values


class DotProducts(torch.autograd.Function):
    """rows (N, D) @ columns (M, D).T, where most products may have no gradient.

    Under a maximum over 20 regions only one in 20 has a gradient, and under a hinge only those of
    pairs that violate the margin.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, columns: Tensor) -> Tensor:
        """The products (N, M)."""
        ctx.save_for_backward(rows, columns)
        return rows @ columns.T

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of rows and columns, sparsely where most are 0."""
        rows, columns = ctx.saved_tensors
        outer = gradients[0].to(rows.dtype).contiguous()  # autocast may have made it less precise
        if not is_compilable(outer) or nonzeros(outer.numpy()) > SPARSE * outer.numel():
            return outer @ columns, outer.T @ rows
        of_rows, of_columns = torch.zeros_like(rows), torch.zeros_like(columns)
        arrays = [tensor.detach().contiguous().numpy() for tensor in (outer, rows, columns)]
        gradients_of_products(*arrays, of_rows.numpy(), of_columns.numpy())
        return of_rows, of_columns


class RectifiedSums(torch.autograd.Function):
    """sum_positive by compiled loops."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, real: Tensor, shift: float) -> Tensor:
        """The sums (N, K)."""
        products = products.contiguous()
        ctx.save_for_backward(products, real)
        ctx.shift = products.new_tensor(shift).numpy()[()]
        sums = products.new_empty(products.shape[:2])
        sums_above(products.detach().numpy(), real.numpy(), ctx.shift, sums.numpy())
        return sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The sum's gradient for each product above the threshold."""
        products, real = ctx.saved_tensors
        of_products = torch.empty_like(products)
        outer = gradients[0].contiguous().numpy()
        arrays = products.detach().numpy(), real.numpy()
        gradients_above(*arrays, ctx.shift, outer, of_products.numpy())
        return of_products, None, None


class Maxima(torch.autograd.Function):
    """maxima by compiled loops."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, real: Tensor) -> Tensor:
        """The maxima (N, K)."""
        most = products.new_empty(products.shape[:2])
        places = torch.empty(products.shape[:2], dtype=torch.int64)
        maxima_over_regions(
            products.detach().contiguous().numpy(), real.numpy(), most.numpy(), places.numpy()
        )
        ctx.save_for_backward(places)
        ctx.shape = products.shape
        return most

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The maximum's gradient for its region, 0 for the others."""
        (places,) = ctx.saved_tensors
        of_products = gradients[0].new_zeros(ctx.shape)
        outer = gradients[0].contiguous().numpy()
        gradients_of_maxima(places.numpy(), outer, of_products.numpy())
        return of_products, None
