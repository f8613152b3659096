/*
 * Functions of WebAssembly in memory that is all somebody else's choice, and changes: whatever it holds, no more of it is read than is
 * said, and a function is one that its module has.
 *
 * The input is questions, of which a byte says how many: of each, 16 bits of the instance's place, 16 of the instruction's, a byte of what
 * is known of the frame, and 16 bits and a byte that is written there before; and then what the memory has, one after the other, of which
 * a byte says the kind: 16 bits of an object's place, of an address, of what a jump leads to, or of a type of a map; bytes, and zeros by
 * eight, of which a byte says how many.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/v8_wasm.h"

#define MEMORY        0x2a0000000000ull
#define MEMORY_BYTES  0x10000
#define MAX_QUESTIONS 16
#define MAX_READS     1000000

enum part { OBJECT, ADDRESS, JUMP, MAP, BYTES, ZEROS, NUM_PARTS };

struct question {
	struct v8_wasm_place place;
	uint16_t changed;
	uint8_t change;
};

struct scene {
	uint8_t *memory; /* on the heap, so that no byte more can be read */
	size_t num_bytes;
	size_t num_reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(void *context, uint64_t address, void *ret, size_t size)
{
	struct scene *scene = context;

	require(size > 0 && size <= 64 << 10);
	require(++scene->num_reads <= MAX_READS);
	if (address < MEMORY || size > scene->num_bytes ||
	    address - MEMORY > scene->num_bytes - size)
		return -1;
	memcpy(ret, scene->memory + (address - MEMORY), size);
	return 0;
}

static struct question take_question(struct bytes *input)
{
	struct question ret = {.place.pid = 1};
	uint8_t known;

	ret.place.instance = MEMORY + bytes_u16(input);
	ret.place.pc = MEMORY + bytes_u16(input);
	known = bytes_u8(input);
	ret.place.is_innermost = known & 1;
	ret.place.calls_entry = known & 2;
	ret.place.generation = known >> 2 & 1;
	ret.changed = bytes_u16(input);
	ret.change = bytes_u8(input);
	return ret;
}

static void add(struct scene *scene, const void *bytes, size_t size)
{
	size_t left = MEMORY_BYTES - scene->num_bytes;

	size = size < left ? size : left;
	if (size)
		memcpy(scene->memory + scene->num_bytes, bytes, size);
	scene->num_bytes += size;
}

static void add_word(struct scene *scene, uint64_t word)
{
	add(scene, &word, sizeof(word));
}

static void add_jump(struct scene *scene, uint64_t target)
{
	uint8_t bytes[8] = {0xe9};
	int32_t distance = (int32_t)(target - scene->num_bytes - 5);

	memcpy(bytes + 1, &distance, sizeof(distance));
	add(scene, bytes, sizeof(bytes));
}

static void add_part(struct scene *scene, struct bytes *input)
{
	static const uint8_t zeros[8 * UINT8_MAX];
	size_t length;

	switch ((enum part)(bytes_u8(input) % NUM_PARTS)) {
	case OBJECT:
		add_word(scene, MEMORY + (bytes_u16(input) & ~7u) + 1);
		break;
	case ADDRESS:
		add_word(scene, MEMORY + bytes_u16(input));
		break;
	case JUMP:
		add_jump(scene, bytes_u16(input));
		break;
	case MAP:
		add_word(scene, (uint64_t)bytes_u16(input) << 32);
		break;
	case BYTES:
		length = bytes_u8(input);
		length = length < bytes_left(input) ? length : bytes_left(input);
		add(scene, bytes_take(input, length), length);
		break;
	case ZEROS:
		add(scene, zeros, (size_t)8 * bytes_u8(input));
		break;
	case NUM_PARTS:
		break;
	}
}

static void ask(struct scene *scene, struct v8_wasm_modules *modules,
		const struct question *question)
{
	static const struct v8_wasm_layout layout = {
		.is_known = true,
		.marker = 0x10,
		.script_type = 1,
		.module_type = 2,
		.instance_type = 3,
		.foreign_type = 4,
		.map_type = 12,
		.script_native_module = 64,
	};
	const struct v8_memory memory = {.read = read_memory, .context = scene};
	struct v8_wasm_function found;
	int err;

	if (question->changed < scene->num_bytes)
		scene->memory[question->changed] = question->change;
	scene->num_reads = 0;
	err = v8_wasm_find(modules, &layout, &memory, &question->place, &found);
	require(err == 0 || err == -ENOENT);
	if (err)
		return;
	require(found.number >= wasm_module_get_num_imports(found.module));
	require(found.number - wasm_module_get_num_imports(found.module) <
		wasm_module_get_num_functions(found.module));
	require(found.has_frame || question->place.calls_entry || question->place.is_innermost);
	(void)wasm_module_get_name(found.module, found.number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {.memory = malloc(MEMORY_BYTES)};
	struct v8_wasm_modules *modules = v8_wasm_modules_new();
	struct question questions[MAX_QUESTIONS];
	unsigned int num_questions = bytes_u8(&input) % (MAX_QUESTIONS + 1);

	require(scene.memory && modules);
	for (unsigned int i = 0; i < num_questions; i++)
		questions[i] = take_question(&input);
	while (bytes_left(&input) && scene.num_bytes < MEMORY_BYTES)
		add_part(&scene, &input);
	scene.memory = realloc(scene.memory, scene.num_bytes + 1);
	require(scene.memory != NULL);
	for (unsigned int i = 0; i < num_questions; i++)
		ask(&scene, modules, &questions[i]);
	v8_wasm_modules_free(modules);
	free(scene.memory);
	return 0;
}
