//! DLPack, the exchange format of array libraries (version 1, and 0 for older readers).
//!
//! The layouts below are those of `dlpack.h`. A capsule owns a managed tensor; the consumer calls its deleter, which
//! drops the reference to the Python array and so, finally, the lease.

use crate::array::Array;
use infeed::Dtype;
use pyo3::{exceptions::PyBufferError, ffi, prelude::*};
use std::ffi::{CStr, c_char, c_void};

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct ElementType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, for readers before version 1.
#[repr(C)]
struct Old {
    tensor: Tensor,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Old)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

const OLD: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const READ_ONLY: u64 = 1;

/// What a capsule keeps alive.
struct Owner {
    _array: Py<Array>,
    shape: Vec<i64>,
}

fn element_type(dtype: Dtype) -> ElementType {
    let code = match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => 0,
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => 1,
        Dtype::F16 | Dtype::F32 | Dtype::F64 => 2,
        Dtype::Bf16 => 4,
        Dtype::Bool => 6,
    };
    ElementType { code, bits: dtype.size() as u8 * 8, lanes: 1 }
}

/// Exports the array in a capsule.
pub(crate) fn export<'py>(array: &Bound<'py, Array>, versioned: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let inner = array.get();
    if inner.read_only() && !versioned {
        return Err(PyBufferError::new_err(
            "this array is read-only, which this version of DLPack cannot say; copy it",
        ));
    }
    let shape: Vec<i64> = inner.shape.iter().map(|n| *n as i64).collect();
    let owner = Box::into_raw(Box::new(Owner { _array: array.clone().unbind(), shape }));
    // SAFETY: `owner` was just made and is given up only in the deleter, so its shape outlives the tensor. No strides
    // means row-major without gaps, which every array of ours is.
    let tensor = unsafe {
        Tensor {
            data: inner.address(),
            device: Device { kind: 1, id: 0 },
            ndim: inner.shape.len() as i32,
            dtype: element_type(inner.dtype),
            shape: (*owner).shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    };
    let owner = owner.cast();
    let capsule = if versioned {
        let flags = if inner.read_only() { READ_ONLY } else { 0 };
        let deleter: Option<unsafe extern "C" fn(*mut Versioned)> = Some(delete_versioned);
        let managed = Box::new(Versioned { major: 1, minor: 0, owner, deleter, flags, tensor });
        // SAFETY: the name is static, and the destructor frees a tensor that nobody took.
        unsafe { ffi::PyCapsule_New(Box::into_raw(managed).cast(), VERSIONED.as_ptr(), Some(drop_capsule)) }
    } else {
        let managed = Box::new(Old { tensor, owner, deleter: Some(delete_old) });
        // SAFETY: as above.
        unsafe { ffi::PyCapsule_New(Box::into_raw(managed).cast(), OLD.as_ptr(), Some(drop_capsule)) }
    };
    // SAFETY: PyCapsule_New gives a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Drops the owner of a tensor. The reader may call from any thread, with or without the interpreter attached.
///
/// # Safety
/// `owner` comes from `export` and is used for the last time.
unsafe fn drop_owner(owner: *mut c_void) {
    // SAFETY: made by Box::into_raw in `export` (the caller's promise).
    let mut owner = Some(unsafe { Box::from_raw(owner.cast::<Owner>()) });
    // After the end of the interpreter (a static tensor of a framework, say) there is nothing left to give memory back to.
    Python::try_attach(|_| drop(owner.take()));
    std::mem::forget(owner);
}

unsafe extern "C" fn delete_old(managed: *mut Old) {
    // SAFETY: readers call the deleter once, with the tensor they took.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: as above: the tensor was the owner's only holder.
    unsafe { drop_owner(managed.owner) };
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as in `delete_old`.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: as in `delete_old`.
    unsafe { drop_owner(managed.owner) };
}

/// Runs when a capsule is destroyed. A reader that took the tensor renamed the capsule; then there is nothing to do.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    let named = |name: &CStr| -> *mut c_void {
        let name: *const c_char = name.as_ptr();
        // SAFETY: `capsule` is the dying capsule; asking for a name it does not have is answered with 0.
        if unsafe { ffi::PyCapsule_IsValid(capsule, name) } == 0 {
            return std::ptr::null_mut();
        }
        // SAFETY: the capsule is valid under this name.
        unsafe { ffi::PyCapsule_GetPointer(capsule, name) }
    };
    let (old, versioned) = (named(OLD), named(VERSIONED));
    if !old.is_null() {
        // SAFETY: nobody took the tensor, so it is deleted here, once.
        unsafe { delete_old(old.cast()) };
    }
    if !versioned.is_null() {
        // SAFETY: as above.
        unsafe { delete_versioned(versioned.cast()) };
    }
}
