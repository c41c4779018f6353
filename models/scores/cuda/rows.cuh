// Scores of stored rows for a query, in one pass over their codes; launched by kernel.py.
//
// Codes go from memory to tensor cores without an array in between. Lane 4g + q of a warp, with g
// below 8 and q below 4, holds 16 neighbouring numbers of a few vectors. They are added in another order than they lie in, the same
// for fragments and for a query; products of codes are whole numbers, so the sums are the same.
//
// SIZE: numbers of a vector, a multiple of 64. TILES: groups of a query's vectors by which fragments
// are multiplied, once read. HELD: a query has no more tiles, and they stay in registers. POSITIVES:
// products above 0 are added up, else maxima.

using Code = signed char;

constexpr int LANES = 32, READ = 64, SUMMED = 8 * LANES, PARTS = 16;
constexpr unsigned ALL = 0xffffffff;

struct Part {  // of a query
    int first, last;  // its vectors; in a query for sentences, two come first that all share
    int base, bases, together;  // its first base vector, their count, whether one is for all
    float least;  // what a maximum counts at least
    float coarse_step, fine_step;  // of the common vectors
    float rounded;  // the length of rounded sums
    float by_scale, by_reach, by_rounding;  // factors, added up
};

struct Query {
    const Code* codes;     // (vectors, SIZE)
    const float* scales;   // (vectors,)
    const float* factors;  // (3, vectors), Coded.errors_by_row
    const float* bases;    // (base vectors, SIZE)
    int vectors, count;    // count: of parts
    Part parts[PARTS];
};

struct Rows {  // index.search.gpu.DeviceRows
    const Code* codes;
    const long long* offsets;
    const float* scales;
    const float* reach;
    const float* bases;
    const Half* summaries;
    int count;
};

struct Row {
    const Code* codes;
    int number, size;  // of fragments
    float scale, reach, whole;  // whole: a bound of a vector's numbers, added up

    __device__ Row(const Rows& rows, int number, long long first, long long last, int length)
        : codes(rows.codes + first * length), number(number), size(last - first),
          scale(__ldg(rows.scales + number)), reach(__ldg(rows.reach + number)),
          whole(__ldg(rows.bases + number) + 2 * reach) {}
};

struct Out {
    float* scores;  // (parts, stride)
    float* errors;
    long long stride;
    float rounding, smoothing;

    __device__ void write(int part, const Row& row, float score, float error) const {
        scores[part * stride + row.number] = score;
        errors[part * stride + row.number] = error;
    }

    __device__ float rounds(const Part& part, const Row& row) const {
        return rounding * (part.rounded + row.size) * row.whole;
    }

    // The errors of a fragment's products, added up.
    __device__ float add_errors(const Part& part, const Row& row) const {
        const float rounded = rounds(part, row) * part.by_rounding;
        return row.scale * part.by_scale + row.reach * part.by_reach + rounded;
    }
};

__device__ uint4 read(const void* numbers, long long place) {
    return __ldg(reinterpret_cast<const uint4*>(static_cast<const char*>(numbers) + place));
}

__device__ float add_up(float number) {
    for (int step = 1; step < LANES; step *= 2) number += __shfl_xor_sync(ALL, number, step);
    return number;
}

// The other lane's number of the one of two that this lane goes on with: the second in odd lanes.
template <typename Number>
__device__ Number trade(Number one, Number two, int lane) {
    return __shfl_xor_sync(ALL, lane & 1 ? one : two, 1);
}

// Add products of a step's numbers of 16 vectors and 8 others to a lane's sums.
__device__ void multiply_step(
    int (&dots)[4], const uint4& low, const uint4& high, const uint4& others) {
    multiply_tile(dots, low.x, high.x, low.y, high.y, others.x, others.y);
    multiply_tile(dots, low.z, high.z, low.w, high.w, others.z, others.w);
}
