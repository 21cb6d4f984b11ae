#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_without_cuda.py FOLDER: lets the torch wheel's Python part in FOLDER (torch/lib) load on a machine without CUDA's libraries.

libtorch_python is linked with libtorch_cuda, libc10_cuda, cuDNN and cuFile: 3 GB with what those need. On the CPU none of their functions runs, but the
loader wants the libraries and what they define. This writes libraries of those names: a function ends the process when it is called (SIGILL), but for the
two that run while torch is imported: the number of CUDA devices is 0, and the place where the collective library's lock checker is kept is a zero.
"""
import pathlib
import subprocess
import sys

OTHERS = ("libtorch_cpu.so", "libc10.so", "libshm.so", "libtorch.so", "../../nvidia/cu13/lib/libcudart.so.13")
SYSTEM = ("libstdc++.so.6", "libc.so.6", "libm.so.6", "libgcc_s.so.1")
OF_INTEREST = ("_ZN2at", "_ZNK2at", "_ZN3c10", "_ZNK3c10", "_ZN4c10d", "_ZNK4c10d", "_ZN5torch", "_ZNK5torch", "_ZN3sdp", "cuFile", "cudnn", "_ZTIN", "_ZTVN")


def symbols(library, kind):
    lines = subprocess.run(["nm", "-D", kind, library], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def path_of(library):
    return subprocess.run(["g++", f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()


def definition(symbol):
    head = [f".globl {symbol}"]
    if symbol.startswith("_ZTI"):  # is asked for its name when torch registers the class
        return [".section .rodata", f"name{symbol}: .asciz \"{symbol[4:]}\"", ".data", ".balign 16", *head, f".type {symbol}, @object",
                f"{symbol}: .quad _ZTVN10__cxxabiv117__class_type_infoE+16", f".quad name{symbol}"]
    if symbol.startswith("_ZTV") or symbol == "_ZN3c104cuda20CUDACachingAllocator9allocatorE":
        return [".data", ".balign 16", *head, f".type {symbol}, @object", f"{symbol}: .zero 512"]
    body = {"_ZN4c10d15get_gil_checkerEv": ["lea nothing(%rip), %rax", "ret"], "_ZN3c104cuda12device_countEv": ["xor %eax, %eax", "ret"]}
    return [".text", *head, f".type {symbol}, @function", f"{symbol}:", *body.get(symbol, ["ud2"])]


def link(folder, name, source, *arguments):
    subprocess.run(["g++", "-shared", "-nostartfiles", "-x", "assembler", "-", "-o", folder / name, f"-Wl,-soname,{name}", *arguments],
                   input=source, text=True, check=True)


def main(folder):
    defined = set().union(*(symbols(folder / library, "--defined-only") for library in OTHERS),
                          *(symbols(path_of(library), "--defined-only") for library in SYSTEM))
    missing = sorted(symbol for symbol in symbols(folder / "libtorch_python.so", "--undefined-only") - defined if symbol.startswith(OF_INTEREST))
    note = '.section .note.GNU-stack,"",@progbits\n'
    lines = [".data", ".balign 16", "nothing: .zero 64"]
    for symbol in missing:
        lines += definition(symbol)
    link(folder, "libtorch_cuda.so", "\n".join(lines) + "\n" + note)
    for name in ("libc10_cuda.so", "libcufile.so.0"):
        link(folder, name, note)
    versions = folder / "versions"  # libtorch_python asks for cuDNN's version node
    versions.write_text("libcudnn.so.9 { local: *; };\n")
    link(folder, "libcudnn.so.9", note, f"-Wl,--version-script={versions}")
    versions.unlink()


main(pathlib.Path(sys.argv[1]))
