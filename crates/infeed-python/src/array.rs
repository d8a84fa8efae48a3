//! Memory of a batch, lent to Python: the buffer protocol for NumPy, DLPack for other libraries.

use crate::dlpack;
use infeed::{Dtype, batch::Lease};
use infeed_core::Bytes;
use pyo3::{exceptions::PyBufferError, ffi, prelude::*, types::PyTuple};
use std::{
    ffi::{CStr, c_int, c_void},
    sync::Arc,
};

/// The owner that keeps the memory alive.
#[derive(Debug, Clone)]
pub(crate) enum Owner {
    /// A leased batch: writable, because the consumer owns it as long as it holds it.
    Lease(Arc<Lease>),
    /// Shared bytes: read-only, other samples may share them.
    Bytes(Bytes),
}

/// A dense array whose memory belongs to a batch. It stays valid as long as this object or any view of it lives.
#[pyclass(frozen, module = "infeed._core")]
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) owner: Owner,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Box<[isize]>,
    /// In bytes; kept here because a `Py_buffer` points to them.
    strides: Box<[isize]>,
}

impl Array {
    pub(crate) fn new(owner: Owner, dtype: Dtype, shape: &[usize]) -> Self {
        let shape: Box<[isize]> = shape.iter().map(|n| *n as isize).collect();
        let mut strides = vec![0; shape.len()].into_boxed_slice();
        let mut step = dtype.size() as isize;
        for (stride, n) in strides.iter_mut().zip(&shape).rev() {
            *stride = step;
            step *= n;
        }
        Array { owner, dtype, shape, strides }
    }

    pub(crate) fn address(&self) -> *mut c_void {
        match &self.owner {
            Owner::Lease(lease) => lease.address().cast(),
            Owner::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
        }
    }

    pub(crate) fn read_only(&self) -> bool {
        matches!(self.owner, Owner::Bytes(_))
    }

    fn bytes(&self) -> isize {
        self.shape.iter().product::<isize>() * self.dtype.size() as isize
    }

    /// The type code of the buffer protocol. bfloat16 has none: it is exported as 16-bit integers, and the Python side
    /// reinterprets them.
    fn code(&self) -> &'static CStr {
        match self.dtype {
            Dtype::Bool => c"?",
            Dtype::U8 => c"B",
            Dtype::I8 => c"b",
            Dtype::U16 | Dtype::Bf16 => c"H",
            Dtype::I16 => c"h",
            Dtype::U32 => c"I",
            Dtype::I32 => c"i",
            Dtype::U64 => c"Q",
            Dtype::I64 => c"q",
            Dtype::F16 => c"e",
            Dtype::F32 => c"f",
            Dtype::F64 => c"d",
        }
    }
}

#[pymethods]
impl Array {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape.iter())
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    #[getter]
    fn readonly(&self) -> bool {
        self.read_only()
    }

    #[getter]
    fn nbytes(&self) -> isize {
        self.bytes()
    }

    fn __repr__(&self) -> String {
        format!("Array({}, shape={:?})", self.dtype, self.shape)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = stream;
        if dl_device.is_some_and(|d| d != (1, 0)) || copy == Some(true) {
            return Err(PyBufferError::new_err("this array is in host memory and is lent without a copy"));
        }
        dlpack::export(slf, max_version.is_some_and(|v| v.0 >= 1))
    }

    // SAFETY: called by CPython with a buffer to fill in, under the rules of PEP 3118.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = slf.get();
        if view.is_null() {
            return Err(PyBufferError::new_err("no buffer to fill in"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE && array.read_only() {
            return Err(PyBufferError::new_err("this array is read-only: it shares memory with its shard"));
        }
        let with_format = flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT;
        let with_shape = flags & ffi::PyBUF_ND == ffi::PyBUF_ND;
        let with_strides = flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES;
        // SAFETY: `view` is a valid Py_buffer; shape, strides and data live in `array`, which the view keeps alive
        // through `obj` until PyBuffer_Release drops that reference.
        unsafe {
            (*view).buf = array.address();
            (*view).len = array.bytes();
            (*view).itemsize = array.dtype.size() as isize;
            (*view).readonly = c_int::from(array.read_only());
            (*view).ndim = array.shape.len() as c_int;
            (*view).format =
                if with_format { array.code().as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).shape = if with_shape { array.shape.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).strides =
                if with_strides { array.strides.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }
}
