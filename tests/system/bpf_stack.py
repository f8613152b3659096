"""
The deepest stack of each BPF program in object files, as the verifier of Linux 5.10 to 6.1 reckons it: each function's
bytes, rounded up to 32, along its calls. Later kernels forgive more.

usage: bpf_stack.py OBJECT…      lines: BYTES PROGRAM > FUNCTION > …
"""
import struct
import sys

FUNCTION, EXECUTABLE, RELOCATIONS = 2, 4, 9
CALL, MOVE, ADD = 0x85, 0xbf, 0x07
FRAME_POINTER = 10


class Object:
    def __init__(self, path):
        self.data = open(path, 'rb').read()
        offset, = struct.unpack_from('<Q', self.data, 40)
        count, self.names = struct.unpack_from('<HH', self.data, 60)
        self.sections = [struct.unpack_from('<IIQQQQIIQQ', self.data, offset + i * 64) for i in range(count)]
        table = next(section for section in self.sections if section[1] == 2)
        strings = self.sections[table[6]][4]
        self.symbols = []
        for at in range(table[4], table[4] + table[5], 24):
            name, kind, _, section, value, size = struct.unpack_from('<IBBHQQ', self.data, at)
            end = self.data.index(b'\0', strings + name)
            self.symbols.append((self.data[strings + name:end].decode(), kind & 15, section, value, size))
        self.functions = {(section, value): (name, size) for name, kind, section, value, size in self.symbols if kind == FUNCTION}
        # Calls of other functions, by place.
        self.calls = {}
        for section in self.sections:
            if section[1] == RELOCATIONS and self.sections[section[7]][2] & EXECUTABLE:
                for at in range(section[4], section[4] + section[5], 16):
                    place, info = struct.unpack_from('<QQ', self.data, at)
                    self.calls[section[7], place] = self.symbols[info >> 32]
        self.deepest = {}

    def instructions(self, function):
        section, start = function
        begin = self.sections[section][4] + start
        for at in range(0, self.functions[function][1], 8):
            code, registers, offset, value = struct.unpack_from('<BBhi', self.data, begin + at)
            yield start + at, code, registers & 15, registers >> 4, offset, value

    def look_at(self, function):
        """Bytes of the function's own stack, and what it calls."""
        own, called, copies = 0, set(), set()
        for place, code, to, source, offset, value in self.instructions(function):
            kind = code & 7
            if (kind == 1 and source == FRAME_POINTER) or (kind in (2, 3) and to == FRAME_POINTER):
                own = max(own, -offset)
            elif code == ADD and to in copies:
                own = max(own, -value)
            elif code == CALL and source == 1:
                name, symbol_kind, section, at, _ = self.calls[function[0], place]
                if section: # else the kernel's
                    called.add((section, at if symbol_kind == FUNCTION else (value + 1) * 8))
            copies = (copies | {to}) if code == MOVE and source == FRAME_POINTER else copies - {to}
        return own, called

    def find_deepest(self, function):
        if function not in self.deepest:
            own, called = self.look_at(function)
            below = max((self.find_deepest(callee) for callee in called), default=(0, []))
            self.deepest[function] = (max(own, 1) + 31) // 32 * 32 + below[0], [self.functions[function][0]] + below[1]
        return self.deepest[function]


for path in sys.argv[1:]:
    program = Object(path)
    called = {callee for function in program.functions for callee in program.look_at(function)[1]}
    for function in program.functions:
        if function not in called:
            num_bytes, names = program.find_deepest(function)
            print(num_bytes, ' > '.join(names))
