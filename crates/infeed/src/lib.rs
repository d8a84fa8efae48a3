//! infeed keeps accelerators fed: it turns shards of training data into batches.
//!
//! Data goes one way, down the list of modules: a [`store`] provides bytes, a [`mod@format`] cuts them into rows, an
//! [`order`] says which row comes when, [`read`] fetches records ahead of time, [`decode`] and [`transform`] make
//! samples, [`batch`] writes them into memory that is lent out without a copy, [`mix`] mixes the samples of a batch.
//! The [`engine`] runs it all:
//!
//! ```no_run
//! use infeed::{Loader, Next, Options, Recipe, open};
//!
//! let recipe = Recipe::from_toml(&std::fs::read_to_string("train.toml").unwrap())?;
//! let mut loader = Loader::new(open(recipe)?, Options::default())?;
//! let mut epoch = loader.start()?;
//! while let Next::Batch(batch) = epoch.next(None)? {
//!     println!("{} samples", batch.len());
//! }
//! # Ok::<(), infeed::Error>(())
//! ```
//!
//! # Features
//!
//! All are on by default. Without any, the crate has the engine, orders, stores, record formats (tar, jsonl, csv, text,
//! tfrecord, mds, lmdb, folders, manifests) and the decoders and transforms that need no other crate.
//!
//! * `images`: image files, and the transforms that work on their pixels.
//! * `tables`: Parquet, Arrow, Avro, SQLite and CSV as tables.
//! * `text`: tokenizers, masking, span corruption.
//! * `tokens`: token files.

#[cfg(all(test, not(all(feature = "images", feature = "tables", feature = "text", feature = "tokens"))))]
compile_error!("the tests of this crate use every family of data: run them with the default features");

pub mod store;

mod layout;

pub mod format;

pub use infeed_order as order;

#[cfg(feature = "tables")]
pub use infeed_table as table;

pub mod read;

pub mod stream;

pub mod decode;

pub mod transform;

pub mod batch;

pub mod mix;

pub mod engine;

pub mod trace;

pub mod write;

pub mod stage;

pub mod recipe;

pub mod tables;

pub mod reserve;

pub mod watch;

mod families;

mod open;

pub use batch::{Batch, Column};
pub use engine::{Checkpoint, Loader, Next, OnError, Options, Plan, Priority, Run};
pub use infeed_core::{Dtype, Error, Result, Value, shown};
pub use open::{open, open_noted, open_source};
pub use order::World;
pub use recipe::Recipe;
pub use trace::Stats;
