"""Copies of a program that run as it does, but whose ELF headers promise gigabytes that are not there:
holes of a sparse file. usage: sparse_elf.py PROGRAM FOLDER; prints the names of the copies."""
import os
import struct
import sys

GIGABYTES = 8 << 30
SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, align, entry
SEGMENT = struct.Struct("<IIQQQQQQ")  # type, flags, offset, address, address, file size, size, align
E_PHOFF, E_SHOFF, E_PHNUM, E_SHNUM, E_SHSTRNDX = 32, 40, 56, 60, 62
PN_XNUM = 0xFFFF
PT_LOAD, PT_NOTE = 1, 4

program, folder = sys.argv[1:]
original = open(program, "rb").read()
(section_offset,) = struct.unpack_from("<Q", original, E_SHOFF)
(segment_offset,) = struct.unpack_from("<Q", original, E_PHOFF)
(num_segments,) = struct.unpack_from("<H", original, E_PHNUM)
num_sections, names_index = struct.unpack_from("<HH", original, E_SHNUM)
names_header = SECTION.unpack_from(original, section_offset + names_index * SECTION.size)


def section_name(header):
    start = names_header[4] + header[0]
    return original[start : original.index(b"\0", start)].decode()


SECTIONS = {}
for index in range(num_sections):
    place = section_offset + index * SECTION.size
    SECTIONS[section_name(SECTION.unpack_from(original, place))] = place


def write(name, data, holes=GIGABYTES):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(len(data) + holes)
    os.chmod(path, 0o755)
    print(name)


SHF_ALLOC = 2


def grow_section(name, flags=0):
    """Its bytes are at the end of the file, and all of the hole behind them."""
    data = bytearray(original)
    header = list(SECTION.unpack_from(data, SECTIONS[name]))
    content = original[header[4] : header[4] + header[5]]
    header[4] = len(data)
    header[5] = GIGABYTES
    header[2] |= flags
    SECTION.pack_into(data, SECTIONS[name], *header)
    write("section" + ("_loaded" if flags else "") + name, bytes(data) + content)


for name in (".shstrtab", ".symtab", ".strtab", ".dynsym", ".dynstr", ".eh_frame", ".rela.plt",
             ".note.gnu.build-id", ".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"):
    if name in SECTIONS:
        grow_section(name)
        if name.startswith(".debug"):
            grow_section(name, SHF_ALLOC)

# As many sections, and segments, as the first section's header has room for.
data = bytearray(original)
struct.pack_into("<H", data, E_SHNUM, 0)
struct.pack_into("<Q", data, E_SHOFF, len(data))
first = list(SECTION.unpack_from(original, section_offset))
first[5] = GIGABYTES // SECTION.size
write("num_sections", bytes(data) + SECTION.pack(*first))

data = bytearray(original)
struct.pack_into("<H", data, E_PHNUM, PN_XNUM)
first = list(SECTION.unpack_from(original, section_offset))
first[7] = GIGABYTES // SEGMENT.size
SECTION.pack_into(data, section_offset, *first)
segments = original[segment_offset : segment_offset + num_segments * SEGMENT.size]
struct.pack_into("<Q", data, E_PHOFF, len(data))
write("num_segments", bytes(data) + segments)

# Segments of terabytes, with and without section headers.
PT_GNU_EH_FRAME = 0x6474E550
for kind, name, has_sections in (
    (PT_LOAD, "load", True),
    (PT_NOTE, "note", True),
    (PT_LOAD, "load_alone", False),
    (PT_GNU_EH_FRAME, "eh_frame_alone", False),
):
    data = bytearray(original)
    if not has_sections:
        struct.pack_into("<Q", data, E_SHOFF, 0)
        struct.pack_into("<HH", data, E_SHNUM, 0, 0)
    for index in range(num_segments):
        place = segment_offset + index * SEGMENT.size
        segment = list(SEGMENT.unpack_from(data, place))
        if segment[0] == kind:
            segment[5] = segment[6] = 1 << 42
            SEGMENT.pack_into(data, place, *segment)
    write("segment_" + name, bytes(data), 1 << 42)
