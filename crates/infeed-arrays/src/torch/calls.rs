//! What calls in a pickle mean: tensors and what they are made of.

use super::{
    pickle::{Machine, Step},
    values::{Id, Kind, Name, Storage, Tensor, Value},
};

/// Axes of a tensor.
const MOST_AXES: usize = 64;

impl Machine<'_> {
    /// What `torch.save` writes for the elements of tensors: `("storage", type, key, device, elements)`.
    pub(super) fn storage(&self, id: Id) -> Step<Storage> {
        let wrong = || "a storage that is none of torch".to_owned();
        let Value::Tuple(items) = self.value(id) else { return Err(wrong()) };
        let [tag, kind, key, _, elements] = items.as_slice() else { return Err(wrong()) };
        let parts = (self.value(*tag), self.value(*kind), self.value(*key), self.value(*elements));
        match parts {
            (
                Value::Text(tag),
                Value::Name(Name::StorageOf(kind)),
                Value::Text(key),
                Value::Int(elements),
            ) if tag == "storage" => {
                let elements = u64::try_from(*elements).map_err(|_| wrong())?;
                Ok(Storage { kind: *kind, key: key.clone(), elements })
            }
            _ => Err(wrong()),
        }
    }

    /// Understands a call.
    pub(super) fn reduce(&mut self, name: Id, args: Id) -> Step<()> {
        let Value::Name(name) = *self.value(name) else {
            return Err("a call of what has no name".to_owned());
        };
        let Value::Tuple(args) = self.value(args) else { return Err("a call without arguments".to_owned()) };
        let value = match (name, args.as_slice()) {
            (Name::RebuildTensor, [storage, offset, size, stride, _, _, rest @ ..]) if rest.len() <= 1 => {
                self.tensor([*storage, *offset, *size, *stride], None, rest.first())?
            }
            (Name::RebuildTensorOfType, [storage, offset, size, stride, _, _, kind, rest @ ..])
                if rest.len() <= 1 =>
            {
                let Value::Name(Name::Type(kind)) = *self.value(*kind) else {
                    return Err("a tensor of no type".to_owned());
                };
                self.tensor([*storage, *offset, *size, *stride], Some(kind), rest.first())?
            }
            (Name::RebuildParameter, [data, ..]) => match self.value(*data) {
                Value::Tensor(tensor) => Value::Tensor(tensor.clone()),
                _ => return Err("a parameter without a tensor".to_owned()),
            },
            (Name::OrderedDict, []) => Value::Dict(vec![]),
            (Name::OrderedDict, [items]) => self.pairs(*items)?,
            (Name::Size, [sides]) => self.value(*sides).clone(),
            (Name::Plain, _) => Value::Other,
            (name, args) => return Err(format!("{name:?} with {} arguments", args.len())),
        };
        self.push(value)
    }

    fn pairs(&self, items: Id) -> Step<Value> {
        let wrong = || "an OrderedDict of what are no pairs".to_owned();
        let Value::List(items) = self.value(items) else { return Err(wrong()) };
        let pair = |item: &Id| match self.value(*item) {
            Value::List(pair) | Value::Tuple(pair) => match pair.as_slice() {
                [key, value] => Ok((*key, *value)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        };
        items.iter().map(pair).collect::<Step<_>>().map(Value::Dict)
    }

    fn sizes(&self, id: Id) -> Step<Vec<u64>> {
        let wrong = || "a shape or strides that are no numbers".to_owned();
        let Value::Tuple(items) = self.value(id) else { return Err(wrong()) };
        if items.len() > MOST_AXES {
            return Err(format!("a tensor of {} axes: at most {MOST_AXES} are read", items.len()));
        }
        let one = |id: &Id| match self.value(*id) {
            Value::Int(n) => u64::try_from(*n).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        items.iter().map(one).collect()
    }

    /// A tensor, which must lie in its storage.
    fn tensor(&self, parts: [Id; 4], kind: Option<Kind>, metadata: Option<&Id>) -> Step<Value> {
        let [storage, offset, size, stride] = parts;
        let (Value::Storage(storage), Value::Int(offset)) = (self.value(storage), self.value(offset)) else {
            return Err("a tensor without elements".to_owned());
        };
        let storage = Storage::clone(storage);
        let (shape, strides) = (self.sizes(size)?, self.sizes(stride)?);
        if let Some(Value::Dict(bits)) = metadata.map(|id| self.value(*id))
            && bits.iter().any(|(_, value)| *self.value(*value) == Value::True)
        {
            return Err(
                "a tensor that is conjugated or negated where it is read; save `tensor.resolve_neg()`"
                    .to_owned(),
            );
        }
        let offset = u64::try_from(*offset).map_err(|_| "a tensor before its elements")?;
        let kind = kind.unwrap_or(storage.kind);
        let tensor = Tensor { kind, storage, offset, shape, strides };
        match tensor.fits() {
            true => Ok(Value::Tensor(Box::new(tensor))),
            false => Err(format!(
                "a tensor of shape {:?}, strides {:?} and offset {offset} in {} elements",
                tensor.shape, tensor.strides, tensor.storage.elements
            )),
        }
    }
}

impl Tensor {
    /// Whether all elements lie in the storage. Elements of a type that is never read are not looked at.
    fn fits(&self) -> bool {
        if self.shape.len() != self.strides.len() {
            return false;
        }
        let Some(size) = self.kind.size() else { return true };
        let Some(unit) = self.storage.kind.size() else { return false };
        // Sides of 0 do not excuse the others: strides are made of them.
        let elements = self.shape.iter().try_fold(size, |all, side| all.checked_mul((*side).max(1)));
        let Some(has) = self.storage.elements.checked_mul(unit).filter(|_| elements.is_some()) else {
            return false;
        };
        if self.shape.contains(&0) {
            return true;
        }
        let last = self.shape.iter().zip(&self.strides);
        let end = last
            .map(|(side, stride)| (side - 1).checked_mul(*stride))
            .try_fold(self.offset, |all, one| all.checked_add(one?))
            .and_then(|last| last.checked_add(1)?.checked_mul(size));
        end.is_some_and(|end| end <= has)
    }
}
