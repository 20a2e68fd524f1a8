// Runs a package of one float input and one output: client PACKAGE DIM... <input >output
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::io::{Read, Write};

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device_type: c_int,
    device_id: c_int,
    ndim: c_int,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DLManagedTensor {
    dl_tensor: DLTensor,
    manager_ctx: *mut c_void,
    deleter: extern "C" fn(*mut DLManagedTensor),
}

extern "C" {
    fn torchdyn_load(path: *const c_char, package: *mut *mut c_void, error: *mut *mut c_char) -> c_int;
    fn torchdyn_free(package: *mut c_void);
    fn torchdyn_call(
        package: *const c_void,
        inputs: *const *const DLTensor,
        input_count: usize,
        outputs: *mut *mut DLManagedTensor,
        capacity: usize,
        count: *mut usize,
        error: *mut *mut c_char,
    ) -> c_int;
    fn torchdyn_free_error(error: *mut c_char);
}

fn check(status: c_int, error: *mut c_char) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
    unsafe { torchdyn_free_error(error) };
    Err(text)
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = CString::new(arguments[0].as_str()).unwrap();
    let mut shape: Vec<i64> = arguments[1..].iter().map(|d| d.parse().unwrap()).collect();
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data).unwrap();

    let (mut package, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
    check(unsafe { torchdyn_load(path.as_ptr(), &mut package, &mut error) }, error)?;
    let x = DLTensor {
        data: data.as_mut_ptr() as *mut c_void,
        device_type: 1,
        device_id: 0,
        ndim: shape.len() as c_int,
        code: 2,
        bits: 32,
        lanes: 1,
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let inputs = [&x as *const DLTensor];
    let (mut output, mut count) = (std::ptr::null_mut(), 0);
    let status = unsafe {
        torchdyn_call(package, inputs.as_ptr(), 1, &mut output, 1, &mut count, &mut error)
    };
    check(status, error)?;
    unsafe {
        let result = &(*output).dl_tensor;
        let elements: i64 = (0..result.ndim as usize).map(|d| *result.shape.add(d)).product();
        let bytes = elements as usize * result.bits as usize / 8;
        let begin = (result.data as *const u8).add(result.byte_offset as usize);
        std::io::stdout().write_all(std::slice::from_raw_parts(begin, bytes)).unwrap();
        ((*output).deleter)(output);
        torchdyn_free(package);
    }
    Ok(())
}
