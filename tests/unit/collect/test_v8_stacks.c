/* Functions of JavaScript in the place of the levels of a native stack. */
#include "collect/runtimes/runtime_ops.h"

#include <string.h>
#include <unistd.h>

#include "unit.h"

#define PID        7
#define GENERATION 3
#define FILE_START 0x400000
#define FILE_BYTES 0x1000

struct scene {
	struct profile *profile;
	void *stacks;
	struct file_table *files;
	struct process_table *processes;
	struct process *process;
	struct runtime_sample source;
	struct runtime_level levels[RUNTIME_MAX_LEVELS];
	uint32_t num_levels;
	struct runtime_verdict verdict;
};

/* A process with a file mapped at FILE_START. */
static void map_file(struct scene *scene)
{
	const struct mapping mapping = {.start = FILE_START, .end = FILE_START + FILE_BYTES};
	const struct file_identity identity = {.path = "/usr/bin/node"};
	bool is_in_exec;

	scene->files = file_table_new("/nonexistent", NULL);
	assert_non_null(scene->files);
	scene->processes = process_table_new("/nonexistent", scene->files);
	assert_non_null(scene->processes);
	assert_int_equal(file_table_add_sought(scene->files, &identity), 0);
	assert_int_equal(process_table_on_fork(scene->processes, 1, PID, 1), 0);
	assert_int_equal(process_table_on_comm(scene->processes, 2, PID, "x", true), 0);
	assert_int_equal(process_table_on_mmap(scene->processes, 3, PID, &mapping, &identity), 0);
	assert_int_equal(process_table_find(scene->processes, 4, PID, GENERATION_UNKNOWN, false,
					    &scene->process, &is_in_exec),
			 0);
}

static struct scene *scene_new(enum runtime_frames shown)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->profile = profile_new();
	assert_non_null(scene->profile);
	scene->stacks = v8_stack_ops.create(
		&(struct runtime_context){.profile = scene->profile, .shown = shown},
		WIRE_RUNTIME_V8);
	assert_non_null(scene->stacks);
	map_file(scene);
	scene->source = (struct runtime_sample){
		.process = scene->process, .generation = GENERATION, .is_whole = true};
	return scene;
}

static void scene_free(struct scene *scene)
{
	v8_stack_ops.free(scene->stacks);
	profile_free(scene->profile);
	process_table_free(scene->processes);
	file_table_free(scene->files);
	free(scene);
}

static void put_text(struct wire_v8_text *ret, wire_u8 *bytes, const char *text)
{
	ret->length = ret->num_bytes = (wire_u16)strlen(text);
	memcpy(bytes, text, strlen(text));
}

static struct wire_v8_function describe(uint64_t shared, const char *name, const char *file,
					bool is_builtin)
{
	struct wire_v8_function record = {
		.type = WIRE_RUNTIME_CODE,
		.runtime = WIRE_RUNTIME_V8,
		.pid = PID,
		.generation = GENERATION,
		.shared = shared,
		.fingerprint = 1,
		.is_builtin = is_builtin,
		.position = WIRE_V8_NO_POSITION,
		.num_parts = *name != '\0',
	};

	put_text(&record.name[0], record.name_text[0], name);
	put_text(&record.file, record.file_text, file);
	return record;
}

static void add_function(struct scene *scene, uint64_t shared, const char *name, const char *file,
			 bool is_builtin)
{
	struct wire_v8_function record = describe(shared, name, file, is_builtin);

	assert_int_equal(v8_stack_ops.add_code(scene->stacks, &record), 0);
}

static void splice_wasm(struct scene *scene, const struct v8_wasm_layout *wasm,
			const struct runtime_frame_list *list, const uint64_t *pcs,
			uint32_t num_pcs)
{
	const struct runtime_build build = {.wasm = *wasm};
	struct runtime_splice splice = {.source = &scene->source,
					.build = &build,
					.frames = *list,
					.pcs = pcs,
					.num_pcs = num_pcs,
					.levels = scene->levels};

	assert_int_equal(v8_stack_ops.splice(scene->stacks, &splice), 0);
	scene->num_levels = splice.num_levels;
	scene->verdict = splice.verdict;
}

static void splice_list(struct scene *scene, const struct runtime_frame_list *list,
			uint32_t num_pcs)
{
	static const struct v8_wasm_layout wasm;
	static const uint64_t pcs[RUNTIME_MAX_LEVELS];

	assert_in_range(num_pcs, 0, RUNTIME_MAX_LEVELS);
	splice_wasm(scene, &wasm, list, pcs, num_pcs);
}

static void splice(struct scene *scene, const struct wire_runtime_frame *frames, uint32_t length,
		   enum wire_runtime_end end, uint32_t num_pcs)
{
	const struct runtime_frame_list list = {
		.items = frames, .length = length, .end = (uint8_t)end, .have_come = true};

	splice_list(scene, &list, num_pcs);
}

static const struct frame *get_frame(const struct scene *scene, uint32_t level)
{
	const struct location *location;

	assert_int_equal(scene->levels[level].pc, RUNTIME_LEVEL_FRAME);
	location = profile_get_location(scene->profile, scene->levels[level].location);
	return profile_get_frame(scene->profile, location->first_frame);
}

static void expect_frame(const struct scene *scene, uint32_t level, const char *name,
			 const char *module, const char *file)
{
	const struct frame *frame = get_frame(scene, level);

	assert_int_equal(frame->kind, FRAME_JAVASCRIPT);
	assert_string_equal(profile_get_string(scene->profile, frame->name), name);
	assert_string_equal(profile_get_string(scene->profile, frame->module), module);
	assert_string_equal(profile_get_string(scene->profile, frame->file), file);
}

static void functions_come_in_the_place_of_their_levels(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {{0x101, 1, 1}, {0x201, 1, 2}, {0x301, 1, 4}};

	add_function(scene, 0x101, "inner", "/srv/app/inner.js", false);
	add_function(scene, 0x201, "", "file:///srv/app/outer.mjs", false);
	add_function(scene, 0x301, "load", "node:internal/modules/cjs/loader", false);
	splice(scene, frames, 3, WIRE_RUNTIME_COMPLETE, 6);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_int_equal(scene->num_levels, 6);
	assert_int_equal(scene->levels[0].pc, 0);
	expect_frame(scene, 1, "inner", "inner.js", "/srv/app/inner.js");
	expect_frame(scene, 2, "(anonymous)", "outer.mjs", "/srv/app/outer.mjs");
	assert_int_equal(scene->levels[3].pc, 3);
	expect_frame(scene, 4, "load", "node:internal/modules/cjs/loader",
		     "node:internal/modules/cjs/loader");
	assert_int_equal(scene->levels[5].pc, 5);
	scene_free(scene);
}

/* A string of V8 in this process, as its memory can be read. */
struct source {
	uint64_t map;
	uint32_t hash;
	uint32_t length;
	char characters[32];
};

static const struct source source = {0x2a0000000101, 3, 32, "\nfunction f() {}\nfunction g() {}"};

static void check_line(struct scene *scene, struct wire_v8_function *record, uint32_t line)
{
	const struct wire_runtime_frame frames[] = {{record->shared, 1, 0}};

	assert_int_equal(v8_stack_ops.add_code(scene->stacks, record), 0);
	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 1);
	assert_int_equal(get_frame(scene, 0)->line, line);
	record->shared += 16;
}

static void a_function_has_the_line_that_it_starts_in(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	struct wire_v8_function record = describe(0x101, "g", "/srv/g.js", false);

	scene->process->pid = (uint32_t)getpid();
	record.pid = (uint32_t)getpid();
	record.source = (struct wire_v8_source){
		.string = (uint64_t)(uintptr_t)&source,
		.map = source.map,
		.characters = (uint64_t)(uintptr_t)source.characters,
		.length = source.length,
		.string_length = source.length,
		.length_offset = 12,
	};
	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++) {
		uint64_t word;

		memcpy(&word, source.characters + wire_v8_get_source_offset(source.length, i),
		       sizeof(word));
		record.source.words |= 1u << i;
		record.source.hash = wire_v8_hash_source(record.source.hash, word);
	}
	record.position = 1;
	check_line(scene, &record, 2);
	record.position = 18;
	check_line(scene, &record, 3);
	/* A script that is a part of another file says so. */
	record.first_line = 40;
	check_line(scene, &record, 43);
	record.first_line = (uint32_t)-3;
	check_line(scene, &record, 0);
	record.first_line = 0;
	record.position = WIRE_V8_NO_POSITION;
	check_line(scene, &record, 0);
	scene_free(scene);
}

static void a_line_that_was_counted_is_taken(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	struct wire_v8_function record = describe(0x101, "", "/srv/g.js", false);
	struct wire_v8_function evaluated = describe(0x501, "", "", false);

	record.position = evaluated.position = 90;
	record.line = evaluated.line = 7;
	check_line(scene, &record, 7);
	record.first_line = 5;
	check_line(scene, &record, 12);
	/* Without a file there is no line. */
	check_line(scene, &evaluated, 0);
	scene_free(scene);
}

static void without_its_source_a_function_has_no_line(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	struct wire_v8_function record = describe(0x101, "g", "/srv/g.js", false);

	record.position = 18;
	check_line(scene, &record, 0);
	/* The line at which its script starts in a page says nothing about it. */
	record.first_line = 40;
	check_line(scene, &record, 0);
	scene_free(scene);
}

static void what_runs_them_is_beneath_them_where_all_is_asked_for(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_ALL);
	const struct wire_runtime_frame frames[] = {{0x101, 1, 0}};

	add_function(scene, 0x101, "f", "f.js", false);
	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_int_equal(scene->num_levels, 3);
	assert_int_equal(scene->levels[0].pc, 0);
	expect_frame(scene, 1, "f", "f.js", "f.js");
	assert_int_equal(scene->levels[2].pc, 1);
	scene_free(scene);
}

static void what_is_built_in_or_not_known_stays_native(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {{0x101, 1, 0}, {0x201, 1, 1}, {0x301, 2, 2}};

	add_function(scene, 0x101, "forEach", "", true);
	add_function(scene, 0x301, "of another fingerprint", "x.js", false);
	splice(scene, frames, 3, WIRE_RUNTIME_COMPLETE, 3);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_int_equal(scene->num_levels, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(scene->levels[i].pc, i);
	scene_free(scene);
}

static void it_is_said_what_became_of_them(void **state _unused_)
{
	static const struct runtime_frame_list nothing;
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {{0x101, 1, 0}};

	splice(scene, NULL, 0, WIRE_RUNTIME_COMPLETE, 2);
	assert_int_equal(scene->verdict.fit, RUNTIME_OUTSIDE);
	assert_false(scene->verdict.proves_steps);
	splice(scene, frames, 1, WIRE_RUNTIME_PROVEN, 2);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_true(scene->verdict.proves_steps);
	splice(scene, frames, 1, WIRE_RUNTIME_UNREADABLE, 2);
	assert_int_equal(scene->verdict.fit, RUNTIME_UNREADABLE);
	assert_false(scene->verdict.proves_steps);
	splice_list(scene, &nothing, 2);
	assert_int_equal(scene->verdict.fit, RUNTIME_EARLY);
	assert_false(scene->verdict.proves_steps);
	assert_int_equal(scene->num_levels, 2);
	scene_free(scene);
}

static enum runtime_fit get_fit_of_early(struct scene *scene, uint64_t outer_pc)
{
	static const struct v8_wasm_layout wasm;
	static const struct runtime_frame_list nothing;
	const uint64_t pcs[] = {FILE_START + 1, outer_pc};

	splice_wasm(scene, &wasm, &nothing, pcs, ARRAY_LENGTH(pcs));
	return scene->verdict.fit;
}

/* As while it starts. V8's own code is walked by frame pointer. */
static void an_early_stack_of_native_code_is_outside(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);

	assert_int_equal(get_fit_of_early(scene, FILE_START + 2), RUNTIME_OUTSIDE);
	assert_int_equal(get_fit_of_early(scene, FILE_START | WIRE_PC_EXACT), RUNTIME_OUTSIDE);
	/* A return address there is of a call before. */
	assert_int_equal(get_fit_of_early(scene, FILE_START), RUNTIME_EARLY);
	assert_int_equal(get_fit_of_early(scene, (FILE_START + 2) | WIRE_PC_FP_STEP),
			 RUNTIME_EARLY);
	assert_int_equal(get_fit_of_early(scene, 0x7fffff000000), RUNTIME_EARLY);
	scene->source.is_whole = false;
	assert_int_equal(get_fit_of_early(scene, FILE_START + 2), RUNTIME_EARLY);
	scene_free(scene);
}

static void a_function_of_webassembly_that_is_not_known_stays_code(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);
	const struct wire_runtime_frame frames[] = {{0x101, WIRE_V8_WASM, 0}};

	splice(scene, frames, 1, WIRE_RUNTIME_COMPLETE, 2);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_int_equal(scene->num_levels, 2);
	assert_int_equal(scene->levels[0].pc, 0);
	assert_int_equal(scene->levels[1].pc, 1);
	scene_free(scene);
}

/* Where things of WebAssembly lie in this process, by words. */
enum heap_word {
	MAP_OF_MODULE = 8,
	MAP_OF_SCRIPT = 16,
	INSTANCE = 32,
	MODULE = 96,
	SCRIPT = 128,
	FOREIGN = 160,
	OWNER = 176,
	SHARED = 192,
	NATIVE = 200,
	HEAP_WORDS = 1024,
};
#define MODULE_TYPE 300
#define SCRIPT_TYPE 167
#define MARKER      0x10

static uint64_t heap[HEAP_WORDS] __attribute__((aligned(64)));
static uint8_t table[64] __attribute__((aligned(64)));
static uint8_t code[2][64] __attribute__((aligned(64)));

static uint64_t get_address(enum heap_word word)
{
	return (uintptr_t)&heap[word];
}

static uint64_t get_object(enum heap_word word)
{
	return get_address(word) + 1;
}

/* Two functions, of which the second one has a name. */
static void fill_heap(void)
{
	static const char bytes[] = "\0asm\1\0\0\0\3\3\2\0\0\0\15\4name\1\6\1\1\3two";

	heap[MAP_OF_MODULE] = heap[MAP_OF_SCRIPT] = get_object(MAP_OF_MODULE);
	heap[MAP_OF_MODULE + 1] = (uint64_t)MODULE_TYPE << 32;
	heap[MAP_OF_SCRIPT + 1] = (uint64_t)SCRIPT_TYPE << 32;
	heap[INSTANCE + 4] = (uintptr_t)table;
	heap[INSTANCE + 5] = get_object(MODULE);
	heap[MODULE] = get_object(MAP_OF_MODULE);
	heap[MODULE + 3] = get_object(SCRIPT);
	heap[SCRIPT] = get_object(MAP_OF_SCRIPT);
	heap[SCRIPT + 8] = get_object(FOREIGN);
	heap[FOREIGN + 1] = get_address(OWNER);
	heap[OWNER + 1] = get_address(SHARED);
	heap[SHARED] = get_address(NATIVE);
	heap[NATIVE + 2] = (uintptr_t)bytes;
	heap[NATIVE + 3] = sizeof(bytes) - 1;
	for (uint32_t slot = 0; slot < 2; slot++) {
		static const uint8_t start[] = {0x41, 0xbc, 0, 0, 0, 0, 0xe8};
		int32_t distance = (int32_t)(code[slot] - (table + (size_t)slot * 8 + 5));

		memcpy(code[slot], start, sizeof(start));
		table[slot * 8] = 0xe9;
		memcpy(table + (size_t)slot * 8 + 1, &distance, sizeof(distance));
	}
}

/* By its first compiler, which sets up the frame in a function of its own. */
static void functions_of_webassembly_are_found_in_their_module(void **state _unused_)
{
	static const struct v8_wasm_layout layout = {
		.is_known = true,
		.marker = MARKER,
		.script_type = SCRIPT_TYPE,
		.module_type = MODULE_TYPE,
		.map_type = 12,
		.script_native_module = 64,
	};
	const struct wire_runtime_frame frames[] = {{get_object(INSTANCE), WIRE_V8_WASM, 1},
						    {get_object(INSTANCE), WIRE_V8_WASM, 2}};
	const struct runtime_frame_list list = {.items = frames, .length = 2, .have_come = true};
	uint64_t pcs[] = {0x1000 | WIRE_PC_EXACT, (uintptr_t)code[1] + 11, (uintptr_t)code[0] + 40,
			  0x2000};
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);

	fill_heap();
	scene->process->pid = (uint32_t)getpid();
	splice_wasm(scene, &layout, &list, pcs, 4);
	assert_int_equal(scene->num_levels, 4);
	assert_int_equal(scene->levels[0].pc, 0);
	expect_frame(scene, 1, "two", "wasm", "");
	expect_frame(scene, 2, "wasm-function[0]", "wasm", "");
	assert_int_equal(scene->levels[3].pc, 3);
	/* What sets up the frame has not started, but the walk knows. */
	pcs[0] |= WIRE_PC_ENTRY_STEP;
	splice_wasm(scene, &layout, &list, pcs, 4);
	assert_int_equal(scene->num_levels, 4);
	/* It does not: who has called `two` is not known, but by whom that was called. */
	pcs[1] |= WIRE_PC_FP_STEP;
	splice_wasm(scene, &layout, &list, pcs, 4);
	assert_int_equal(scene->num_levels, 3);
	expect_frame(scene, 1, "two", "wasm", "");
	assert_int_equal(scene->levels[2].pc, RUNTIME_LEVEL_SKIPPED);
	scene_free(scene);
}

/* Of code in a file nothing is inlined; of other code it may be, where the version is not known. */
static void optimized_code_of_an_unknown_version_may_lack_functions(void **state _unused_)
{
	static const struct wire_runtime_frame frame = {.code = 0x101, .fingerprint = 1};
	static const struct v8_wasm_layout wasm;
	const struct runtime_frame_list list = {
		.items = &frame, .length = 1, .end = WIRE_RUNTIME_COMPLETE, .have_come = true};
	const uint64_t in_file = FILE_START + 16;
	const uint64_t generated = FILE_START - 16;
	struct scene *scene = scene_new(RUNTIME_FRAMES_MANAGED);

	add_function(scene, 0x101, "f", "/f.js", false);
	splice_wasm(scene, &wasm, &list, &in_file, 1);
	assert_false(scene->verdict.may_lack_inlined);
	splice_wasm(scene, &wasm, &list, &generated, 1);
	assert_int_equal(scene->verdict.fit, RUNTIME_FITS);
	assert_true(scene->verdict.may_lack_inlined);
	assert_int_equal(scene->num_levels, 1);
	scene_free(scene);
}

static void levels_that_are_none_are_left_out(void **state _unused_)
{
	struct scene *scene = scene_new(RUNTIME_FRAMES_ALL);
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];

	add_function(scene, 0x101, "f", "f.js", false);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i] = (struct wire_runtime_frame){0x101, 1, i % 2 ? UINT32_MAX - i : i / 2};
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_in_range(scene->num_levels, WIRE_MAX_FRAMES, RUNTIME_MAX_LEVELS);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		frames[i].position = 5;
	splice(scene, frames, WIRE_MAX_RUNTIME_FRAMES, WIRE_RUNTIME_COMPLETE, WIRE_MAX_FRAMES);
	assert_int_equal(scene->num_levels, WIRE_MAX_FRAMES + 1);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_in_the_place_of_their_levels),
		cmocka_unit_test(a_function_has_the_line_that_it_starts_in),
		cmocka_unit_test(a_line_that_was_counted_is_taken),
		cmocka_unit_test(without_its_source_a_function_has_no_line),
		cmocka_unit_test(what_runs_them_is_beneath_them_where_all_is_asked_for),
		cmocka_unit_test(what_is_built_in_or_not_known_stays_native),
		cmocka_unit_test(it_is_said_what_became_of_them),
		cmocka_unit_test(an_early_stack_of_native_code_is_outside),
		cmocka_unit_test(a_function_of_webassembly_that_is_not_known_stays_code),
		cmocka_unit_test(functions_of_webassembly_are_found_in_their_module),
		cmocka_unit_test(optimized_code_of_an_unknown_version_may_lack_functions),
		cmocka_unit_test(levels_that_are_none_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
