/*
 * Functions of WebAssembly in a memory that is as V8 has it: an instance that leads to its module's bytes and to the table of its code.
 */
#include "runtime/v8_wasm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

#include "unit.h"

#define MEMORY       0x2a0000000000ull
#define MEMORY_BYTES 0x100000

/* Objects, which are 1 more where they are referred to, and what is not one. */
#define MAPS      (MEMORY + 0x1000)
#define INSTANCE  (MEMORY + 0x2000)
#define TRUSTED   (MEMORY + 0x2800) /* what an instance is of in newer versions */
#define MODULE    (MEMORY + 0x3000)
#define SCRIPT    (MEMORY + 0x3400)
#define FOREIGN   (MEMORY + 0x3800)
#define OWNER     (MEMORY + 0x4000) /* of a shared pointer */
#define SHARED    (MEMORY + 0x4100)
#define NATIVE    (MEMORY + 0x5000) /* V8's module, in C++ */
#define BYTES     (MEMORY + 0x7000)
#define TABLE     (MEMORY + 0x80000)
#define CODE      (MEMORY + 0xc0000)
#define LAZY      (MEMORY + 0xf0000) /* what compiles a function */
#define MAP_TYPE  12
#define IN_SCRIPT 64

#define SCRIPT_TYPE   167
#define MODULE_TYPE   300
#define INSTANCE_TYPE 301
#define FOREIGN_TYPE  302
#define OTHER_TYPE    303
#define MARKER        0x10

#define PID 7

/* Two functions that are imported, one without a name, and two with one. */
#define NUM_IMPORTS   2
#define NUM_FUNCTIONS 3
static const char module_bytes[] = "\0asm\1\0\0\0"
				   "\2\13\2\0\1a\0\0\0\1b\0\0"
				   "\3\4\3\0\0\0"
				   "\0\22\4name\1\13\2\3\3one\4\3two";

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
	struct v8_wasm_modules *modules;
	struct v8_wasm_layout layout;
	struct v8_memory reader;
	struct v8_wasm_place place;
	size_t num_reads;
	uint64_t num_bytes; /* that were read */
	struct v8_wasm_function found;
};

#include "fake_memory.h"

static int read_scene(void *context, uint64_t address, void *ret, size_t size)
{
	struct fake_process *scene = context;

	assert_in_range(size, 1, 64 << 10);
	scene->num_reads++;
	scene->num_bytes += size;
	return read_memory(scene, ret, size, address);
}

static void put_object(struct fake_process *scene, uint64_t object, uint16_t type)
{
	uint64_t map = MAPS + 16ull * (type - SCRIPT_TYPE);

	put_word(scene, object, map + 1);
	put(scene, map + MAP_TYPE, &type, sizeof(type));
}

/* Where the code of a function starts, as this compiled it: a function is compiled more than once. */
static uint64_t get_code(uint32_t slot, unsigned int times)
{
	return CODE + 0x4000ull * slot + 0x400ull * times;
}

static void put_code(struct fake_process *scene, uint64_t start)
{
	static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, MARKER};

	put(scene, start, prologue, sizeof(prologue));
}

static void put_jump(struct fake_process *scene, uint64_t address, uint64_t target)
{
	int32_t distance = (int32_t)(target - address - 5);

	put(scene, address, "\xe9", 1);
	put(scene, address + 1, &distance, sizeof(distance));
}

static struct fake_process *scene_new(void)
{
	struct fake_process *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->modules = v8_wasm_modules_new();
	assert_non_null(scene->modules);
	scene->reader = (struct v8_memory){read_scene, scene};
	scene->layout = (struct v8_wasm_layout){
		.is_known = true,
		.marker = MARKER,
		.script_type = SCRIPT_TYPE,
		.module_type = MODULE_TYPE,
		.map_type = MAP_TYPE,
		.script_native_module = IN_SCRIPT,
	};
	put_object(scene, INSTANCE, OTHER_TYPE);
	put_word(scene, INSTANCE + 40, TABLE);
	put_word(scene, INSTANCE + 80, MODULE + 1);
	put_object(scene, MODULE, MODULE_TYPE);
	put_word(scene, MODULE + 24, SCRIPT + 1);
	put_object(scene, SCRIPT, SCRIPT_TYPE);
	put_word(scene, SCRIPT + IN_SCRIPT, FOREIGN + 1);
	put_object(scene, FOREIGN, FOREIGN_TYPE);
	put_word(scene, FOREIGN + 8, OWNER);
	put_word(scene, OWNER + 8, SHARED);
	put_word(scene, SHARED, NATIVE);
	put_word(scene, NATIVE + 0x100, BYTES);
	put_word(scene, NATIVE + 0x108, sizeof(module_bytes) - 1);
	put(scene, BYTES, module_bytes, sizeof(module_bytes) - 1);
	for (uint32_t slot = 0; slot < NUM_FUNCTIONS; slot++) {
		put_code(scene, get_code(slot, 0));
		put_jump(scene, TABLE + 8ull * slot, get_code(slot, 0));
	}
	scene->place = (struct v8_wasm_place){
		.pid = PID, .instance = INSTANCE + 1, .pc = get_code(1, 0) + 0x30};
	return scene;
}

static void scene_free(struct fake_process *scene)
{
	v8_wasm_modules_free(scene->modules);
	free(scene);
}

static int find(struct fake_process *scene)
{
	scene->num_reads = 0;
	scene->num_bytes = 0;
	return v8_wasm_find(scene->modules, &scene->layout, &scene->reader, &scene->place,
			    &scene->found);
}

static void expect_function(struct fake_process *scene, uint64_t pc, uint32_t slot)
{
	static const char *const names[NUM_FUNCTIONS] = {NULL, "one", "two"};
	const char *name;

	scene->place.pc = pc;
	assert_int_equal(find(scene), 0);
	assert_int_equal(scene->found.number, NUM_IMPORTS + slot);
	name = wasm_module_get_name(scene->found.module, scene->found.number);
	if (names[slot])
		assert_string_equal(name, names[slot]);
	else
		assert_null(name);
}

static void expect_unknown(struct fake_process *scene, uint64_t pc)
{
	scene->place.pc = pc;
	assert_int_equal(find(scene), -ENOENT);
}

static void a_function_is_that_whose_slot_leads_to_its_code(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	for (uint32_t slot = 0; slot < NUM_FUNCTIONS; slot++) {
		expect_function(scene, get_code(slot, 0) + 1, slot);
		/* Farther than one page behind its start. */
		expect_function(scene, get_code(slot, 0) + 0x3fff, slot);
	}
	/* What is known is not looked for again. */
	expect_function(scene, get_code(2, 0) + 0x21, 2);
	assert_in_range(scene->num_reads, 1, 4);
	scene_free(scene);
}

static void of_a_build_that_does_not_say_how_none_is_known(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	scene->layout.is_known = false;
	expect_unknown(scene, get_code(1, 0) + 1);
	assert_int_equal(scene->num_reads, 0);
	scene_free(scene);
}

static void newer_instances_have_theirs_behind_another_one(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	put_word(scene, INSTANCE + 80, TRUSTED + 1);
	put_object(scene, TRUSTED, INSTANCE_TYPE);
	put_word(scene, TRUSTED + 16, MODULE + 1);
	expect_unknown(scene, get_code(1, 0) + 1);
	scene->layout.instance_type = INSTANCE_TYPE;
	expect_function(scene, get_code(1, 0) + 1, 1);
	scene_free(scene);
}

static void what_a_script_has_must_be_foreign_where_that_is_said(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	scene->layout.foreign_type = OTHER_TYPE;
	expect_unknown(scene, get_code(1, 0) + 1);
	scene->layout.foreign_type = FOREIGN_TYPE;
	expect_function(scene, get_code(1, 0) + 1, 1);
	scene_free(scene);
}

static void the_bytes_may_lie_behind_a_pointer(void **state _unused_)
{
	const uint64_t pair = MEMORY + 0x6f00;
	struct fake_process *scene = scene_new();

	put_word(scene, pair, BYTES);
	put_word(scene, pair + 8, sizeof(module_bytes) - 1);
	put_word(scene, NATIVE + 0x100, pair);
	put_word(scene, NATIVE + 0x108, 0);
	expect_function(scene, get_code(2, 0) + 1, 2);
	scene_free(scene);
}

static void slots_without_padding_are_known_as_such(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	for (uint32_t slot = 0; slot < NUM_FUNCTIONS; slot++)
		put_jump(scene, TABLE + 5ull * slot, get_code(slot, 0));
	for (uint32_t slot = 0; slot < NUM_FUNCTIONS; slot++)
		expect_function(scene, get_code(slot, 0) + 1, slot);
	scene_free(scene);
}

/* 12 slots of 5 bytes fit a line, of which the last 4 bytes are nothing. */
static void a_slot_lies_in_one_line(void **state _unused_)
{
	const uint32_t num_functions = 1000;
	struct fake_process *scene = scene_new();

	/* A module of so many functions, without names. */
	put(scene, BYTES + 8, "\3\xea\7\xe8\7", 5);
	put_word(scene, NATIVE + 0x108, 8 + 5 + num_functions);
	for (uint32_t i = 0; i < num_functions; i++) {
		put_jump(scene, TABLE + 64ull * (i / 12) + 5 * (i % 12), LAZY + 10ull * i);
		if (i % 12 == 11)
			put(scene, TABLE + 64ull * (i / 12) + 60, "\xcc\xcc\xcc\xcc", 4);
	}
	put_jump(scene, TABLE + 64ull * (997 / 12) + 5 * (997 % 12), get_code(1, 0));
	scene->place.pc = get_code(1, 0) + 1;
	assert_int_equal(find(scene), 0);
	assert_int_equal(scene->found.number, 997);
	scene_free(scene);
}

static void code_that_was_replaced_is_of_none(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	expect_function(scene, get_code(1, 0) + 1, 1);
	put_code(scene, get_code(1, 1));
	put_jump(scene, TABLE + 8, get_code(1, 1));
	expect_unknown(scene, get_code(1, 0) + 1);
	expect_function(scene, get_code(1, 1) + 1, 1);
	/* Nor is it looked for again. */
	expect_unknown(scene, get_code(1, 0) + 1);
	assert_in_range(scene->num_reads, 1, 3);
	scene_free(scene);
}

static void code_of_another_function_in_its_place_is_that_ones(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	expect_function(scene, get_code(1, 0) + 1, 1);
	put_jump(scene, TABLE + 8, LAZY);
	put_jump(scene, TABLE + 16, get_code(1, 0));
	expect_function(scene, get_code(1, 0) + 1, 2);
	scene_free(scene);
}

static void a_module_whose_first_sample_was_replaced_is_known_all_the_same(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	put_code(scene, get_code(1, 1));
	expect_unknown(scene, get_code(1, 1) + 1);
	expect_function(scene, get_code(1, 0) + 1, 1);
	scene_free(scene);
}

static void a_table_none_of_whose_functions_is_compiled_is_none(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	put_code(scene, get_code(1, 1));
	for (uint32_t slot = 0; slot < NUM_FUNCTIONS; slot++)
		put_jump(scene, TABLE + 8ull * slot, LAZY + 16ull * slot);
	expect_unknown(scene, get_code(1, 1) + 1);
	put_jump(scene, TABLE + 8, get_code(1, 1));
	expect_function(scene, get_code(1, 1) + 1, 1);
	scene_free(scene);
}

/* The frame pointer is the caller's there, and so is the instance, which is that of the same module mostly. */
static void an_innermost_instruction_may_have_no_frame(void **state _unused_)
{
	static const uint64_t without[] = {0, 1, 0x50, 0x60};
	const uint64_t start = get_code(1, 0);
	struct fake_process *scene = scene_new();

	put(scene, start + 0x50, "\xc3", 1);
	put(scene, start + 0x60, "\xc2\x10", 2);
	expect_function(scene, start + 4, 1);
	expect_function(scene, start + 0x50, 1);
	scene->place.is_innermost = true;
	for (size_t i = 0; i < ARRAY_LENGTH(without); i++) {
		expect_function(scene, start + without[i], 1);
		assert_false(scene->found.has_frame);
	}
	expect_function(scene, start + 4, 1);
	assert_true(scene->found.has_frame);
	expect_function(scene, start + 0x51, 1);
	assert_true(scene->found.has_frame);
	scene_free(scene);
}

static void first_compilers_start_code_with_the_functions_number(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	put(scene, get_code(1, 0), "\x41\xbc\1\0\0\0\xe8", 7);
	put(scene, get_code(0, 0), "\x45\x31\xe4\xe8", 4);
	expect_function(scene, get_code(1, 0) + 0x100, 1);
	expect_function(scene, get_code(0, 0) + 0x100, 0);
	scene_free(scene);
}

static void a_slot_of_the_table_is_of_none(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	/* As if code were before it. */
	put_code(scene, TABLE - 64);
	expect_function(scene, get_code(1, 0) + 1, 1);
	put_jump(scene, TABLE + 8, TABLE - 64);
	expect_function(scene, TABLE - 60, 1);
	expect_unknown(scene, TABLE);
	expect_unknown(scene, TABLE + 16);
	scene_free(scene);
}

/* What makes it has been called, and has not started to. */
static void a_function_may_have_no_frame_yet(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	put(scene, get_code(1, 0), "\x41\xbc\1\0\0\0\xe8", 7);
	expect_function(scene, get_code(1, 0) + 10, 1);
	assert_true(scene->found.has_frame);
	scene->place.calls_entry = true;
	expect_function(scene, get_code(1, 0) + 10, 1);
	assert_false(scene->found.has_frame);
	expect_function(scene, get_code(1, 0) + 11, 1);
	assert_true(scene->found.has_frame);
	scene_free(scene);
}

static void what_cannot_be_read_leads_nowhere(void **state _unused_)
{
	static const uint64_t places[] = {
		INSTANCE + 40,      INSTANCE + 80, MODULE,    MODULE + 24, SCRIPT,
		SCRIPT + IN_SCRIPT, FOREIGN + 8,   OWNER + 8, SHARED,      NATIVE + 0x100,
		NATIVE + 0x108,     BYTES,         TABLE,
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct fake_process *scene = scene_new();

		put_word(scene, places[i], 0);
		expect_unknown(scene, get_code(1, 0) + 1);
		put_word(scene, places[i], UINT64_MAX - 6);
		expect_unknown(scene, get_code(1, 0) + 1);
		scene_free(scene);
	}
}

/* All leads to the instance, whose words are all of one kind. */
static void what_leads_in_circles_ends(void **state _unused_)
{
	static const uint16_t types[] = {SCRIPT_TYPE, MODULE_TYPE, INSTANCE_TYPE, FOREIGN_TYPE};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct fake_process *scene = scene_new();

		scene->layout.instance_type = INSTANCE_TYPE;
		put_object(scene, INSTANCE, types[i]);
		for (uint64_t at = 8; at < 0x800; at += 8)
			put_word(scene, INSTANCE + at, INSTANCE + 1);
		expect_unknown(scene, get_code(1, 0) + 1);
		assert_in_range(scene->num_reads, 1, 1000);
		for (uint64_t at = 0; at < 0x6000; at += 8)
			put_word(scene, MAPS + at, MAPS + at);
		expect_unknown(scene, get_code(1, 0) + 1);
		assert_in_range(scene->num_reads, 1, 1000);
		scene_free(scene);
	}
}

/* Two processes may have the same addresses, and so may one that has started anew. */
static void each_process_has_its_own_modules(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	expect_function(scene, get_code(1, 0) + 1, 1);
	put(scene, BYTES + 8, "\2\5\1\0\1a\0", 7);
	put(scene, BYTES + 15, "\3\4\3\0\0\0", 6);
	put_word(scene, NATIVE + 0x108, 21);
	scene->place.generation = 1;
	scene->place.pc = get_code(1, 0) + 1;
	assert_int_equal(find(scene), -ENOENT);
	put(scene, BYTES + 8, "\3\4\3\0\0\0", 6);
	put_word(scene, NATIVE + 0x108, 14);
	assert_int_equal(find(scene), 0);
	assert_int_equal(scene->found.number, 1);
	scene->place.generation = 0;
	expect_function(scene, get_code(1, 0) + 1, 1);
	scene_free(scene);
}

static void of_more_modules_than_are_kept_the_oldest_are_found_again(void **state _unused_)
{
	struct fake_process *scene = scene_new();

	for (uint32_t i = 0; i <= V8_WASM_MODULES_MAX; i++) {
		scene->place.generation = i;
		expect_function(scene, get_code(1, 0) + 1, 1);
		/* The first one is asked for now and then. */
		scene->place.generation = 0;
		expect_function(scene, get_code(1, 0) + 1, 1);
	}
	assert_in_range(scene->num_reads, 1, 4);
	scene->place.generation = 1;
	expect_function(scene, get_code(1, 0) + 1, 1);
	assert_in_range(scene->num_reads, 10, 1000);
	scene_free(scene);
}

/* A module of many functions, and an instance that says everywhere that the table is there, of which the last slot is none. */
static void a_process_in_which_nothing_is_found_is_left_in_peace(void **state _unused_)
{
	const uint32_t num_functions = 30000;
	struct fake_process *scene = scene_new();
	uint64_t num_bytes = 0;

	put(scene, BYTES + 8, "\3\xb3\xea\1\xb0\xea\1", 7);
	put_word(scene, NATIVE + 0x108, 8 + 7 + num_functions);
	for (uint32_t i = 0; i + 1 < num_functions; i++)
		put_jump(scene, TABLE + 8ull * i, get_code(1, 0));
	put_code(scene, get_code(1, 0));
	for (uint64_t at = 8; at < 0x200; at += 8)
		put_word(scene, INSTANCE + at, at == 80 ? MODULE + 1 : TABLE);
	do {
		expect_unknown(scene, get_code(1, 0) + 1);
		num_bytes += scene->num_bytes;
		assert_in_range(num_bytes, 1, 2 * V8_WASM_READ_MAX);
	} while (scene->num_reads > 10);
	assert_in_range(num_bytes, V8_WASM_READ_MAX / 2, V8_WASM_READ_MAX + (64u << 20));
	/* Others are not. */
	scene->place.pid++;
	expect_unknown(scene, get_code(1, 0) + 1);
	assert_in_range(scene->num_reads, 1000, 100000);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_that_whose_slot_leads_to_its_code),
		cmocka_unit_test(of_a_build_that_does_not_say_how_none_is_known),
		cmocka_unit_test(newer_instances_have_theirs_behind_another_one),
		cmocka_unit_test(what_a_script_has_must_be_foreign_where_that_is_said),
		cmocka_unit_test(the_bytes_may_lie_behind_a_pointer),
		cmocka_unit_test(slots_without_padding_are_known_as_such),
		cmocka_unit_test(a_slot_lies_in_one_line),
		cmocka_unit_test(code_that_was_replaced_is_of_none),
		cmocka_unit_test(code_of_another_function_in_its_place_is_that_ones),
		cmocka_unit_test(a_module_whose_first_sample_was_replaced_is_known_all_the_same),
		cmocka_unit_test(a_table_none_of_whose_functions_is_compiled_is_none),
		cmocka_unit_test(an_innermost_instruction_may_have_no_frame),
		cmocka_unit_test(first_compilers_start_code_with_the_functions_number),
		cmocka_unit_test(a_function_may_have_no_frame_yet),
		cmocka_unit_test(a_slot_of_the_table_is_of_none),
		cmocka_unit_test(what_cannot_be_read_leads_nowhere),
		cmocka_unit_test(what_leads_in_circles_ends),
		cmocka_unit_test(each_process_has_its_own_modules),
		cmocka_unit_test(of_more_modules_than_are_kept_the_oldest_are_found_again),
		cmocka_unit_test(a_process_in_which_nothing_is_found_is_left_in_peace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
