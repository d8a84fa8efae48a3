//! What the pickle of a torch file can hold: plain values, tensors, and the few names that tensors need.

use infeed_core::Dtype;

/// The number of a value among all of a pickle. Values that are named twice have one number.
pub(super) type Id = u32;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Int(i64),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Name(Name),
    Storage(Box<Storage>),
    Tensor(Box<Tensor>),
    True,
    /// Something that no tensor is made of: None, floats, bytes, devices.
    Other,
}

impl Value {
    /// About how many bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let own = match self {
            Value::Text(text) => text.len(),
            Value::Tuple(items) | Value::List(items) => items.len() * 4,
            Value::Dict(items) => items.len() * 8,
            Value::Storage(storage) => size_of::<Storage>() + storage.key.len(),
            Value::Tensor(tensor) => {
                size_of::<Tensor>()
                    + tensor.storage.key.len()
                    + (tensor.shape.len() + tensor.strides.len()) * 8
            }
            _ => 0,
        };
        size_of::<Value>() + own
    }
}

/// What elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers that can be read.
    Known(Dtype),
    /// Others, by their name.
    Other(&'static str),
    /// Bytes, which the tensor says more about.
    Untyped,
}

impl Kind {
    /// Bytes of an element, if that is known.
    pub(super) fn size(self) -> Option<u64> {
        match self {
            Kind::Known(dtype) => Some(dtype.size() as u64),
            Kind::Untyped => Some(1),
            Kind::Other(_) => None,
        }
    }
}

/// The elements of one or several tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) kind: Kind,
    /// The name of its member.
    pub(super) key: String,
    /// How many elements it has; bytes if it is untyped.
    pub(super) elements: u64,
}

/// A view of a storage. Offset and strides are counted in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) kind: Kind,
    pub(super) storage: Storage,
    pub(super) offset: u64,
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
}

/// A name of Python that pickles of tensors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    RebuildTensor,
    RebuildTensorOfType,
    RebuildParameter,
    OrderedDict,
    Size,
    /// A value that no tensor is made of.
    Plain,
    StorageOf(Kind),
    Type(Kind),
}

/// Finds a name; everything that is not here is refused.
pub(super) fn find(module: &str, name: &str) -> Option<Name> {
    Some(match (module, name) {
        ("torch._utils", "_rebuild_tensor_v2") => Name::RebuildTensor,
        ("torch._utils", "_rebuild_tensor_v3") => Name::RebuildTensorOfType,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => Name::RebuildParameter,
        ("collections", "OrderedDict") => Name::OrderedDict,
        ("torch", "Size") => Name::Size,
        // Bytes, as Python 2 can read them.
        ("torch", "device") | ("_codecs", "encode") => Name::Plain,
        ("torch.storage" | "torch", "UntypedStorage") => Name::StorageOf(Kind::Untyped),
        ("torch", name) => match name.strip_suffix("Storage") {
            Some(kind) => Name::StorageOf(storage(kind)?),
            None => Name::Type(dtype(name)?),
        },
        _ => return None,
    })
}

fn storage(name: &str) -> Option<Kind> {
    Some(match name {
        "Bool" => Kind::Known(Dtype::Bool),
        "Byte" => Kind::Known(Dtype::U8),
        "Char" => Kind::Known(Dtype::I8),
        "Short" => Kind::Known(Dtype::I16),
        "Int" => Kind::Known(Dtype::I32),
        "Long" => Kind::Known(Dtype::I64),
        "Half" => Kind::Known(Dtype::F16),
        "BFloat16" => Kind::Known(Dtype::Bf16),
        "Float" => Kind::Known(Dtype::F32),
        "Double" => Kind::Known(Dtype::F64),
        "ComplexFloat" => Kind::Other("complex64"),
        "ComplexDouble" => Kind::Other("complex128"),
        _ => return None,
    })
}

/// Types that infeed has not.
const OTHERS: [&str; 9] = [
    "complex32",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
];

fn dtype(name: &str) -> Option<Kind> {
    const LONG: [&str; 13] = [
        "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
        "bfloat16", "float32", "float64",
    ];
    let known = LONG.contains(&name).then(|| Dtype::parse(name)).flatten().map(Kind::Known);
    known.or_else(|| OTHERS.into_iter().find(|other| *other == name).map(Kind::Other))
}

/// An integer of any length. None of those beyond 64 bits is a shape.
pub(super) fn long(bytes: &[u8]) -> Value {
    if bytes.len() > 8 {
        return Value::Other;
    }
    let fill = if bytes.last().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut wide = [fill; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    Value::Int(i64::from_le_bytes(wide))
}
