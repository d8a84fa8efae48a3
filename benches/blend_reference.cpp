// The choices of a weighted blend in plain loops, as a peer for benches/blend.py.
//
// For each place, the part that is furthest behind its share is taken; the first wins ties. -ffp-contract=off keeps the
// product and the difference apart where the compiler could fuse them, which would round differently.

#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void blend_reference(const double *weights, int32_t parts, int64_t size, int16_t *part_out,
                                int64_t *sample_out) {
    std::vector<int64_t> used(parts, 0);
    for (int64_t place = 0; place < size; ++place) {
        const double scale = std::max(static_cast<double>(place), 1.0);
        int32_t best = 0;
        double behind = weights[0] * scale - static_cast<double>(used[0]);
        for (int32_t part = 1; part < parts; ++part) {
            const double other = weights[part] * scale - static_cast<double>(used[part]);
            if (other > behind) {
                behind = other;
                best = part;
            }
        }
        part_out[place] = static_cast<int16_t>(best);
        sample_out[place] = used[best];
        used[best] += 1;
    }
}
