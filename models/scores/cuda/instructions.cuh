// The instructions of NVIDIA's GPUs, from compute capability 8.0, that C++ has no words for.

using Half = unsigned short;

// Add the products of 16 vectors and 8 fragments, of 32 numbers each; see mma.m16n8k32 in PTX's ISA.
__device__ void multiply_tile(
    int (&dots)[4], unsigned low, unsigned high, unsigned low_after, unsigned high_after,
    unsigned codes, unsigned codes_after) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(dots[0]), "+r"(dots[1]), "+r"(dots[2]), "+r"(dots[3])
        : "r"(low), "r"(high), "r"(low_after), "r"(high_after), "r"(codes), "r"(codes_after));
}

// Two numbers in half precision.
__device__ float2 widen(unsigned halves) {
    float2 numbers;
    asm("cvt.f32.f16 %0, %1;" : "=f"(numbers.x) : "h"(static_cast<Half>(halves & 0xffff)));
    asm("cvt.f32.f16 %0, %1;" : "=f"(numbers.y) : "h"(static_cast<Half>(halves >> 16)));
    return numbers;
}
