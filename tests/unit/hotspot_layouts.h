/*
 * Where HotSpots of three versions have what is read of methods and of the scopes of compiled code: JDK 17 has all in the blob, JDK 23
 * the scopes apart, and JDK 25 also the methods that these refer to.
 */
#ifndef HOTSPOT_LAYOUTS_H
#define HOTSPOT_LAYOUTS_H

#include "runtime/hotspot.h"

#define HOTSPOT_TEST_LAYOUTS 3

static const struct hotspot_layout hotspot_test_layouts[HOTSPOT_TEST_LAYOUTS] = {
	{
		.support = HOTSPOT_KNOWN,
		.major = 17,
		.wire =
			{
				.major = 17,
				.blob_code = 48,
				.blob_code_end = 56,
				.nmethod_method = 104,
				.nmethod_compile_id = 320,
				.method_const = 8,
				.const_bytes = 48,
				.const_pool = 8,
				.const_code_bytes = 34,
				.const_flags = 32,
				.const_has_lines = 1,
				.const_name = 36,
				.pool_bytes = 72,
				.pool_class = 24,
				.pool_file = 56,
				.class_file = WIRE_HOTSPOT_NONE,
				.class_name = 24,
				.symbol_length = 4,
				.symbol_text = 6,
			},
		.scopes =
			{
				.pc_desc_bytes = 16,
				.pc_desc_pc = 0,
				.pc_desc_scope = 4,
				.immutable_data = WIRE_HOTSPOT_NONE,
				.scopes_pcs = 252,
				.scopes_pcs_end = 256,
				.scopes_data = 128,
				.mutable_data = WIRE_HOTSPOT_NONE,
				.relocation_bytes = WIRE_HOTSPOT_NONE,
				.metadata = 248,
				.blob_data = WIRE_HOTSPOT_NONE,
				.metadata_size = 4,
			},
	},
	{
		.support = HOTSPOT_KNOWN,
		.major = 23,
		.wire =
			{
				.major = 23,
				.blob_code = 24,
				.blob_code_end = 32,
				.blob_code_is_offset = 1,
				.nmethod_method = 80,
				.nmethod_compile_id = 184,
				.method_const = 8,
				.const_bytes = 56,
				.const_pool = 8,
				.const_code_bytes = 42,
				.const_flags = 36,
				.const_has_lines = 1,
				.const_name = 44,
				.pool_bytes = 72,
				.pool_class = 24,
				.pool_file = WIRE_HOTSPOT_NONE,
				.class_file = 64,
				.class_name = 24,
				.symbol_length = 4,
				.symbol_text = 6,
			},
		.scopes =
			{
				.pc_desc_bytes = 16,
				.pc_desc_pc = 0,
				.pc_desc_scope = 4,
				.immutable_data = 128,
				.scopes_pcs = 164,
				.scopes_pcs_end = 168,
				.scopes_data = 168,
				.mutable_data = WIRE_HOTSPOT_NONE,
				.relocation_bytes = WIRE_HOTSPOT_NONE,
				.metadata = 172,
				.blob_data = 32,
				.metadata_size = 2,
			},
	},
	{
		.support = HOTSPOT_KNOWN,
		.major = 25,
		.wire =
			{
				.major = 25,
				.blob_code = 28,
				.blob_code_end = 32,
				.blob_code_is_offset = 1,
				.nmethod_method = 72,
				.nmethod_compile_id = 176,
				.method_const = 8,
				.const_bytes = 56,
				.const_pool = 8,
				.const_code_bytes = 42,
				.const_flags = 36,
				.const_has_lines = 1,
				.const_name = 44,
				.pool_bytes = 72,
				.pool_class = 24,
				.pool_file = 56,
				.class_file = WIRE_HOTSPOT_NONE,
				.class_name = 24,
				.symbol_length = 4,
				.symbol_text = 6,
			},
		.scopes =
			{
				.pc_desc_bytes = 16,
				.pc_desc_pc = 0,
				.pc_desc_scope = 4,
				.immutable_data = 120,
				.scopes_pcs = 160,
				.scopes_pcs_end = 164,
				.scopes_data = 164,
				.mutable_data = 56,
				.relocation_bytes = 24,
				.metadata = WIRE_HOTSPOT_NONE,
				.blob_data = WIRE_HOTSPOT_NONE,
			},
	},
};

#endif
