//! Normally distributed numbers by the ziggurat method: mostly one multiplication and one comparison each.
//!
//! The bell curve is covered by layers of equal area; the lowest one is unbounded. A random point in a random layer is
//! accepted at once if it is under the layer above; only near the edge is the curve itself evaluated.

use crate::Rng;
use std::sync::OnceLock;

const LAYERS: usize = 256;

/// Where the lowest of 256 layers ends and the tail begins, and the area of every layer: the solution of the equation
/// that makes the highest layer end at the top of the curve (verified by a test).
const EDGE: f64 = 3.654_152_885_361_009;
const AREA: f64 = 0.004_928_673_233_992_336;

struct Ziggurat {
    /// Right end of each layer, from the lowest (widened to include the tail) to the top.
    x: [f64; LAYERS + 1],
    /// Height of the curve there.
    y: [f64; LAYERS + 1],
}

fn curve(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

fn ziggurat() -> &'static Ziggurat {
    static MADE: OnceLock<Ziggurat> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut x = [0.0; LAYERS + 1];
        (x[0], x[1]) = (AREA / curve(EDGE), EDGE);
        for i in 2..LAYERS {
            // The layer between i - 1 and i has the same area as any other.
            x[i] = (-2.0 * (curve(x[i - 1]) + AREA / x[i - 1]).ln()).sqrt();
        }
        Ziggurat { x, y: x.map(curve) }
    })
}

impl Rng {
    /// Draws from the normal distribution of mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let table = ziggurat();
        loop {
            let bits = self.next_u64();
            let layer = (bits & 0xff) as usize;
            let sign = if bits & 0x100 == 0 { 1.0 } else { -1.0 };
            let x = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64) * table.x[layer];
            if x < table.x[layer + 1] {
                return sign * x;
            }
            if layer == 0 {
                return sign * self.tail();
            }
            let y = table.y[layer] + (table.y[layer + 1] - table.y[layer]) * self.unit();
            if y < curve(x) {
                return sign * x;
            }
        }
    }

    /// Draws a number beyond the edge: exponential, accepted with the probability that makes it normal.
    fn tail(&mut self) -> f64 {
        loop {
            let x = -(1.0 - self.unit()).ln() / EDGE;
            let y = -(1.0 - self.unit()).ln();
            if 2.0 * y > x * x {
                return EDGE + x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_meet_at_the_top() {
        let z = ziggurat();
        assert!(z.x.windows(2).all(|w| w[0] > w[1]), "{:?}", z.x);
        let top = z.y[LAYERS - 1] + AREA / z.x[LAYERS - 1];
        assert!((top - 1.0).abs() < 1e-9, "{top}");
    }

    #[test]
    fn moments_and_tails_are_right() {
        let mut rng = Rng::at(5, 0, 0, 0);
        let n = 400_000;
        let all: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let moment = |k: i32| all.iter().map(|x| x.powi(k)).sum::<f64>() / f64::from(n);
        assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.01, "{} {}", moment(1), moment(2));
        assert!(moment(3).abs() < 0.03 && (moment(4) - 3.0).abs() < 0.06, "{} {}", moment(3), moment(4));
        let beyond = |x: f64| all.iter().filter(|v| v.abs() > x).count() as f64 / f64::from(n);
        for (x, share) in [(0.5, 0.617_075), (1.0, 0.317_311), (2.0, 0.045_500), (3.0, 0.002_700)] {
            assert!((beyond(x) - share).abs() < 0.003, "{x}: {}", beyond(x));
        }
        assert!(beyond(EDGE) > 0.0, "the tail is drawn too");
    }
}
