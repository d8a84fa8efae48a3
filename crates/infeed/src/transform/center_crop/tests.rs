use super::*;

#[test]
fn starts_as_torchvision() {
    // (375 - 224) / 2 = 75.5 rounds to the even 76; (341 - 224) / 2 = 58.5 to the even 58.
    assert_eq!(start(375, 224), 76);
    assert_eq!(start(341, 224), 58);
    assert_eq!(start(256, 224), 16);
    assert_eq!(start(5, 8), -1);
}
