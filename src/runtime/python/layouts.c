#include "runtime/python/layouts.h"

#include <errno.h>

/*
 * For a str that is ready: PyASCIIObject.state has 2 bits for interned, 3 for kind, then compact
 * and ascii.
 */
#define KIND_SHIFT  2
#define ASCII_SHIFT 6

/*
 * 3.8 to 3.12. These lines get no more changes of layout: each row holds for all of a version's releases.
 *
 * Source: Include/internal/pycore_runtime.h, pycore_interp.h, pycore_frame.h, Include/cpython/pystate.h, frameobject.h,
 * code.h, unicodeobject.h of each.
 */
static const struct known_layout {
	uint64_t
		code_object_bytes; /* PyCode_Type.tp_basicsize: without instructions, from 3.11 on */
	struct wire_python_layout layout;
} known_layouts[] = {
#define TEXT(ascii, other)                                                             \
	.text_length = 16, .text_state = 32, .text_kind_shift = KIND_SHIFT,            \
	.text_ascii_shift = ASCII_SHIFT, .ascii_text = (ascii), .other_text = (other), \
	.bytes_length = 16, .bytes_content = 32
/* 3.8 to 3.10: each Python call has a frame object, and its own call of the evaluating function. */
#define FRAME_OBJECTS(minor_version, kind, lasti)              \
	{                                                      \
		.code_object_bytes = 176, .layout = {          \
			.minor = (minor_version),              \
			.runs = WIRE_PYTHON_RUN_EACH,          \
			.instruction = (kind),                 \
			.interpreters = 32,                    \
			.interpreter_next = 0,                 \
			.interpreter_threads = 8,              \
			.thread_next = 8,                      \
			.thread_id = 176,                      \
			.thread_frame = 24,                    \
			.cframe_frame = WIRE_PYTHON_NONE,      \
			.frame_code = 32,                      \
			.frame_previous = 24,                  \
			.frame_instruction = (lasti),          \
			.frame_run = WIRE_PYTHON_NONE,         \
			.frame_bytes = (lasti) + 8,            \
			.code_first_line = 40,                 \
			.code_name = 112,                      \
			.code_file = 104,                      \
			.code_lines = 120,                     \
			.code_instructions = WIRE_PYTHON_NONE, \
			.code_start = 40,                      \
			.code_bytes = 88,                      \
			TEXT(48, 72)                           \
		}                                              \
	}
	FRAME_OBJECTS(8, WIRE_PYTHON_BYTE_INDEX, 104),
	FRAME_OBJECTS(9, WIRE_PYTHON_BYTE_INDEX, 104),
	FRAME_OBJECTS(10, WIRE_PYTHON_UNIT_INDEX, 96),
#undef FRAME_OBJECTS
	{.code_object_bytes = 184,
	 .layout = {.minor = 11,
		    .runs = WIRE_PYTHON_RUN_ENTRY,
		    .instruction = WIRE_PYTHON_POINTER,
		    .interpreters = 40,
		    .interpreter_next = 0,
		    .interpreter_threads = 16,
		    .thread_next = 8,
		    .thread_id = 152,
		    .thread_frame = 56,
		    .cframe_frame = 8,
		    .frame_code = 32,
		    .frame_previous = 48,
		    .frame_instruction = 56,
		    .frame_run = 68,
		    .frame_bytes = 72,
		    .code_first_line = 72,
		    .code_name = 128,
		    .code_file = 112,
		    .code_lines = 136,
		    .code_instructions = 184,
		    .code_start = 72,
		    .code_bytes = 72,
		    TEXT(48, 72)}},
	{.code_object_bytes = 192,
	 .layout = {.minor = 12,
		    .runs = WIRE_PYTHON_RUN_OWNER,
		    .instruction = WIRE_PYTHON_POINTER,
		    .interpreters = 40,
		    .interpreter_next = 0,
		    .interpreter_threads = 72,
		    .thread_next = 8,
		    .thread_id = 136,
		    .thread_frame = 56,
		    .cframe_frame = 0,
		    .frame_code = 0,
		    .frame_previous = 8,
		    .frame_instruction = 56,
		    .frame_run = 70,
		    .run_owner = 3, /* FRAME_OWNED_BY_CSTACK */
		    .frame_bytes = 72,
		    .code_first_line = 68,
		    .code_name = 128,
		    .code_file = 112,
		    .code_lines = 136,
		    .code_instructions = 192,
		    .code_start = 64,
		    .code_bytes = 80,
		    TEXT(40, 56)}},
#undef TEXT
};

/*
 * For each offset its word in struct _Py_DebugOffsets: the table differs between minor versions.
 *
 * Source: Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14 and 3.15.
 */
static const struct offset_table {
	unsigned char minor;
	unsigned char num_words;
	unsigned char interpreters; /* runtime_state.interpreters_head */
	unsigned char interpreter_next;
	unsigned char interpreter_threads;
	unsigned char thread_next;
	unsigned char thread_frame;
	unsigned char thread_id;
	unsigned char frame_previous;
	unsigned char frame_code; /* executable */
	unsigned char frame_instruction;
	unsigned char frame_owner;
	unsigned char code_file;
	unsigned char code_name; /* qualname */
	unsigned char code_lines;
	unsigned char code_first_line;
	unsigned char code_instructions; /* co_code_adaptive */
	unsigned char bytes_length;
	unsigned char bytes_content;
	unsigned char text_state;
	unsigned char text_length;
	unsigned char ascii_text; /* asciiobject_size */
	/* Not in the tables. */
	unsigned char run_owner;
	unsigned char code_tag_bits; /* Py_TAG_BITS */
} offset_tables[] = {
	{.minor = 13,
	 .num_words = 73,
	 .interpreters = 5,
	 .interpreter_next = 8,
	 .interpreter_threads = 9,
	 .thread_next = 21,
	 .thread_frame = 23,
	 .thread_id = 24,
	 .frame_previous = 29,
	 .frame_code = 30,
	 .frame_instruction = 31,
	 .frame_owner = 33,
	 .code_file = 35,
	 .code_name = 37,
	 .code_lines = 38,
	 .code_first_line = 39,
	 .code_instructions = 43,
	 .bytes_length = 65,
	 .bytes_content = 66,
	 .text_state = 68,
	 .text_length = 69,
	 .ascii_text = 70,
	 .run_owner = 3}, /* FRAME_OWNED_BY_CSTACK */
	{.minor = 14,
	 .num_words = 95,
	 .interpreters = 5,
	 .interpreter_next = 8,
	 .interpreter_threads = 9,
	 .thread_next = 24,
	 .thread_frame = 26,
	 .thread_id = 27,
	 .frame_previous = 32,
	 .frame_code = 33,
	 .frame_instruction = 34,
	 .frame_owner = 36,
	 .code_file = 40,
	 .code_name = 42,
	 .code_lines = 43,
	 .code_first_line = 44,
	 .code_instructions = 48,
	 .bytes_length = 75,
	 .bytes_content = 76,
	 .text_state = 78,
	 .text_length = 79,
	 .ascii_text = 80,
	 .run_owner =
		 3, /* FRAME_OWNED_BY_INTERPRETER; higher values are not Python frames, either */
	 .code_tag_bits = 3},
	{.minor = 15,
	 .num_words = 111,
	 .interpreters = 5,
	 .interpreter_next = 8,
	 .interpreter_threads = 9,
	 .thread_next = 24,
	 .thread_frame = 26,
	 .thread_id = 30,
	 .frame_previous = 40,
	 .frame_code = 41,
	 .frame_instruction = 42,
	 .frame_owner = 44,
	 .code_file = 48,
	 .code_name = 50,
	 .code_lines = 51,
	 .code_first_line = 52,
	 .code_instructions = 56,
	 .bytes_length = 87,
	 .bytes_content = 88,
	 .text_state = 90,
	 .text_length = 91,
	 .ascii_text = 92,
	 .run_owner = 3, /* FRAME_OWNED_BY_INTERPRETER; also the first frame of each thread */
	 .code_tag_bits = 3},
};

/* sizeof(PyCompactUnicodeObject) - sizeof(PyASCIIObject): the UTF-8 form and its length. */
#define UTF8_BYTES 16

int python_layout_get(unsigned int minor, struct wire_python_layout *ret,
		      uint64_t *ret_code_object_bytes)
{
	for (size_t i = 0; i < ARRAY_LENGTH(known_layouts); i++) {
		if (known_layouts[i].layout.minor != minor)
			continue;
		*ret = known_layouts[i].layout;
		*ret_code_object_bytes = known_layouts[i].code_object_bytes;
		return 0;
	}
	return -ENOENT;
}

/*
 * Check the offset of a field of `bytes` bytes in a structure of at most `limit` bytes. Returns
 * false if it is impossible.
 */
static bool take_offset(uint64_t offset, unsigned int bytes, uint64_t limit, wire_u16 *ret)
{
	if (offset > limit - bytes || offset % bytes)
		return false;
	*ret = (wire_u16)offset;
	return true;
}

static uint64_t round_up_to_words(uint64_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

static uint64_t round_down_to_words(uint64_t bytes)
{
	return bytes / 8 * 8;
}

static uint64_t find_start(uint64_t start, uint64_t offset)
{
	return round_down_to_words(offset < start ? offset : start);
}

static uint64_t find_end(uint64_t end, uint64_t offset, unsigned int bytes)
{
	return round_up_to_words(offset + bytes > end ? offset + bytes : end);
}

int python_layout_read(unsigned int minor, const uint64_t *words, size_t num_words,
		       struct wire_python_layout *ret)
{
	const struct offset_table *table = NULL;
	struct wire_python_layout found = {
		.runs = WIRE_PYTHON_RUN_OWNER,
		.instruction = WIRE_PYTHON_POINTER,
		.cframe_frame = WIRE_PYTHON_NONE,
		.text_kind_shift = KIND_SHIFT,
		.text_ascii_shift = ASCII_SHIFT,
	};
	uint64_t start = WIRE_PYTHON_OBJECT_BYTES;
	uint64_t end = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(offset_tables); i++)
		if (offset_tables[i].minor == minor)
			table = &offset_tables[i];
	if (!table)
		return -ENOENT;
	if (num_words < table->num_words)
		return -EINVAL;
	const struct {
		unsigned char word;
		unsigned char bytes;
		unsigned short limit;
		wire_u16 *ret;
	} fields[] = {
		/* Fields that are read one by one are limited only by the type of the offset. */
		{table->interpreters, 8, WIRE_PYTHON_NONE, &found.interpreters},
		{table->interpreter_next, 8, WIRE_PYTHON_NONE, &found.interpreter_next},
		{table->interpreter_threads, 8, WIRE_PYTHON_NONE, &found.interpreter_threads},
		{table->thread_next, 8, WIRE_PYTHON_NONE, &found.thread_next},
		{table->thread_frame, 8, WIRE_PYTHON_NONE, &found.thread_frame},
		{table->thread_id, 8, WIRE_PYTHON_NONE, &found.thread_id},
		{table->frame_previous, 8, WIRE_PYTHON_OBJECT_BYTES, &found.frame_previous},
		{table->frame_code, 8, WIRE_PYTHON_OBJECT_BYTES, &found.frame_code},
		{table->frame_instruction, 8, WIRE_PYTHON_OBJECT_BYTES, &found.frame_instruction},
		{table->frame_owner, 1, WIRE_PYTHON_OBJECT_BYTES, &found.frame_run},
		{table->code_file, 8, WIRE_PYTHON_OBJECT_BYTES, &found.code_file},
		{table->code_name, 8, WIRE_PYTHON_OBJECT_BYTES, &found.code_name},
		{table->code_lines, 8, WIRE_PYTHON_OBJECT_BYTES, &found.code_lines},
		{table->code_first_line, 4, WIRE_PYTHON_OBJECT_BYTES, &found.code_first_line},
		{table->code_instructions, 2, WIRE_PYTHON_NONE, &found.code_instructions},
		{table->bytes_length, 8, WIRE_PYTHON_NONE, &found.bytes_length},
		{table->bytes_content, 1, WIRE_PYTHON_NONE, &found.bytes_content},
		{table->text_state, 4, WIRE_PYTHON_NONE, &found.text_state},
		{table->text_length, 8, WIRE_PYTHON_NONE, &found.text_length},
		{table->ascii_text, 4, WIRE_PYTHON_NONE - UTF8_BYTES, &found.ascii_text},
	};
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (!take_offset(words[fields[i].word], fields[i].bytes, fields[i].limit,
				 fields[i].ret))
			return -EINVAL;
	/* The table is first in _PyRuntime: this one is not filled in. */
	if (found.interpreters < table->num_words * sizeof(*words))
		return -EINVAL;
	found.minor = (wire_u16)minor;
	found.run_owner = table->run_owner;
	found.code_tag_bits = table->code_tag_bits;
	found.other_text = (wire_u16)(found.ascii_text + UTF8_BYTES);
	end = find_end(0, found.frame_previous, 8);
	end = find_end(end, found.frame_code, 8);
	end = find_end(end, found.frame_instruction, 8);
	found.frame_bytes = (wire_u16)find_end(end, found.frame_run, 1);
	end = find_end(0, found.code_file, 8);
	end = find_end(end, found.code_name, 8);
	end = find_end(end, found.code_lines, 8);
	end = find_end(end, found.code_first_line, 4);
	start = find_start(start, found.code_file);
	start = find_start(start, found.code_name);
	start = find_start(start, found.code_lines);
	found.code_start = (wire_u16)find_start(start, found.code_first_line);
	found.code_bytes = (wire_u16)(end - found.code_start);
	*ret = found;
	return 0;
}
