// Scores of sentences: 16 words, of any rows, are multiplied by 8 vectors of a query, a tile. What
// each gives is written, and added up by row.

[[maybe_unused]] constexpr int WORDS = 16, REGIONS = 8;

template <int SIZE>
__device__ uint4 read_regions(const Query& query, int tile, int step, int lane) {
    return read(query.codes, (tile * REGIONS + lane / 4) * SIZE + step * READ + lane % 4 * 16);
}

// What each of `count` words gives to its row's score, but for the row's scale.
template <int SIZE, int TILES, bool HELD, bool POSITIVES>
__global__ void __launch_bounds__(LANES) score_words(
    const Code* codes, long long count, const __grid_constant__ Query query, float* values) {
    constexpr int STEPS = SIZE / READ, TOGETHER = STEPS < 8 ? STEPS : 8;
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    const Part& part = query.parts[0];
    uint4 held[HELD ? TILES : 1][HELD ? STEPS : 1];
    if constexpr (HELD) {
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int s = 0; s < STEPS; s++) held[n][s] = read_regions<SIZE>(query, n, s, lane);
    }
    for (long long first = blockIdx.x * (long long)WORDS; first < count;
         first += gridDim.x * (long long)WORDS) {
        const Code* places[2];
#pragma unroll
        for (int k = 0; k < 2; k++)
            places[k] = codes + min(first + g + 8 * k, count - 1) * SIZE + q * 16;
        float value[2], shifts[2];  // of words g and g + 8
#pragma unroll
        for (int k = 0; k < 2; k++)
            value[k] = POSITIVES ? 0 : -__int_as_float(0x7f800000), shifts[k] = 0;
        for (int tile = 0; tile * REGIONS < query.vectors; tile += TILES) {
            int dots[TILES][4];
#pragma unroll
            for (int n = 0; n < TILES; n++)
#pragma unroll
                for (int k = 0; k < 4; k++) dots[n][k] = 0;
#pragma unroll 1
            for (int begin = 0; begin < STEPS; begin += TOGETHER) {
                uint4 words[2][TOGETHER];
#pragma unroll
                for (int s = 0; s < TOGETHER; s++)
                    if (STEPS % TOGETHER == 0 || begin + s < STEPS)
#pragma unroll
                        for (int k = 0; k < 2; k++)
                            words[k][s] = read(places[k], (begin + s) * READ);
#pragma unroll
                for (int s = 0; s < TOGETHER; s++)
                    if (STEPS % TOGETHER == 0 || begin + s < STEPS)
#pragma unroll
                        for (int n = 0; n < TILES; n++) {
                            uint4 regions;
                            if constexpr (HELD) {
                                regions = held[n][s];
                            } else {
                                regions = read_regions<SIZE>(query, tile + n, begin + s, lane);
                            }
                            multiply_step(dots[n], words[0][s], words[1][s], regions);
                        }
            }
            if (tile == 0) {  // the common vectors are in the quad's first lane
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    shifts[k] = dots[0][2 * k] * part.coarse_step
                        + dots[0][2 * k + 1] * part.fine_step;
                    shifts[k] = __shfl_sync(ALL, shifts[k], lane - q);
                }
            }
#pragma unroll
            for (int n = 0; n < TILES; n++)
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    const int vector = (tile + n) * REGIONS + 2 * q + j;
                    const float scale = __ldg(query.scales + vector);
                    if (vector >= part.first && vector < part.last)
#pragma unroll
                        for (int k = 0; k < 2; k++) {
                            const float product = dots[n][2 * k + j] * scale;
                            if constexpr (POSITIVES) {
                                value[k] += max(product + shifts[k], 0.f);
                            } else {
                                value[k] = max(value[k], product);
                            }
                        }
                }
        }
        // Odd lanes go on with word g + 8.
        float kept = lane & 1 ? value[1] : value[0];
        const float other = trade(value[0], value[1], lane);
        if constexpr (POSITIVES) {
            kept += other;
            kept += __shfl_xor_sync(ALL, kept, 2);
        } else {
            kept = max(kept, other);
            kept = max(kept, __shfl_xor_sync(ALL, kept, 2)) + (lane & 1 ? shifts[1] : shifts[0]);
        }
        const long long word = first + g + 8 * (lane & 1);
        if (q < 2 && word < count) values[word] = kept;
    }
}

// Scores and errors of rows, one a thread, by what their words give.
template <bool POSITIVES>
__global__ void __launch_bounds__(LANES) add_words(
    const __grid_constant__ Rows rows, const __grid_constant__ Query query,
    const __grid_constant__ Out out, const float* values) {
    const int number = blockIdx.x * LANES + threadIdx.x;
    if (number >= rows.count) return;
    const long long first = __ldg(rows.offsets + number), last = __ldg(rows.offsets + number + 1);
    const Row row(rows, number, first, last, 0);
    const Part& part = query.parts[0];
    float score = 0;
    for (long long word = first; word < last; word++)
        score += max(row.scale * __ldg(values + word), part.least);
    float error = 0;
    if constexpr (POSITIVES) {
        const float terms = part.last - part.first;
        score /= terms * (row.size + out.smoothing);
        error = out.add_errors(part, row) / terms * (row.size / (row.size + out.smoothing));
    } else {
        const float rounds = out.rounds(part, row);
        for (int t = part.first; t < part.last; t++) {
            const float* factors = query.factors + t;
            const float rounded = rounds * __ldg(factors + 2 * query.vectors);
            const float by_reach = row.reach * __ldg(factors + query.vectors);
            error = max(error, row.scale * __ldg(factors) + by_reach + rounded);
        }
        error *= row.size;
    }
    out.write(0, row, score, error);
}
