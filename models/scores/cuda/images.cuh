// Scores of images: 16 vectors of a query, a tile, are multiplied by 8 fragments of a row, DEPTH
// times together. A warp scores one row after another.

[[maybe_unused]] constexpr int TILE = 16, FRAGMENTS = 8, WARPS = 4;

// A lane's numbers of a tile, of one step: of vectors g and g + 8.
struct Vectors {
    uint4 low, high;
};

template <int SIZE>
__device__ Vectors read_vectors(const Query& query, int tile, int step, int lane) {
    const int place = (tile * TILE + lane / 4) * SIZE + step * READ + lane % 4 * 16;
    return {read(query.codes, place), read(query.codes, place + FRAGMENTS * SIZE)};
}

// The tiles that stay in registers.
template <int SIZE, int TILES, bool HELD>
struct HeldTiles {
    Vectors vectors[HELD ? TILES : 1][HELD ? SIZE / READ : 1];

    __device__ HeldTiles(const Query& query, int lane) {
        if constexpr (HELD) {
#pragma unroll
            for (int n = 0; n < TILES; n++)
#pragma unroll
                for (int step = 0; step < SIZE / READ; step++)
                    vectors[n][step] = read_vectors<SIZE>(query, n, step, lane);
        }
    }
};

// Products of 8 · DEPTH fragments by TILES tiles. Lane 4g + q has those of fragments 2q and 2q + 1
// with vector g, then with g + 8. In the place of fragments that a row lacks is its last.
template <int SIZE, int TILES, bool HELD, int DEPTH>
__device__ void multiply_row(
    int (&dots)[DEPTH][TILES][4], const Row& row, int start, const Query& query,
    const HeldTiles<SIZE, TILES, HELD>& held, int tile, int lane) {
    constexpr int STEPS = SIZE / READ, TOGETHER = STEPS < 8 ? STEPS : 8;
    const Code* places[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        const int fragment = min(start + d * FRAGMENTS + lane / 4, row.size - 1);
        places[d] = row.codes + fragment * SIZE + lane % 4 * 16;
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int k = 0; k < 4; k++) dots[d][n][k] = 0;
    }
#pragma unroll 1
    for (int first = 0; first < STEPS; first += TOGETHER) {
        uint4 codes[DEPTH][TOGETHER];
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            if (d == 0 || start + d * FRAGMENTS < row.size)
#pragma unroll
                for (int s = 0; s < TOGETHER; s++)
                    if (STEPS % TOGETHER == 0 || first + s < STEPS)
                        codes[d][s] = read(places[d], (first + s) * READ);
#pragma unroll
        for (int s = 0; s < TOGETHER; s++)
            if (STEPS % TOGETHER == 0 || first + s < STEPS)
#pragma unroll
                for (int n = 0; n < TILES; n++) {
                    Vectors vectors;
                    if constexpr (HELD) {
                        vectors = held.vectors[n][s];  // all steps are read together
                    } else {
                        vectors = read_vectors<SIZE>(query, tile + n, first + s, lane);
                    }
#pragma unroll
                    for (int d = 0; d < DEPTH; d++)
                        if (d == 0 || start + d * FRAGMENTS < row.size)
                            multiply_step(dots[d][n], vectors.low, vectors.high, codes[d][s]);
                }
    }
}

// A row's summary, spread over a warp.
template <int SIZE>
struct Summary {
    uint4 halves[(SIZE + SUMMED - 1) / SUMMED];

    __device__ Summary(const Rows& rows, int row, int lane) {
#pragma unroll
        for (int n = 0; n * SUMMED < SIZE; n++)
            if (SIZE % SUMMED == 0 || n * SUMMED + lane * 8 < SIZE)
                halves[n] = read(rows.summaries, 2LL * row * SIZE + 2 * (n * SUMMED + lane * 8));
    }

    // This lane's share of the product with a base vector.
    __device__ float multiply(const Query& query, int base, int lane) const {
        float sum = 0;
#pragma unroll
        for (int n = 0; n * SUMMED < SIZE; n++) {
            const int d = n * SUMMED + lane * 8;
            if (SIZE % SUMMED == 0 || d < SIZE) {
                auto numbers = reinterpret_cast<const float4*>(query.bases + base * SIZE + d);
                const float4 low = __ldg(numbers), high = __ldg(numbers + 1);
                const float2 a = widen(halves[n].x), b = widen(halves[n].y);
                const float2 c = widen(halves[n].z), e = widen(halves[n].w);
                sum += a.x * low.x + a.y * low.y + b.x * low.z + b.y * low.w;
                sum += c.x * high.x + c.y * high.y + e.x * high.z + e.y * high.w;
            }
        }
        return sum;
    }
};

template <int SIZE, int TILES, bool HELD, int DEPTH, bool POSITIVES>
__device__ void score_row(
    const Rows& rows, const Row& row, const Query& query,
    const HeldTiles<SIZE, TILES, HELD>& held, const Out& out, int lane) {
    const int g = lane / 4, q = lane % 4;
    const Summary<SIZE> summary(rows, query.bases ? row.number : 0, lane);
    float total = 0;  // this lane's share of a part's
    int number = 0;  // of the part
    for (int tile = 0; tile * TILE < query.vectors; tile += TILES) {
        int best[TILES][2];
        float positives[TILES][2], shifts[TILES][2];
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                best[n][k] = -0x7fffffff, positives[n][k] = 0, shifts[n][k] = 0;
        // What the summary gives to products, which maxima without a bound get at the end.
        for (int p = number; p < query.count; p++) {
            const Part& part = query.parts[p];
            if (part.first >= (tile + TILES) * TILE) break;
            if (part.together) continue;
            const int end = min(part.first + part.bases, (tile + TILES) * TILE);
#pragma unroll 1
            for (int t = max(part.first, tile * TILE); t < end; t++) {
                const int base = part.base + t - part.first;
                const float shift = add_up(summary.multiply(query, base, lane));
#pragma unroll
                for (int n = 0; n < TILES; n++)
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        if (t == (tile + n) * TILE + g + 8 * k) shifts[n][k] = shift;
            }
        }
        float scales[TILES][2];
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                scales[n][k] = __ldg(query.scales + (tile + n) * TILE + g + 8 * k);
        for (int start = 0; start < row.size; start += DEPTH * FRAGMENTS) {
            int dots[DEPTH][TILES][4];
            multiply_row<SIZE, TILES, HELD, DEPTH>(dots, row, start, query, held, tile, lane);
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                if (d == 0 || start + d * FRAGMENTS < row.size)
#pragma unroll
                    for (int n = 0; n < TILES; n++)
#pragma unroll
                        for (int k = 0; k < 2; k++) {
                            const int one = dots[d][n][2 * k], two = dots[d][n][2 * k + 1];
                            if constexpr (POSITIVES) {
                                const int fragment = start + d * FRAGMENTS + 2 * q;
                                const float low = row.scale * (one * scales[n][k]) + shifts[n][k];
                                const float high = row.scale * (two * scales[n][k]) + shifts[n][k];
                                if (fragment < row.size) positives[n][k] += max(low, 0.f);
                                if (fragment + 1 < row.size) positives[n][k] += max(high, 0.f);
                            } else {
                                best[n][k] = max(best[n][k], max(one, two));
                            }
                        }
        }
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            float value;  // of a vector: of g in even lanes, of g + 8 in odd ones
            if constexpr (POSITIVES) {
                value = lane & 1 ? positives[n][1] : positives[n][0];
                value += trade(positives[n][0], positives[n][1], lane);
                value += __shfl_xor_sync(ALL, value, 2);
            } else {
                int most = lane & 1 ? best[n][1] : best[n][0];
                most = max(most, trade(best[n][0], best[n][1], lane));
                most = max(most, __shfl_xor_sync(ALL, most, 2));
                const float scale = lane & 1 ? scales[n][1] : scales[n][0];
                const float shift = lane & 1 ? shifts[n][1] : shifts[n][0];
                value = row.scale * (most * scale) + shift;
            }
            const int vector = (tile + n) * TILE + g + 8 * (lane & 1);
            while (number < query.count) {  // parts of which vectors are in the tile
                const Part& part = query.parts[number];
                if (part.first >= (tile + n + 1) * TILE) break;
                if (q < 2 && part.first <= vector && vector < part.last)
                    total += max(value, part.least);
                if (part.last > (tile + n + 1) * TILE) break;  // it goes on in the next
                if (part.together && !POSITIVES) total += summary.multiply(query, part.base, lane);
                float score = add_up(total), error = out.add_errors(part, row);
                if constexpr (POSITIVES) {
                    const float terms = part.last - part.first;
                    score /= row.size * (terms + out.smoothing);
                    error = error / terms * (terms / (terms + out.smoothing));
                }
                if (lane == 0) out.write(number, row, score, error);
                total = 0;
                number++;
            }
        }
    }
}

template <int SIZE, int TILES, bool HELD, int DEPTH, bool POSITIVES>
__global__ void __launch_bounds__(LANES * WARPS) score_images(
    const __grid_constant__ Rows rows, const __grid_constant__ Query query,
    const __grid_constant__ Out out) {
    // Which warp this is comes from a lane, so that the compiler knows that all have the same.
    const int warp = __shfl_sync(ALL, threadIdx.x / LANES, 0), lane = threadIdx.x % LANES;
    const HeldTiles<SIZE, TILES, HELD> held(query, lane);
    int number = blockIdx.x * WARPS + warp;
    if (number >= rows.count) return;
    long long first = __ldg(rows.offsets + number), last = __ldg(rows.offsets + number + 1);
    while (number < rows.count) {
        // The next row's place is read before this one's codes, which are waited for anyway.
        const int next = number + gridDim.x * WARPS, near = min(next, rows.count - 1);
        const long long next_first = __ldg(rows.offsets + near);
        const long long next_last = __ldg(rows.offsets + near + 1);
        const Row row(rows, number, first, last, SIZE);
        score_row<SIZE, TILES, HELD, DEPTH, POSITIVES>(rows, row, query, held, out, lane);
        number = next, first = next_first, last = next_last;
    }
}
