//! A final check of infeed's own code against the library, whenever a tokenizer is opened.

use crate::bytelevel::{ByteLevel, Memory};
use tokenizers::Tokenizer;

/// Texts that exercise all parts of the patterns.
const SAMPLES: [&str; 8] = [
    "The quick brown fox doesn't jump; it'll wait, they've said. WE'LL SEE, I'D SAY: 'S 'ſ",
    "  leading, trailing   \n\n\t mixed \r\n blanks \u{a0}\u{2003}x   ",
    "numbers 1 12 123 1234 12345 ½ Ⅷ ٣٤ 3.14e-10",
    "naïve café Ünïcödé 中文字符 日本語テキスト русский العربية हिन्दी 한국어",
    "emoji 👩‍👩‍👧‍👦🏳️‍🌈 e\u{301}\u{327} \u{200d}\u{feff}\u{0}\u{7f}",
    "def f(x):\n    return x**2  # comment\n\n\nclass A:\n\tpass",
    "http://example.com/?a=b&c=d#e <html attr='v'>\u{85}\u{1680}''' \"\"\" ...",
    "x",
];

/// Returns whether infeed's own code agrees with the library. A final check; the tests compare far more.
pub(super) fn agrees(fast: &ByteLevel, tokenizer: &Tokenizer) -> bool {
    let mut memory = Memory::new();
    SAMPLES.iter().all(|text| {
        let mut out = vec![];
        let known = fast.encode(text, &mut memory, usize::MAX, &mut out);
        !known || tokenizer.encode_fast(*text, false).is_ok_and(|e| e.get_ids() == out)
    })
}
