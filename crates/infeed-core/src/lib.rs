//! Types and traits of infeed. No I/O and no `unsafe`. The only threads are those of [`parallel`], which end before the
//! call that started them returns.
//!
//! The modules in the order in which data flows through the loader: [`store`] provides bytes, [`mod@format`] cuts
//! them into rows, [`order`] says which row comes when, [`source`] fetches records, [`decoder`] makes samples of
//! them, [`transform`] changes samples, the engine of the crate `infeed` writes them into batches, and
//! [`batch_transform`] changes those.
#![forbid(unsafe_code)]

pub mod batch_transform;
pub mod blocks;
pub mod cover;
pub mod decoder;
pub mod dtype;
pub mod error;
pub mod format;
pub mod image;
mod integers;
pub mod keep;
pub mod lent;
pub mod memory;
mod normal;
pub mod opening;
pub mod order;
pub mod packing;
pub mod parallel;
pub mod pool;
mod ranges;
pub mod record;
pub mod registry;
pub mod rng;
pub mod scratch;
pub mod shards;
mod shared;
mod shown;
pub mod signals;
pub mod source;
pub mod spec;
pub mod stamp;
pub mod store;
pub mod stream;
pub mod sums;
pub mod sync;
pub mod target;
pub mod tensor;
pub mod transform;
pub mod value;
mod variable;
pub mod view;

pub use batch_transform::{BatchBlock, BatchMut, BatchTransform};
pub use bytes::Bytes;
pub use cover::{Cover, Paint};
pub use decoder::{Channels, Decoder, ImageCodec, ImageInfo, Patch, Rect, Want};
pub use dtype::Dtype;
pub use error::{At, Error, Result};
pub use format::{Format, Index, Indices};
pub use image::{Deferred, Drawing, Finish, Image, PixelLayout};
pub use integers::{integer_bytes, read_integers, write_integers};
pub use memory::Budget;
pub use opening::{Can, FileLook, FolderLook, FormatEntry, Guess, Magic, OpenRequest, Opened, Sure};
pub use order::{Cursor, Order, OrderExt, Recurrence};
pub use packing::Packing;
pub use ranges::joined;
pub use record::Record;
pub use registry::{Args, Entry, Param};
pub use rng::Rng;
pub use scratch::Scratch;
pub use shards::Shards;
pub use shown::shown;
pub use signals::Signals;
pub use source::{Fetching, ReadCost, Source};
pub use spec::{Dim, FieldKind, FieldSpec, Spec};
pub use stamp::Stamp;
pub use store::{Cache, CacheCounts, Foresight, Found, Shard, Store, StoreExt, forward};
pub use stream::{Begin, Flow, Stream, StreamRow};
pub use sums::Sums;
pub use sync::{Hold, WaitHeld};
pub use target::{Boxes, Canvas, Masks, Move, Moves, Points, Reach, TargetRule};
pub use tensor::Tensor;
pub use transform::{Context, Transform};
pub use value::Value;
pub use variable::Variable;
