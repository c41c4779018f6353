// A warp of a GPU on a processor: 32 contexts that take turns where lanes exchange numbers.
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __device__
#define __global__
#define __launch_bounds__(threads)
#define __grid_constant__
#define __ldg(place) (*(place))

using std::max, std::min;
using Half = unsigned short;

struct uint4 {
    unsigned x, y, z, w;
};
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct Place {
    int x;
};

constexpr int COUNT = 32, STACK = 1 << 18;

static Place threadIdx, blockIdx, gridDim;
static int lane, turns[COUNT];
static bool ended[COUNT];
static ucontext_t contexts[COUNT], home;
static char stacks[COUNT][STACK];
static unsigned exchanged[2][COUNT][6];  // by turns, or the next would come before all have read
static std::function<void()> work;
static int first_thread;

static void choose(int next) {
    lane = next;
    threadIdx.x = first_thread + next;
}

// Let the other lanes come to where this one is; all must, as on a GPU.
static void wait() {
    const int mine = lane;
    choose((mine + 1) % COUNT);
    swapcontext(&contexts[mine], &contexts[lane]);
    for (int one = 0; one < COUNT; one++)
        if (turns[one] != turns[mine] && turns[one] != turns[mine] + 1) abort();
}

template <typename Number>
Number exchange(Number number, int other) {
    const int turn = turns[lane]++ % 2;
    memcpy(exchanged[turn][lane], &number, sizeof number);
    wait();
    memcpy(&number, exchanged[turn][other], sizeof number);
    return number;
}

template <typename Number>
Number __shfl_xor_sync(unsigned, Number number, int step) {
    return exchange(number, lane ^ step);
}

template <typename Number>
Number __shfl_sync(unsigned, Number number, int other) {
    return exchange(number, other);
}

inline float __int_as_float(int bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

inline float2 widen(unsigned halves) {
    _Float16 numbers[2];
    memcpy(numbers, &halves, sizeof numbers);
    return {static_cast<float>(numbers[0]), static_cast<float>(numbers[1])};
}

// mma.m16n8k32 of PTX's ISA: lane 4g + q has 4 numbers of each of its registers' vectors.
inline void multiply_tile(
    int (&dots)[4], unsigned low, unsigned high, unsigned low_after, unsigned high_after,
    unsigned codes, unsigned codes_after) {
    const int turn = turns[lane]++ % 2, g = lane / 4, q = lane % 4;
    const unsigned registers[6] = {low, high, low_after, high_after, codes, codes_after};
    memcpy(exchanged[turn][lane], registers, sizeof registers);
    wait();
    for (int k = 0; k < 4; k++)
        for (int half = 0; half < 2; half++)
            for (int s = 0; s < 4; s++) {
                signed char one[4], other[4];
                memcpy(one, &exchanged[turn][g * 4 + s][k / 2 + 2 * half], sizeof one);
                memcpy(other, &exchanged[turn][(2 * q + k % 2) * 4 + s][4 + half], sizeof other);
                for (int i = 0; i < 4; i++) dots[k] += one[i] * other[i];
            }
}

static void enter() {
    work();
    if (turns[lane] != turns[0]) abort();
    ended[lane] = true;
    for (int next = 0; next < COUNT; next++)
        if (!ended[next]) {
            choose(next);
            setcontext(&contexts[next]);
        }
    setcontext(&home);
}

// Run a kernel in so many blocks of warps, one warp after another.
static void run(int blocks, int warps, std::function<void()> kernel) {
    work = kernel;
    gridDim.x = blocks;
    for (int warp = 0; warp < blocks * warps; warp++) {
        blockIdx.x = warp / warps;
        first_thread = warp % warps * COUNT;
        for (int one = 0; one < COUNT; one++) {
            ended[one] = false;
            turns[one] = 0;
            getcontext(&contexts[one]);
            contexts[one].uc_stack.ss_sp = stacks[one];
            contexts[one].uc_stack.ss_size = STACK;
            makecontext(&contexts[one], enter, 0);
        }
        choose(0);
        swapcontext(&home, &contexts[0]);
    }
}
