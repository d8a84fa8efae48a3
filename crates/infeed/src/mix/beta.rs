//! Mixing weights: random numbers with a Beta distribution.

use infeed_core::Rng;

/// Draws from Beta(alpha, alpha), as f32: then `1 - lambda` is exact in f64, and labels hold lambda without loss.
pub(super) fn draw(alpha: f64, rng: &mut Rng) -> f32 {
    let (a, b) = (ln_gamma(alpha, rng), ln_gamma(alpha, rng));
    // a / (a + b) from the logarithms: for a small alpha the numbers themselves would underflow.
    (1.0 / (1.0 + (b - a).exp())) as f32
}

/// Draws the logarithm of a Gamma(shape) variate, by the method of Marsaglia and Tsang.
fn ln_gamma(shape: f64, rng: &mut Rng) -> f64 {
    // The method needs a shape of at least 1; Gamma(s) is Gamma(s + 1) times a power of a uniform number.
    let lift = if shape < 1.0 { (above_zero(rng).ln() / shape).max(-1e300) } else { 0.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && above_zero(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln() + lift;
        }
    }
}

/// Draws from the standard normal distribution (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle) = ((-2.0 * above_zero(rng).ln()).sqrt(), std::f64::consts::TAU * rng.unit());
    radius * angle.cos()
}

/// Draws a uniform number above zero, so that it has a logarithm.
fn above_zero(rng: &mut Rng) -> f64 {
    1.0 - rng.unit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_are_those_of_the_distribution() {
        for alpha in [0.05, 0.2, 0.8, 1.0, 2.0, 32.0] {
            let n = 40_000;
            let draws: Vec<f64> =
                (0..n).map(|row| f64::from(draw(alpha, &mut Rng::at(7, 0, row, 0)))).collect();
            let mean = draws.iter().sum::<f64>() / n as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            let wanted = 1.0 / (4.0 * (2.0 * alpha + 1.0));
            assert!((mean - 0.5).abs() < 0.01, "alpha {alpha}: mean {mean}");
            assert!(
                (variance / wanted - 1.0).abs() < 0.03,
                "alpha {alpha}: variance {variance}, not {wanted}"
            );
            assert!(draws.iter().all(|x| (0.0..=1.0).contains(x)));
        }
    }

    #[test]
    fn alpha_one_is_even() {
        let mut counts = [0u32; 10];
        for row in 0..50_000 {
            counts[((draw(1.0, &mut Rng::at(1, 0, row, 0)) * 10.0) as usize).min(9)] += 1;
        }
        assert!(counts.iter().all(|n| (4_700..5_300).contains(n)), "{counts:?}");
    }

    #[test]
    fn any_alpha_gives_a_share() {
        for alpha in [1e-300, 1e-9, 1e-3, 1e6, 1e300] {
            let lambda = draw(alpha, &mut Rng::at(1, 2, 3, 4));
            assert!((0.0..=1.0).contains(&lambda), "alpha {alpha}: {lambda}");
        }
    }
}
