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
#define EACH 4
#define PRECISION 22
#define HALF (1 << (PRECISION - 1))

enum { COPY, NEAREST, BOX, BILINEAR, HAMMING, BICUBIC, LANCZOS, LINEAR2, CUBIC4 };
enum { U8, F16, BF16, F32 };

struct Axis {
    double scale;   // source pixels per output pixel
    u64 table;      // where its starts, counts and coefficients are
    u32 source;     // pixels of the crop
    u32 first;      // first pixel of the window
    u32 len;        // pixels of the window
    u32 from;       // first pixel of the crop
    u32 lead;       // where the window begins in the result
    u32 out;        // pixels of the result
    u32 flip;
    u32 method;
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
    for (int tap = 0; tap < count; tap++) taps[tap * (u64)axis.len] = 0;
    for (int tap = 0; tap < N; tap++) {
        double w;
        if (N == 2) w = tap ? t : 1.0 - t;
        else w = cubic(tap == 0 ? t + 1.0 : tap == 1 ? t : tap == 2 ? 1.0 - t : 2.0 - t, -0.75);
        taps[(clamped(start + tap, axis.source) - first) * (u64)axis.len] += fixed_point(w);
    }
}

extern "C" __global__ void prepare(const Job* __restrict__ jobs, int* __restrict__ tables) {
    const Axis& axis = blockIdx.y ? jobs[blockIdx.z].y : jobs[blockIdx.z].x;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= axis.len) return;
    int* starts = tables + axis.table;
    int* counts = starts + axis.len;
    int* taps = counts + axis.len + i;
    starts += i;
    counts += i;
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
        taps[(tap - start) * (u64)axis.len] = fixed_point(w / norm);
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

// Stores one value; `fill` is cut to bytes and not rounded, as the CPU does.
static __device__ void store(const Job& job, u32 x, u32 y, u32 c, float raw, bool fill) {
    float value = __fadd_rn(__fmul_rn(raw, job.scale[c]), job.bias[c]);
    u64 at = job.planar ? ((u64)c * job.y.out + y) * job.x.out + x : ((u64)y * job.x.out + x) * job.channels + c;
    switch (job.dtype) {
    case U8: {
        float whole = fill ? truncf(value) : rintf(value);
        ((u8*)job.target)[at] = whole > 0.0f ? whole < 255.0f ? (u8)whole : 255 : 0;
        break;
    }
    case F16: ((u16*)job.target)[at] = half_bits(value); break;
    case BF16: ((u16*)job.target)[at] = upper_half(value); break;
    default: ((float*)job.target)[at] = value;
    }
}

// What one axis does in a tile.
struct Span {
    const int* starts;
    const int* counts;
    const int* taps;
    u32 len;
    u32 begin, end; // pixels of the window in this tile; none if they are equal

    __device__ Span(const Axis& axis, const int* tables, u32 low, u32 high) {
        starts = tables + axis.table;
        counts = starts + axis.len;
        taps = counts + axis.len;
        len = axis.len;
        u32 first = low > axis.lead ? low : axis.lead;
        u32 last = high < axis.lead + axis.len ? high : axis.lead + axis.len;
        begin = end = 0;
        if (first >= last) return;
        begin = axis.flip ? axis.len - (last - axis.lead) : first - axis.lead;
        end = begin + (last - first);
    }

    __device__ int stop(u32 i) const { return __ldg(starts + i) + __ldg(counts + i); }
};

// The place of a pixel of the result in the window, if it is inside.
static __device__ bool inside(const Axis& axis, u32 at, u32* place) {
    if (at < axis.lead || at - axis.lead >= axis.len) return false;
    *place = axis.flip ? axis.len - 1 - (at - axis.lead) : at - axis.lead;
    return true;
}

template <int S>
static __device__ void put(const Job& job, u32 x, u32 row, const int* sums) {
    u32 y = job.y.lead + (job.y.flip ? job.y.len - 1 - row : row);
    for (u32 c = 0; c < job.channels; c++) store(job, x, y, c, (float)clip(sums[S == 1 ? 0 : c]), false);
}

// Rows of the source are filtered to the columns of the tile, and these to its rows.
template <int S>
static __device__ void across_first(const Job& job, const Span& xs, const Span& ys, u8* room, u32 size, u32 x,
                                    bool here, u32 column) {
    const int most = size / (COLUMNS * S);
    const u32 lane = threadIdx.x;
    for (u32 next, row = ys.begin; row < ys.end; row = next) {
        const int top = __ldg(ys.starts + row);
        next = row + 1;
        while (next < ys.end && ys.stop(next) - top <= most) next++;
        const int rows = ys.stop(next - 1) - top;
        if (here) {
            const int start = __ldg(xs.starts + column), count = __ldg(xs.counts + column);
            const u8* corner = (const u8*)job.source + (u64)(job.y.from + top) * job.pitch + (job.x.from + start) * S;
            for (int r = threadIdx.y * EACH; r < rows; r += LINES * EACH) {
                const u8* from[EACH];
                int sums[EACH][S];
                for (int e = 0; e < EACH; e++) {
                    from[e] = corner + (u64)(r + e < rows ? r + e : rows - 1) * job.pitch;
                    for (int c = 0; c < S; c++) sums[e][c] = HALF;
                }
                for (int tap = 0; tap < count; tap++) {
                    const int k = __ldg(xs.taps + tap * (u64)xs.len + column);
                    for (int e = 0; e < EACH; e++)
                        for (int c = 0; c < S; c++) sums[e][c] += k * (int)from[e][tap * S + c];
                }
                for (int e = 0; e < EACH && r + e < rows; e++)
                    for (int c = 0; c < S; c++)
                        room[((r + e) * COLUMNS + lane) * S + c] = (u8)clip(sums[e][c]);
            }
        }
        __syncthreads();
        if (here) {
            for (u32 j = row + threadIdx.y; j < next; j += LINES) {
                const int start = __ldg(ys.starts + j) - top, count = __ldg(ys.counts + j);
                int sums[S];
                for (int c = 0; c < S; c++) sums[c] = HALF;
                for (int tap = 0; tap < count; tap++) {
                    const int k = __ldg(ys.taps + tap * (u64)ys.len + j);
                    for (int c = 0; c < S; c++) sums[c] += k * (int)room[((start + tap) * COLUMNS + lane) * S + c];
                }
                put<S>(job, x, j, sums);
            }
        }
        __syncthreads();
    }
}

// Columns of the source are filtered to the rows of the tile, and these to its columns.
template <int S>
static __device__ void down_first(const Job& job, const Span& xs, const Span& ys, u8* room, u32 size, u32 x,
                                  bool here, u32 column) {
    if (xs.begin == xs.end) return;
    const int left = __ldg(xs.starts + xs.begin);
    const u32 wide = (u32)(xs.stop(xs.end - 1) - left) * S;
    u32 most = size / wide;
    if (most == 0) return;
    for (u32 next, row = ys.begin; row < ys.end; row = next) {
        next = ys.end - row > most ? row + most : ys.end;
        for (u32 j = row + threadIdx.y; j < next; j += LINES) {
            const int start = __ldg(ys.starts + j), count = __ldg(ys.counts + j);
            const u8* corner = (const u8*)job.source + (u64)(job.y.from + start) * job.pitch + (job.x.from + left) * S;
            for (u32 b = threadIdx.x; b < wide; b += COLUMNS) {
                int sum = HALF;
                for (int tap = 0; tap < count; tap++)
                    sum += __ldg(ys.taps + tap * (u64)ys.len + j) * (int)corner[(u64)tap * job.pitch + b];
                room[(j - row) * wide + b] = (u8)clip(sum);
            }
        }
        __syncthreads();
        if (here) {
            const int start = __ldg(xs.starts + column) - left, count = __ldg(xs.counts + column);
            for (u32 j = row + threadIdx.y; j < next; j += LINES) {
                int sums[S];
                for (int c = 0; c < S; c++) sums[c] = HALF;
                for (int tap = 0; tap < count; tap++) {
                    const int k = __ldg(xs.taps + tap * (u64)xs.len + column);
                    for (int c = 0; c < S; c++) sums[c] += k * (int)room[(j - row) * wide + (start + tap) * S + c];
                }
                put<S>(job, x, j, sums);
            }
        }
        __syncthreads();
    }
}

// One block per tile and image; `size` bytes of shared memory.
extern "C" __global__ void __launch_bounds__(COLUMNS* LINES)
    draw(const Job* __restrict__ jobs, const int* __restrict__ tables, u32 size) {
    extern __shared__ u8 room[];
    const Job& job = jobs[blockIdx.y];
    const u32 across = (job.x.out + COLUMNS - 1) / COLUMNS;
    const u32 left = blockIdx.x % across * COLUMNS, top = blockIdx.x / across * ROWS;
    const u32 right = left + COLUMNS < job.x.out ? left + COLUMNS : job.x.out;
    const u32 bottom = top + ROWS < job.y.out ? top + ROWS : job.y.out;
    const u32 x = left + threadIdx.x;
    u32 column = 0, row = 0;
    const bool exists = x < right;
    const bool here = exists && inside(job.x, x, &column);
    if (exists)
        for (u32 y = top + threadIdx.y; y < bottom; y += LINES)
            if (!here || !inside(job.y, y, &row))
                for (u32 c = 0; c < job.channels; c++) store(job, x, y, c, job.fill[c], true);
    const Span xs(job.x, tables, left, right), ys(job.y, tables, top, bottom);
    if (job.stored == 1) {
        if (job.down_first) down_first<1>(job, xs, ys, room, size, x, here, column);
        else across_first<1>(job, xs, ys, room, size, x, here, column);
    } else {
        if (job.down_first) down_first<3>(job, xs, ys, room, size, x, here, column);
        else across_first<3>(job, xs, ys, room, size, x, here, column);
    }
}
