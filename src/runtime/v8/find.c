/*
 * V8 in the symbols of a file: the numbers that it exports for debuggers (v8dbg_…), and its
 * version. Facts without numbers were compared with the versions of Node.js 16 to 25; nothing is
 * guessed about others.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "objfile/elf_symbols.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"

#define PREFIX "v8dbg_"

/*
 * Needed facts, by the prefix of the symbol's name: it ends in a type, which versions write
 * differently.
 */
enum fact {
	FACT_MAJOR,
	FACT_MINOR,
	FACT_FUNCTION_SHARED,
	FACT_SHARED_NAME,
	FACT_SHARED_SCRIPT,
	FACT_SHARED_FLAGS,
	FACT_SHARED_TYPE,
	FACT_SCOPE_TYPE,
	FACT_SCOPE_NUM_LOCALS,
	FACT_SCOPE_LOCALS,
	FACT_SCRIPT_TYPE,
	FACT_SCRIPT_NAME,
	FACT_MAP_TYPE,
	FACT_STRING_LENGTH,
	FACT_ONE_BYTE_CHARACTERS,
	FACT_TWO_BYTE_CHARACTERS,
	FACT_CONS_FIRST,
	FACT_CONS_SECOND,
	FACT_THIN_ACTUAL,
	FACT_EXTERNAL_RESOURCE,
	FACT_NO_STRING_MASK,
	/* Assumptions of v8_walk.h. */
	FACT_REPRESENTATION_MASK,
	FACT_ENCODING_MASK,
	FACT_ONE_BYTE,
	FACT_SEQUENTIAL,
	FACT_CONS,
	FACT_EXTERNAL,
	FACT_THIN,
	FACT_OBJECT_TAG,
	FACT_OBJECT_TAG_MASK,
	FACT_SMALL_INTEGER_SHIFT,
	FACT_FRAME_FUNCTION,
	FACT_FRAME_CONTEXT,
	NUM_NEEDED_FACTS,
	/* WebAssembly. */
	FACT_WASM_FRAME = NUM_NEEDED_FACTS,
	FACT_WASM_MODULE_TYPE,
	FACT_WASM_INSTANCE_TYPE,
	FACT_FOREIGN_TYPE,
	FACT_SCRIPT_NATIVE_MODULE,
	/* Optimized code. */
	FACT_CODE_TYPE,
	FACT_STREAM_TYPE,
	FACT_BASELINE_KIND,
	FACT_NUM_INLINED_INDEX,
	FACT_LITERALS_INDEX,
	FACT_OPTIMIZATION_ID_INDEX,
	FACT_INLININGS_INDEX,
	NUM_FACTS,
};

static const char *const fact_names[NUM_FACTS] = {
	[FACT_MAJOR] = "_ZN2v88internal7Version6major_E",
	[FACT_MINOR] = "_ZN2v88internal7Version6minor_E",
	[FACT_FUNCTION_SHARED] = PREFIX "class_JSFunction__shared__",
	[FACT_SHARED_NAME] = PREFIX "class_SharedFunctionInfo__name_or_scope_info__",
	[FACT_SHARED_SCRIPT] = PREFIX "class_SharedFunctionInfo__script_",
	[FACT_SHARED_FLAGS] = PREFIX "class_SharedFunctionInfo__flags__",
	[FACT_SHARED_TYPE] = PREFIX "type_SharedFunctionInfo__",
	[FACT_SCOPE_TYPE] = PREFIX "type_ScopeInfo__",
	[FACT_SCOPE_NUM_LOCALS] = PREFIX "scopeinfo_idx_ncontextlocals",
	[FACT_SCOPE_LOCALS] = PREFIX "scopeinfo_idx_first_vars",
	[FACT_SCRIPT_TYPE] = PREFIX "type_Script__",
	[FACT_SCRIPT_NAME] = PREFIX "class_Script__name__",
	[FACT_MAP_TYPE] = PREFIX "class_Map__instance_type__",
	[FACT_STRING_LENGTH] = PREFIX "class_String__length__",
	[FACT_ONE_BYTE_CHARACTERS] = PREFIX "class_SeqOneByteString__chars__",
	[FACT_TWO_BYTE_CHARACTERS] = PREFIX "class_SeqTwoByteString__chars__",
	[FACT_CONS_FIRST] = PREFIX "class_ConsString__first__",
	[FACT_CONS_SECOND] = PREFIX "class_ConsString__second__",
	[FACT_THIN_ACTUAL] = PREFIX "class_ThinString__actual__",
	[FACT_EXTERNAL_RESOURCE] = PREFIX "class_ExternalString__resource__",
	[FACT_NO_STRING_MASK] = PREFIX "IsNotStringMask",
	[FACT_REPRESENTATION_MASK] = PREFIX "StringRepresentationMask",
	[FACT_ENCODING_MASK] = PREFIX "StringEncodingMask",
	[FACT_ONE_BYTE] = PREFIX "OneByteStringTag",
	[FACT_SEQUENTIAL] = PREFIX "SeqStringTag",
	[FACT_CONS] = PREFIX "ConsStringTag",
	[FACT_EXTERNAL] = PREFIX "ExternalStringTag",
	[FACT_THIN] = PREFIX "ThinStringTag",
	[FACT_OBJECT_TAG] = PREFIX "HeapObjectTag",
	[FACT_OBJECT_TAG_MASK] = PREFIX "HeapObjectTagMask",
	[FACT_SMALL_INTEGER_SHIFT] = PREFIX "SmiShiftSize",
	[FACT_FRAME_FUNCTION] = PREFIX "off_fp_function",
	[FACT_FRAME_CONTEXT] = PREFIX "off_fp_context",
	[FACT_WASM_FRAME] = PREFIX "frametype_WasmFrame",
	[FACT_WASM_MODULE_TYPE] = PREFIX "type_WasmModuleObject__",
	[FACT_WASM_INSTANCE_TYPE] = PREFIX "type_WasmInstanceObject__",
	[FACT_FOREIGN_TYPE] = PREFIX "type_Foreign__",
	[FACT_SCRIPT_NATIVE_MODULE] = PREFIX "class_Script__wasm_managed_native_module__",
	[FACT_CODE_TYPE] = PREFIX "type_Code__",
	[FACT_STREAM_TYPE] = PREFIX "type_InstructionStream__",
	[FACT_BASELINE_KIND] = PREFIX "CodeKindBaseline",
	[FACT_NUM_INLINED_INDEX] = PREFIX "DeoptimizationDataInlinedFunctionCountIndex",
	[FACT_LITERALS_INDEX] = PREFIX "DeoptimizationDataLiteralArrayIndex",
	[FACT_OPTIMIZATION_ID_INDEX] = PREFIX "DeoptimizationDataOptimizationIdIndex",
	[FACT_INLININGS_INDEX] = PREFIX "DeoptimizationDataInliningPositionsIndex",
};

/* The numbers that v8_walk.h takes for granted. */
static const struct {
	enum fact fact;
	int32_t value;
} expectations[] = {
	{FACT_REPRESENTATION_MASK, 7},
	{FACT_ENCODING_MASK, 8},
	{FACT_ONE_BYTE, 8},
	{FACT_SEQUENTIAL, 0},
	{FACT_CONS, 1},
	{FACT_EXTERNAL, 2},
	{FACT_THIN, 5},
	{FACT_OBJECT_TAG, 1},
	{FACT_OBJECT_TAG_MASK, 3},
	{FACT_SMALL_INTEGER_SHIFT, 31},
	{FACT_FRAME_FUNCTION, -16},
	{FACT_FRAME_CONTEXT, -8},
};

/*
 * Facts that are not among the numbers, by version. The first version of each row counts:
 *
 * - whether the receiver may have a word behind a scope's local variables
 * - how many of these variables have their names there
 * - whether a scope's flags are a small integer
 * - where a scope has the bounds of the function
 */
struct version_row {
	unsigned int major;
	unsigned int minor;
	uint16_t max_inline_locals;
	bool has_receiver;
	bool has_plain_flags;
	uint8_t scope_position; /* word with the function's start; 0: behind the name */
};

static const struct version_row version_rows[] = {
	{9, 4, UINT16_MAX, true, false, 0}, /* Node.js 16, 17 */
	{10, 0, 75, false, false, 0},       /* 18 to 22 */
	{12, 9, 75, false, true, 3},        /* 23 to 25 */
};
#define LAST_MAJOR 14
#define LAST_MINOR 1

/*
 * The layout of optimized code, by version. Other versions are unknown: the words of the arrays and
 * their encoding change with most versions.
 */
struct code_row {
	unsigned int major;
	unsigned int minor;
	struct v8_code_layout layout; /* but for the types */
};

static const struct code_row code_rows[] = {
	/* Node.js 16 */
	{9,
	 4,
	 {.translations = V8_TRANSLATIONS_PLAIN,
	  .stream_bytes = 96,
	  .code_deopt_data = 16,
	  .code_positions = 24,
	  .code_size = 40,
	  .code_flags = 48,
	  .kind_maglev = 12,
	  .kind_turbofan = 13,
	  .num_inlined = 1,
	  .literals = 2,
	  .optimization_id = 5,
	  .shared = 6,
	  .inlinings = 7,
	  .exits = 8,
	  .first_deopt = 11,
	  .exit_bytes = 7}},
	/* 18 */
	{10,
	 2,
	 {.translations = V8_TRANSLATIONS_PLAIN,
	  .stream_bytes = 128,
	  .code_deopt_data = 16,
	  .code_positions = 24,
	  .code_size = 40,
	  .code_flags = 48,
	  .kind_maglev = 12,
	  .kind_turbofan = 13,
	  .num_inlined = 1,
	  .literals = 2,
	  .optimization_id = 5,
	  .shared = 6,
	  .inlinings = 7,
	  .exits = 8,
	  .first_deopt = 11,
	  .exit_bytes = 4}},
	/* 20 */
	{11,
	 3,
	 {.translations = V8_TRANSLATIONS_SHARED,
	  .stream_bytes = 16,
	  .stream_code = 8,
	  .code_deopt_data = 16,
	  .code_positions = 24,
	  .code_start = 40,
	  .code_flags = 48,
	  .code_size = 56,
	  .kind_maglev = 12,
	  .kind_turbofan = 13,
	  .num_inlined = 1,
	  .literals = 2,
	  .optimization_id = 5,
	  .shared = 6,
	  .inlinings = 7,
	  .exits = 8,
	  .first_deopt = 11,
	  .exit_bytes = 4}},
	/* 22 */
	{12,
	 4,
	 {.translations = V8_TRANSLATIONS_FRAMES_FIRST,
	  .stream_bytes = 32,
	  .stream_code = 8,
	  .code_deopt_data = 8,
	  .code_positions = 16,
	  .code_start = 40,
	  .code_flags = 48,
	  .code_size = 52,
	  .kind_maglev = 11,
	  .kind_turbofan = 12,
	  .num_inlined = 1,
	  .literals = 2,
	  .optimization_id = 5,
	  .shared = 6,
	  .inlinings = 7,
	  .exits = 8,
	  .first_deopt = 11,
	  .exit_bytes = 4}},
	/* 24 */
	{13,
	 6,
	 {.translations = V8_TRANSLATIONS_BYTECODE,
	  .stream_bytes = 32,
	  .stream_code = 8,
	  .code_deopt_data = 8,
	  .code_positions = 16,
	  .code_start = 40,
	  .code_flags = 52,
	  .code_size = 56,
	  .kind_maglev = 11,
	  .kind_turbofan = 12,
	  .safepoint_head = 16,
	  .num_inlined = 1,
	  .literals = 3,
	  .optimization_id = 6,
	  .shared = 7,
	  .is_shared_wrapped = true,
	  .inlinings = 8,
	  .exits = 9,
	  .first_deopt = 12,
	  .exit_bytes = 4}},
};

struct fact_set {
	bool is_there[NUM_FACTS];
	int32_t value[NUM_FACTS];
};

/* Names that end where the table's does, and those behind which a type follows. */
static bool is_name(const char *name, enum fact fact)
{
	const char *wanted = fact_names[fact];
	size_t length = strlen(wanted);

	return string_equals(name, wanted) ||
	       (wanted[length - 1] == '_' && string_starts_with(name, wanted));
}

/* A pass over the symbols of a file. */
struct fact_pass {
	const struct objfile *objfile;
	struct fact_set facts;
};

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol)
{
	struct fact_pass *pass = context;
	struct fact_set *facts = &pass->facts;

	/* There are a hundred thousand others. */
	if (!string_starts_with(name, PREFIX) &&
	    !string_starts_with(name, "_ZN2v88internal7Version"))
		return 0;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
		return 0;
	for (unsigned int i = 0; i < NUM_FACTS; i++) {
		if (facts->is_there[i] || !is_name(name, i))
			continue;
		facts->is_there[i] = !file_data_read(pass->objfile, symbol->st_value,
						     &facts->value[i], sizeof(facts->value[i])) ||
				     file_data_is_zeroed(pass->objfile, symbol->st_value,
							 sizeof(facts->value[i]));
		return 0;
	}
	return 0;
}

static const struct version_row *find_row(const struct runtime_build *build)
{
	const struct version_row *found = NULL;

	if (build->major > LAST_MAJOR || (build->major == LAST_MAJOR && build->minor > LAST_MINOR))
		return NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(version_rows); i++)
		if (build->major > version_rows[i].major ||
		    (build->major == version_rows[i].major &&
		     build->minor >= version_rows[i].minor))
			found = &version_rows[i];
	return found;
}

static bool are_as_expected(const struct fact_set *facts)
{
	for (unsigned int i = 0; i < NUM_NEEDED_FACTS; i++)
		if (!facts->is_there[i])
			return false;
	for (size_t i = 0; i < ARRAY_LENGTH(expectations); i++)
		if (facts->value[expectations[i].fact] != expectations[i].value)
			return false;
	return facts->value[FACT_ONE_BYTE_CHARACTERS] == facts->value[FACT_TWO_BYTE_CHARACTERS];
}

/*
 * Whether this is an offset, at a multiple of the size, of a field that ends within the bytes read
 * of objects.
 */
static bool is_offset(int32_t offset, int32_t bytes)
{
	return offset >= 0 && offset % bytes == 0 && offset <= WIRE_V8_OBJECT_BYTES - bytes;
}

static bool are_in_bounds(const int32_t *value)
{
	static const enum fact words[] = {
		FACT_FUNCTION_SHARED, FACT_SHARED_NAME, FACT_SHARED_SCRIPT,
		FACT_SHARED_FLAGS,    FACT_SCRIPT_NAME,
	};
	/* The first four words of strings are read. */
	static const enum fact string_words[] = {
		FACT_ONE_BYTE_CHARACTERS,
		FACT_CONS_FIRST,
		FACT_CONS_SECOND,
		FACT_THIN_ACTUAL,
	};
	static const enum fact types[] = {FACT_SHARED_TYPE, FACT_SCOPE_TYPE, FACT_SCRIPT_TYPE};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (!is_offset(value[words[i]], 8))
			return false;
	for (size_t i = 0; i < ARRAY_LENGTH(string_words); i++)
		if (!is_offset(value[string_words[i]], 8) || value[string_words[i]] > 24)
			return false;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if (value[types[i]] <= 0 || value[types[i]] > UINT16_MAX)
			return false;
	/* The words before a script's name and behind it are read, too. */
	if (value[FACT_SCRIPT_NAME] < 16 || !is_offset(value[FACT_SCRIPT_NAME] + 8, 8))
		return false;
	return is_offset(value[FACT_MAP_TYPE], 2) && is_offset(value[FACT_STRING_LENGTH], 4) &&
	       value[FACT_STRING_LENGTH] < 32 && value[FACT_EXTERNAL_RESOURCE] == 16 &&
	       value[FACT_NO_STRING_MASK] < 0 && value[FACT_NO_STRING_MASK] >= -INT16_MAX &&
	       value[FACT_SCOPE_NUM_LOCALS] >= 1 && value[FACT_SCOPE_NUM_LOCALS] < 8 &&
	       value[FACT_SCOPE_LOCALS] > value[FACT_SCOPE_NUM_LOCALS] &&
	       value[FACT_SCOPE_LOCALS] < 10;
}

static uint8_t round_up(int32_t bytes)
{
	return (uint8_t)((bytes + 7) & ~7);
}

static bool is_type(int32_t type)
{
	return type > 0 && type <= UINT16_MAX;
}

/* Not all builds have WebAssembly, and not all have numbers for the types that they do not need. */
static void describe_wasm(const struct fact_set *facts, struct runtime_build *build)
{
	const int32_t *value = facts->value;

	if (!facts->is_there[FACT_WASM_FRAME] || !facts->is_there[FACT_SCRIPT_NATIVE_MODULE] ||
	    !facts->is_there[FACT_WASM_MODULE_TYPE] || value[FACT_WASM_FRAME] <= 0 ||
	    value[FACT_WASM_FRAME] > INT8_MAX / 2 || !is_type(value[FACT_WASM_MODULE_TYPE]) ||
	    !is_offset(value[FACT_SCRIPT_NATIVE_MODULE], 8))
		return;
	build->wasm = (struct v8_wasm_layout){
		.is_known = true,
		/* A small integer of 31 bits. */
		.marker = (uint8_t)(value[FACT_WASM_FRAME] << 1),
		.script_type = build->layout.v8.script_type,
		.module_type = (uint16_t)value[FACT_WASM_MODULE_TYPE],
		.instance_type = is_type(value[FACT_WASM_INSTANCE_TYPE])
					 ? (uint16_t)value[FACT_WASM_INSTANCE_TYPE]
					 : 0,
		.foreign_type =
			is_type(value[FACT_FOREIGN_TYPE]) ? (uint16_t)value[FACT_FOREIGN_TYPE] : 0,
		.map_type = build->layout.v8.map_type,
		.script_native_module = (uint8_t)value[FACT_SCRIPT_NATIVE_MODULE],
	};
	build->layout.v8.wasm_marker = build->wasm.marker;
}

/* Whether a build exports this number, or does not export it. */
static bool may_be(const struct fact_set *facts, enum fact fact, int32_t value)
{
	return !facts->is_there[fact] || facts->value[fact] == value;
}

static void describe_code(const struct fact_set *facts, struct runtime_build *build)
{
	for (size_t i = 0; i < ARRAY_LENGTH(code_rows); i++) {
		const struct code_row *row = &code_rows[i];
		struct v8_code_layout layout = row->layout;
		enum fact type = layout.stream_code ? FACT_STREAM_TYPE : FACT_CODE_TYPE;

		if (row->major != build->major || row->minor != build->minor ||
		    !facts->is_there[type] || !is_type(facts->value[type]) ||
		    !may_be(facts, FACT_BASELINE_KIND, layout.kind_turbofan - 2) ||
		    !may_be(facts, FACT_NUM_INLINED_INDEX, layout.num_inlined) ||
		    !may_be(facts, FACT_LITERALS_INDEX, layout.literals) ||
		    !may_be(facts, FACT_OPTIMIZATION_ID_INDEX, layout.optimization_id) ||
		    !may_be(facts, FACT_INLININGS_INDEX, layout.inlinings))
			continue;
		layout.is_known = true;
		layout.stream_type = (uint16_t)facts->value[type];
		build->code = layout;
	}
}

static enum runtime_support describe(const struct fact_set *facts, struct runtime_build *build)
{
	const struct version_row *row = find_row(build);
	const int32_t *value = facts->value;

	if (!row)
		return SUPPORT_UNKNOWN_VERSION;
	if (!are_as_expected(facts) || !are_in_bounds(value))
		return SUPPORT_UNKNOWN_BUILD;
	build->layout.v8 = (struct wire_v8_layout){
		.major = (uint16_t)build->major,
		.minor = (uint16_t)build->minor,
		.first_type_after_strings = (uint16_t)-value[FACT_NO_STRING_MASK],
		.shared_type = (uint16_t)value[FACT_SHARED_TYPE],
		.scope_type = (uint16_t)value[FACT_SCOPE_TYPE],
		.script_type = (uint16_t)value[FACT_SCRIPT_TYPE],
		.map_type = (uint8_t)value[FACT_MAP_TYPE],
		.function_shared = (uint8_t)value[FACT_FUNCTION_SHARED],
		.shared_name = (uint8_t)value[FACT_SHARED_NAME],
		.shared_script = (uint8_t)value[FACT_SHARED_SCRIPT],
		.shared_literal = (uint8_t)(value[FACT_SHARED_FLAGS] + 4),
		/* The flags are the last thing that is read of it. */
		.shared_bytes = round_up(value[FACT_SHARED_FLAGS] + 8),
		.script_name = (uint8_t)value[FACT_SCRIPT_NAME],
		.scope_flags = 8,
		.scope_flags_shift = row->has_plain_flags ? 0 : 32,
		.scope_num_locals = (uint8_t)(8 + 8 * value[FACT_SCOPE_NUM_LOCALS]),
		.scope_locals = (uint8_t)(8 + 8 * value[FACT_SCOPE_LOCALS]),
		.scope_position = row->scope_position ? (uint8_t)(8 + 8 * row->scope_position) : 0,
		.scope_has_receiver = row->has_receiver,
		.scope_max_inline_locals = row->max_inline_locals,
		.string_length = (uint8_t)value[FACT_STRING_LENGTH],
		.string_characters = (uint8_t)value[FACT_ONE_BYTE_CHARACTERS],
		.cons_first = (uint8_t)value[FACT_CONS_FIRST],
		.cons_second = (uint8_t)value[FACT_CONS_SECOND],
		.thin_actual = (uint8_t)value[FACT_THIN_ACTUAL],
		.external_characters = (uint8_t)(value[FACT_EXTERNAL_RESOURCE] + 8),
	};
	return build->layout.v8.shared_bytes <= WIRE_V8_OBJECT_BYTES &&
			       value[FACT_SHARED_NAME] < value[FACT_SHARED_FLAGS] &&
			       value[FACT_SHARED_SCRIPT] < value[FACT_SHARED_FLAGS] &&
			       (!row->scope_position ||
				value[FACT_SCOPE_LOCALS] >= row->scope_position + 2)
		       ? SUPPORT_KNOWN
		       : SUPPORT_UNKNOWN_BUILD;
}

static bool is_version(const struct fact_set *facts)
{
	return facts->is_there[FACT_MAJOR] && facts->value[FACT_MAJOR] > 0 &&
	       facts->value[FACT_MAJOR] <= UINT8_MAX && facts->value[FACT_MINOR] >= 0 &&
	       facts->value[FACT_MINOR] <= UINT8_MAX;
}

/* Facts that each build has. Without the frames of WebAssembly, those of WebAssembly are unknown. */
static bool has_facts_of_each_build(const struct fact_set *facts)
{
	for (unsigned int i = 0; i <= FACT_WASM_FRAME; i++)
		if (!facts->is_there[i])
			return false;
	return true;
}

/* Most builds export them all, and have ten times as many bytes of names that are not exported. */
static void collect_facts(struct fact_pass *pass)
{
	Elf *elf = objfile_get_elf(pass->objfile);

	(void)!objfile_for_each_exported_symbol(elf, visit_symbol, pass);
	if (!has_facts_of_each_build(&pass->facts))
		(void)!objfile_for_each_symbol(elf, visit_symbol, pass);
}

int v8_find(struct objfile *objfile, struct runtime_build *build)
{
	struct fact_pass pass = {.objfile = objfile};

	build->support = SUPPORT_UNKNOWN_BUILD;
	if (!file_is_64_bit_little_endian(objfile))
		return 0;
	collect_facts(&pass);
	if (!is_version(&pass.facts))
		return 0;
	build->major = (unsigned int)pass.facts.value[FACT_MAJOR];
	build->minor = (unsigned int)pass.facts.value[FACT_MINOR];
	build->support = describe(&pass.facts, build);
	if (build->support != SUPPORT_KNOWN) {
		build->layout = (struct wire_runtime_layout){0};
		return 0;
	}
	describe_wasm(&pass.facts, build);
	describe_code(&pass.facts, build);
	return 0;
}
