// Crop, antialiased resize, flip, normalise, layout and type: from decoded pixels into a batch.
//
// The arithmetic is that of infeed-resample, bit for bit: coefficients with 22 fractional bits from double precision, a
// result of 8 bits between the two filters, Pillow's order of filters, two roundings in the affine step. It must be
// compiled without contraction to fused multiply-adds (--fmad=false).
//
// `prepare` computes, for every image and axis, which source pixels make each output pixel and with which weights.
// `draw` has one block per tile of the result. What passes between the two filters stays in shared memory.
// The structures and constants are those of job.rs.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define COLUMNS 32
#define ROWS 32
#define LINES 8
#define EACH 2
#define BLOCKS 5 // on a multiprocessor at a time
#define PRECISION 22
#define SLACK 16 // bytes that may be read after the last row in shared memory
#define HALF (1 << (PRECISION - 1))

enum { COPY, NEAREST, BOX, BILINEAR, HAMMING, BICUBIC, LANCZOS, LINEAR2, CUBIC4 };
enum { U8, F16, BF16, F32 };

struct Axis {
    double scale;   // source pixels per output pixel
    u64 table;      // where its starts, counts and coefficients are, these in groups of four: a multiple of four
    u32 source;     // pixels of the crop
    u32 first;      // first pixel of the window
    u32 len;        // pixels of the window
    u32 from;       // first pixel of the crop
    u32 lead;       // where the window begins in the result
    u32 out;        // pixels of the result
    u32 flip;
    u32 method;
    u32 groups;     // groups of four coefficients kept per output pixel
    u32 unused;
};

struct Job {
    u64 source;
    u64 target;
    u32 pitch;
    u32 stored;     // channels of the source: 1 or 3
    u32 channels;   // channels of the result: 1, or 3
    u32 dtype;
    u32 planar;
    u32 down_first;
    float scale[4];
    float bias[4];
    float fill[4];
    Axis x, y;
};

static __device__ double triangle(double x) {
    x = 1.0 - fabs(x);
    return x > 0.0 ? x : 0.0;
}

static __device__ double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x = x * 3.14159265358979323846;
    // Pillow's constants are single precision.
    return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x));
}

static __device__ double cubic(double x, double a) {
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

static __device__ double sinc(double x) {
    if (x == 0.0) return 1.0;
    x = x * 3.14159265358979323846;
    return sin(x) / x;
}

static __device__ double weight(u32 method, double x) {
    switch (method) {
    case BOX: return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case HAMMING: return hamming(x);
    case BICUBIC: return cubic(x, -0.5);
    case LANCZOS: return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
    default: return triangle(x);
    }
}

static __device__ double support(u32 method) {
    switch (method) {
    case BOX: return 0.5;
    case BICUBIC: return 2.0;
    case LANCZOS: return 3.0;
    default: return 1.0;
    }
}

// Rounds half away from zero.
static __device__ int fixed_point(double weight) {
    double scaled = weight * (double)(1 << PRECISION);
    return (int)(scaled + (scaled < 0.0 ? -0.5 : 0.5));
}

static __device__ u32 floored(double x) {
    return x <= 0.0 ? 0 : (u32)x;
}

static __device__ int clamped(long long at, u32 source) {
    return at < 0 ? 0 : at >= source ? (int)source - 1 : (int)at;
}

// Numbers in front of the coefficients: starts and counts.
static __device__ u64 head(const Axis& axis) {
    return ((u64)axis.len * 2 + 3) & ~3ull;
}

// Taps of fixed number, with the edge repeated: taps beyond it are added to the edge pixel.
template <int N>
static __device__ void fixed_taps(const Axis& axis, u32 index, int* starts, int* counts, int* taps) {
    double at = (index + 0.5) * axis.scale - 0.5;
    if (N == 2 && at < 0.0) at = 0.0;
    double low = floor(at);
    double t = at - low;
    long long start = (long long)low - (N / 2 - 1);
    int first = clamped(start, axis.source);
    int count = clamped(start + N - 1, axis.source) - first + 1;
    *starts = first;
    *counts = count;
    for (int tap = 0; tap < N; tap++) {
        double w;
        if (N == 2) w = tap ? t : 1.0 - t;
        else w = cubic(tap == 0 ? t + 1.0 : tap == 1 ? t : tap == 2 ? 1.0 - t : 2.0 - t, -0.75);
        taps[clamped(start + tap, axis.source) - first] += fixed_point(w);
    }
}

extern "C" __global__ void prepare(const Job* __restrict__ jobs, int* __restrict__ tables) {
    const Axis& axis = blockIdx.y ? jobs[blockIdx.z].y : jobs[blockIdx.z].x;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= axis.len) return;
    int* starts = tables + axis.table + i;
    int* counts = starts + axis.len;
    int* taps = tables + axis.table + head(axis) + (u64)i * axis.groups * 4;
    // Further taps of a group weigh nothing.
    for (u32 tap = 0; tap < axis.groups * 4; tap++) taps[tap] = 0;
    u32 index = axis.first + i;
    if (axis.method == COPY || axis.method == NEAREST) {
        u32 at = index;
        if (axis.method == NEAREST) {
            // Accumulated, as Pillow does: a product occasionally rounds differently.
            double here = axis.scale * 0.5;
            for (u32 step = 0; step < index; step++) here += axis.scale;
            at = floored(here);
        }
        *starts = at < axis.source ? at : axis.source - 1;
        *counts = 1;
        *taps = 1 << PRECISION;
        return;
    }
    if (axis.method == LINEAR2) return fixed_taps<2>(axis, index, starts, counts, taps);
    if (axis.method == CUBIC4) return fixed_taps<4>(axis, index, starts, counts, taps);
    double wide = axis.scale > 1.0 ? axis.scale : 1.0;
    double reach = support(axis.method) * wide;
    double center = (index + 0.5) * axis.scale;
    u32 start = floored(center - reach + 0.5);
    if (start > axis.source - 1) start = axis.source - 1;
    u32 end = floored(center + reach + 0.5);
    if (end > axis.source) end = axis.source;
    double inverse = 1.0 / wide;
    double sum = 0.0;
    for (u32 tap = start; tap < end; tap++) sum += weight(axis.method, ((double)tap - center + 0.5) * inverse);
    double norm = sum == 0.0 ? 1.0 : sum;
    *starts = start;
    *counts = end - start;
    for (u32 tap = start; tap < end; tap++) {
        double w = weight(axis.method, ((double)tap - center + 0.5) * inverse);
        taps[tap - start] = fixed_point(w / norm);
    }
}

static __device__ int clip(int sum) {
    sum >>= PRECISION;
    return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

static __device__ u16 half_bits(float value) {
#ifdef __CUDA_ARCH__
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    // For tests, which run this on a processor.
    return __builtin_bit_cast(u16, (_Float16)value);
#endif
}

static __device__ u16 upper_half(float value) {
    u32 bits = __float_as_uint(value);
    if (value != value) return (u16)((bits >> 16) | 0x40);
    return (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// What one axis does in a tile.
struct Span {
    const int* starts;
    const int* counts;
    const int4* taps;
    u32 groups;
    u32 begin, end; // pixels of the window in this tile; none if they are equal

    __device__ Span(const Axis& axis, const int* tables, u32 low, u32 high) {
        starts = tables + axis.table;
        counts = starts + axis.len;
        taps = (const int4*)(starts + head(axis));
        groups = axis.groups;
        u32 first = low > axis.lead ? low : axis.lead;
        u32 last = high < axis.lead + axis.len ? high : axis.lead + axis.len;
        begin = end = 0;
        if (first >= last) return;
        begin = axis.flip ? axis.len - (last - axis.lead) : first - axis.lead;
        end = begin + (last - first);
    }

    __device__ int stop(u32 i) const { return __ldg(starts + i) + __ldg(counts + i); }
    __device__ const int* weights(u32 i) const { return (const int*)(taps + i * groups); }
};

// The place of a pixel of the result in the window, if it is inside.
static __device__ bool inside(const Axis& axis, u32 at, u32* place) {
    if (at < axis.lead || at - axis.lead >= axis.len) return false;
    *place = axis.flip ? axis.len - 1 - (at - axis.lead) : at - axis.lead;
    return true;
}

// Memory is read in words: bytes would take as many instructions as they are.
struct Global {
    static __device__ u32 load(const u32* at) { return __ldg(at); }
};
struct Shared {
    static __device__ u32 load(const u32* at) { return *at; }
};

// Adds four pixels that begin at byte `at`, with their weights.
template <int S, typename Memory>
static __device__ void add_four(const u32* words, u32 at, const int4& weights, int* sums) {
    const u32* from = words + (at >> 2);
    const u32 shift = (at & 3) * 8;
    const int k[4] = {weights.x, weights.y, weights.z, weights.w};
    u32 bytes[S];
    u32 low = Memory::load(from);
#pragma unroll
    for (int i = 0; i < S; i++) {
        const u32 high = Memory::load(from + i + 1);
        bytes[i] = __funnelshift_r(low, high, shift);
        low = high;
    }
#pragma unroll
    for (int i = 0; i < 4 * S; i++) sums[i % S] += k[i / S] * (int)((bytes[i / 4] >> (i % 4 * 8)) & 255);
}

// Adds four bytes with one weight.
static __device__ void add_word(u32 word, int k, int* sums) {
#pragma unroll
    for (int i = 0; i < 4; i++) sums[i] += k * (int)((word >> (i * 8)) & 255);
}

static __device__ u32 packed(const int* sums) {
    return (u32)clip(sums[0]) | (u32)clip(sums[1]) << 8 | (u32)clip(sums[2]) << 16 | (u32)clip(sums[3]) << 24;
}

// Rows of the source are filtered to the columns of the tile, and these to its rows.
template <int S>
static __device__ void across_first(const Job& job, const Span& xs, const Span& ys, u32* room, u32 size, u32* result,
                                    bool here, u32 column) {
    const int words = COLUMNS * S / 4;
    const int most = size / (COLUMNS * S);
    const u32* source = (const u32*)job.source;
    const u32 thread = threadIdx.y * COLUMNS + threadIdx.x;
    const int start = here ? __ldg(xs.starts + column) : 0;
    const int groups = here ? (__ldg(xs.counts + column) + 3) / 4 : 0;
    const int4* taps = xs.taps + column * xs.groups;
    for (u32 next, row = ys.begin; row < ys.end; row = next) {
        const int top = __ldg(ys.starts + row);
        // Mostly there is room for all rows at once.
        next = ys.end;
        if (ys.stop(ys.end - 1) - top > most) {
            next = row + 1;
            while (ys.stop(next) - top <= most) next++;
        }
        const int rows = ys.stop(next - 1) - top;
        const u32 corner = (job.y.from + top) * job.pitch + (job.x.from + start) * S;
        for (int r = threadIdx.y * EACH; here && r < rows; r += LINES * EACH) {
            u32 at[EACH];
            int sums[EACH][S];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                at[e] = corner + (r + e < rows ? r + e : rows - 1) * job.pitch;
#pragma unroll
                for (int c = 0; c < S; c++) sums[e][c] = HALF;
            }
            for (int group = 0; group < groups; group++) {
                const int4 weights = __ldg(taps + group);
#pragma unroll
                for (int e = 0; e < EACH; e++) {
                    add_four<S, Global>(source, at[e], weights, sums[e]);
                    at[e] += 4 * S;
                }
            }
#pragma unroll
            for (int e = 0; e < EACH; e++)
                if (r + e < rows)
#pragma unroll
                    for (int c = 0; c < S; c++)
                        ((u8*)room)[((r + e) * COLUMNS + threadIdx.x) * S + c] = (u8)clip(sums[e][c]);
        }
        __syncthreads();
        for (u32 task = thread; task < (next - row) * words; task += COLUMNS * LINES) {
            const u32 j = row + task / words, word = task % words;
            const int from = __ldg(ys.starts + j) - top, count = __ldg(ys.counts + j);
            const int* weights = ys.weights(j);
            int sums[4] = {HALF, HALF, HALF, HALF};
            for (int tap = 0; tap < count; tap++)
                add_word(room[(from + tap) * words + word], __ldg(weights + tap), sums);
            result[(j - ys.begin) * words + word] = packed(sums);
        }
        __syncthreads();
    }
}

// Columns of the source are filtered to the rows of the tile, and these to its columns.
template <int S>
static __device__ void down_first(const Job& job, const Span& xs, const Span& ys, u32* room, u32 size, u32* result,
                                  bool here, u32 column) {
    if (xs.begin == xs.end) return;
    const int left = __ldg(xs.starts + xs.begin);
    const u32 words = ((xs.stop(xs.end - 1) - left) * S + 3) / 4;
    const u32 most = (size - SLACK) / (words * 4);
    if (most == 0) return;
    const u32* source = (const u32*)job.source;
    const int start = here ? __ldg(xs.starts + column) - left : 0;
    const int groups = here ? (__ldg(xs.counts + column) + 3) / 4 : 0;
    const int4* taps = xs.taps + column * xs.groups;
    for (u32 next, row = ys.begin; row < ys.end; row = next) {
        next = ys.end - row > most ? row + most : ys.end;
        for (u32 j = row + threadIdx.y; j < next; j += LINES) {
            const int from = __ldg(ys.starts + j), count = __ldg(ys.counts + j);
            const int* weights = ys.weights(j);
            for (u32 word = threadIdx.x; word < words; word += COLUMNS) {
                u32 at = (job.y.from + from) * job.pitch + (job.x.from + left) * S + word * 4;
                int sums[4] = {HALF, HALF, HALF, HALF};
                for (int tap = 0; tap < count; tap++) {
                    const u32* here = source + (at >> 2);
                    add_word(__funnelshift_r(__ldg(here), __ldg(here + 1), (at & 3) * 8), __ldg(weights + tap), sums);
                    at += job.pitch;
                }
                room[(j - row) * words + word] = packed(sums);
            }
        }
        __syncthreads();
        for (u32 j = row + threadIdx.y; here && j < next; j += LINES) {
            int sums[S];
#pragma unroll
            for (int c = 0; c < S; c++) sums[c] = HALF;
            u32 at = (j - row) * words * 4 + start * S;
            for (int group = 0; group < groups; group++, at += 4 * S)
                add_four<S, Shared>(room, at, __ldg(taps + group), sums);
#pragma unroll
            for (int c = 0; c < S; c++)
                ((u8*)result)[((j - ys.begin) * COLUMNS + threadIdx.x) * S + c] = (u8)clip(sums[c]);
        }
        __syncthreads();
    }
}

template <int D> static __device__ void store(u64 target, u64 at, float value, bool fill) {
    if (D == U8) {
        // The fill colour is cut and not rounded, as the CPU does.
        const float whole = fill ? truncf(value) : rintf(value);
        ((u8*)target)[at] = whole > 0.0f ? whole < 255.0f ? (u8)whole : 255 : 0;
    } else if (D == F16) {
        ((u16*)target)[at] = half_bits(value);
    } else if (D == BF16) {
        ((u16*)target)[at] = upper_half(value);
    } else {
        ((float*)target)[at] = value;
    }
}

// Finishes and stores the tile.
template <int D>
static __device__ void finish(const Job& job, const u8* result, u32 begin, u32 x, u32 top, u32 bottom, bool here) {
    const u32 channels = job.channels, stored = job.stored;
    const u64 target = job.target;
    const u64 across = job.planar ? 1 : channels, plane = job.planar ? (u64)job.y.out * job.x.out : 1;
    for (u32 c = 0; c < channels; c++) {
        const float scale = job.scale[c], bias = job.bias[c], fill = job.fill[c];
        const u8* from = result + threadIdx.x * stored + (stored == 1 ? 0 : c);
        for (u32 y = top + threadIdx.y; y < bottom; y += LINES) {
            u32 row;
            const bool there = inside(job.y, y, &row) && here;
            const float raw = there ? (float)from[(row - begin) * COLUMNS * stored] : fill;
            const float value = __fadd_rn(__fmul_rn(raw, scale), bias);
            store<D>(target, c * plane + ((u64)y * job.x.out + x) * across, value, !there);
        }
    }
}

// One block per tile and image; `size` bytes of shared memory beside those of the job and the result.
extern "C" __global__ void __launch_bounds__(COLUMNS* LINES, BLOCKS)
    draw(const Job* __restrict__ jobs, const int* __restrict__ tables, u32 size) {
    extern __shared__ double shared[];
    // Read once for the block: a copy of each thread would be kept in slow memory.
    u32* const words = (u32*)shared;
    const u32 thread = threadIdx.y * COLUMNS + threadIdx.x;
    if (thread < sizeof(Job) / 4) words[thread] = ((const u32*)(jobs + blockIdx.y))[thread];
    __syncthreads();
    const Job& job = *(const Job*)shared;
    u32* const result = words + sizeof(Job) / 4;
    u32* const room = result + ROWS * COLUMNS * 3 / 4;
    const u32 tiles = (job.x.out + COLUMNS - 1) / COLUMNS;
    const u32 left = blockIdx.x % tiles * COLUMNS, top = blockIdx.x / tiles * ROWS;
    const u32 right = left + COLUMNS < job.x.out ? left + COLUMNS : job.x.out;
    const u32 bottom = top + ROWS < job.y.out ? top + ROWS : job.y.out;
    const u32 x = left + threadIdx.x;
    u32 column = 0;
    const bool here = x < right && inside(job.x, x, &column);
    const Span xs(job.x, tables, left, right), ys(job.y, tables, top, bottom);
    if (job.stored == 1) {
        if (job.down_first) down_first<1>(job, xs, ys, room, size, result, here, column);
        else across_first<1>(job, xs, ys, room, size, result, here, column);
    } else {
        if (job.down_first) down_first<3>(job, xs, ys, room, size, result, here, column);
        else across_first<3>(job, xs, ys, room, size, result, here, column);
    }
    if (x >= right) return;
    const u8* from = (const u8*)result;
    switch (job.dtype) {
    case U8: return finish<U8>(job, from, ys.begin, x, top, bottom, here);
    case F16: return finish<F16>(job, from, ys.begin, x, top, bottom, here);
    case BF16: return finish<BF16>(job, from, ys.begin, x, top, bottom, here);
    default: return finish<F32>(job, from, ys.begin, x, top, bottom, here);
    }
}
