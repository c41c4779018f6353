"""Scores of all rows in the memory of a GPU, in one pass over their codes, by Triton.

A program scores one row after another: its fragments' codes go from memory to the products, the
reduction and the score without an array in between, so a scan takes as long as reading them.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

FRAGMENTS = 32  # of a row that are multiplied together; those it lacks are not read
CHUNK = 64  # numbers of a vector that are multiplied together
ROWS = 4  # of a program
WIDE = 64  # padded vectors of a query from which on more threads share a row


def launch(count: int, width: int, arguments: dict[str, Any]) -> None:
    """Score `count` rows for a query of so many padded vectors.

    `arguments` are those of `score_rows`, but for sizes of blocks.
    """
    score_rows[(triton.cdiv(count, ROWS),)](
        **arguments,
        count=count,
        WIDTH=width,
        FRAGMENTS=FRAGMENTS,
        CHUNK=CHUNK,
        ROWS=ROWS,
        num_warps=1 if width < WIDE else 4,
    )


@triton.jit(do_not_specialize=["count", "terms", "products"])
def score_rows(  # type: ignore[no-untyped-def]  # Triton compiles it
    codes,
    offsets,
    scales,
    reach,
    bases,
    summaries,
    query_codes,
    query_scales,
    base_vectors,
    factors,
    scores,
    errors,
    count,
    terms,
    products,
    coarse_step,
    fine_step,
    least,
    rounding,
    smoothing,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    FRAGMENTS: tl.constexpr,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
    BASES: tl.constexpr,
    ROWS_ARE_IMAGES: tl.constexpr,
    COMMON: tl.constexpr,
    RECTIFIED: tl.constexpr,
):
    """Write scores and errors (B,) of `count` rows, as Score.kernel and Score.error define them.

    `query_codes` (WIDTH, SIZE) are the codes of `terms` vectors and, with COMMON, of what these
    have in common, coarse and fine. `base_vectors` (BASES, SIZE) are multiplied with summaries,
    and `factors` (3, WIDTH) are Coded.errors_by_row.
    """
    t = tl.arange(0, WIDTH)
    asked = t < terms
    query_scale = tl.load(query_scales + t, mask=asked, other=0.0)
    for step in range(ROWS):
        row = tl.minimum(tl.program_id(0).to(tl.int64) * ROWS + step, count - 1)  # the last again
        first = tl.load(offsets + row)
        last = tl.load(offsets + row + 1)
        scale = tl.load(scales + row)
        shift = multiply_base(summaries + row * SIZE, base_vectors, SIZE, WIDTH, CHUNK, BASES)
        best = tl.full((WIDTH,), float("-inf"), tl.float32)
        total = 0.0
        for start in range(first, last, FRAGMENTS):
            f = start + tl.arange(0, FRAGMENTS).to(tl.int64)
            real = f < last
            dots = multiply_codes(codes, f, real, query_codes, SIZE, WIDTH, FRAGMENTS, CHUNK)
            product = scale * (dots * query_scale[None, :]) + shift[None, :]
            if COMMON:
                coarse = tl.sum(tl.where(t[None, :] == terms, dots, 0.0), axis=1)
                fine = tl.sum(tl.where(t[None, :] == terms + 1, dots, 0.0), axis=1)
                product += (scale * (coarse * coarse_step + fine * fine_step))[:, None]
            pairs = real[:, None] & asked[None, :]
            if RECTIFIED:
                total += tl.sum(tl.where(pairs, tl.maximum(product, 0.0), 0.0))
            elif ROWS_ARE_IMAGES:
                best = tl.maximum(best, tl.max(tl.where(pairs, product, float("-inf")), axis=0))
            else:
                most = tl.max(tl.where(pairs, product, float("-inf")), axis=1)
                total += tl.sum(tl.where(real, tl.maximum(most, least), 0.0))
        size = (last - first).to(tl.float32)
        length = tl.load(reach + row)
        whole = tl.load(bases + row)
        rounds = rounding * (products + size) * (whole + 2 * length)
        off = scale * tl.load(factors + t, mask=asked, other=0.0)
        off += length * tl.load(factors + WIDTH + t, mask=asked, other=0.0)
        off += rounds * tl.load(factors + 2 * WIDTH + t, mask=asked, other=0.0)
        if RECTIFIED:
            words = terms * 1.0 if ROWS_ARE_IMAGES else size
            regions = size if ROWS_ARE_IMAGES else terms * 1.0
            total /= regions * (words + smoothing)
            error = tl.sum(off) / terms * (words / (words + smoothing))
        elif ROWS_ARE_IMAGES:
            total = tl.sum(tl.where(asked, tl.maximum(best, least), 0.0))
            error = tl.sum(off)
        else:
            error = tl.max(off) * size
        tl.store(scores + row, total)
        tl.store(errors + row, error)


@triton.jit
def multiply_base(  # type: ignore[no-untyped-def]
    summary,
    base_vectors,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    CHUNK: tl.constexpr,
    BASES: tl.constexpr,
):
    """The products (WIDTH,) of a row's summary; of one base vector, they stand in the first."""
    t = tl.arange(0, WIDTH)
    shift = tl.zeros((WIDTH,), tl.float32)
    for k in tl.static_range(0, SIZE if BASES > 0 else 0, CHUNK):
        d = k + tl.arange(0, CHUNK)
        base = tl.load(summary + d).to(tl.float32)
        if BASES == 1:
            shift += tl.where(t == 0, tl.sum(base * tl.load(base_vectors + d)), 0.0)
        else:
            vectors = tl.load(base_vectors + t[:, None] * SIZE + d[None, :])
            shift += tl.sum(vectors * base[None, :], axis=1)
    return shift


@triton.jit
def multiply_codes(  # type: ignore[no-untyped-def]
    codes,
    f,
    real,
    query_codes,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    FRAGMENTS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """The products (FRAGMENTS, WIDTH) of fragments' codes and a query's."""
    t = tl.arange(0, WIDTH)
    dots = tl.zeros((FRAGMENTS, WIDTH), tl.int32)
    for k in tl.static_range(0, SIZE, CHUNK):
        d = k + tl.arange(0, CHUNK)
        stored = tl.load(codes + f[:, None] * SIZE + d[None, :], mask=real[:, None], other=0)
        query = tl.load(query_codes + t[None, :] * SIZE + d[:, None])
        dots = tl.dot(stored, query, acc=dots, out_dtype=tl.int32)
    return dots.to(tl.float32)
