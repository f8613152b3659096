#include "runtime/runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
/* clang-format on */

#define TEXT_ADDRESS 0x10000
#define DATA_ADDRESS 0x20000
#define DATA_BYTES   0x400
/* What is behind the data, and in no file: it is zeroed when the file is loaded. */
#define ZEROED       (DATA_ADDRESS + DATA_BYTES)
#define ZEROED_BYTES 0x100

#define FIRST_NAME "v8dbg_class_JSFunction__shared__SharedFunctionInfo"
#define MAJOR      "_ZN2v88internal7Version6major_E"
#define MINOR      "_ZN2v88internal7Version6minor_E"
/* Of which the value is not that of all versions. */
#define FLAGS       "v8dbg_class_SharedFunctionInfo__flags__int"
#define SHARED_TYPE "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"
#define SCOPE_TYPE  "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"
#define SCRIPT_TYPE "v8dbg_type_Script__SCRIPT_TYPE"
#define FIRST_LOCAL "v8dbg_scopeinfo_idx_first_vars"
#define STRING_MASK "v8dbg_IsNotStringMask"

/* A number that a build says. */
struct fact {
	const char *name;
	int32_t value;
};

/* What all versions say alike. */
static const struct fact common_facts[] = {
	{"v8dbg_class_Map__instance_type__uint16_t", 12},
	{"v8dbg_class_Script__name__Object", 16},
	{"v8dbg_class_String__length__int32_t", 12},
	{"v8dbg_class_SeqOneByteString__chars__char", 16},
	{"v8dbg_class_SeqTwoByteString__chars__char", 16},
	{"v8dbg_class_ConsString__first__String", 16},
	{"v8dbg_class_ConsString__second__String", 24},
	{"v8dbg_class_ThinString__actual__String", 16},
	{"v8dbg_class_ExternalString__resource__Object", 16},
	{"v8dbg_StringRepresentationMask", 7},
	{"v8dbg_StringEncodingMask", 8},
	{"v8dbg_OneByteStringTag", 8},
	{"v8dbg_SeqStringTag", 0},
	{"v8dbg_ConsStringTag", 1},
	{"v8dbg_ExternalStringTag", 2},
	{"v8dbg_ThinStringTag", 5},
	{"v8dbg_HeapObjectTag", 1},
	{"v8dbg_HeapObjectTagMask", 3},
	{"v8dbg_SmiShiftSize", 31},
	{"v8dbg_off_fp_function", -16},
	{"v8dbg_off_fp_context", -8},
	{"v8dbg_scopeinfo_idx_ncontextlocals", 2},
};

/* What Node.js 16 to 25 say differently: numbers, and the types in names. */
struct version {
	int32_t major;
	int32_t minor;
	int32_t string_mask;
	int32_t function_shared;
	int32_t shared_name;
	int32_t shared_script;
	int32_t shared_flags;
	int32_t shared_type;
	int32_t scope_type;
	int32_t script_type;
	int32_t scope_locals; /* the number of a word */
	const char *name_name;
	const char *script_name;
	/* What they do not say. */
	bool has_receiver;
	bool has_plain_flags;
	uint16_t max_inline_locals;
};

#define SHARED  "v8dbg_class_SharedFunctionInfo__"
#define OLDER   SHARED "name_or_scope_info__Object", SHARED "script_or_debug_info__HeapObject"
#define BETWEEN SHARED "name_or_scope_info__Tagged_Object_", SHARED "script__Tagged_HeapObject_"
#define NEWER \
	SHARED "name_or_scope_info__Tagged_NameOrScopeInfoT_", SHARED "script__Tagged_HeapObject_"

static const struct version versions[] = {
	{9, 4, -64, 24, 16, 32, 48, 179, 178, 112, 3, OLDER, true, false, UINT16_MAX},
	{9, 6, -64, 24, 16, 32, 48, 178, 177, 111, 3, OLDER, true, false, UINT16_MAX},
	{10, 2, -128, 24, 16, 32, 48, 257, 256, 170, 3, OLDER, false, false, 75},
	{10, 8, -128, 24, 16, 32, 48, 254, 253, 168, 3, OLDER, false, false, 75},
	{11, 3, -128, 24, 16, 32, 48, 262, 261, 167, 3, OLDER, false, false, 75},
	{11, 8, -128, 32, 16, 32, 48, 264, 263, 167, 3, BETWEEN, false, false, 75},
	{12, 4, -128, 32, 16, 32, 48, 274, 272, 167, 3, BETWEEN, false, false, 75},
	{12, 9, -128, 32, 24, 40, 56, 281, 279, 167, 5, NEWER, false, true, 75},
	{13, 6, -128, 32, 24, 40, 56, 282, 280, 167, 5, NEWER, false, true, 75},
	{14, 1, -128, 32, 24, 40, 56, 286, 284, 165, 5, NEWER, false, true, 75},
};
#define V8_11_3 (&versions[4])
#define V8_12_9 (&versions[7])

/* A file that may have V8 in it. */
struct fake_file {
	struct text symbols;
	struct text names;
	uint32_t symbols_type; /* SHT_SYMTAB or SHT_DYNSYM */
	size_t num_exported;   /* symbols in a SHT_DYNSYM before that table; 0: no such table */
	size_t num_facts;
	struct fact facts[80]; /* at DATA_ADDRESS, in their order */
};

static void add_symbol(struct fake_file *file, const char *name, uint64_t address, uint64_t size,
		       uint16_t section)
{
	Elf64_Sym symbol = {
		.st_name = (uint32_t)file->names.length,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		.st_shndx = section,
		.st_value = address,
		.st_size = size,
	};

	text_append(&file->symbols, &symbol, sizeof(symbol));
	text_append(&file->names, name, strlen(name) + 1);
}

static void add_fact(struct fake_file *file, struct fact fact)
{
	assert_true(file->num_facts < ARRAY_LENGTH(file->facts));
	add_symbol(file, fact.name, DATA_ADDRESS + file->num_facts * sizeof(int32_t),
		   sizeof(int32_t), 2);
	file->facts[file->num_facts++] = fact;
}

static struct fake_file *empty_file_new(void)
{
	static const Elf64_Sym null_symbol;
	struct fake_file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->symbols_type = SHT_SYMTAB;
	text_append(&file->symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file->names, '\0');
	return file;
}

/* What a version says, but that one number (`other`, unless it is NULL) is another one, or is missing where value is NULL. */
static struct fake_file *changed_file_new(const struct version *version, const char *other,
					  const int32_t *value)
{
	const struct fact facts[] = {
		{MAJOR, version->major},
		{MINOR, version->minor},
		{FIRST_NAME, version->function_shared},
		{version->name_name, version->shared_name},
		{version->script_name, version->shared_script},
		{FLAGS, version->shared_flags},
		{SHARED_TYPE, version->shared_type},
		{SCOPE_TYPE, version->scope_type},
		{SCRIPT_TYPE, version->script_type},
		{FIRST_LOCAL, version->scope_locals},
		{STRING_MASK, version->string_mask},
	};
	struct fake_file *file = empty_file_new();

	for (size_t i = 0; i < ARRAY_LENGTH(facts) + ARRAY_LENGTH(common_facts); i++) {
		struct fact fact =
			i < ARRAY_LENGTH(facts) ? facts[i] : common_facts[i - ARRAY_LENGTH(facts)];

		if (other && !strcmp(fact.name, other)) {
			if (!value)
				continue;
			fact.value = *value;
		}
		add_fact(file, fact);
	}
	return file;
}

/* What 11.3 says, of another version. */
static struct fake_file *fake_file_new(int32_t major, int32_t minor)
{
	struct version version = *V8_11_3;

	version.major = major;
	version.minor = minor;
	return changed_file_new(&version, NULL, NULL);
}

/* The segment of the data goes on behind what is in the file. */
static void add_zeroed(struct text *bytes)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	memcpy(&header, bytes->data, sizeof(header));
	memcpy(&segment, bytes->data + header.e_phoff + sizeof(segment), sizeof(segment));
	assert_int_equal(segment.p_vaddr, DATA_ADDRESS);
	segment.p_memsz += ZEROED_BYTES;
	memcpy(bytes->data + header.e_phoff + sizeof(segment), &segment, sizeof(segment));
}

static struct text write_file(const struct fake_file *file)
{
	struct elf_writer writer = {0};
	uint8_t text[0x100] = {0};
	uint8_t data[DATA_BYTES] = {0};
	struct text bytes;
	uint16_t strings;

	for (size_t i = 0; i < file->num_facts; i++)
		memcpy(data + i * sizeof(int32_t), &file->facts[i].value, sizeof(int32_t));
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	elf_writer_add(&writer, (struct elf_section){.name = ".data",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = DATA_ADDRESS,
						     .data = data,
						     .size = sizeof(data)});
	strings = elf_writer_add(&writer, (struct elf_section){.name = ".strings",
							       .type = SHT_STRTAB,
							       .data = file->names.data,
							       .size = file->names.length});
	if (file->num_exported)
		elf_writer_add(&writer, (struct elf_section){.name = ".exported",
							     .type = SHT_DYNSYM,
							     .data = file->symbols.data,
							     .size = (1 + file->num_exported) *
								     sizeof(Elf64_Sym),
							     .link = strings,
							     .entry_size = sizeof(Elf64_Sym)});
	elf_writer_add(&writer, (struct elf_section){.name = ".symbols",
						     .type = file->symbols_type,
						     .data = file->symbols.data,
						     .size = file->symbols.length,
						     .link = strings,
						     .entry_size = sizeof(Elf64_Sym)});
	bytes = elf_writer_write(&writer);
	add_zeroed(&bytes);
	return bytes;
}

/* Returns what runtime_find() does; the file is released. */
static int find(struct fake_file *file, struct runtime_build *ret)
{
	struct text bytes = write_file(file);
	struct objfile *objfile;
	int err;
	int fd = open_bytes(bytes.data, bytes.length);

	text_release(&bytes);
	assert_int_equal(objfile_open(fd, "file", NULL, &objfile, NULL), 0);
	close(fd);
	memset(ret, 0xff, sizeof(*ret));
	err = runtime_find(objfile, ret);
	objfile_unref(objfile);
	text_release(&file->symbols);
	text_release(&file->names);
	free(file);
	return err;
}

static void check_unknown(struct fake_file *file, enum runtime_support support, unsigned int major,
			  unsigned int minor)
{
	static const struct wire_v8_layout nothing;
	struct runtime_build build;

	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, support);
	assert_int_equal(build.major, major);
	assert_int_equal(build.minor, minor);
	assert_memory_equal(&build.layout.v8, &nothing, sizeof(nothing));
}

static void check_changed(const char *name, int32_t value, enum runtime_support support)
{
	struct runtime_build build;

	assert_int_equal(find(changed_file_new(V8_11_3, name, &value), &build), 0);
	assert_int_equal(build.support, support);
	assert_int_equal(build.layout.v8.major, support == SUPPORT_KNOWN ? 11 : 0);
	assert_int_equal(build.layout.v8.shared_type == 0, support != SUPPORT_KNOWN);
}

static void a_file_without_its_numbers_has_no_v8(void **state)
{
	struct fake_file *file = empty_file_new();
	struct runtime_build build;

	(void)state;
	assert_int_equal(find(file, &build), -ENOENT);
	file = empty_file_new();
	add_fact(file, (struct fact){"main", 0});
	add_fact(file, (struct fact){MAJOR, 11});
	add_fact(file, (struct fact){FIRST_NAME "Code", 24});
	add_fact(file, (struct fact){"v8dbg_SmiShiftSize", 31});
	assert_int_equal(find(file, &build), -ENOENT);
	file = changed_file_new(V8_11_3, FIRST_NAME, NULL);
	assert_int_equal(find(file, &build), -ENOENT);
}

static void check_version(const struct version *version, const struct runtime_build *build)
{
	const struct wire_v8_layout *layout = &build->layout.v8;

	assert_int_equal(build->support, SUPPORT_KNOWN);
	assert_int_equal(build->major, version->major);
	assert_int_equal(build->minor, version->minor);
	assert_int_equal(layout->major, version->major);
	assert_int_equal(layout->minor, version->minor);
	assert_int_equal(layout->first_type_after_strings, -version->string_mask);
	assert_int_equal(layout->shared_type, version->shared_type);
	assert_int_equal(layout->scope_type, version->scope_type);
	assert_int_equal(layout->script_type, version->script_type);
	assert_int_equal(layout->map_type, 12);
	assert_int_equal(layout->function_shared, version->function_shared);
	assert_int_equal(layout->shared_name, version->shared_name);
	assert_int_equal(layout->shared_script, version->shared_script);
	assert_int_equal(layout->shared_literal, version->shared_flags + 4);
	assert_int_equal(layout->shared_bytes, version->shared_flags + 8);
	assert_int_equal(layout->script_name, 16);
	assert_int_equal(layout->scope_flags, 8);
	assert_int_equal(layout->scope_flags_shift, version->has_plain_flags ? 0 : 32);
	assert_int_equal(layout->scope_num_locals, 24);
	assert_int_equal(layout->scope_locals, version->scope_locals * 8 + 8);
	assert_int_equal(layout->scope_position, version->has_plain_flags ? 32 : 0);
	assert_int_equal(layout->scope_has_receiver, version->has_receiver);
	assert_int_equal(layout->scope_max_inline_locals, version->max_inline_locals);
	assert_int_equal(layout->string_length, 12);
	assert_int_equal(layout->string_characters, 16);
	assert_int_equal(layout->cons_first, 16);
	assert_int_equal(layout->cons_second, 24);
	assert_int_equal(layout->thin_actual, 16);
	assert_int_equal(layout->external_characters, 24);
}

static void a_version_has_the_layout_that_it_says(void **state)
{
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		assert_int_equal(find(changed_file_new(&versions[i], NULL, NULL), &build), 0);
		check_version(&versions[i], &build);
	}
}

/* What the versions say of WebAssembly, of which the older ones do not name all types. */
#define WASM_FRAME    "v8dbg_frametype_WasmFrame"
#define WASM_MODULE   "v8dbg_type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE"
#define WASM_INSTANCE "v8dbg_type_WasmInstanceObject__WASM_INSTANCE_OBJECT_TYPE"
#define FOREIGN       "v8dbg_type_Foreign__FOREIGN_TYPE"
#define OLDER_NATIVE  "v8dbg_class_Script__wasm_managed_native_module__Object"
#define NEWER_NATIVE  "v8dbg_class_Script__wasm_managed_native_module__Tagged_Object_"

static void functions_of_webassembly_have_what_their_build_says(void **state _unused_)
{
	static const struct fact facts[] = {{WASM_FRAME, 4},
					    {WASM_MODULE, 300},
					    {WASM_INSTANCE, 301},
					    {FOREIGN, 204},
					    {NEWER_NATIVE, 80}};
	struct fake_file *file = changed_file_new(&versions[8], NULL, NULL);
	struct runtime_build build;

	for (size_t i = 0; i < ARRAY_LENGTH(facts); i++)
		add_fact(file, facts[i]);
	assert_int_equal(find(file, &build), 0);
	check_version(&versions[8], &build);
	assert_true(build.wasm.is_known);
	assert_int_equal(build.wasm.marker, 8);
	assert_int_equal(build.layout.v8.wasm_marker, 8);
	assert_int_equal(build.wasm.script_type, 167);
	assert_int_equal(build.wasm.module_type, 300);
	assert_int_equal(build.wasm.instance_type, 301);
	assert_int_equal(build.wasm.foreign_type, 204);
	assert_int_equal(build.wasm.map_type, 12);
	assert_int_equal(build.wasm.script_native_module, 80);
}

static void older_builds_do_not_say_all_of_webassembly(void **state _unused_)
{
	struct fake_file *file = changed_file_new(V8_11_3, NULL, NULL);
	struct runtime_build build;

	add_fact(file, (struct fact){WASM_FRAME, 5});
	add_fact(file, (struct fact){WASM_MODULE, 300});
	add_fact(file, (struct fact){OLDER_NATIVE, 80});
	assert_int_equal(find(file, &build), 0);
	assert_true(build.wasm.is_known);
	assert_int_equal(build.wasm.marker, 10);
	assert_int_equal(build.wasm.instance_type, 0);
	assert_int_equal(build.wasm.foreign_type, 0);
}

/* The other functions are known all the same. */
static void numbers_of_webassembly_that_are_none_leave_it_unknown(void **state _unused_)
{
	static const struct fact inputs[][3] = {
		{{WASM_FRAME, 5}, {WASM_MODULE, 300}, {"v8dbg_other", 1}},
		{{WASM_FRAME, 5}, {OLDER_NATIVE, 80}, {"v8dbg_other", 1}},
		{{WASM_MODULE, 300}, {OLDER_NATIVE, 80}, {"v8dbg_other", 1}},
		{{WASM_FRAME, 0}, {WASM_MODULE, 300}, {OLDER_NATIVE, 80}},
		{{WASM_FRAME, 64}, {WASM_MODULE, 300}, {OLDER_NATIVE, 80}},
		{{WASM_FRAME, -1}, {WASM_MODULE, 300}, {OLDER_NATIVE, 80}},
		{{WASM_FRAME, 5}, {WASM_MODULE, 0}, {OLDER_NATIVE, 80}},
		{{WASM_FRAME, 5}, {WASM_MODULE, 65536}, {OLDER_NATIVE, 80}},
		{{WASM_FRAME, 5}, {WASM_MODULE, 300}, {OLDER_NATIVE, 4}},
		{{WASM_FRAME, 5}, {WASM_MODULE, 300}, {OLDER_NATIVE, -8}},
		{{WASM_FRAME, 5}, {WASM_MODULE, 300}, {OLDER_NATIVE, INT32_MAX}},
	};
	struct runtime_build build;

	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct fake_file *file = changed_file_new(V8_11_3, NULL, NULL);

		for (size_t j = 0; j < ARRAY_LENGTH(inputs[i]); j++)
			add_fact(file, inputs[i][j]);
		assert_int_equal(find(file, &build), 0);
		check_version(V8_11_3, &build);
		assert_false(build.wasm.is_known);
		assert_int_equal(build.wasm.marker, 0);
		assert_int_equal(build.layout.v8.wasm_marker, 0);
	}
}

/* What a version says of its optimized code. */
static const struct code_version {
	int32_t major;
	int32_t minor;
	bool is_known;
	uint8_t num_facts;
	struct fact facts[6];
} code_versions[] = {
	{9, 4, true, 1, {{"v8dbg_type_Code__CODE_TYPE", 162}}},
	{10, 2, true, 2, {{"v8dbg_type_Code__CODE_TYPE", 240}, {"v8dbg_CodeKindBaseline", 11}}},
	{11,
	 3,
	 true,
	 6,
	 {{"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", 252},
	  {"v8dbg_CodeKindBaseline", 11},
	  {"v8dbg_DeoptimizationDataInlinedFunctionCountIndex", 1},
	  {"v8dbg_DeoptimizationDataLiteralArrayIndex", 2},
	  {"v8dbg_DeoptimizationDataOptimizationIdIndex", 5},
	  {"v8dbg_DeoptimizationDataInliningPositionsIndex", 7}}},
	{12,
	 4,
	 true,
	 6,
	 {{"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", 210},
	  {"v8dbg_CodeKindBaseline", 10},
	  {"v8dbg_DeoptimizationDataInlinedFunctionCountIndex", 1},
	  {"v8dbg_DeoptimizationDataLiteralArrayIndex", 2},
	  {"v8dbg_DeoptimizationDataOptimizationIdIndex", 5},
	  {"v8dbg_DeoptimizationDataInliningPositionsIndex", 7}}},
	{13,
	 6,
	 true,
	 6,
	 {{"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", 192},
	  {"v8dbg_CodeKindBaseline", 10},
	  {"v8dbg_DeoptimizationDataInlinedFunctionCountIndex", 1},
	  {"v8dbg_DeoptimizationDataLiteralArrayIndex", 3},
	  {"v8dbg_DeoptimizationDataOptimizationIdIndex", 6},
	  {"v8dbg_DeoptimizationDataInliningPositionsIndex", 8}}},
	/* Others have other lists, and say the same. */
	{10, 8, false, 2, {{"v8dbg_type_Code__CODE_TYPE", 240}, {"v8dbg_CodeKindBaseline", 11}}},
	{12,
	 9,
	 false,
	 2,
	 {{"v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", 210},
	  {"v8dbg_CodeKindBaseline", 10}}},
};

/* But that one number is changed, if changed is less than there are. */
static bool knows_code(const struct code_version *code, uint8_t changed, int32_t value,
		       struct runtime_build *ret)
{
	struct fake_file *file = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++)
		if (versions[i].major == code->major && versions[i].minor == code->minor)
			file = changed_file_new(&versions[i], NULL, NULL);
	assert_non_null(file);
	for (uint8_t i = 0; i < code->num_facts; i++)
		add_fact(file, (struct fact){code->facts[i].name,
					     i == changed ? value : code->facts[i].value});
	assert_int_equal(find(file, ret), 0);
	assert_int_equal(ret->support, SUPPORT_KNOWN);
	return ret->code.is_known;
}

static void a_layout_of_optimized_code_stays_in_its_bounds(void **state)
{
	const struct v8_code_layout valid = {.code_positions = 88,
					     .shared = 9,
					     .exits = 7,
					     .first_deopt = 10,
					     .translations = V8_TRANSLATIONS_BYTECODE,
					     .exit_bytes = 1};
	struct v8_code_layout layout = valid;

	assert_true(v8_code_layout_is_valid(&layout));
	layout.code_positions = 89;
	assert_false(v8_code_layout_is_valid(&layout));
	layout = valid;
	layout.code_size = UINT8_MAX;
	assert_false(v8_code_layout_is_valid(&layout));
	layout = valid;
	layout.shared = 10;
	assert_false(v8_code_layout_is_valid(&layout));
	layout = valid;
	layout.exits = 8;
	assert_false(v8_code_layout_is_valid(&layout));
	layout.exits = UINT8_MAX;
	assert_false(v8_code_layout_is_valid(&layout));
	layout = valid;
	layout.translations++;
	assert_false(v8_code_layout_is_valid(&layout));
	layout = valid;
	layout.exit_bytes = 0;
	assert_false(v8_code_layout_is_valid(&layout));
	(void)state;
}

static void optimized_code_is_known_of_some_versions(void **state)
{
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(code_versions); i++) {
		const struct code_version *code = &code_versions[i];

		assert_int_equal(knows_code(code, UINT8_MAX, 0, &build), code->is_known);
		assert_int_equal(build.code.stream_type, code->is_known ? code->facts[0].value : 0);
		assert_int_equal(v8_code_layout_is_valid(&build.code), code->is_known);
		for (uint8_t k = 0; k < code->num_facts; k++)
			assert_false(knows_code(code, k, k ? 99 : -1, &build));
	}
}

static void one_between_two_versions_is_as_the_older_one(void **state)
{
	static const struct {
		int32_t major;
		int32_t minor;
		bool has_receiver;
		bool has_plain_flags;
	} inputs[] = {
		{9, 5, true, false},   {9, 9, true, false},   {10, 0, false, false},
		{12, 8, false, false}, {12, 10, false, true}, {13, 0, false, true},
		{14, 0, false, true},
	};
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct version version = inputs[i].has_plain_flags ? *V8_12_9 : *V8_11_3;

		version.major = inputs[i].major;
		version.minor = inputs[i].minor;
		assert_int_equal(find(changed_file_new(&version, NULL, NULL), &build), 0);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(build.layout.v8.major, inputs[i].major);
		assert_int_equal(build.layout.v8.minor, inputs[i].minor);
		assert_int_equal(build.layout.v8.scope_has_receiver, inputs[i].has_receiver);
		assert_int_equal(build.layout.v8.scope_max_inline_locals,
				 inputs[i].has_receiver ? UINT16_MAX : 75);
		assert_int_equal(build.layout.v8.scope_flags_shift,
				 inputs[i].has_plain_flags ? 0 : 32);
		assert_int_equal(build.layout.v8.scope_position,
				 inputs[i].has_plain_flags ? 32 : 0);
	}
}

static void of_other_versions_nothing_is_guessed(void **state)
{
	static const int32_t numbers[][2] = {{1, 0},  {8, 4},  {9, 3},    {14, 2},
					     {14, 9}, {15, 0}, {255, 255}};
	struct version version = *V8_11_3;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		check_unknown(fake_file_new(numbers[i][0], numbers[i][1]), SUPPORT_UNKNOWN_VERSION,
			      (unsigned int)numbers[i][0], (unsigned int)numbers[i][1]);
	/* Of these not even what they do say. */
	version.major = 15;
	version.minor = 0;
	check_unknown(changed_file_new(&version, "v8dbg_SmiShiftSize", NULL),
		      SUPPORT_UNKNOWN_VERSION, 15, 0);
}

static void a_version_that_no_build_has_is_none(void **state)
{
	static const int32_t numbers[][2] = {{0, 4},    {-1, 4},         {256, 0},       {11, -1},
					     {11, 256}, {INT32_MIN, 11}, {11, INT32_MAX}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		check_unknown(fake_file_new(numbers[i][0], numbers[i][1]), SUPPORT_UNKNOWN_BUILD, 0,
			      0);
	check_unknown(changed_file_new(V8_11_3, MAJOR, NULL), SUPPORT_UNKNOWN_BUILD, 0, 0);
}

static void a_build_with_compressed_pointers_is_not_known(void **state)
{
	static const int32_t shift = 0;

	(void)state;
	check_unknown(changed_file_new(V8_11_3, "v8dbg_SmiShiftSize", &shift),
		      SUPPORT_UNKNOWN_BUILD, 11, 3);
}

/* From 12.9 on it is said before the local variables from where to where a function goes. */
static void a_build_without_room_for_what_it_has_is_not_known(void **state)
{
	static const int32_t first_local = 4;

	(void)state;
	check_unknown(changed_file_new(V8_12_9, FIRST_LOCAL, &first_local), SUPPORT_UNKNOWN_BUILD,
		      12, 9);
}

static void a_build_that_does_not_say_all_is_not_known(void **state)
{
	const char *const names[] = {
		V8_11_3->name_name, V8_11_3->script_name, FLAGS,       SHARED_TYPE,
		SCOPE_TYPE,         SCRIPT_TYPE,          FIRST_LOCAL, STRING_MASK,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		check_unknown(changed_file_new(V8_11_3, names[i], NULL), SUPPORT_UNKNOWN_BUILD, 11,
			      3);
	for (size_t i = 0; i < ARRAY_LENGTH(common_facts); i++)
		check_unknown(changed_file_new(V8_11_3, common_facts[i].name, NULL),
			      SUPPORT_UNKNOWN_BUILD, 11, 3);
}

/* A program may be linked against a library that has them. */
static void numbers_of_another_file_are_not_there(void **state)
{
	struct fake_file *file = empty_file_new();

	(void)state;
	add_symbol(file, FIRST_NAME, 0, 0, SHN_UNDEF);
	add_symbol(file, MAJOR, 0, 0, SHN_UNDEF);
	add_symbol(file, MINOR, 0, 0, SHN_UNDEF);
	check_unknown(file, SUPPORT_UNKNOWN_BUILD, 0, 0);

	file = changed_file_new(V8_11_3, "v8dbg_SeqStringTag", NULL);
	add_symbol(file, "v8dbg_SeqStringTag", DATA_ADDRESS + DATA_BYTES - 4, 4, SHN_ABS);
	check_unknown(file, SUPPORT_UNKNOWN_BUILD, 11, 3);
	file = changed_file_new(V8_11_3, "v8dbg_SeqStringTag", NULL);
	add_symbol(file, "v8dbg_SeqStringTag", 0x7000000, 4, 2); /* in no segment */
	check_unknown(file, SUPPORT_UNKNOWN_BUILD, 11, 3);
	file = changed_file_new(V8_11_3, "v8dbg_SeqStringTag", NULL);
	add_symbol(file, "v8dbg_SeqStringTag", ZEROED + ZEROED_BYTES - 2, 4, 2); /* half */
	check_unknown(file, SUPPORT_UNKNOWN_BUILD, 11, 3);
}

/* Compilers put variables of the value 0 where a file takes no room. */
static void a_number_that_is_zero_need_not_be_in_the_file(void **state)
{
	static const char *const names[] = {"v8dbg_SeqStringTag", MINOR};
	struct version version = *V8_11_3;
	struct runtime_build build;

	(void)state;
	version.minor = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct fake_file *file = changed_file_new(&version, names[i], NULL);

		add_symbol(file, names[i], ZEROED + 8, 4, 2);
		assert_int_equal(find(file, &build), 0);
		check_version(&version, &build);
	}
}

/* As a stripped library has them. */
static void the_symbols_may_be_dynamic(void **state)
{
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct fake_file *file = changed_file_new(&versions[i], NULL, NULL);

		file->symbols_type = SHT_DYNSYM;
		assert_int_equal(find(file, &build), 0);
		check_version(&versions[i], &build);
	}
}

/* Whatever number of them is exported, the others are found as well. */
static void some_of_the_symbols_may_be_exported(void **state)
{
	const size_t num_symbols = 11 + ARRAY_LENGTH(common_facts);
	struct runtime_build build;

	(void)state;
	for (size_t num = 3; num <= num_symbols; num++) {
		struct fake_file *file = changed_file_new(V8_11_3, NULL, NULL);

		file->num_exported = num;
		assert_int_equal(find(file, &build), 0);
		check_version(V8_11_3, &build);
	}
}

static void other_symbols_change_nothing(void **state)
{
	static const struct fact others[] = {
		{"v8dbg_class_JSFunction__shared", 0},
		{"v8dbg_SmiShiftSizeOfOthers", 0},
		{"v8dbg_SmiShift", 0},
		{"v8dbg_off_fp_context_or_frame_type", 0},
		{"v8dbg_class_Map__instance_descriptors_offset", 0},
		{"v8dbg_type_ScopeInfoOther__X", 0},
		{"v8dbg_class_SharedFunctionInfo__flags2__int", 0},
		{"x_v8dbg_SmiShiftSize", 0},
		{MAJOR ".local", 0},
	};
	struct fake_file *file = changed_file_new(V8_11_3, NULL, NULL);
	struct text symbols = file->symbols;
	struct runtime_build build;

	(void)state;
	file->symbols = (struct text){0};
	text_append(&file->symbols, symbols.data, sizeof(Elf64_Sym));
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		add_fact(file, others[i]);
	text_append(&file->symbols, symbols.data + sizeof(Elf64_Sym),
		    symbols.length - sizeof(Elf64_Sym));
	text_release(&symbols);
	assert_int_equal(find(file, &build), 0);
	check_version(V8_11_3, &build);
}

/* What the code that reads them takes for granted. */
static void other_tags_are_not_known(void **state)
{
	static const char *const names[] = {
		"v8dbg_StringRepresentationMask",
		"v8dbg_StringEncodingMask",
		"v8dbg_OneByteStringTag",
		"v8dbg_SeqStringTag",
		"v8dbg_ConsStringTag",
		"v8dbg_ExternalStringTag",
		"v8dbg_ThinStringTag",
		"v8dbg_HeapObjectTag",
		"v8dbg_HeapObjectTagMask",
		"v8dbg_SmiShiftSize",
		"v8dbg_off_fp_function",
		"v8dbg_off_fp_context",
		"v8dbg_class_SeqOneByteString__chars__char",
		"v8dbg_class_SeqTwoByteString__chars__char",
		"v8dbg_class_ExternalString__resource__Object",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		check_changed(names[i], 24, SUPPORT_UNKNOWN_BUILD);
}

static void an_offset_lies_in_what_is_read(void **state)
{
	static const struct {
		const char *name;
		int32_t last;  /* that is in bounds */
		int32_t size;  /* of which it is a multiple */
		int32_t first; /* that is in bounds */
	} offsets[] = {
		{FIRST_NAME, WIRE_V8_OBJECT_BYTES - 8, 8, 0},
		{SHARED "name_or_scope_info__Object", 40, 8, 0},
		{SHARED "script_or_debug_info__HeapObject", 40, 8, 0},
		{FLAGS, WIRE_V8_OBJECT_BYTES - 8, 8, 40},
		/* Between the source and the number of the first line. */
		{"v8dbg_class_Script__name__Object", WIRE_V8_OBJECT_BYTES - 16, 8, 16},
		{"v8dbg_class_Map__instance_type__uint16_t", WIRE_V8_OBJECT_BYTES - 2, 2, 0},
		{"v8dbg_class_String__length__int32_t", 28, 4, 0},
		{"v8dbg_class_ConsString__first__String", 24, 8, 0},
		{"v8dbg_class_ConsString__second__String", 24, 8, 0},
		{"v8dbg_class_ThinString__actual__String", 24, 8, 0},
		{FIRST_LOCAL, 9, 1, 3},
		{"v8dbg_scopeinfo_idx_ncontextlocals", 2, 1, 1},
	};
	static const int32_t never[] = {-1,      -8,    -256,      256,       264,
					1 << 16, 65544, INT32_MIN, INT32_MAX, INT32_MAX - 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		const char *name = offsets[i].name;

		check_changed(name, offsets[i].first, SUPPORT_KNOWN);
		check_changed(name, offsets[i].last, SUPPORT_KNOWN);
		check_changed(name, offsets[i].last + offsets[i].size, SUPPORT_UNKNOWN_BUILD);
		check_changed(name, offsets[i].first - offsets[i].size, SUPPORT_UNKNOWN_BUILD);
		if (offsets[i].size > 1)
			check_changed(name, offsets[i].last - 1, SUPPORT_UNKNOWN_BUILD);
		for (size_t j = 0; j < ARRAY_LENGTH(never); j++)
			check_changed(name, never[j], SUPPORT_UNKNOWN_BUILD);
	}
}

static void types_have_sixteen_bits(void **state)
{
	static const char *const names[] = {
		SHARED_TYPE,
		SCOPE_TYPE,
		SCRIPT_TYPE,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		check_changed(names[i], UINT16_MAX, SUPPORT_KNOWN);
		check_changed(names[i], UINT16_MAX + 1, SUPPORT_UNKNOWN_BUILD);
		check_changed(names[i], 0, SUPPORT_UNKNOWN_BUILD);
		check_changed(names[i], -1, SUPPORT_UNKNOWN_BUILD);
	}
	check_changed(STRING_MASK, -INT16_MAX, SUPPORT_KNOWN);
	check_changed(STRING_MASK, INT16_MIN, SUPPORT_UNKNOWN_BUILD);
	check_changed(STRING_MASK, INT32_MIN, SUPPORT_UNKNOWN_BUILD);
	check_changed(STRING_MASK, 0, SUPPORT_UNKNOWN_BUILD);
	check_changed(STRING_MASK, 128, SUPPORT_UNKNOWN_BUILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_its_numbers_has_no_v8),
		cmocka_unit_test(a_version_has_the_layout_that_it_says),
		cmocka_unit_test(functions_of_webassembly_have_what_their_build_says),
		cmocka_unit_test(older_builds_do_not_say_all_of_webassembly),
		cmocka_unit_test(numbers_of_webassembly_that_are_none_leave_it_unknown),
		cmocka_unit_test(a_layout_of_optimized_code_stays_in_its_bounds),
		cmocka_unit_test(optimized_code_is_known_of_some_versions),
		cmocka_unit_test(one_between_two_versions_is_as_the_older_one),
		cmocka_unit_test(of_other_versions_nothing_is_guessed),
		cmocka_unit_test(a_version_that_no_build_has_is_none),
		cmocka_unit_test(a_build_with_compressed_pointers_is_not_known),
		cmocka_unit_test(a_build_without_room_for_what_it_has_is_not_known),
		cmocka_unit_test(a_build_that_does_not_say_all_is_not_known),
		cmocka_unit_test(numbers_of_another_file_are_not_there),
		cmocka_unit_test(a_number_that_is_zero_need_not_be_in_the_file),
		cmocka_unit_test(the_symbols_may_be_dynamic),
		cmocka_unit_test(some_of_the_symbols_may_be_exported),
		cmocka_unit_test(other_symbols_change_nothing),
		cmocka_unit_test(other_tags_are_not_known),
		cmocka_unit_test(an_offset_lies_in_what_is_read),
		cmocka_unit_test(types_have_sixteen_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
