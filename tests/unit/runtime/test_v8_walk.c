/*
 * V8's frames and functions in a fake memory: objects as three versions lay them out, and what is none of them.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "v8_layouts.h"
#include "unit.h"
/* clang-format on */

#define V8_INLINE static inline
#include "runtime/v8_walk.h"

/* Memory of a process: stacks, then objects one behind the other. */
#define MEMORY       0x2a0000000000ull
#define MEMORY_BYTES 0x20000
#define FRAME        (MEMORY + 0x100)
#define OTHER_FRAME  (MEMORY + 0x200)
#define FIRST_OBJECT 0x1000 /* in the memory */
#define NOWHERE      0x11   /* looks like an object */

/* Types of strings, with those bits that all versions have. */
#define TWO_BYTE     0x00
#define ONE_BYTE     0x08
#define IS_UNCACHED  0x10 /* of external ones: their characters' address is not there */
#define NOT_INTERNED 0x20
#define CONS         (V8_STRING_CONS | NOT_INTERNED)
#define EXTERNAL     (V8_STRING_EXTERNAL | NOT_INTERNED)
#define SLICED       (3 | NOT_INTERNED)
#define THIN         (V8_STRING_THIN | NOT_INTERNED)

/* Flags of a ScopeInfo. */
#define RECEIVER(place) ((uint64_t)(place) << 7)
#define HAS_CLASS       (1ull << 10)
#define VARIABLE(place) ((uint64_t)(place) << 12)
#define HAS_INFERRED    (1ull << 14)

struct fake_process {
	struct v8_walk walk; /* first: what the walk hands to v8_read() */
	struct wire_v8_layout layout;
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_v8_function function; /* that was read last */
	char name[WIRE_V8_NAME_PARTS * WIRE_V8_PART_BYTES + 1];

	uint8_t memory[MEMORY_BYTES];
	uint64_t num_used;
	/* The maps of each type: all its objects have the same one. */
	struct {
		uint64_t map;
		uint16_t type;
	} maps[16];
	/* Objects. */
	uint64_t undefined;
	uint64_t empty;
	uint64_t script;
	uint64_t shared; /* of a function sit() in the script */
	uint64_t closure;
	uint64_t context;
};

#include "fake_memory.h"

static int v8_read(struct v8_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	return read_memory((const struct fake_process *)walk, ret, bytes, address);
}

/* A field of an object. */
static void set(struct fake_process *process, uint64_t object, uint64_t offset, uint64_t value)
{
	put_word(process, object - 1 + offset, value);
}

static uint64_t small_integer(uint64_t value)
{
	return value << 32;
}

static uint64_t allocate(struct fake_process *process, size_t size)
{
	uint64_t object = MEMORY + process->num_used + 1;

	process->num_used += (size + 7) & ~7ull;
	assert_true(process->num_used <= MEMORY_BYTES);
	return object;
}

static uint64_t get_map(struct fake_process *process, uint16_t type)
{
	size_t i = 0;

	while (process->maps[i].map && process->maps[i].type != type) {
		i++;
		assert_true(i < ARRAY_LENGTH(process->maps));
	}
	if (!process->maps[i].map) {
		process->maps[i].map = allocate(process, 40);
		process->maps[i].type = type;
		put(process, process->maps[i].map - 1 + process->layout.map_type, &type,
		    sizeof(type));
	}
	return process->maps[i].map;
}

static uint64_t add_object(struct fake_process *process, uint16_t type, size_t size)
{
	uint64_t map = get_map(process, type);
	uint64_t object = allocate(process, size);

	set(process, object, 0, map);
	return object;
}

static uint64_t add_string(struct fake_process *process, uint16_t type, const void *characters,
			   uint32_t length)
{
	size_t size = type & ONE_BYTE ? length : 2ul * length;
	uint64_t string = add_object(process, type, process->layout.string_characters + size);

	put(process, string - 1 + process->layout.string_length, &length, sizeof(length));
	put(process, string - 1 + process->layout.string_characters, characters, size);
	return string;
}

static uint64_t add_text(struct fake_process *process, const char *text)
{
	return add_string(process, ONE_BYTE, text, (uint32_t)strlen(text));
}

/* Of a string that consists of two words behind its length, or that is another one. */
static uint64_t add_indirect(struct fake_process *process, uint16_t type, uint32_t length,
			     uint64_t first, uint64_t second)
{
	uint64_t string = add_object(process, type, 32);

	put(process, string - 1 + process->layout.string_length, &length, sizeof(length));
	set(process, string, 16, first);
	set(process, string, 24, second);
	return string;
}

/* The length is that of no string: it only has to be some. */
static uint64_t add_cons(struct fake_process *process, uint64_t first, uint64_t second)
{
	return add_indirect(process, CONS | ONE_BYTE, 99, first, second);
}

static void set_length(struct fake_process *process, uint64_t string, uint32_t length)
{
	put(process, string - 1 + process->layout.string_length, &length, sizeof(length));
}

struct scope {
	uint64_t flags;
	uint32_t num_locals;
	/* So many words of what flags say, and one more of the module's variables, which lies before the local ones. */
	unsigned int num_words;
	bool is_module;
	uint64_t name;
	uint64_t inferred;
};

/* All names of variables are "wrong", so that it is seen which one was taken for that of the function. */
static uint64_t add_scope(struct fake_process *process, const struct scope *scope)
{
	const struct wire_v8_layout *layout = &process->layout;
	bool is_inline = scope->num_locals < layout->scope_max_inline_locals;
	uint64_t wrong = add_text(process, "wrong");
	uint64_t object = add_object(process, layout->scope_type,
				     layout->scope_locals + 16ul * scope->num_locals + 80);
	uint64_t offset = layout->scope_locals;

	set(process, object, layout->scope_flags,
	    layout->scope_flags_shift ? scope->flags << 32 : scope->flags);
	set(process, object, layout->scope_num_locals, small_integer(scope->num_locals));
	if (scope->is_module) {
		set(process, object, offset, small_integer(3));
		offset += 8;
	}
	for (uint32_t i = 0; is_inline && i < scope->num_locals; i++, offset += 8)
		set(process, object, offset, wrong);
	if (!is_inline) {
		set(process, object, offset, wrong); /* the table of names */
		offset += 8;
	}
	for (uint32_t i = 0; i < scope->num_locals; i++, offset += 8)
		set(process, object, offset, small_integer(i));
	for (uint32_t i = 0; i < scope->num_words; i++, offset += 8)
		set(process, object, offset, small_integer(9));
	set(process, object, offset, scope->name);
	set(process, object, offset + 8, small_integer(4));
	set(process, object, offset + 16, scope->inferred);
	set(process, object, offset + 24, wrong);
	set(process, object, offset + 32, wrong);
	return object;
}

/*
 * One that has only what its flags say behind the local variables: the name with the place of its variable, the inferred name, and
 * from where to where the function goes, where that does not come before them.
 */
static uint64_t add_positioned_scope(struct fake_process *process, const struct scope *scope,
				     uint64_t start, uint64_t end)
{
	const struct wire_v8_layout *layout = &process->layout;
	uint64_t object = add_object(process, layout->scope_type,
				     layout->scope_locals + 16ul * scope->num_locals + 64);
	uint64_t offset = layout->scope_locals + 8 * (scope->is_module + scope->num_words);

	set(process, object, layout->scope_flags,
	    layout->scope_flags_shift ? scope->flags << 32 : scope->flags);
	set(process, object, layout->scope_num_locals, small_integer(scope->num_locals));
	offset += scope->num_locals < layout->scope_max_inline_locals ? 16ul * scope->num_locals
								      : 8ul + 8 * scope->num_locals;
	if (scope->flags & VARIABLE(3)) {
		set(process, object, offset, scope->name);
		set(process, object, offset + 8, small_integer(4));
		offset += 16;
	}
	if (scope->flags & HAS_INFERRED) {
		set(process, object, offset, scope->inferred);
		offset += 8;
	}
	if (layout->scope_position)
		offset = layout->scope_position;
	set(process, object, offset, start);
	set(process, object, offset + 8, end);
	if (!layout->scope_position)
		set(process, object, offset + 16, process->undefined); /* the scope around it */
	return object;
}

static void set_number(struct fake_process *process, uint64_t shared, uint32_t number)
{
	put(process, shared - 1 + process->layout.shared_literal, &number, sizeof(number));
}

static uint64_t add_shared(struct fake_process *process, uint64_t name, uint64_t script,
			   uint32_t number)
{
	const struct wire_v8_layout *layout = &process->layout;
	uint64_t shared = add_object(process, layout->shared_type, layout->shared_bytes);

	set(process, shared, layout->shared_name, name);
	set(process, shared, layout->shared_script, script);
	set_number(process, shared, number);
	return shared;
}

static uint64_t add_closure(struct fake_process *process, uint64_t shared)
{
	uint64_t closure = add_object(process, 2100, process->layout.function_shared + 8ul);

	set(process, closure, process->layout.function_shared, shared);
	return closure;
}

static uint64_t add_script(struct fake_process *process, uint64_t name)
{
	uint64_t script = add_object(process, process->layout.script_type, 64);

	set(process, script, process->layout.script_name, name);
	return script;
}

static void put_frame(struct fake_process *process, uint64_t fp, uint64_t function,
		      uint64_t context)
{
	put_word(process, fp - 8, context);
	put_word(process, fp - 16, function);
}

/* A function sit() in f.js, number 7 of it, and a frame that runs it. */
static struct fake_process *fake_process_new(enum v8_layout_version version)
{
	struct fake_process *process = calloc(1, sizeof(*process));
	struct scope scope = {0};

	assert_non_null(process);
	process->layout = v8_layouts[version];
	process->num_used = FIRST_OBJECT;
	process->undefined = add_object(process, process->layout.first_type_after_strings + 3, 48);
	process->empty = add_text(process, "");
	scope.name = add_text(process, "sit");
	scope.inferred = process->empty;
	process->script = add_script(process, add_text(process, "/f.js"));
	process->shared = add_shared(process, add_scope(process, &scope), process->script, 7);
	process->closure = add_closure(process, process->shared);
	process->context = add_object(process, 200, 32);
	put_frame(process, FRAME, process->closure, process->context);
	v8_walk_start(&process->walk, &process->layout);
	return process;
}

static void take(struct fake_process *process, uint64_t fp, uint32_t level)
{
	struct v8_walk *walk = &process->walk;

	if (v8_walk_read_frame(walk, fp))
		v8_walk_take_function(walk, walk->words[0], walk->words[1], level, process->frames);
}

/* Returns the only frame there is. */
static struct wire_runtime_frame take_only(struct fake_process *process)
{
	v8_walk_start(&process->walk, &process->layout);
	take(process, FRAME, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	return process->frames[0];
}

/* The name's parts, behind each other: those of one byte a character. */
static void join_parts(struct fake_process *process)
{
	const struct wire_v8_function *function = &process->function;
	size_t length = 0;

	assert_in_range(function->num_parts, 0, WIRE_V8_NAME_PARTS);
	for (size_t i = 0; i < function->num_parts; i++) {
		assert_in_range(function->name[i].num_bytes, 1, WIRE_V8_PART_BYTES);
		memcpy(process->name + length, function->name_text[i], function->name[i].num_bytes);
		length += function->name[i].num_bytes;
	}
	process->name[length] = '\0';
}

/* As the sampling program does it. */
static void read_function(struct fake_process *process, uint64_t shared)
{
	memset(&process->function, 0xff, sizeof(process->function));
	assert_int_equal(v8_read_function(&process->walk, shared, &process->function), 0);
	for (int i = 0; i < V8_MAX_NAME_STEPS; i++) {
		if (v8_step_name(&process->walk, &process->function))
			break;
		assert_in_range(process->walk.num_pending, 0, V8_MAX_PENDING);
	}
	process->function.has_more |= process->walk.num_pending > 0;
	for (uint32_t i = 0; i < V8_MAX_PIECES; i++)
		if (v8_step_line(&process->walk, i, &process->function))
			break;
	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++)
		if (v8_step_source(&process->walk, i, &process->function.source))
			break;
	join_parts(process);
}

/* Of the function sit() with another name, or another ScopeInfo. */
static void read_named(struct fake_process *process, uint64_t name)
{
	set(process, process->shared, process->layout.shared_name, name);
	read_function(process, process->shared);
}

static void check_name(struct fake_process *process, uint64_t name, const char *expected,
		       bool has_more)
{
	read_named(process, name);
	assert_string_equal(process->name, expected);
	assert_int_equal(process->function.has_more, has_more);
}

static void check_scope(struct fake_process *process, const struct scope *scope,
			const char *expected)
{
	check_name(process, add_scope(process, scope), expected, false);
}

static void a_frame_of_javascript_has_its_function_and_level(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);

		take(process, FRAME, 3);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(process->walk.num_frames, 1);
		assert_int_equal(process->frames[0].code, process->shared);
		assert_int_equal(process->frames[0].position, 3);
		assert_int_not_equal(process->frames[0].fingerprint, 0);
		free(process);
	}
}

static void frames_between_those_of_others_keep_their_levels(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t other = add_shared(process, add_text(process, "stand"), process->script, 8);

	(void)state;
	put_frame(process, OTHER_FRAME, add_closure(process, other), process->context);
	take(process, FRAME, 2);
	take(process, MEMORY + 0x300, 3);
	take(process, OTHER_FRAME, 4);
	take(process, FRAME, 9);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 3);
	assert_int_equal(process->frames[0].code, process->shared);
	assert_int_equal(process->frames[0].position, 2);
	assert_int_equal(process->frames[1].code, other);
	assert_int_equal(process->frames[1].position, 4);
	assert_int_equal(process->frames[2].code, process->shared);
	assert_int_equal(process->frames[2].position, 9);
	assert_int_equal(process->frames[2].fingerprint, process->frames[0].fingerprint);
	free(process);
}

static void check_no_frame(struct fake_process *process, uint64_t function, uint64_t context)
{
	v8_walk_start(&process->walk, &process->layout);
	put_frame(process, OTHER_FRAME, function, context);
	take(process, OTHER_FRAME, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
	/* A frame of JavaScript before it changes nothing. */
	take(process, FRAME, 0);
	take(process, OTHER_FRAME, 1);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
}

/* Frames of V8's own kinds have a number in the context's place. */
static void a_frame_of_another_kind_has_no_function(void **state)
{
	const uint64_t kinds[] = {0,          2,          2 * 12, 0x7ffffffe, small_integer(1),
				  UINT64_MAX, NOWHERE - 1};

	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);

		for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
			check_no_frame(process, process->closure, kinds[i]);
			check_no_frame(process, kinds[i], process->context);
		}
		check_no_frame(process, process->closure + 2, process->context); /* a weak one */
		free(process);
	}
}

/* What others have there: addresses of code and of the stack, numbers, text. */
static void a_frame_of_native_code_has_none(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	const uint64_t words[] = {MEMORY, MEMORY + 0x2000, 0x555555554a32, 3, 0x6f77206f6c6c6568};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(words); j++)
			check_no_frame(process, words[i], words[j]);
	free(process);
}

static void an_object_that_is_no_closure_has_none(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t object = add_object(process, 500, 128);
		const uint64_t words[] = {
			0,
			small_integer(5),
			UINT64_MAX,
			process->shared + 2,
			process->script,
			process->closure,
			process->empty,
			object,
		};

		for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
			set(process, object, process->layout.function_shared, words[i]);
			check_no_frame(process, object, process->context);
		}
		check_no_frame(process, process->script, process->context);
		check_no_frame(process, process->context, process->context);
		free(process);
	}
}

static void what_cannot_be_read_says_so(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t at_the_end = MEMORY + MEMORY_BYTES - 16 + 1; /* not all of it is there */
		uint64_t broken = add_shared(process, process->empty, process->script, 7);
		const uint64_t closures[] = {
			NOWHERE,
			at_the_end,
			add_closure(process, NOWHERE),
			add_closure(process, at_the_end),
			add_closure(process, broken),
		};

		set(process, broken, 0, NOWHERE);
		for (size_t i = 0; i < ARRAY_LENGTH(closures); i++) {
			v8_walk_start(&process->walk, &process->layout);
			put_frame(process, OTHER_FRAME, closures[i], process->context);
			take(process, OTHER_FRAME, 0);
			assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
			assert_int_equal(process->walk.num_frames, 0);
			take(process, FRAME, 1); /* the others are there nevertheless */
			assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
			assert_int_equal(process->walk.num_frames, 1);
		}
		free(process);
	}
}

/* Native code without frame pointers has any number in the register. */
static void a_frame_pointer_that_is_none_has_no_function(void **state)
{
	const uint64_t pointers[] = {0, 8, 16, NOWHERE, MEMORY, MEMORY + 8, UINT64_MAX};
	struct fake_process *process = fake_process_new(V8_11_3);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(pointers); i++)
		take(process, pointers[i], 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
	free(process);
}

static void of_more_frames_than_are_kept_the_outer_ones_are_left_out(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);

	(void)state;
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		take(process, FRAME, i);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	take(process, MEMORY + 0x300, WIRE_MAX_RUNTIME_FRAMES); /* none of JavaScript */
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);

	for (uint32_t i = 1; i < 4; i++)
		take(process, FRAME, WIRE_MAX_RUNTIME_FRAMES + i);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		assert_int_equal(process->frames[i].position, i);
	free(process);
}

static void another_function_has_another_fingerprint(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		const struct wire_v8_layout *layout = &process->layout;
		const uint64_t fields[] = {layout->shared_name, layout->shared_script,
					   layout->shared_literal};
		uint32_t fingerprint = take_only(process).fingerprint;

		for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
			for (unsigned int bit = 0; bit < 32; bit++) {
				uint64_t place = process->shared - 1 - MEMORY + fields[i];
				uint8_t *byte = process->memory + place + bit / 8;

				*byte ^= (uint8_t)(1u << bit % 8);
				assert_int_not_equal(take_only(process).fingerprint, fingerprint);
				assert_int_not_equal(take_only(process).fingerprint, 0);
				*byte ^= (uint8_t)(1u << bit % 8);
			}
		}
		assert_int_equal(take_only(process).fingerprint, fingerprint);
		free(process);
	}
}

/* Its age, its number of arguments, and where the garbage collector has put it. */
static void the_same_function_has_the_same_fingerprint(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		const struct wire_v8_layout *layout = &process->layout;
		struct wire_runtime_frame before = take_only(process);
		uint64_t moved = allocate(process, layout->shared_bytes);

		put(process, moved - 1, process->memory + (process->shared - 1 - MEMORY),
		    layout->shared_bytes);
		set(process, moved, 8, 0x1234);
		set(process, process->closure, layout->function_shared, moved);
		assert_int_equal(take_only(process).code, moved);
		assert_int_equal(take_only(process).fingerprint, before.fingerprint);
		read_function(process, moved);
		assert_int_equal(process->function.fingerprint, before.fingerprint);
		assert_int_equal(process->function.shared, moved);
		free(process);
	}
}

static void a_function_says_its_name_and_file(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		const struct wire_v8_function *function = &process->function;

		read_function(process, process->shared);
		assert_string_equal(process->name, "sit");
		assert_int_equal(function->shared, process->shared);
		assert_int_equal(function->fingerprint, take_only(process).fingerprint);
		assert_int_equal(function->num_parts, 1);
		assert_int_equal(function->has_more, 0);
		assert_int_equal(function->is_builtin, 0);
		assert_int_equal(function->padding, 0);
		assert_int_equal(function->name[0].length, 3);
		assert_int_equal(function->name[0].is_wide, 0);
		assert_int_equal(function->file.length, 5);
		assert_int_equal(function->file.num_bytes, 5);
		assert_int_equal(function->file.is_wide, 0);
		assert_memory_equal(function->file_text, "/f.js\0", 6);
		free(process);
	}
}

/* The record is sent as it is: nothing of the one before may be in it. */
static void what_is_not_there_is_zero(void **state)
{
	static const struct wire_v8_text nothing;
	struct fake_process *process = fake_process_new(V8_13_6);
	const struct wire_v8_function *function = &process->function;
	const uint8_t *name_text = function->name_text[0];

	(void)state;
	set(process, process->script, process->layout.script_name, process->undefined);
	read_named(process, add_text(process, "x"));
	assert_int_equal(function->num_parts, 1);
	assert_memory_equal(&function->file, &nothing, sizeof(nothing));
	for (size_t i = 1; i < WIRE_V8_NAME_PARTS; i++)
		assert_memory_equal(&function->name[i], &nothing, sizeof(nothing));
	for (size_t i = 1; i < sizeof(function->name_text); i++)
		assert_int_equal(name_text[i], 0);
	for (size_t i = 0; i < sizeof(function->file_text); i++)
		assert_int_equal(function->file_text[i], 0);
	free(process);
}

static void a_function_that_cannot_be_read_is_none(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);

	(void)state;
	assert_int_not_equal(v8_read_function(&process->walk, NOWHERE, &process->function), 0);
	assert_int_not_equal(v8_read_function(&process->walk, MEMORY + MEMORY_BYTES - 16 + 1,
					      &process->function),
			     0);
	free(process);
}

/* With more than 74 their names lie in a table, where V8 has one. */
static void the_name_lies_behind_the_local_variables(void **state)
{
	static const uint32_t numbers[] = {0, 1, 3, 74, 75, 76, 100};

	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.name = add_text(process, "right"),
				      .inferred = add_text(process, "inferred")};

		for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
			scope.num_locals = numbers[i];
			check_scope(process, &scope, "right");
		}
		free(process);
	}
}

static void a_receiver_may_have_a_word_before_the_name(void **state)
{
	static const struct {
		enum v8_layout_version version;
		unsigned int place; /* none, on the stack, in the context, not used */
		unsigned int num_words;
	} inputs[] = {
		{V8_9_4, 0, 0},  {V8_9_4, 1, 1},  {V8_9_4, 2, 1},  {V8_9_4, 3, 0},
		{V8_11_3, 1, 0}, {V8_11_3, 2, 0}, {V8_13_6, 1, 0}, {V8_13_6, 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct fake_process *process = fake_process_new(inputs[i].version);
		struct scope scope = {.name = add_text(process, "right"),
				      .inferred = process->empty,
				      .num_locals = 2,
				      .flags = RECEIVER(inputs[i].place),
				      .num_words = inputs[i].num_words};

		check_scope(process, &scope, "right");
		scope.flags |= HAS_CLASS;
		scope.num_words++;
		check_scope(process, &scope, "right");
		scope.inferred = scope.name;
		scope.name = process->empty;
		check_scope(process, &scope, "right");
		free(process);
	}
}

/* Of what else the flags say nothing lies there. */
static void other_flags_move_nothing(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.name = add_text(process, "right"),
				      .inferred = process->empty,
				      .flags = 0x7fffffff & ~(RECEIVER(3) | HAS_CLASS),
				      .num_locals = 1};

		check_scope(process, &scope, "right");
		if (!process->layout.scope_flags_shift) {
			scope.flags |= 0xffffffffull << 32; /* what follows them */
			check_scope(process, &scope, "right");
		}
		free(process);
	}
}

static void in_a_module_the_name_lies_a_word_further(void **state)
{
	static const uint32_t numbers[] = {0, 3, 100};

	(void)state;
	for (int version = V8_11_3; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t right = add_text(process, "right");
		struct scope scope = {.inferred = add_text(process, "inferred"), .is_module = true};

		for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
			scope.num_locals = numbers[i];
			scope.name = right;
			check_scope(process, &scope, "right");
			scope.name = process->empty;
			check_scope(process, &scope, "inferred");
		}
		free(process);
	}
}

static void without_a_name_the_inferred_one_is_taken(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.name = process->empty,
				      .inferred = add_text(process, "exports.run"),
				      .num_locals = 2};

		check_scope(process, &scope, "exports.run");
		scope.name = 0;
		check_scope(process, &scope, "exports.run");
		scope.name = process->undefined;
		check_scope(process, &scope, "exports.run");
		free(process);
	}
}

static void a_function_may_have_no_name(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.name = process->empty, .inferred = process->empty};
		uint64_t object = add_scope(process, &scope);
		/* Where a name would be in a module's scope there is where the function starts. */
		uint64_t fourth = process->layout.scope_locals + 24ul;

		set(process, object, fourth, small_integer(17));
		check_name(process, object, "", false);
		assert_int_equal(process->function.num_parts, 0);
		set(process, object, fourth - 8, process->undefined);
		check_name(process, object, "", false);
		assert_int_equal(process->function.num_parts, 0);
		check_name(process, process->empty, "", false);
		assert_int_equal(process->function.num_parts, 0);
		free(process);
	}
}

static void before_it_is_compiled_the_name_lies_in_the_function(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);

	(void)state;
	check_name(process, add_text(process, "lazy"), "lazy", false);
	check_name(process, add_cons(process, add_text(process, "get "), add_text(process, "size")),
		   "get size", false);
	free(process);
}

static void a_name_that_cannot_be_read_says_so(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t cut = MEMORY + MEMORY_BYTES - 40 + 1;

		check_name(process, NOWHERE, "", true);
		/* Its characters lie where nothing is. */
		put(process, cut - 1, process->memory + (process->empty - 1 - MEMORY), 16);
		set_length(process, cut, 100);
		check_name(process, cut, "", true);
		assert_int_equal(process->function.num_parts, 0);
		for (size_t i = 0; i < WIRE_V8_PART_BYTES; i++)
			assert_int_equal(process->function.name_text[0][i], 0);
		free(process);
	}
}

/* A record that did not say so would be taken for one of a function without a name, and for all that is known of it. */
static void a_scope_that_cannot_be_read_says_so(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	struct scope scope = {.name = add_text(process, "right"), .inferred = process->empty};
	uint64_t whole = add_scope(process, &scope);
	uint64_t start = MEMORY + MEMORY_BYTES - 16 + 1;
	uint64_t head = MEMORY + MEMORY_BYTES - 40 + 1;

	(void)state;
	put(process, head - 1, process->memory + (whole - 1 - MEMORY), 40);
	check_name(process, head, "", true);
	put(process, start - 1, process->memory + (whole - 1 - MEMORY), 16);
	check_name(process, start, "", true);

	/* With so many variables its name would lie somewhere else. */
	set(process, whole, process->layout.scope_num_locals, small_integer(0x7fffffff));
	check_name(process, whole, "", true);
	free(process);
}

static void a_name_in_a_scope_that_cannot_be_read_says_so(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	struct scope scope = {.name = NOWHERE, .inferred = process->empty};
	uint64_t object = add_scope(process, &scope);

	(void)state;
	set(process, object, process->layout.scope_locals + 24ul, small_integer(17));
	check_name(process, object, "", true);
	free(process);
}

#define WASM_MARKER 8
#define CODE        (MEMORY + 0x180) /* of the innermost function */

/* What is found of the innermost level, whose code is this. */
static void take_innermost(struct fake_process *process, const struct wire_registers *registers,
			   const struct v8_innermost *frame, const void *code, size_t size)
{
	memset(process->memory + (CODE - MEMORY), 0, 32);
	memcpy(process->memory + (CODE - MEMORY), code, size);
	process->layout.wasm_marker = WASM_MARKER;
	v8_walk_start(&process->walk, &process->layout);
	if (v8_walk_find_innermost(&process->walk, registers, frame))
		v8_walk_take_function(&process->walk, process->walk.words[0],
				      process->walk.words[1], 0, process->frames);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
}

static void expect_innermost(const struct fake_process *process, uint64_t code, bool is_wasm)
{
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->frames[0].code, code);
	assert_int_equal(process->frames[0].fingerprint == WIRE_V8_WASM, is_wasm);
	assert_int_equal(process->frames[0].position, 0);
}

static void the_innermost_frame_is_its_own_where_all_of_it_was_pushed(void **state _unused_)
{
	const struct v8_innermost own = {.is_own = 1};

	for (enum v8_layout_version version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct wire_registers registers = {.pc = CODE, .sp = FRAME - 16, .fp = FRAME};

		take_innermost(process, &registers, &own, "", 0);
		expect_innermost(process, process->shared, false);
		registers.sp = FRAME - 8;
		take_innermost(process, &registers, &own, "", 0);
		assert_int_equal(process->walk.num_frames, 0);
		free(process);
	}
}

/* A function says which one it is in a register, and pushes that. */
static void a_function_that_starts_is_in_its_register(void **state _unused_)
{
	for (enum v8_layout_version version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct wire_registers registers = {.pc = CODE, .sp = FRAME, .fp = FRAME};
		struct v8_innermost frame = {.prologue = CODE};

		put_frame(process, FRAME, process->context, process->context);
		registers.di = process->closure;
		take_innermost(process, &registers, &frame, "\x55\x48\x89\xe5\x56\x57", 6);
		expect_innermost(process, process->shared, false);
		/* Elsewhere, and such as pushes something else. */
		frame.prologue = CODE + 2;
		take_innermost(process, &registers, &frame, "\x90\x90\x55\x48\x8b\xec\x56\x57", 8);
		expect_innermost(process, process->shared, false);
		take_innermost(process, &registers, &frame, "\x90\x90\x55\x48\x8b\xec\x57\x56", 8);
		assert_int_equal(process->walk.num_frames, 0);
		/* The frame pointer is its own already; and one word was pushed. */
		frame = (struct v8_innermost){.is_own = 1};
		take_innermost(process, &registers, &frame, "\x56\x57", 2);
		expect_innermost(process, process->shared, false);
		take_innermost(process, &registers, &frame, "\x57\x50", 2);
		assert_int_equal(process->walk.num_frames, 0);
		registers.sp = FRAME - 8;
		take_innermost(process, &registers, &frame, "\x57\x50", 2);
		expect_innermost(process, process->shared, false);
		/* What is no function is none. */
		registers.di = process->context;
		take_innermost(process, &registers, &frame, "\x57\x50", 2);
		assert_int_equal(process->walk.num_frames, 0);
		registers.di = process->closure - 1;
		take_innermost(process, &registers, &frame, "\x57\x50", 2);
		assert_int_equal(process->walk.num_frames, 0);
		free(process);
	}
}

static void one_of_webassembly_that_starts_has_its_instance_there(void **state _unused_)
{
	struct fake_process *process = fake_process_new(V8_13_6);
	struct wire_registers registers = {.pc = CODE, .sp = FRAME, .fp = FRAME};
	struct v8_innermost frame = {.prologue = CODE};

	put_frame(process, FRAME, process->context, process->context);
	registers.si = process->context;
	registers.di = process->closure; /* of who has called it */
	take_innermost(process, &registers, &frame, "\x55\x48\x89\xe5\x6a\x08", 6);
	expect_innermost(process, process->context, true);
	take_innermost(process, &registers, &frame, "\x55\x48\x89\xe5\x6a\x0a", 6);
	assert_int_equal(process->walk.num_frames, 0);
	frame = (struct v8_innermost){.is_own = 1};
	take_innermost(process, &registers, &frame, "\x6a\x08", 2);
	expect_innermost(process, process->context, true);
	/* What lies before it, of another function, does not make it one of JavaScript. */
	frame = (struct v8_innermost){.prologue = CODE + 10};
	take_innermost(process, &registers, &frame,
		       "\x49\xbc\0\0\0\0\0\0\0\0\x55\x48\x89\xe5\x6a\x08", 16);
	expect_innermost(process, process->context, true);
	/* A call of what sets up the frame. */
	take_innermost(process, &registers, &frame, "\x49\xbc\0\0\0\0\0\0\0\0\xe8\1\2\3\4", 15);
	expect_innermost(process, process->shared, false);
	take_innermost(process, &registers, &frame, "\x49\xbc\0\0\0\0\0\0\0\0\x41\xff\x95\1\2\3\4",
		       17);
	expect_innermost(process, process->shared, false);
	free(process);
}

/* What was popped lies below the stack pointer still. */
static void a_function_that_returns_is_in_the_frame_that_it_had(void **state _unused_)
{
	const struct v8_innermost none = {0};

	for (enum v8_layout_version version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct wire_registers registers = {.pc = CODE, .sp = FRAME + 8, .fp = OTHER_FRAME};

		put_word(process, FRAME, OTHER_FRAME);
		take_innermost(process, &registers, &none, "\xc3", 1);
		expect_innermost(process, process->shared, false);
		/* It was another one's. */
		registers.fp = OTHER_FRAME + 8;
		take_innermost(process, &registers, &none, "\xc3", 1);
		assert_int_equal(process->walk.num_frames, 0);
		free(process);
	}
}

static void an_innermost_level_that_cannot_be_read_is_none(void **state _unused_)
{
	static const struct v8_innermost frames[] = {
		{.is_own = 1}, {.prologue = NOWHERE}, {.prologue = 0}};
	struct fake_process *process = fake_process_new(V8_13_6);
	const struct wire_registers registers = {
		.pc = NOWHERE, .sp = NOWHERE, .fp = NOWHERE, .di = process->closure};

	for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
		take_innermost(process, &registers, &frames[i], "", 0);
		assert_int_equal(process->walk.num_frames, 0);
	}
	free(process);
}

/* As Node.js has it for Module._extensions..js: of four parts, put together from the right. */
static void a_frame_of_webassembly_has_its_instance(void **state _unused_)
{
	const uint64_t marker = 8;

	for (enum v8_layout_version version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct wire_runtime_frame frame;

		/* What is not said is none. */
		put_frame(process, FRAME, process->closure, marker);
		v8_walk_start(&process->walk, &process->layout);
		take(process, FRAME, 0);
		assert_int_equal(process->walk.num_frames, 0);
		process->layout.wasm_marker = (uint8_t)marker;
		frame = take_only(process);
		assert_int_equal(frame.code, process->closure);
		assert_int_equal(frame.fingerprint, WIRE_V8_WASM);
		assert_int_equal(frame.position, 0);
		/* Other frames with a small integer, and what has no object for an instance. */
		put_frame(process, FRAME, process->closure, marker + 2);
		v8_walk_start(&process->walk, &process->layout);
		take(process, FRAME, 0);
		put_frame(process, FRAME, process->closure - 1, marker);
		take(process, FRAME, 0);
		assert_int_equal(process->walk.num_frames, 0);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		free(process);
	}
}

static void parts_of_a_name_are_in_their_order(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t parts[4] = {add_text(process, "Module"), add_text(process, "."),
				     add_text(process, "_extensions"), add_text(process, "..js")};
		struct scope scope = {.name = process->empty, .num_locals = 3};

		scope.inferred = add_cons(
			process, parts[0],
			add_cons(process, parts[1], add_cons(process, parts[2], parts[3])));
		check_scope(process, &scope, "Module._extensions..js");
		assert_int_equal(process->function.num_parts, 4);
		/* From the left, and in pairs. */
		scope.inferred = add_cons(
			process, add_cons(process, add_cons(process, parts[0], parts[1]), parts[2]),
			parts[3]);
		check_scope(process, &scope, "Module._extensions..js");
		scope.inferred = add_cons(process, add_cons(process, parts[0], parts[1]),
					  add_cons(process, parts[2], parts[3]));
		check_scope(process, &scope, "Module._extensions..js");
		free(process);
	}
}

static void a_part_that_is_empty_is_none(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t flat = add_cons(process, add_text(process, "flat"), process->empty);

	(void)state;
	check_name(process, flat, "flat", false);
	assert_int_equal(process->function.num_parts, 1);
	check_name(process, add_cons(process, process->empty, flat), "flat", false);
	assert_int_equal(process->function.num_parts, 1);
	free(process);
}

static void of_more_parts_than_are_kept_the_first_ones_are(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t from_the_right = add_text(process, "h");
	uint64_t from_the_left = add_text(process, "a");

	(void)state;
	for (char c = 'g'; c >= 'a'; c--)
		from_the_right =
			add_cons(process, add_string(process, ONE_BYTE, &c, 1), from_the_right);
	check_name(process, from_the_right, "abcd", true);
	for (char c = 'b'; c <= 'h'; c++)
		from_the_left =
			add_cons(process, from_the_left, add_string(process, ONE_BYTE, &c, 1));
	check_name(process, from_the_left, "abcd", true);
	free(process);
}

/* What comes of a name that cannot be put together in time is its start, or nothing. */
static void no_part_is_taken_before_one_that_is_lost(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t string = add_text(process, "a");

	(void)state;
	for (char c = 'b'; c <= 'z'; c++) {
		string = add_cons(process, string, add_string(process, ONE_BYTE, &c, 1));
		read_named(process, string);
		assert_memory_equal("abcd", process->name, strlen(process->name));
		assert_int_equal(process->function.has_more, c > 'd');
	}
	free(process);
}

static void no_part_is_taken_behind_one_that_cannot_be_read(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t first = add_text(process, "first");
	uint64_t last = add_text(process, "last");
	const uint64_t lost[] = {
		NOWHERE,
		process->undefined,
		add_indirect(process, SLICED | ONE_BYTE, 20, first, small_integer(1)),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lost); i++) {
		check_name(process, add_cons(process, first, add_cons(process, lost[i], last)),
			   "first", true);
		check_name(process, add_cons(process, lost[i], last), "", true);
	}
	free(process);
}

static void a_thin_string_is_another_one(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t actual = add_text(process, "actual");
	uint64_t thin = add_indirect(process, THIN | ONE_BYTE, 6, actual, 0);

	(void)state;
	check_name(process, thin, "actual", false);
	check_name(process, add_cons(process, thin, thin), "actualactual", false);
	check_name(process, add_indirect(process, THIN | ONE_BYTE, 6, thin, 0), "actual", false);
	check_name(process, add_indirect(process, THIN | ONE_BYTE, 6, NOWHERE, 0), "", true);
	free(process);
}

static void an_external_string_has_its_characters_elsewhere(void **state)
{
	static const uint16_t wide[] = {0x434, 0x43e, 0x43c};
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t place = MEMORY + 0x803; /* of no object */
	uint64_t one_byte = add_indirect(process, EXTERNAL | ONE_BYTE, 4, 0x5555555512340, place);
	uint64_t two_byte = add_indirect(process, EXTERNAL | TWO_BYTE, 3, 0x5555555512340, place);

	(void)state;
	put(process, place, "else", 4);
	check_name(process, one_byte, "else", false);
	check_name(process, add_cons(process, one_byte, one_byte), "elseelse", false);
	put(process, place, wide, sizeof(wide));
	read_named(process, two_byte);
	assert_int_equal(process->function.num_parts, 1);
	assert_int_equal(process->function.name[0].length, 3);
	assert_int_equal(process->function.name[0].num_bytes, 6);
	assert_int_equal(process->function.name[0].is_wide, 1);
	assert_memory_equal(process->function.name_text[0], wide, sizeof(wide));
	check_name(process, add_indirect(process, EXTERNAL | ONE_BYTE, 4, 0x5555555512340, NOWHERE),
		   "", true);
	free(process);
}

/* Short ones do not have the address: what lies there is the next object. */
static void an_external_string_without_an_address_has_no_characters(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t short_one = add_indirect(process, EXTERNAL | ONE_BYTE | IS_UNCACHED, 4,
					  0x5555555512340, process->script);

	(void)state;
	check_name(process, short_one, "", true);
	free(process);
}

static void characters_may_be_of_two_bytes(void **state)
{
	static const uint16_t wide[] = {'a', 0x416, 0xd83d, 0xdc0d};
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t string = add_string(process, TWO_BYTE, wide, ARRAY_LENGTH(wide));
	const struct wire_v8_function *function = &process->function;

	(void)state;
	read_named(process, add_cons(process, add_text(process, "get "), string));
	assert_int_equal(function->num_parts, 2);
	assert_int_equal(function->name[0].is_wide, 0);
	assert_int_equal(function->name[1].is_wide, 1);
	assert_int_equal(function->name[1].length, 4);
	assert_int_equal(function->name[1].num_bytes, 8);
	assert_memory_equal(function->name_text[1], wide, sizeof(wide));
	free(process);
}

static void a_sliced_string_is_not_read(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t parent = add_text(process, "a string of which this one is a part");

	(void)state;
	check_name(process, add_indirect(process, SLICED | ONE_BYTE, 20, parent, small_integer(1)),
		   "", true);
	assert_int_equal(process->function.num_parts, 0);
	check_name(process,
		   add_cons(process, add_text(process, "get "),
			    add_indirect(process, SLICED | ONE_BYTE, 20, parent, 0)),
		   "get ", true);
	free(process);
}

static void check_position(struct fake_process *process, uint64_t scope, uint32_t expected)
{
	set(process, process->shared, process->layout.shared_name, scope);
	read_function(process, process->shared);
	assert_int_equal(process->function.position, expected);
}

static void a_function_says_where_it_starts(void **state)
{
	static const uint32_t numbers[] = {0, 3, 100};

	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.name = add_text(process, "right"),
				      .inferred = add_text(process, "inferred")};

		for (uint64_t place = 0; place < 4; place++) {
			for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
				scope.num_locals = numbers[i];
				scope.flags = VARIABLE(place);
				check_position(process,
					       add_positioned_scope(process, &scope,
								    small_integer(70),
								    small_integer(90)),
					       70);
				scope.flags |= HAS_INFERRED | HAS_CLASS;
				scope.num_words = 1;
				check_position(process,
					       add_positioned_scope(process, &scope,
								    small_integer(70),
								    small_integer(70)),
					       70);
				assert_string_equal(process->name, place ? "right" : "inferred");
				scope.num_words = 0;
			}
		}
		free(process);
	}
}

static void what_is_no_place_is_none(void **state)
{
	static const struct {
		uint64_t start;
		uint64_t end;
	} places[] = {
		{7ull << 32, 6ull << 32}, {7ull << 32 | 1, 9ull << 32}, {7, 9},
		{7ull << 32, 9},          {UINT64_MAX, UINT64_MAX},     {0, 1ull << 63},
	};

	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.flags = VARIABLE(1), .name = add_text(process, "right")};

		for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
			check_position(process,
				       add_positioned_scope(process, &scope, places[i].start,
							    places[i].end),
				       WIRE_V8_NO_POSITION);
			assert_string_equal(process->name, "right");
		}
		/* It has not been compiled. */
		check_position(process, scope.name, WIRE_V8_NO_POSITION);
		free(process);
	}
}

/* There all lies a word further; what starts with its source is no other function. */
static void a_module_starts_with_its_source(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		struct scope scope = {.is_module = true,
				      .num_locals = 2,
				      .flags = HAS_INFERRED,
				      .inferred = process->empty};

		check_position(process, add_positioned_scope(process, &scope, 0, small_integer(90)),
			       0);
		if (!process->layout.scope_position)
			check_position(process,
				       add_positioned_scope(process, &scope, small_integer(7),
							    small_integer(90)),
				       WIRE_V8_NO_POSITION);
		free(process);
	}
}

static const char source_text[] = "'use strict';\nfunction stand() {}\nfunction sit() {}\n";
#define SOURCE_BYTES (sizeof(source_text) - 1)

static const struct wire_v8_source *read_source(struct fake_process *process, uint64_t source)
{
	set(process, process->script, process->layout.script_name - 8ul, source);
	read_function(process, process->shared);
	assert_string_equal(process->name, "sit");
	assert_memory_equal(process->function.file_text, "/f.js\0", 6);
	return &process->function.source;
}

/* All words are those of the text. */
static void check_hash(const struct wire_v8_source *source, const char *text, uint64_t num_bytes)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++) {
		uint64_t word;

		assert_in_range(wire_v8_get_source_offset(num_bytes, i), 0, num_bytes - 8);
		memcpy(&word, text + wire_v8_get_source_offset(num_bytes, i), sizeof(word));
		hash = wire_v8_hash_source(hash, word);
	}
	assert_int_equal(wire_v8_get_source_offset(num_bytes, WIRE_V8_SOURCE_WORDS - 1),
			 num_bytes - 8);
	assert_int_equal(source->words, (1u << WIRE_V8_SOURCE_WORDS) - 1);
	assert_int_equal(source->hash, hash);
}

static void a_script_says_where_its_source_is(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t text = add_text(process, source_text);
		const struct wire_v8_source *source = read_source(process, text);

		set(process, process->script, process->layout.script_name + 8ul, small_integer(5));
		read_function(process, process->shared);
		assert_int_equal(process->function.first_line, 5);
		assert_int_equal(process->function.script, process->script);
		assert_memory_equal(&process->function.layout, &process->layout,
				    sizeof(process->layout));
		assert_int_equal(source->string, text - 1);
		assert_int_equal(source->map, get_map(process, ONE_BYTE));
		assert_int_equal(source->characters, text - 1 + 16);
		assert_int_equal(source->length, SOURCE_BYTES);
		assert_int_equal(source->string_length, SOURCE_BYTES);
		assert_int_equal(source->is_wide, 0);
		assert_int_equal(source->length_offset, process->layout.string_length);
		assert_int_equal(source->pointer_offset, 0);
		assert_int_equal(source->padding, 0);
		check_hash(source, source_text, SOURCE_BYTES);
		free(process);
	}
}

static void a_source_may_be_of_any_kind_of_string(void **state)
{
	static const uint16_t wide[] = {'"', 0x444, '"', ';', '\n', 'f'};
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t place = MEMORY + 0x800;
	uint64_t text = add_text(process, source_text);
	uint64_t external = add_indirect(process, EXTERNAL | ONE_BYTE, SOURCE_BYTES, 0, place);
	uint64_t flat = add_indirect(process, CONS | ONE_BYTE, SOURCE_BYTES, text, process->empty);
	uint64_t part = add_indirect(process, SLICED | ONE_BYTE, 20, text, small_integer(14));
	const struct wire_v8_source *source = read_source(process, flat);

	(void)state;
	assert_int_equal(source->string, text - 1);
	check_hash(source, source_text, SOURCE_BYTES);

	read_source(process, add_indirect(process, THIN | ONE_BYTE, SOURCE_BYTES, flat, 0));
	assert_int_equal(source->string, text - 1);
	check_hash(source, source_text, SOURCE_BYTES);

	put(process, place, source_text, SOURCE_BYTES);
	read_source(process, external);
	assert_int_equal(source->string, external - 1);
	assert_int_equal(source->characters, place);
	assert_int_equal(source->pointer_offset, process->layout.external_characters);
	check_hash(source, source_text, SOURCE_BYTES);

	read_source(process, part);
	assert_int_equal(source->string, text - 1);
	assert_int_equal(source->characters, text - 1 + 16 + 14);
	assert_int_equal(source->length, 20);
	assert_int_equal(source->string_length, SOURCE_BYTES);
	check_hash(source, source_text + 14, 20);

	read_source(process, add_string(process, TWO_BYTE, wide, ARRAY_LENGTH(wide)));
	assert_int_equal(source->length, ARRAY_LENGTH(wide));
	assert_int_equal(source->is_wide, 1);
	check_hash(source, (const char *)wide, sizeof(wide));
	free(process);
}

static void what_is_no_source_is_none(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t text = add_text(process, source_text);
	uint64_t circle = add_indirect(process, THIN | ONE_BYTE, 9, 0, 0);
	const uint64_t sources[] = {
		0,
		NOWHERE,
		process->undefined,
		small_integer(5),
		process->empty,
		add_text(process, "too few"),
		circle,
		/* It is put together, and not flat. */
		add_indirect(process, CONS | ONE_BYTE, SOURCE_BYTES + 4, text, text),
		/* A part that is none, */
		add_indirect(process, SLICED | ONE_BYTE, 20, text, small_integer(SOURCE_BYTES)),
		add_indirect(process, SLICED | ONE_BYTE, 20, text, small_integer(UINT32_MAX)),
		/* and one that does not say where its characters are. */
		add_indirect(process, EXTERNAL | ONE_BYTE | IS_UNCACHED, 40, 0, text),
	};

	(void)state;
	set(process, circle, 16, circle);
	for (size_t i = 0; i < ARRAY_LENGTH(sources); i++) {
		const struct wire_v8_source *source = read_source(process, sources[i]);

		assert_int_equal(source->string, 0);
		assert_int_equal(source->words, 0);
		assert_int_equal(source->hash, 0);
	}
	free(process);
}

static uint16_t get_unit(const void *characters, bool is_wide, uint32_t number)
{
	return is_wide ? ((const uint16_t *)characters)[number]
		       : ((const uint8_t *)characters)[number];
}

/* As V8 says it, in so many words. */
static uint32_t count_lines(const void *characters, bool is_wide, uint32_t position)
{
	uint32_t line = 1;

	for (uint32_t i = 0; i < position; i++) {
		uint16_t unit = get_unit(characters, is_wide, i);

		if (unit == '\n' || unit == 0x2028 || unit == 0x2029)
			line++;
		else if (unit == '\r' && get_unit(characters, is_wide, i + 1) != '\n')
			line++;
	}
	return line;
}

/* Lines of all positions, but of those between two characters that end a line together. */
static void check_lines(struct fake_process *process, const void *characters, bool is_wide,
			uint32_t length, uint32_t step)
{
	uint64_t string = add_string(process, is_wide ? TWO_BYTE : ONE_BYTE, characters, length);
	struct scope scope = {.flags = VARIABLE(1), .name = add_text(process, "sit")};
	uint64_t named = add_positioned_scope(process, &scope, 0, small_integer(length));
	uint64_t offset = process->layout.scope_position ? process->layout.scope_position
							 : process->layout.scope_locals + 16ul;

	set(process, process->script, process->layout.script_name - 8ul, string);
	set(process, process->shared, process->layout.shared_name, named);
	for (uint32_t position = 0; position < length; position += step) {
		if (get_unit(characters, is_wide, position) == '\n')
			continue;
		set(process, named, offset, small_integer(position));
		v8_walk_start(&process->walk, &process->layout);
		read_function(process, process->shared);
		assert_int_equal(process->function.position, position);
		assert_int_equal(process->function.line,
				 count_lines(characters, is_wide, position));
	}
}

static void a_function_has_the_line_that_it_starts_in(void **state)
{
	/* What ends lines, and what a bit or a byte of it is in. */
	static const uint16_t units[] = {'\n',   '\r',   0x2028, 0x2029, 'x',    0x0b,   0x0c,
					 0x8a,   0x8d,   0x0a0d, 0x0d0a, 0x200a, 0x2800, 0x2827,
					 0x202a, 0x0028, 0,      0xffff, 0xa0a,  0x8d0d};
	static uint16_t wide[3000];
	static uint8_t narrow[3000];

	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint32_t random = 12345;

		for (size_t i = 0; i < ARRAY_LENGTH(wide); i++) {
			random = random * 1103515245 + 12345;
			wide[i] = units[(random >> 16) % ARRAY_LENGTH(units)];
			narrow[i] = (uint8_t)wide[i];
		}
		/* Two that end a line together, at the border of two pieces. */
		memcpy(narrow + V8_PIECE_BYTES - 1, "\r\nx", 3);
		wide[V8_PIECE_BYTES / 2 - 1] = '\r';
		wide[V8_PIECE_BYTES / 2] = '\n';
		wide[V8_PIECE_BYTES / 2 + 1] = 'x';
		check_lines(process, narrow, false, ARRAY_LENGTH(narrow), 1);
		check_lines(process, wide, true, ARRAY_LENGTH(wide), 1);
		free(process);
	}
}

static void lines_are_counted_up_to_a_limit(void **state)
{
	static char text[V8_MAX_PIECES * V8_PIECE_BYTES + 16];
	struct fake_process *process = fake_process_new(V8_11_3);
	struct scope scope = {.flags = VARIABLE(1), .name = add_text(process, "sit")};
	uint64_t named = add_positioned_scope(process, &scope, 0, small_integer(sizeof(text)));
	uint64_t offset = process->layout.scope_locals + 16ul;
	uint32_t num_counted = 0;

	(void)state;
	memset(text, '\n', sizeof(text));
	set(process, process->script, process->layout.script_name - 8ul,
	    add_string(process, ONE_BYTE, text, sizeof(text)));
	set(process, process->shared, process->layout.shared_name, named);
	set(process, named, offset, small_integer(sizeof(text) - 16));
	read_function(process, process->shared);
	assert_int_equal(process->function.line, sizeof(text) - 15);
	set(process, named, offset, small_integer(sizeof(text) - 15));
	read_function(process, process->shared);
	assert_int_equal(process->function.line, 0);
	assert_int_equal(process->function.source.words, (1u << WIRE_V8_SOURCE_WORDS) - 1);
	/* And so many of one stack. */
	v8_walk_start(&process->walk, &process->layout);
	set(process, named, offset, small_integer(V8_PIECE_BYTES));
	do {
		num_counted++;
		read_function(process, process->shared);
	} while (process->function.line == V8_PIECE_BYTES + 1);
	assert_int_equal(process->function.line, 0);
	assert_int_equal(num_counted, V8_MAX_ALL_PIECES + 1);
	/* What starts with its source has nothing to count. */
	set(process, named, offset, 0);
	read_function(process, process->shared);
	assert_int_equal(process->function.line, 1);
	free(process);
}

static void without_its_source_a_function_has_no_line(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	struct scope scope = {.flags = VARIABLE(1), .name = add_text(process, "sit")};
	uint64_t text = add_text(process, source_text);
	uint64_t end = MEMORY + MEMORY_BYTES;

	(void)state;
	set(process, process->shared, process->layout.shared_name,
	    add_positioned_scope(process, &scope, small_integer(14), small_integer(20)));
	assert_non_null(read_source(process, text));
	assert_int_equal(process->function.line, 2);
	/* It is shorter, */
	set_length(process, text, 13);
	read_function(process, process->shared);
	assert_int_equal(process->function.line, 0);
	/* not there, */
	read_source(process, process->undefined);
	assert_int_equal(process->function.line, 0);
	/* or cannot be read. */
	read_source(process, add_indirect(process, EXTERNAL | ONE_BYTE, 64, 0, end - 8));
	assert_int_equal(process->function.line, 0);
	assert_int_equal(process->function.source.words, 1);
	free(process);
}

/* Their pages may not be in memory. */
static void words_that_cannot_be_read_are_left_out(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t end = MEMORY + MEMORY_BYTES;
	uint64_t external = add_indirect(process, EXTERNAL | ONE_BYTE, 64, 0, end - 32);
	const struct wire_v8_source *source = read_source(process, external);
	uint64_t zero_hash = 0;

	(void)state;
	for (int i = 0; i < 8; i++)
		zero_hash = wire_v8_hash_source(zero_hash, 0);
	assert_int_equal(source->string, external - 1);
	/* 64 bytes have them at multiples of 3.5 bytes: eight start at 24 or before. */
	assert_int_equal(source->words, 0xff);
	assert_int_equal(source->hash, zero_hash);
	free(process);
}

static void what_is_no_string_is_no_name(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint16_t first_type = process->layout.first_type_after_strings;
		uint64_t last = add_string(process, (first_type - 1) & ~7, "last", 4);
		uint64_t other = add_string(process, first_type, "of two bytes", 5);

		check_name(process, last, "last", false);
		check_name(process, other, "", false);
		check_name(process, process->script, "", false);
		assert_int_equal(process->function.num_parts, 0);
		free(process);
	}
}

static void circles_of_strings_have_an_end(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t string = add_cons(process, 0, 0);
	uint64_t part = add_text(process, "x");
	const struct {
		uint64_t first;
		uint64_t second;
		uint16_t type;
	} circles[] = {
		{string, string, CONS | ONE_BYTE}, {part, string, CONS | ONE_BYTE},
		{string, part, CONS | ONE_BYTE},   {string, process->empty, CONS | ONE_BYTE},
		{process->empty, string, CONS},    {string, 0, THIN | ONE_BYTE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(circles); i++) {
		set(process, string, 0, get_map(process, circles[i].type));
		set(process, string, 16, circles[i].first);
		set(process, string, 24, circles[i].second);
		read_named(process, string);
		assert_int_equal(process->function.has_more, 1);
		assert_memory_equal("xxxx", process->name, strlen(process->name));
		/* What is left of it is no part of the next function's name. */
		check_name(process, process->empty, "", false);
	}
	free(process);
}

static void lengths_are_bounded(void **state)
{
	static const uint32_t lengths[] = {1,   63,       64,         65,         127,       128,
					   129, 1u << 16, 0x7fffffff, 0x80000000, UINT32_MAX};
	uint8_t characters[2 * WIRE_V8_FILE_BYTES];
	struct fake_process *process = fake_process_new(V8_11_3);
	const struct wire_v8_function *function = &process->function;

	(void)state;
	for (size_t i = 0; i < sizeof(characters); i++)
		characters[i] = (uint8_t)(1 + i % 251);
	for (uint16_t is_wide = 0; is_wide < 2; is_wide++) {
		uint64_t string = add_string(process, is_wide ? TWO_BYTE : ONE_BYTE, characters,
					     WIRE_V8_FILE_BYTES);

		set(process, process->script, process->layout.script_name, string);
		for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
			uint64_t bytes = (uint64_t)lengths[i] << is_wide;

			set_length(process, string, lengths[i]);
			read_named(process, string);
			assert_int_equal(function->num_parts, 1);
			assert_int_equal(function->name[0].length, lengths[i]);
			assert_int_equal(function->name[0].is_wide, is_wide);
			assert_int_equal(function->name[0].num_bytes,
					 bytes < WIRE_V8_PART_BYTES ? bytes : WIRE_V8_PART_BYTES);
			assert_int_equal(function->file.length, lengths[i]);
			assert_memory_equal(function->name_text[0], characters,
					    function->name[0].num_bytes);
			assert_int_equal(function->file.num_bytes,
					 bytes < WIRE_V8_FILE_BYTES ? bytes : WIRE_V8_FILE_BYTES);
			assert_memory_equal(function->file_text, characters,
					    function->file.num_bytes);
		}
	}
	free(process);
}

static void a_file_may_be_of_any_kind_of_string(void **state)
{
	static const uint16_t wide[] = {'/', 0x444};
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t place = MEMORY + 0x800;
	const uint64_t name_of_file = process->layout.script_name;
	uint64_t actual = add_text(process, "node:fs");
	uint64_t external = add_indirect(process, EXTERNAL | ONE_BYTE, 5, 0, place);
	const struct wire_v8_function *function = &process->function;

	(void)state;
	put(process, place, "/e.js", 5);
	set(process, process->script, name_of_file, external);
	read_function(process, process->shared);
	assert_int_equal(function->file.num_bytes, 5);
	assert_memory_equal(function->file_text, "/e.js\0", 6);

	set(process, process->script, name_of_file,
	    add_indirect(process, THIN | ONE_BYTE, 7, actual, 0));
	read_function(process, process->shared);
	assert_int_equal(function->file.num_bytes, 7);
	assert_memory_equal(function->file_text, "node:fs\0", 8);

	set(process, process->script, name_of_file,
	    add_string(process, TWO_BYTE, wide, ARRAY_LENGTH(wide)));
	read_function(process, process->shared);
	assert_int_equal(function->file.length, 2);
	assert_int_equal(function->file.num_bytes, 4);
	assert_int_equal(function->file.is_wide, 1);
	assert_memory_equal(function->file_text, wide, sizeof(wide));
	assert_string_equal(process->name, "sit");
	free(process);
}

/* Code of eval() and of new Function() is in a script that has none. */
static void a_script_may_have_no_name(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	const uint64_t names[] = {process->undefined, process->empty, small_integer(5), 0, NOWHERE};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		set(process, process->script, process->layout.script_name, names[i]);
		read_function(process, process->shared);
		assert_int_equal(process->function.is_builtin, 0);
		assert_int_equal(process->function.file.length, 0);
		assert_int_equal(process->function.file.num_bytes, 0);
		assert_int_equal(process->function.file_text[0], 0);
		assert_string_equal(process->name, "sit");
	}
	free(process);
}

static void a_function_of_v8_itself_is_in_no_script(void **state)
{
	(void)state;
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *process = fake_process_new(version);
		uint64_t builtin = add_shared(process, add_text(process, "forEach"),
					      process->undefined, V8_NO_LITERAL);

		read_function(process, builtin);
		assert_int_equal(process->function.is_builtin, 1);
		assert_int_equal(process->function.file.num_bytes, 0);
		assert_string_equal(process->name, "forEach");
		assert_int_equal(process->function.has_more, 0);
		/* Both say so: of what has a number, or a script, the program has the text. */
		set_number(process, builtin, 0);
		read_function(process, builtin);
		assert_int_equal(process->function.is_builtin, 0);
		set_number(process, process->shared, V8_NO_LITERAL);
		read_function(process, process->shared);
		assert_int_equal(process->function.is_builtin, 0);
		assert_memory_equal(process->function.file_text, "/f.js\0", 6);
		free(process);
	}
}

/* With breakpoints, or while it is counted what is covered, the script is one object further. */
static void a_function_that_is_debugged_is_none_of_v8_itself(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);
	uint64_t debug_info = add_object(process, 153, 64);

	(void)state;
	set(process, debug_info, 8, process->shared);
	set(process, debug_info, 24, process->script);
	set(process, process->shared, process->layout.shared_script, debug_info);
	read_function(process, process->shared);
	assert_string_equal(process->name, "sit");
	assert_int_equal(process->function.is_builtin, 0);
	free(process);
}

static void a_script_that_cannot_be_read_has_no_name(void **state)
{
	struct fake_process *process = fake_process_new(V8_11_3);

	(void)state;
	set(process, process->shared, process->layout.shared_script, NOWHERE);
	read_function(process, process->shared);
	assert_int_equal(process->function.is_builtin, 0);
	assert_int_equal(process->function.file.num_bytes, 0);
	assert_string_equal(process->name, "sit");
	free(process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_of_javascript_has_its_function_and_level),
		cmocka_unit_test(frames_between_those_of_others_keep_their_levels),
		cmocka_unit_test(a_frame_of_another_kind_has_no_function),
		cmocka_unit_test(a_frame_of_native_code_has_none),
		cmocka_unit_test(an_object_that_is_no_closure_has_none),
		cmocka_unit_test(what_cannot_be_read_says_so),
		cmocka_unit_test(a_frame_pointer_that_is_none_has_no_function),
		cmocka_unit_test(of_more_frames_than_are_kept_the_outer_ones_are_left_out),
		cmocka_unit_test(another_function_has_another_fingerprint),
		cmocka_unit_test(the_same_function_has_the_same_fingerprint),
		cmocka_unit_test(a_function_says_its_name_and_file),
		cmocka_unit_test(what_is_not_there_is_zero),
		cmocka_unit_test(a_function_that_cannot_be_read_is_none),
		cmocka_unit_test(the_name_lies_behind_the_local_variables),
		cmocka_unit_test(a_receiver_may_have_a_word_before_the_name),
		cmocka_unit_test(other_flags_move_nothing),
		cmocka_unit_test(in_a_module_the_name_lies_a_word_further),
		cmocka_unit_test(without_a_name_the_inferred_one_is_taken),
		cmocka_unit_test(a_function_may_have_no_name),
		cmocka_unit_test(before_it_is_compiled_the_name_lies_in_the_function),
		cmocka_unit_test(a_name_that_cannot_be_read_says_so),
		cmocka_unit_test(a_scope_that_cannot_be_read_says_so),
		cmocka_unit_test(a_name_in_a_scope_that_cannot_be_read_says_so),
		cmocka_unit_test(a_frame_of_webassembly_has_its_instance),
		cmocka_unit_test(the_innermost_frame_is_its_own_where_all_of_it_was_pushed),
		cmocka_unit_test(a_function_that_starts_is_in_its_register),
		cmocka_unit_test(one_of_webassembly_that_starts_has_its_instance_there),
		cmocka_unit_test(a_function_that_returns_is_in_the_frame_that_it_had),
		cmocka_unit_test(an_innermost_level_that_cannot_be_read_is_none),
		cmocka_unit_test(parts_of_a_name_are_in_their_order),
		cmocka_unit_test(a_part_that_is_empty_is_none),
		cmocka_unit_test(of_more_parts_than_are_kept_the_first_ones_are),
		cmocka_unit_test(no_part_is_taken_before_one_that_is_lost),
		cmocka_unit_test(no_part_is_taken_behind_one_that_cannot_be_read),
		cmocka_unit_test(a_thin_string_is_another_one),
		cmocka_unit_test(an_external_string_has_its_characters_elsewhere),
		cmocka_unit_test(an_external_string_without_an_address_has_no_characters),
		cmocka_unit_test(characters_may_be_of_two_bytes),
		cmocka_unit_test(a_sliced_string_is_not_read),
		cmocka_unit_test(a_function_says_where_it_starts),
		cmocka_unit_test(what_is_no_place_is_none),
		cmocka_unit_test(a_module_starts_with_its_source),
		cmocka_unit_test(a_script_says_where_its_source_is),
		cmocka_unit_test(a_source_may_be_of_any_kind_of_string),
		cmocka_unit_test(what_is_no_source_is_none),
		cmocka_unit_test(a_function_has_the_line_that_it_starts_in),
		cmocka_unit_test(lines_are_counted_up_to_a_limit),
		cmocka_unit_test(without_its_source_a_function_has_no_line),
		cmocka_unit_test(words_that_cannot_be_read_are_left_out),
		cmocka_unit_test(what_is_no_string_is_no_name),
		cmocka_unit_test(circles_of_strings_have_an_end),
		cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(a_file_may_be_of_any_kind_of_string),
		cmocka_unit_test(a_script_may_have_no_name),
		cmocka_unit_test(a_function_of_v8_itself_is_in_no_script),
		cmocka_unit_test(a_function_that_is_debugged_is_none_of_v8_itself),
		cmocka_unit_test(a_script_that_cannot_be_read_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
