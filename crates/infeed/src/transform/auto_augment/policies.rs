//! The learned lists: 25 pairs each of operation, probability and strength (one of ten bins; 0 if there is none).

use crate::transform::policy::Op;

/// Two operations, one after the other.
pub(super) type Pair = [(Op, f64, usize); 2];

/// Learned on ImageNet.
pub(super) const IMAGENET: [Pair; 25] = [
    [(Op::Posterize, 0.4, 8), (Op::Rotate, 0.6, 9)],
    [(Op::Solarize, 0.6, 5), (Op::AutoContrast, 0.6, 0)],
    [(Op::Equalize, 0.8, 0), (Op::Equalize, 0.6, 0)],
    [(Op::Posterize, 0.6, 7), (Op::Posterize, 0.6, 6)],
    [(Op::Equalize, 0.4, 0), (Op::Solarize, 0.2, 4)],
    [(Op::Equalize, 0.4, 0), (Op::Rotate, 0.8, 8)],
    [(Op::Solarize, 0.6, 3), (Op::Equalize, 0.6, 0)],
    [(Op::Posterize, 0.8, 5), (Op::Equalize, 1.0, 0)],
    [(Op::Rotate, 0.2, 3), (Op::Solarize, 0.6, 8)],
    [(Op::Equalize, 0.6, 0), (Op::Posterize, 0.4, 6)],
    [(Op::Rotate, 0.8, 8), (Op::Color, 0.4, 0)],
    [(Op::Rotate, 0.4, 9), (Op::Equalize, 0.6, 0)],
    [(Op::Equalize, 0.0, 0), (Op::Equalize, 0.8, 0)],
    [(Op::Invert, 0.6, 0), (Op::Equalize, 1.0, 0)],
    [(Op::Color, 0.6, 4), (Op::Contrast, 1.0, 8)],
    [(Op::Rotate, 0.8, 8), (Op::Color, 1.0, 2)],
    [(Op::Color, 0.8, 8), (Op::Solarize, 0.8, 7)],
    [(Op::Sharpness, 0.4, 7), (Op::Invert, 0.6, 0)],
    [(Op::ShearX, 0.6, 5), (Op::Equalize, 1.0, 0)],
    [(Op::Color, 0.4, 0), (Op::Equalize, 0.6, 0)],
    [(Op::Equalize, 0.4, 0), (Op::Solarize, 0.2, 4)],
    [(Op::Solarize, 0.6, 5), (Op::AutoContrast, 0.6, 0)],
    [(Op::Invert, 0.6, 0), (Op::Equalize, 1.0, 0)],
    [(Op::Color, 0.6, 4), (Op::Contrast, 1.0, 8)],
    [(Op::Equalize, 0.8, 0), (Op::Equalize, 0.6, 0)],
];

/// Learned on CIFAR-10.
pub(super) const CIFAR10: [Pair; 25] = [
    [(Op::Invert, 0.1, 0), (Op::Contrast, 0.2, 6)],
    [(Op::Rotate, 0.7, 2), (Op::TranslateX, 0.3, 9)],
    [(Op::Sharpness, 0.8, 1), (Op::Sharpness, 0.9, 3)],
    [(Op::ShearY, 0.5, 8), (Op::TranslateY, 0.7, 9)],
    [(Op::AutoContrast, 0.5, 0), (Op::Equalize, 0.9, 0)],
    [(Op::ShearY, 0.2, 7), (Op::Posterize, 0.3, 7)],
    [(Op::Color, 0.4, 3), (Op::Brightness, 0.6, 7)],
    [(Op::Sharpness, 0.3, 9), (Op::Brightness, 0.7, 9)],
    [(Op::Equalize, 0.6, 0), (Op::Equalize, 0.5, 0)],
    [(Op::Contrast, 0.6, 7), (Op::Sharpness, 0.6, 5)],
    [(Op::Color, 0.7, 7), (Op::TranslateX, 0.5, 8)],
    [(Op::Equalize, 0.3, 0), (Op::AutoContrast, 0.4, 0)],
    [(Op::TranslateY, 0.4, 3), (Op::Sharpness, 0.2, 6)],
    [(Op::Brightness, 0.9, 6), (Op::Color, 0.2, 8)],
    [(Op::Solarize, 0.5, 2), (Op::Invert, 0.0, 0)],
    [(Op::Equalize, 0.2, 0), (Op::AutoContrast, 0.6, 0)],
    [(Op::Equalize, 0.2, 0), (Op::Equalize, 0.6, 0)],
    [(Op::Color, 0.9, 9), (Op::Equalize, 0.6, 0)],
    [(Op::AutoContrast, 0.8, 0), (Op::Solarize, 0.2, 8)],
    [(Op::Brightness, 0.1, 3), (Op::Color, 0.7, 0)],
    [(Op::Solarize, 0.4, 5), (Op::AutoContrast, 0.9, 0)],
    [(Op::TranslateY, 0.9, 9), (Op::TranslateY, 0.7, 9)],
    [(Op::AutoContrast, 0.9, 0), (Op::Solarize, 0.8, 3)],
    [(Op::Equalize, 0.8, 0), (Op::Invert, 0.1, 0)],
    [(Op::TranslateY, 0.7, 9), (Op::AutoContrast, 0.9, 0)],
];

/// Learned on SVHN.
pub(super) const SVHN: [Pair; 25] = [
    [(Op::ShearX, 0.9, 4), (Op::Invert, 0.2, 0)],
    [(Op::ShearY, 0.9, 8), (Op::Invert, 0.7, 0)],
    [(Op::Equalize, 0.6, 0), (Op::Solarize, 0.6, 6)],
    [(Op::Invert, 0.9, 0), (Op::Equalize, 0.6, 0)],
    [(Op::Equalize, 0.6, 0), (Op::Rotate, 0.9, 3)],
    [(Op::ShearX, 0.9, 4), (Op::AutoContrast, 0.8, 0)],
    [(Op::ShearY, 0.9, 8), (Op::Invert, 0.4, 0)],
    [(Op::ShearY, 0.9, 5), (Op::Solarize, 0.2, 6)],
    [(Op::Invert, 0.9, 0), (Op::AutoContrast, 0.8, 0)],
    [(Op::Equalize, 0.6, 0), (Op::Rotate, 0.9, 3)],
    [(Op::ShearX, 0.9, 4), (Op::Solarize, 0.3, 3)],
    [(Op::ShearY, 0.8, 8), (Op::Invert, 0.7, 0)],
    [(Op::Equalize, 0.9, 0), (Op::TranslateY, 0.6, 6)],
    [(Op::Invert, 0.9, 0), (Op::Equalize, 0.6, 0)],
    [(Op::Contrast, 0.3, 3), (Op::Rotate, 0.8, 4)],
    [(Op::Invert, 0.8, 0), (Op::TranslateY, 0.0, 2)],
    [(Op::ShearY, 0.7, 6), (Op::Solarize, 0.4, 8)],
    [(Op::Invert, 0.6, 0), (Op::Rotate, 0.8, 4)],
    [(Op::ShearY, 0.3, 7), (Op::TranslateX, 0.9, 3)],
    [(Op::ShearX, 0.1, 6), (Op::Invert, 0.6, 0)],
    [(Op::Solarize, 0.7, 2), (Op::TranslateY, 0.6, 7)],
    [(Op::ShearY, 0.8, 4), (Op::Invert, 0.8, 0)],
    [(Op::ShearX, 0.7, 9), (Op::TranslateY, 0.8, 3)],
    [(Op::ShearY, 0.8, 5), (Op::AutoContrast, 0.7, 0)],
    [(Op::ShearX, 0.7, 2), (Op::Invert, 0.1, 0)],
];
