/*
 * The way to a module's bytes; V8 describes the types and the field of the script:
 *
 *     instance ──> module ──> script ──> foreign ──> its owner ──> a shared pointer ──> V8's module, in C++
 *     (or instance's data ──> instance ──> …)
 *
 * V8's module holds a pointer to the bytes and their length somewhere, or a pointer to these two.
 * The bytes are recognized by the header of each module.
 *
 * The jump table is an address in the instance. In it, each function of the module has a slot, in
 * lines of 64 bytes:
 *
 *     e9 …              jmp to its code, or to its lazy compilation
 *
 * and the code of each function starts with its frame setup (unwind/v8_code.h). So the code of a
 * frame starts at the last of these before it. Code that was replaced since has lost its slot.
 */
#include "runtime/v8_wasm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/intern.h"
#include "unwind/v8_code.h"

/*
 * Number of words to search: in an instance, in other objects, in the owner of V8's module, and in
 * the module.
 */
#define INSTANCE_WORDS 64
#define OBJECT_WORDS   24
#define OWNER_WORDS    8
#define MODULE_WORDS   256

#define MODULE_BYTES_MAX (1ull << 30) /* as V8 has it */

#define LINE_BYTES  64
#define START_BYTES 8 /* bytes of code that are checked */
/* Its frame pointer is set after these, or after V8_CODE_PUSH_FP_BYTES. */
#define FRAME_CALL_BYTES (V8_CODE_WASM_MOV_BYTES + V8_CODE_CALL_BYTES)
#define READ_BYTES       4096
/* Maximum distance for searching a function's start. */
#define FUNCTION_BYTES_MAX (1u << 20)

/* Fixed cost of a read, in bytes. */
#define READ_COST 256

/* Number of functions of a jump table to search for one that is compiled. */
#define COMPILED_LOOKED_AT 4096

#define NO_SLOT UINT32_MAX

/* Start of code, and its slot in the last search. */
struct known_code {
	uint64_t start;
	uint32_t slot; /* NO_SLOT: not found */
};
INTERN_TABLE(code_table, struct known_code, start);

struct known_module {
	uint64_t generation;
	uint64_t jump_table;
	uint64_t last_used; /* number of earlier lookups */
	uint32_t pid;
	uint32_t slot_bytes;
	struct wasm_module *module;
	struct code_table codes;
};

/* A process that was searched. */
struct searched_process {
	uint64_t generation;
	uint64_t num_bytes; /* bytes read for it */
	uint32_t pid;
	uint32_t padding;
};
INTERN_TABLE(process_table, struct searched_process, pid, generation);

struct v8_wasm_modules {
	ARRAY(struct known_module) items;
	struct process_table processes;
	size_t num_bytes; /* of names and codes of all modules */
	uint64_t num_answers;
};

/* A search. */
struct search {
	const struct v8_wasm_layout *layout;
	const struct v8_memory *memory;
	uint64_t num_bytes; /* bytes read, including the fixed cost of reads */
};

struct v8_wasm_modules *v8_wasm_modules_new(void)
{
	return calloc(1, sizeof(struct v8_wasm_modules));
}

static void known_module_release(struct known_module *known)
{
	wasm_module_free(known->module);
	code_table_release(&known->codes);
}

void v8_wasm_modules_free(struct v8_wasm_modules *modules)
{
	if (!modules)
		return;
	array_for_each (&modules->items, known)
		known_module_release(known);
	array_release(&modules->items);
	process_table_release(&modules->processes);
	free(modules);
}

static bool read_bytes(struct search *search, uint64_t address, void *ret, size_t size)
{
	search->num_bytes += size + READ_COST;
	return !search->memory->read(search->memory->context, address, ret, size);
}

/* Read as many words as possible; if not all are readable, they are on one page. */
static size_t read_words(struct search *search, uint64_t address, uint64_t *ret, size_t wanted)
{
	for (; wanted; wanted /= 2)
		if (read_bytes(search, address, ret, wanted * sizeof(*ret)))
			break;
	return wanted;
}

static bool is_object(uint64_t word)
{
	return (word & 3) == 1;
}

/* The type of an object; 0: not an object, or unreadable. */
static uint16_t get_type(struct search *search, uint64_t word)
{
	uint16_t type = 0;
	uint64_t map;

	if (!is_object(word) || !read_bytes(search, word - 1, &map, sizeof(map)) ||
	    !is_object(map) ||
	    !read_bytes(search, map - 1 + search->layout->map_type, &type, sizeof(type)))
		return 0;
	return type;
}

/* The first object of a type that an object refers to; 0: none. */
static uint64_t find_object(struct search *search, uint64_t object, size_t num_words, uint16_t type)
{
	uint64_t words[INSTANCE_WORDS];
	size_t num_read = read_words(search, object - 1, words, num_words);

	/* The first one is its map. */
	for (size_t i = 1; i < num_read; i++)
		if (type && get_type(search, words[i]) == type)
			return words[i];
	return 0;
}

static uint64_t find_script(struct search *search, uint64_t instance)
{
	const struct v8_wasm_layout *layout = search->layout;
	uint64_t module = find_object(search, instance, INSTANCE_WORDS, layout->module_type);

	if (!module) {
		instance = find_object(search, instance, INSTANCE_WORDS, layout->instance_type);
		if (instance)
			module = find_object(search, instance, INSTANCE_WORDS, layout->module_type);
	}
	return module ? find_object(search, module, OBJECT_WORDS, layout->script_type) : 0;
}

/* Location of a module's bytes. */
struct module_bytes {
	struct search *search;
	uint64_t address;
	uint64_t size;
};

static bool is_module(struct search *search, const uint64_t place[2])
{
	uint64_t start;

	return place[1] >= sizeof(start) && place[1] <= MODULE_BYTES_MAX &&
	       read_bytes(search, place[0], &start, sizeof(start)) && start == WASM_MODULE_START;
}

/* Whether it is somewhere in V8's module at this address. */
static bool find_in_module(struct search *search, uint64_t address, struct module_bytes *ret)
{
	uint64_t words[MODULE_WORDS];
	size_t num_words = read_words(search, address, words, MODULE_WORDS);

	for (size_t i = 0; i + 1 < num_words; i++) {
		uint64_t place[2] = {words[i], words[i + 1]};
		bool is_found = words[i] && is_module(search, place);

		if (!is_found && words[i] && !(words[i] & 7) &&
		    read_bytes(search, words[i], place, sizeof(place)))
			is_found = is_module(search, place);
		if (!is_found)
			continue;
		*ret = (struct module_bytes){
			.search = search, .address = place[0], .size = place[1]};
		return true;
	}
	return false;
}

static bool find_module_bytes(struct search *search, uint64_t instance, struct module_bytes *ret)
{
	uint64_t script = find_script(search, instance);
	uint64_t owner[OWNER_WORDS];
	uint64_t address;
	uint64_t foreign;
	size_t num_words;

	if (!script ||
	    !read_bytes(search, script - 1 + search->layout->script_native_module, &foreign,
			sizeof(foreign)) ||
	    !is_object(foreign) ||
	    (search->layout->foreign_type &&
	     get_type(search, foreign) != search->layout->foreign_type) ||
	    !read_bytes(search, foreign - 1 + sizeof(uint64_t), &address, sizeof(address)))
		return false;
	num_words = read_words(search, address, owner, OWNER_WORDS);
	for (size_t i = 0; i < num_words; i++)
		if (owner[i] && !(owner[i] & 7) &&
		    read_bytes(search, owner[i], &address, sizeof(address)) && address &&
		    find_in_module(search, address, ret))
			return true;
	return false;
}

static int read_module_bytes(void *context, uint64_t offset, void *ret, size_t size)
{
	const struct module_bytes *bytes = context;

	return read_bytes(bytes->search, bytes->address + offset, ret, size) ? 0 : -1;
}

/* Offset of a slot in the table, by its number. */
static uint64_t get_slot_offset(uint32_t slot, uint32_t slot_bytes)
{
	uint32_t slots_of_line = LINE_BYTES / slot_bytes;

	return (uint64_t)(slot / slots_of_line) * LINE_BYTES + slot % slots_of_line * slot_bytes;
}

/* Target of the slot at an address; 0: not a slot. */
static uint64_t get_target(const uint8_t *bytes, uint64_t address)
{
	int32_t distance;

	if (bytes[0] != V8_CODE_JUMP)
		return 0;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return address + V8_CODE_JUMP_BYTES + (uint64_t)(int64_t)distance;
}

/* Whether the code of a function starts there. */
static bool is_start(struct search *search, const uint8_t *bytes)
{
	uint64_t code;

	memcpy(&code, bytes, sizeof(code));
	return (v8_code_pushes_fp(code) &&
		v8_code_pushes_marker(code >> 8 * V8_CODE_PUSH_FP_BYTES, search->layout->marker)) ||
	       v8_code_is_wasm_mov(code) || v8_code_is_wasm_xor(code);
}

/* Start of the code that holds an instruction; 0: unknown. */
static uint64_t find_start(struct search *search, uint64_t pc)
{
	/* It may extend beyond the instruction. */
	uint8_t bytes[READ_BYTES + START_BYTES];
	uint64_t last = pc & ~(uint64_t)(V8_CODE_WASM_ALIGNMENT - 1); /* possible starts */
	uint64_t end = last + START_BYTES;

	while (last - end + START_BYTES < FUNCTION_BYTES_MAX) {
		uint64_t start = (end - START_BYTES) & ~(uint64_t)(READ_BYTES - 1);

		if (!start || !read_bytes(search, start, bytes, end - start))
			return 0;
		for (uint64_t i = end - start - START_BYTES;; i -= V8_CODE_WASM_ALIGNMENT) {
			if (is_start(search, bytes + i))
				return start + i;
			if (!i)
				break;
		}
		end = start - V8_CODE_WASM_ALIGNMENT + START_BYTES;
	}
	return 0;
}

/* Whether the frame pointer is still the caller's, or is it again: it is popped last. */
static bool has_no_frame(struct search *search, const struct v8_wasm_place *place, uint64_t start)
{
	uint64_t code = 0;

	if (place->calls_entry)
		return place->pc - start < FRAME_CALL_BYTES;
	if (!place->is_innermost)
		return false;
	if (!read_bytes(search, start, &code, V8_CODE_PUSH_FP_BYTES) ||
	    place->pc - start <
		    (v8_code_pushes_fp(code) ? V8_CODE_PUSH_FP_BYTES : FRAME_CALL_BYTES))
		return true;
	code = 0;
	return !read_bytes(search, place->pc, &code, 1) || v8_code_returns(code);
}

/* The slot size differs between two of V8's versions: the position of the second slot shows it. */
static uint32_t find_slot_bytes(struct search *search, uint64_t table)
{
	uint8_t bytes[LINE_BYTES];

	if (!read_bytes(search, table, bytes, sizeof(bytes)) || bytes[0] != V8_CODE_JUMP)
		return 0;
	return bytes[V8_CODE_JUMP_BYTES] == V8_CODE_JUMP ? V8_CODE_JUMP_BYTES
	       : bytes[8] == V8_CODE_JUMP                ? 8
							 : V8_CODE_JUMP_BYTES;
}

/* The module whose jump table is one of an instance's words. */
static struct known_module *find_known(struct v8_wasm_modules *modules,
				       const struct v8_wasm_place *place, const uint64_t *words,
				       size_t num_words)
{
	array_for_each (&modules->items, known) {
		if (known->pid != place->pid || known->generation != place->generation)
			continue;
		for (size_t i = 1; i < num_words; i++)
			if (words[i] == known->jump_table)
				return known;
	}
	return NULL;
}

static uint64_t get_slot_address(const struct known_module *known, uint32_t slot)
{
	return known->jump_table + get_slot_offset(slot, known->slot_bytes);
}

/* Present target of a slot; 0: unreadable, or not a slot. */
static uint64_t read_slot(struct search *search, const struct known_module *known, uint32_t slot)
{
	uint64_t address = get_slot_address(known, slot);
	uint8_t bytes[V8_CODE_JUMP_BYTES];

	return read_bytes(search, address, bytes, sizeof(bytes)) ? get_target(bytes, address) : 0;
}

/* Code in the table is on its way to a function, and the code before it has no meaning. */
static bool is_in_table(const struct known_module *known, uint64_t pc)
{
	uint32_t num_slots = wasm_module_get_num_functions(known->module);

	return pc >= known->jump_table && pc < get_slot_address(known, num_slots);
}

/* The slots of a line, or as many of them as the table has. */
static uint32_t count_slots(const struct known_module *known, uint32_t first)
{
	uint32_t slots_of_line = LINE_BYTES / known->slot_bytes;
	uint32_t num_left = wasm_module_get_num_functions(known->module) - first;

	return num_left < slots_of_line ? num_left : slots_of_line;
}

/*
 * Search the table for the slot of code; NO_SLOT: not found. Returns 0, or -EBADMSG if it is not a
 * jump table, or unreadable.
 */
static int scan_jump_table(struct search *search, const struct known_module *known, uint64_t start,
			   uint32_t *ret)
{
	uint32_t num_slots = wasm_module_get_num_functions(known->module);
	uint8_t table[READ_BYTES];

	*ret = NO_SLOT;
	for (uint32_t first = 0; first < num_slots;) {
		uint64_t address = get_slot_address(known, first);
		size_t size = READ_BYTES - address % READ_BYTES;

		if (!read_bytes(search, address, table, size))
			return -EBADMSG;
		for (size_t line = 0; line < size && first < num_slots; line += LINE_BYTES) {
			uint32_t num_here = count_slots(known, first);

			for (uint32_t i = 0; i < num_here; i++) {
				size_t offset = line + (size_t)i * known->slot_bytes;
				uint64_t target = get_target(table + offset, address + offset);

				if (!target)
					return -EBADMSG;
				if (target == start)
					*ret = first + i;
			}
			first += num_here;
		}
	}
	return 0;
}

/* Whether some slot's target is a function's code; the others may compile their function first. */
static bool has_code(struct search *search, const struct known_module *known)
{
	uint32_t num_slots = wasm_module_get_num_functions(known->module);
	uint8_t bytes[START_BYTES];

	for (uint32_t slot = 0; slot < num_slots && slot < COMPILED_LOOKED_AT; slot++) {
		uint64_t target = read_slot(search, known, slot);

		if (target && read_bytes(search, target, bytes, sizeof(bytes)) &&
		    is_start(search, bytes))
			return true;
	}
	return false;
}

/* The word of an instance that is the address of the module's jump table. */
static bool find_jump_table(struct search *search, const uint64_t *words, size_t num_words,
			    uint64_t start, struct known_module *known)
{
	for (size_t i = 1; i < num_words; i++) {
		uint32_t slot;

		if (!words[i] || words[i] % LINE_BYTES)
			continue;
		known->jump_table = words[i];
		known->slot_bytes = find_slot_bytes(search, words[i]);
		if (known->slot_bytes && !scan_jump_table(search, known, start, &slot) &&
		    (slot != NO_SLOT || has_code(search, known)))
			return true;
	}
	return false;
}

static size_t get_size(const struct known_module *known)
{
	return wasm_module_get_size(known->module) +
	       known->codes.length * sizeof(*known->codes.items);
}

/* Forget the module with the oldest last use. */
static void drop_oldest(struct v8_wasm_modules *modules)
{
	struct known_module *oldest = modules->items.items;

	array_for_each (&modules->items, known)
		if (known->last_used < oldest->last_used)
			oldest = known;
	modules->num_bytes -= get_size(oldest);
	known_module_release(oldest);
	*oldest = modules->items.items[--modules->items.length];
}

/* Keep a module, replacing others if necessary. Returns 0, -ENOENT (too large) or -ENOMEM. */
static int keep(struct v8_wasm_modules *modules, const struct known_module *known,
		struct known_module **ret)
{
	size_t size = get_size(known);
	struct known_module *added;

	if (size > V8_WASM_BYTES_MAX)
		return -ENOENT;
	while (modules->items.length >= V8_WASM_MODULES_MAX ||
	       modules->num_bytes + size > V8_WASM_BYTES_MAX)
		drop_oldest(modules);
	added = array_add(&modules->items);
	if (!added)
		return -ENOMEM;
	*added = *known;
	modules->num_bytes += size;
	*ret = added;
	return 0;
}

/* Find an unknown module, and store it. Returns 0, -ENOENT or -ENOMEM. */
static int add_module(struct v8_wasm_modules *modules, struct search *search,
		      const struct v8_wasm_place *place, const uint64_t *words, size_t num_words,
		      uint64_t start, struct known_module **ret)
{
	struct known_module known = {.generation = place->generation, .pid = place->pid};
	struct module_bytes bytes;
	struct wasm_source source = {.read = read_module_bytes, .context = &bytes};
	int err;

	if (!find_module_bytes(search, place->instance, &bytes))
		return -ENOENT;
	source.size = bytes.size;
	err = wasm_module_read(&source, &known.module);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = find_jump_table(search, words, num_words, start, &known) ? keep(modules, &known, ret)
								       : -ENOENT;
	if (err)
		known_module_release(&known);
	return err;
}

/* Search the table for code, and store the result. Returns 0, -ENOENT or -ENOMEM. */
static int find_slot(struct v8_wasm_modules *modules, struct search *search,
		     struct known_module *known, uint64_t start, uint32_t *ret)
{
	struct known_code code = {.start = start};
	size_t num_before = known->codes.length;
	uint32_t number;

	/* Code that does not fit would be searched again and again, so it stays unknown. */
	if (modules->num_bytes + sizeof(code) > V8_WASM_BYTES_MAX ||
	    scan_jump_table(search, known, start, ret))
		return -ENOENT;
	if (code_table_intern(&known->codes, &code, &number))
		return -ENOMEM;
	modules->num_bytes += (known->codes.length - num_before) * sizeof(code);
	known->codes.items[number].slot = *ret;
	return *ret == NO_SLOT ? -ENOENT : 0;
}

/*
 * The slot of code, as found before. Functions are compiled again as they run often, so the slot
 * may have another target now. Code without a slot will not get one, as only code that ran first is
 * replaced.
 *
 * Returns 0, -ENOENT (no slot) or -EAGAIN (search for it).
 */
static int find_known_slot(struct search *search, const struct known_module *known, uint64_t start,
			   uint32_t *ret)
{
	uint32_t number = code_table_find(&known->codes, &(struct known_code){.start = start});

	if (number == HASH_INDEX_NONE)
		return -EAGAIN;
	*ret = known->codes.items[number].slot;
	if (*ret == NO_SLOT)
		return -ENOENT;
	return read_slot(search, known, *ret) == start ? 0 : -EAGAIN;
}

/* Data read from a process. Returns 0 or -ENOMEM. */
static int find_process(struct v8_wasm_modules *modules, const struct v8_wasm_place *place,
			struct searched_process **ret)
{
	const struct searched_process process = {.pid = place->pid,
						 .generation = place->generation};
	uint32_t number;

	/* Earlier processes are most likely not needed any more. */
	if (modules->processes.length >= V8_WASM_PROCESSES_MAX &&
	    process_table_find(&modules->processes, &process) == HASH_INDEX_NONE)
		process_table_release(&modules->processes);
	if (process_table_intern(&modules->processes, &process, &number))
		return -ENOMEM;
	*ret = &modules->processes.items[number];
	return 0;
}

/*
 * Search for the slot of code, and for the module if unknown (known: NULL), within the limits for
 * the process. Returns 0, -ENOENT or -ENOMEM.
 */
static int search_slot(struct v8_wasm_modules *modules, struct search *search,
		       const struct v8_wasm_place *place, const uint64_t *words, size_t num_words,
		       uint64_t start, struct known_module **known, uint32_t *ret)
{
	struct searched_process *process;
	int err;

	if (find_process(modules, place, &process))
		return -ENOMEM;
	if (process->num_bytes > V8_WASM_READ_MAX)
		return -ENOENT;
	search->num_bytes = 0;
	err = *known ? 0 : add_module(modules, search, place, words, num_words, start, known);
	if (!err)
		err = find_slot(modules, search, *known, start, ret);
	process->num_bytes += search->num_bytes;
	return err;
}

int v8_wasm_find(struct v8_wasm_modules *modules, const struct v8_wasm_layout *layout,
		 const struct v8_memory *memory, const struct v8_wasm_place *place,
		 struct v8_wasm_function *ret)
{
	struct search search = {.layout = layout, .memory = memory};
	uint64_t words[INSTANCE_WORDS];
	struct known_module *known;
	size_t num_words;
	uint64_t start;
	uint32_t slot;
	int err;

	if (!layout->is_known || !is_object(place->instance))
		return -ENOENT;
	start = find_start(&search, place->pc);
	if (!start)
		return -ENOENT;
	num_words = read_words(&search, place->instance - 1, words, INSTANCE_WORDS);
	known = find_known(modules, place, words, num_words);
	if (known && is_in_table(known, place->pc))
		return -ENOENT;
	err = known ? find_known_slot(&search, known, start, &slot) : -EAGAIN;
	if (err == -EAGAIN)
		err = search_slot(modules, &search, place, words, num_words, start, &known, &slot);
	if (err)
		return err;
	known->last_used = modules->num_answers++;
	*ret = (struct v8_wasm_function){
		.module = known->module,
		.number = wasm_module_get_num_imports(known->module) + slot,
		.has_frame = !has_no_frame(&search, place, start),
	};
	return 0;
}
