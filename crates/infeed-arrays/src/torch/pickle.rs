//! A reader of pickles that runs nothing.
//!
//! A pickle is a program for a machine with a stack. This one knows the steps that tensors, numbers, texts and what holds
//! them need; names of Python that it does not know are refused, and the ones that it knows are not called but understood.

use super::values::{Id, Value, find, long};
use std::collections::HashMap;

/// Values on the stack.
const MOST_VALUES: usize = 1 << 22;
/// Bytes of all values: a few bytes of a pickle can ask for a copy of much.
const MOST_BYTES: usize = 256 << 20;
const MANY: &str = "the pickle holds too many values; save tensors instead of lists of numbers";

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: u64,
    pub(super) what: String,
}

/// The values of a pickle.
#[derive(Debug)]
pub(super) struct Pickle {
    values: Vec<Value>,
    pub(super) root: Id,
}

impl Pickle {
    pub(super) fn read(bytes: &[u8]) -> Result<Pickle, Fault> {
        let mut machine = Machine {
            bytes,
            at: 0,
            values: vec![],
            spent: 0,
            stack: vec![],
            marks: vec![],
            memo: HashMap::new(),
        };
        let mut begin = 0;
        loop {
            match machine.step() {
                Ok(None) => begin = machine.at,
                Ok(Some(root)) => return Ok(Pickle { values: machine.values, root }),
                Err(what) => return Err(Fault { at: begin as u64, what }),
            }
        }
    }

    pub(super) fn value(&self, id: Id) -> &Value {
        self.values.get(id as usize).unwrap_or(&Value::Other)
    }
}

/// What takes the steps.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value>,
    /// Bytes of the values.
    spent: usize,
    stack: Vec<Id>,
    /// Where in the stack marks are.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

pub(super) type Step<T> = Result<T, String>;

impl<'a> Machine<'a> {
    fn take(&mut self, len: u64) -> Step<&'a [u8]> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or("the pickle ends in the middle: the file is damaged")?;
        self.at += found.len();
        Ok(found)
    }

    fn number<const N: usize>(&mut self) -> Step<u64> {
        Ok(self.take(N as u64)?.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// A line of a name.
    fn line(&mut self) -> Step<&'a str> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or("a name without an end")?;
        let line = &self.take(end as u64 + 1)?[..end];
        std::str::from_utf8(line).map_err(|_| "a name that is no text".to_owned())
    }

    pub(super) fn push(&mut self, value: Value) -> Step<()> {
        self.spent += value.bytes();
        if self.spent > MOST_BYTES || self.stack.len() >= MOST_VALUES {
            return Err(MANY.to_owned());
        }
        self.stack.push(self.values.len() as Id);
        self.values.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Step<Id> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Step<Id> {
        let above = self.stack.len() > self.marks.last().copied().unwrap_or(0);
        above
            .then(|| self.stack.last().copied())
            .flatten()
            .ok_or_else(|| "a value that is not there".to_owned())
    }

    /// The values above the last mark.
    fn marked(&mut self) -> Step<Vec<Id>> {
        let mark =
            self.marks.pop().filter(|mark| *mark <= self.stack.len()).ok_or("a mark that is not there")?;
        Ok(self.stack.split_off(mark))
    }

    fn some(&mut self, count: usize) -> Step<Vec<Id>> {
        let mut out = (0..count).map(|_| self.pop()).collect::<Step<Vec<Id>>>()?;
        out.reverse();
        Ok(out)
    }

    pub(super) fn value(&self, id: Id) -> &Value {
        self.values.get(id as usize).unwrap_or(&Value::Other)
    }

    fn text(&mut self, len: u64) -> Step<()> {
        let text = std::str::from_utf8(self.take(len)?).map_err(|_| "a text that is not UTF-8")?;
        self.push(Value::Text(text.to_owned()))
    }

    fn remember(&mut self, place: u32) -> Step<()> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Step<()> {
        let id = *self.memo.get(&place).ok_or("a value that was not remembered")?;
        // A value can be put on the stack again and again.
        if self.stack.len() >= MOST_VALUES {
            return Err(MANY.to_owned());
        }
        self.stack.push(id);
        Ok(())
    }

    fn name(&mut self, module: &str, name: &str) -> Step<()> {
        let found = find(module, name).ok_or_else(|| {
            format!(
                "the pickle needs `{module}.{name}`, which is no part of a tensor and is not run; save tensors in dicts, lists \
                 and tuples alone"
            )
        })?;
        self.push(Value::Name(found))
    }

    /// The length or place that stands behind a step.
    fn operand(&mut self, code: u8) -> Step<u64> {
        match code {
            0x8a | 0x8c | b'U' | b'C' | b'q' | b'h' => self.number::<1>(),
            0x8d | 0x8e => self.number::<8>(),
            _ => self.number::<4>(),
        }
    }

    /// Takes one step; gives the value of the pickle with the last one.
    fn step(&mut self) -> Step<Option<Id>> {
        let code = self.take(1)?[0];
        match code {
            0x80 => {
                let version = self.number::<1>()?;
                if !(2..=5).contains(&version) {
                    return Err(format!("a pickle of protocol {version}"));
                }
            }
            0x95 => drop(self.number::<8>()?),
            b'N' | 0x89 => self.push(Value::Other)?,
            0x88 => self.push(Value::True)?,
            b'J' => {
                let number = self.number::<4>()? as u32;
                self.push(Value::Int(i64::from(number.cast_signed())))?;
            }
            b'K' | b'M' => {
                let number = if code == b'K' { self.number::<1>()? } else { self.number::<2>()? };
                self.push(Value::Int(number as i64))?;
            }
            0x8a | 0x8b => {
                let len = self.operand(code)?;
                let bytes = self.take(len)?;
                self.push(long(bytes))?;
            }
            b'G' => {
                self.take(8)?;
                self.push(Value::Other)?;
            }
            b'X' | b'T' | 0x8c | b'U' | 0x8d => {
                let len = self.operand(code)?;
                self.text(len)?;
            }
            b'C' | b'B' | 0x8e => {
                let len = self.operand(code)?;
                self.take(len)?;
                self.push(Value::Other)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b')' => self.push(Value::Tuple(vec![]))?,
            b't' => {
                let items = self.marked()?;
                self.push(Value::Tuple(items))?;
            }
            0x85..=0x87 => {
                let items = self.some(usize::from(code - 0x84))?;
                self.push(Value::Tuple(items))?;
            }
            b']' => self.push(Value::List(vec![]))?,
            b'l' => {
                let items = self.marked()?;
                self.push(Value::List(items))?;
            }
            b'a' | b'e' => {
                let items = if code == b'a' { vec![self.pop()?] } else { self.marked()? };
                let list = self.top()?;
                let Some(Value::List(all)) = self.values.get_mut(list as usize) else {
                    return Err("items of what is no list".to_owned());
                };
                all.extend(items);
            }
            b'}' => self.push(Value::Dict(vec![]))?,
            b's' | b'u' => {
                let items = if code == b's' { self.some(2)? } else { self.marked()? };
                let dict = self.top()?;
                let (pairs, []) = items.as_chunks::<2>() else {
                    return Err("a key without a value".to_owned());
                };
                let Some(Value::Dict(all)) = self.values.get_mut(dict as usize) else {
                    return Err("keys of what is no dict".to_owned());
                };
                all.extend(pairs.iter().map(|[key, value]| (*key, *value)));
            }
            b'q' | b'r' => {
                let place = self.operand(code)?;
                self.remember(place as u32)?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            b'h' | b'j' => {
                let place = self.operand(code)?;
                self.recall(place as u32)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.name(module, name)?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Text(module), Value::Text(name)) = (self.value(module), self.value(name)) else {
                    return Err("a name that is no text".to_owned());
                };
                let (module, name) = (module.clone(), name.clone());
                self.name(&module, &name)?;
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(id)?;
                self.push(Value::Storage(Box::new(storage)))?;
            }
            b'R' => {
                let (args, name) = (self.pop()?, self.pop()?);
                self.reduce(name, args)?;
            }
            b'b' => {
                // Modules keep versions in the dict of their tensors, beside its items.
                self.pop()?;
                let Value::Dict(_) = self.value(self.top()?) else {
                    return Err("an object with a state, which would have to be run".to_owned());
                };
            }
            b'.' => {
                let root = self.pop()?;
                return match self.stack.is_empty() && self.marks.is_empty() {
                    true => Ok(Some(root)),
                    false => Err("the pickle ends with more than one value".to_owned()),
                };
            }
            other => return Err(format!("the pickle has the step 0x{other:02x}, which tensors do not need")),
        }
        Ok(None)
    }
}
