"""Runs a package of one float input and one output, by ctypes: client.py LIBRARY PACKAGE DIM... <input >output"""
import ctypes
import math
import sys


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int),
                ("ndim", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    pass


DLManagedTensor._fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p),
                            ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor)))]


def main(library, path, *sizes):
    torchdyn = ctypes.CDLL(library)
    error = ctypes.c_void_p()

    def check(status):
        if status:
            sys.exit(ctypes.string_at(error).decode())

    package = ctypes.c_void_p()
    check(torchdyn.torchdyn_load(path.encode(), ctypes.byref(package), ctypes.byref(error)))
    shape = (ctypes.c_int64 * len(sizes))(*map(int, sizes))
    data = ctypes.create_string_buffer(sys.stdin.buffer.read())
    x = DLTensor(ctypes.addressof(data), 1, 0, len(shape), 2, 32, 1, shape, None, 0)
    inputs = (ctypes.c_void_p * 1)(ctypes.addressof(x))
    output, count = ctypes.POINTER(DLManagedTensor)(), ctypes.c_size_t()
    check(torchdyn.torchdyn_call(package, inputs, ctypes.c_size_t(1), ctypes.byref(output), ctypes.c_size_t(1),
                                 ctypes.byref(count), ctypes.byref(error)))
    result = output.contents.dl_tensor
    elements = math.prod(result.shape[d] for d in range(result.ndim))
    sys.stdout.buffer.write(ctypes.string_at(result.data + result.byte_offset, elements * result.bits // 8))
    output.contents.deleter(output)
    torchdyn.torchdyn_free(package)


main(*sys.argv[1:])
