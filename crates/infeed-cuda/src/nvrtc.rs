//! NVRTC: compiles the kernel at first use, and keeps what it made in a folder.

use crate::{
    Error, Result,
    library::{COMPILER_HINT, Places, functions},
};
use std::{
    ffi::{CStr, CString, c_char, c_int},
    fs,
    path::{Path, PathBuf},
    ptr::{null, null_mut},
};

functions! {
    /// The functions that are used.
    Functions {
        version = "nvrtcVersion"(*mut c_int, *mut c_int);
        create = "nvrtcCreateProgram"(
            *mut *mut std::ffi::c_void, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
        );
        destroy = "nvrtcDestroyProgram"(*mut *mut std::ffi::c_void);
        compile = "nvrtcCompileProgram"(*mut std::ffi::c_void, c_int, *const *const c_char);
        log_size = "nvrtcGetProgramLogSize"(*mut std::ffi::c_void, *mut usize);
        log = "nvrtcGetProgramLog"(*mut std::ffi::c_void, *mut c_char);
        code_size = "nvrtcGetCUBINSize"(*mut std::ffi::c_void, *mut usize);
        code = "nvrtcGetCUBIN"(*mut std::ffi::c_void, *mut c_char);
    }
}

/// Returns the machine code of a source for an architecture, from `folder` if it was made before.
pub(crate) fn compiled(
    places: &Places,
    source: &str,
    architecture: u32,
    folder: Option<&Path>,
) -> Result<Vec<u8>> {
    let compiler = Functions::of(places.load("libnvrtc.so", COMPILER_HINT)?)?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the pointers are to variables of the right types.
    unsafe { (compiler.version)(&raw mut major, &raw mut minor) };
    // Without contraction: the arithmetic must be that of the CPU, with two roundings.
    let options = [format!("--gpu-architecture=sm_{architecture}"), "--fmad=false".to_owned()];
    let named = format!("{source}{options:?}{major}.{minor}");
    let kept = folder.map(|folder| folder.join(format!("kernel-{:016x}.cubin", hash(named.as_bytes()))));
    if let Some(code) = kept.as_deref().and_then(kept_code) {
        return Ok(code);
    }
    let code = compile(&compiler, source, &options)?;
    if let Some(path) = kept {
        // A folder that cannot be written to costs half a second at each start.
        let _ = keep(&path, &code);
    }
    Ok(code)
}

/// Machine code that was kept: with its own sum before it, because a disk may be full or a process may have been killed.
fn kept_code(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (sum, code) = bytes.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*sum) == hash(code)).then(|| code.to_vec())
}

/// Writes aside and renames, so that other processes see all of it or nothing.
fn keep(path: &Path, code: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder)?;
    let aside = folder.join(format!(".kernel-{}-{:016x}", std::process::id(), hash(code)));
    fs::write(&aside, [&hash(code).to_le_bytes(), code].concat())?;
    fs::rename(&aside, path).inspect_err(|_| drop(fs::remove_file(&aside)))
}

/// FNV-1a: the same in every version of this program.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn compile(compiler: &Functions, source: &str, options: &[String]) -> Result<Vec<u8>> {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let (source, name) = (text(source), text("infeed.cu"));
    let options: Vec<CString> = options.iter().map(|option| text(option)).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut program = null_mut();
    // SAFETY: source and name end with zero; there are no further headers.
    let code =
        unsafe { (compiler.create)(&raw mut program, source.as_ptr(), name.as_ptr(), 0, null(), null()) };
    check("nvrtcCreateProgram", code, String::new())?;
    // SAFETY: the options end with zero and outlive the call.
    let code = unsafe { (compiler.compile)(program, options.len() as c_int, options.as_ptr()) };
    let made = check("nvrtcCompileProgram", code, log(compiler, program)).and_then(|()| {
        let mut size = 0;
        // SAFETY: the program is valid, and the pointer is to a variable of the right type.
        check("nvrtcGetCUBINSize", unsafe { (compiler.code_size)(program, &raw mut size) }, String::new())?;
        let mut out = vec![0u8; size];
        // SAFETY: there is room for as many bytes as was just said.
        let code = unsafe { (compiler.code)(program, out.as_mut_ptr().cast()) };
        check("nvrtcGetCUBIN", code, String::new())?;
        Ok(out)
    });
    // SAFETY: the program is valid and not used again.
    unsafe { (compiler.destroy)(&raw mut program) };
    made
}

fn check(call: &'static str, code: c_int, log: String) -> Result<()> {
    let why = if log.is_empty() { "NVRTC gives no reason".to_owned() } else { log };
    if code == 0 { Ok(()) } else { Err(Error::Call { call, code, why }) }
}

/// What the compiler says about a program.
fn log(compiler: &Functions, program: *mut std::ffi::c_void) -> String {
    let mut size = 0;
    // SAFETY: the program is valid, and the pointer is to a variable of the right type.
    if unsafe { (compiler.log_size)(program, &raw mut size) } != 0 || size == 0 {
        return String::new();
    }
    let mut text = vec![0u8; size];
    // SAFETY: there is room for as many bytes as was just said.
    unsafe { (compiler.log)(program, text.as_mut_ptr().cast()) };
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper").join("kernel-1.cubin");
        keep(&path, b"machine code").unwrap();
        assert_eq!(kept_code(&path).unwrap(), b"machine code");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left aside");
        let mut bytes = fs::read(&path).unwrap();
        bytes.pop();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(kept_code(&path), None);
        fs::write(&path, b"short").unwrap();
        assert_eq!(kept_code(&path), None);
    }

    #[test]
    fn without_the_compiler_the_error_says_where_it_comes_from() {
        let found = compiled(&Places::default(), "", 90, None);
        if let Err(Error::Missing(what)) = found {
            assert!(what.contains("libnvrtc.so") && what.contains("toolkit"), "{what}");
        }
    }
}
