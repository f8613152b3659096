"""The stack that the programs of BPF objects need, by their instructions.

usage: bpf_stack_depth.py OBJECT…

Prints a line for each program: bytes, name, and the calls that need most. Kernels before Linux 6.8 round each
function's part up to 32 bytes; all of them refuse a program whose calls need more than 512 bytes together.
"""

import collections
import os
import struct
import sys

STX, ST, LDX, CALL = 3, 2, 1, 0x85
MOV_REGISTER, ADD_NUMBER = 0xBF, 0x07
STACK_REGISTER = 10
RELOCATIONS = 1, 10  # R_BPF_64_64 of a function's address, which is called, too; R_BPF_64_32 of a call

Function = collections.namedtuple("Function", "bytes calls")


def read_sections(data):
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    return headers, names


def get_text(data, header, offset):
    start = header[4] + offset
    return data[start:data.index(b"\0", start)].decode()


def read_symbols(data, headers):
    """Name, section, offset and size of each symbol of a function, by number."""
    table = next(header for header in headers if header[1] == 2)
    strings = headers[table[6]]
    symbols = {}
    for number in range(table[5] // 24):
        name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, table[4] + number * 24)
        if info & 15 == 2:
            symbols[number] = (get_text(data, strings, name), section, value, size)
    return symbols


def measure(code):
    """Bytes of the stack that a function's instructions use."""
    used = 0
    copied = None  # register that is a copy of the stack pointer
    for at in range(0, len(code), 8):
        opcode, registers, offset, number = struct.unpack_from("<BBhi", code, at)
        to, source = registers & 15, registers >> 4
        kind = opcode & 7
        base = source if kind == LDX else to
        if kind in (LDX, ST, STX) and base == STACK_REGISTER:
            used = max(used, -offset)
        if opcode == ADD_NUMBER and to == copied and number < 0:
            used = max(used, -number)
        if opcode == MOV_REGISTER and source == STACK_REGISTER:
            copied = to
        elif to == copied or opcode == CALL:
            copied = None
    return used


def read_functions(path):
    with open(path, "rb") as file:
        data = file.read()
    headers, _ = read_sections(data)
    symbols = read_symbols(data, headers)
    calls = collections.defaultdict(list)  # offset of the call and name, by section
    for header in headers:
        if header[1] != 9:
            continue
        for at in range(header[4], header[4] + header[5], 16):
            offset, info = struct.unpack_from("<QQ", data, at)
            if info & 0xFFFFFFFF in RELOCATIONS and info >> 32 in symbols:
                calls[header[7]].append((offset, symbols[info >> 32][0]))
    functions = {}
    for name, section, value, size in symbols.values():
        start = headers[section][4] + value
        called = {callee for offset, callee in calls[section] if value <= offset < value + size}
        functions[name] = Function(measure(data[start:start + size]), called)
    return functions


def find_deepest(functions, name):
    """Bytes, and the calls from this function on."""
    function = functions[name]
    own = max(1, function.bytes) + 31 & ~31
    below = max((find_deepest(functions, callee) for callee in function.calls), default=(0, []))
    return own + below[0], [f"{name} ({function.bytes})"] + below[1]


for path in sys.argv[1:]:
    functions = read_functions(path)
    called = set().union(*(function.calls for function in functions.values()))
    for name in sorted(functions.keys() - called):
        depth, chain = find_deepest(functions, name)
        print(depth, os.path.basename(path), " ".join(chain))
