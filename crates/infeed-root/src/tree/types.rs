//! The types of leaves, members and vectors.

use super::leaf::Leaf;
use infeed_core::Dtype;

/// The type of the elements of a leaf.
pub(super) fn basic(leaf: &Leaf) -> Result<Dtype, String> {
    let signed = |no: Dtype, yes: Dtype| if leaf.unsigned { no } else { yes };
    Ok(match leaf.class.as_str() {
        "TLeafO" => Dtype::Bool,
        "TLeafB" => signed(Dtype::U8, Dtype::I8),
        "TLeafS" => signed(Dtype::U16, Dtype::I16),
        "TLeafI" => signed(Dtype::U32, Dtype::I32),
        "TLeafL" | "TLeafG" => signed(Dtype::U64, Dtype::I64),
        "TLeafF" => Dtype::F32,
        "TLeafD" => Dtype::F64,
        "TLeafF16" => Dtype::F32,
        "TLeafD32" => Dtype::F64,
        "TLeafElement" => return member(leaf.member),
        other => return Err(format!("leaves of class {other} are not read")),
    })
}

/// The type of a member of a class, as streamers number them; 20 more is an array of it.
fn member(code: i32) -> Result<Dtype, String> {
    let plain = if (21..40).contains(&code) { code - 20 } else { code };
    Ok(match plain {
        1 => Dtype::I8,
        2 => Dtype::I16,
        3 | 6 => Dtype::I32,
        4 | 16 => Dtype::I64,
        5 => Dtype::F32,
        8 => Dtype::F64,
        11 => Dtype::U8,
        12 => Dtype::U16,
        13 | 15 => Dtype::U32,
        14 | 17 => Dtype::U64,
        18 => Dtype::Bool,
        9 => return Err("members of type Double32_t are not read".to_owned()),
        19 => return Err("members of type Float16_t are not read".to_owned()),
        _ => return Err(format!("members of the type {code} are not read")),
    })
}

/// Whether a class is a vector, and of what; `Some(None)` if not of numbers.
pub(super) fn vector(class: &str) -> Option<Option<Dtype>> {
    let plain = class.replace("std::", "");
    let inner = plain.strip_prefix("vector<")?.strip_suffix('>')?.trim();
    Some(match inner {
        "bool" | "Bool_t" => Some(Dtype::Bool),
        "char" | "signed char" | "Char_t" | "int8_t" => Some(Dtype::I8),
        "unsigned char" | "UChar_t" | "uint8_t" => Some(Dtype::U8),
        "short" | "Short_t" | "int16_t" => Some(Dtype::I16),
        "unsigned short" | "UShort_t" | "uint16_t" => Some(Dtype::U16),
        "int" | "Int_t" | "int32_t" => Some(Dtype::I32),
        "unsigned int" | "UInt_t" | "uint32_t" => Some(Dtype::U32),
        "long" | "long long" | "Long_t" | "Long64_t" | "int64_t" => Some(Dtype::I64),
        "unsigned long" | "unsigned long long" | "ULong_t" | "ULong64_t" | "uint64_t" => Some(Dtype::U64),
        "float" | "Float_t" => Some(Dtype::F32),
        "double" | "Double_t" => Some(Dtype::F64),
        _ => None,
    })
}
