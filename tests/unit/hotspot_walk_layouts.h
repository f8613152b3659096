/* Where HotSpots of several versions have what the walk reads, for tests and fuzz targets of it. */
#ifndef HOTSPOT_WALK_LAYOUTS_H
#define HOTSPOT_WALK_LAYOUTS_H

#include <stdint.h>

#include "wire/hotspot.h"

enum hotspot_walk_version {
	HOTSPOT_8,
	HOTSPOT_11,
	HOTSPOT_17,
	HOTSPOT_25,
	NUM_HOTSPOT_WALK_LAYOUTS
};

/* The variables' addresses are not those of any file: they lie close together. */
#define HOTSPOT_WALK_VARIABLES .heaps = 0x100, .interpreter = 0x108, .call_stub_return = 0x110

/* As hotspot_read_layout() gives them of Debian's 8 and 17 and Temurin's 25. 11 is 17 with the source file in the class. */
#define HOTSPOT_WALK_17                                                                          \
	.array_length = 0, .array_items = 8, .heap_start = 8, .heap_end = 16,                    \
	.heap_segments = 120, .heap_segment_shift = 256, .queue_start = 8, .queue_bytes = 20,    \
	.block_bytes = 16, .block_used = 8, .blob_bytes = 312, .blob_size = 12,                  \
	.blob_header_bytes = 16, .blob_header_bytes_size = 4, .blob_frame_complete_size = 4,     \
	.blob_frame_complete = 20, .blob_frame_words = 28, .blob_code = 32, .blob_code_end = 40, \
	.nmethod_header_bytes = 352, .nmethod_method = 112, .nmethod_compile_id = 304,           \
	.method_const = 8, .const_bytes = 48, .const_pool = 8, .const_code_bytes = 32,           \
	.const_flags = 28, .const_has_lines = 1, .const_name = 34, .pool_bytes = 72,             \
	.pool_class = 24, .class_name = 24, .symbol_length = 4, .symbol_text = 6,                \
	.frame_bytecode = 8

static const struct wire_hotspot_layout hotspot_walk_layouts[NUM_HOTSPOT_WALK_LAYOUTS] = {
	[HOTSPOT_8] = {HOTSPOT_WALK_VARIABLES,
		       .major = 8,
		       .array_length = WIRE_HOTSPOT_NONE,
		       .array_items = WIRE_HOTSPOT_NONE,
		       .heap_start = 0,
		       .heap_end = 8,
		       .heap_segments = 112,
		       .heap_segment_shift = 248,
		       .queue_start = 8,
		       .queue_bytes = 20,
		       .block_bytes = 16,
		       .block_used = 8,
		       .blob_bytes = 208,
		       .blob_name = 8,
		       .blob_size = 16,
		       .blob_header_bytes = 20,
		       .blob_header_bytes_size = 4,
		       .blob_frame_complete_size = 4,
		       .blob_frame_complete = 36,
		       .blob_frame_words = 44,
		       .blob_code = 32,
		       .blob_code_end = 40,
		       .blob_code_is_offset = 1,
		       .nmethod_header_bytes = 296,
		       .nmethod_method = 64,
		       .nmethod_compile_id = 204,
		       .method_const = 8,
		       .const_bytes = 48,
		       .const_pool = 8,
		       .const_code_bytes = 32,
		       .const_flags = 28,
		       .const_has_lines = 1,
		       .const_name = 34,
		       .pool_bytes = 80,
		       .pool_class = 24,
		       .pool_file = WIRE_HOTSPOT_NONE,
		       .class_file = 258,
		       .class_name = 16,
		       .symbol_length = 0,
		       .symbol_text = 8,
		       .frame_bytecode = 7},
	[HOTSPOT_11] = {HOTSPOT_WALK_VARIABLES, HOTSPOT_WALK_17, .major = 11,
			.pool_file = WIRE_HOTSPOT_NONE, .class_file = 288},
	[HOTSPOT_17] = {HOTSPOT_WALK_VARIABLES, HOTSPOT_WALK_17, .major = 17, .pool_file = 54,
			.class_file = WIRE_HOTSPOT_NONE},
	[HOTSPOT_25] = {HOTSPOT_WALK_VARIABLES,
			.major = 25,
			.array_length = 0,
			.array_items = 8,
			.heap_start = 0,
			.heap_end = 8,
			.heap_segments = 112,
			.heap_segment_shift = 248,
			.queue_start = 8,
			.queue_bytes = 20,
			.block_bytes = 8,
			.block_used = 4,
			.blob_bytes = 216,
			.blob_size = 24,
			.blob_header_bytes = 52,
			.blob_header_bytes_size = 2,
			.blob_frame_complete_size = 2,
			.blob_frame_complete = 54,
			.blob_frame_words = 44,
			.blob_code = 36,
			.blob_code_end = 40,
			.blob_code_is_offset = 1,
			.nmethod_header_bytes = 224,
			.nmethod_method = 80,
			.nmethod_compile_id = 212,
			.method_const = 8,
			.const_bytes = 56,
			.const_pool = 8,
			.const_code_bytes = 34,
			.const_flags = 28,
			.const_has_lines = 1,
			.const_name = 36,
			.pool_bytes = 72,
			.pool_class = 24,
			.pool_file = 54,
			.class_file = WIRE_HOTSPOT_NONE,
			.class_name = 24,
			.symbol_length = 4,
			.symbol_text = 6,
			.frame_bytecode = 8},
};

#endif
