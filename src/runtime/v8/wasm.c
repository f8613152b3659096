/*
 * The way to a module's bytes, of which V8 says the types and the field of the script:
 *
 *     instance ──> module ──> script ──> foreign ──> what owns it ──> a shared pointer to it ──> V8's module, in C++
 *     (or instance's data ──> instance ──> …)
 *
 * V8's module holds a pointer to the bytes and their length somewhere, or a pointer to these two. They are known by what each module
 * begins with.
 *
 * The jump table is an address in the instance. In it, each function of the module has a slot, in lines of 64 bytes:
 *
 *     e9 …              jmp to its code, or to what compiles it
 *
 * and the code of each function begins, at a multiple of 32, with
 *
 *     55                push %rbp
 *     48 89 e5          mov %rsp,%rbp
 *     6a …              push $MARKER
 *
 *     41 bc …           mov $NUMBER,%r12d       from V8 12.9 on, in what the first compiler has made; it calls what makes the frame
 *     e8 …              call …
 *     45 31 e4          xor %r12d,%r12d         the same of the first function
 *     e8 …              call …
 *
 * so that the begin of the code that a frame is in is the last of these before. Code that was replaced since has no slot any more.
 */
#include "runtime/v8_wasm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Words that are looked at: of an instance, of other objects, of what owns V8's module, and of that. */
#define INSTANCE_WORDS 64
#define OBJECT_WORDS   24
#define OWNER_WORDS    8
#define MODULE_WORDS   256

#define MODULE_BYTES_MAX (1ull << 30) /* as V8 has it */

#define LINE_BYTES     64
#define JUMP           0xe9
#define JUMP_BYTES     5
#define BEGIN_BYTES    7
#define CODE_ALIGNMENT 32
#define READ_BYTES     4096
/* How far a function's begin is looked for. */
#define FUNCTION_BYTES_MAX (1u << 20)

/* A function of a module, by where its code begins. */
struct function_code {
	uint64_t start;
	uint32_t slot;
};

struct known_module {
	uint64_t generation;
	uint64_t jump_table;
	uint32_t pid;
	uint32_t slot_bytes;
	struct wasm_module *module;
	ARRAY(struct function_code) codes; /* by start; as they were when the table was read */
};

struct v8_wasm_modules {
	ARRAY(struct known_module) items;
	size_t num_bytes;
	/* Of the process that was last asked for. */
	uint64_t generation;
	uint32_t pid;
	uint32_t num_failures;
};

/* What is looked at. */
struct search {
	const struct v8_wasm_layout *layout;
	const struct v8_memory *memory;
};

struct v8_wasm_modules *v8_wasm_modules_new(void)
{
	return calloc(1, sizeof(struct v8_wasm_modules));
}

void v8_wasm_modules_free(struct v8_wasm_modules *modules)
{
	if (!modules)
		return;
	array_for_each (&modules->items, known) {
		wasm_module_free(known->module);
		array_release(&known->codes);
	}
	array_release(&modules->items);
	free(modules);
}

static bool read_bytes(const struct search *search, uint64_t address, void *ret, size_t size)
{
	return !search->memory->read(search->memory->context, address, ret, size);
}

/* As many words as can be read, which lie on one page where not all can. */
static size_t read_words(const struct search *search, uint64_t address, uint64_t *ret,
			 size_t wanted)
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

/* The type of an object; 0: it is none, or cannot be read. */
static uint16_t get_type(const struct search *search, uint64_t word)
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
static uint64_t find_object(const struct search *search, uint64_t object, size_t num_words,
			    uint16_t type)
{
	uint64_t words[INSTANCE_WORDS];
	size_t num_read = read_words(search, object - 1, words, num_words);

	/* The first one is its map. */
	for (size_t i = 1; i < num_read; i++)
		if (type && get_type(search, words[i]) == type)
			return words[i];
	return 0;
}

static uint64_t find_script(const struct search *search, uint64_t instance)
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

/* Where the bytes of a module lie. */
struct module_bytes {
	const struct search *search;
	uint64_t address;
	uint64_t size;
};

static bool is_module(const struct search *search, const uint64_t place[2])
{
	uint64_t begin;

	return place[1] >= sizeof(begin) && place[1] <= MODULE_BYTES_MAX &&
	       read_bytes(search, place[0], &begin, sizeof(begin)) && begin == WASM_MODULE_BEGIN;
}

/* Whether it is somewhere in V8's module, which lies there. */
static bool find_in_module(const struct search *search, uint64_t address, struct module_bytes *ret)
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

static bool find_module_bytes(const struct search *search, uint64_t instance,
			      struct module_bytes *ret)
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

/* Where the slot with a number begins in the table. */
static uint64_t get_slot_offset(uint32_t slot, uint32_t slot_bytes)
{
	uint32_t slots_of_line = LINE_BYTES / slot_bytes;

	return (uint64_t)(slot / slots_of_line) * LINE_BYTES + slot % slots_of_line * slot_bytes;
}

/* Where a slot leads to that lies at an address; 0: it is none. */
static uint64_t get_target(const uint8_t *bytes, uint64_t address)
{
	int32_t distance;

	if (bytes[0] != JUMP)
		return 0;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return address + JUMP_BYTES + (uint64_t)(int64_t)distance;
}

static int compare_codes(const void *a, const void *b)
{
	const struct function_code *in_a = a;
	const struct function_code *in_b = b;

	if (in_a->start != in_b->start)
		return in_a->start < in_b->start ? -1 : 1;
	return in_a->slot < in_b->slot ? -1 : in_a->slot > in_b->slot;
}

/* Read the table anew. Returns 0, -EBADMSG (it is none, or cannot be read) or -ENOMEM. */
static int read_jump_table(const struct search *search, struct known_module *known)
{
	uint32_t num_slots = wasm_module_get_num_functions(known->module);
	uint64_t size =
		num_slots ? get_slot_offset(num_slots - 1, known->slot_bytes) + JUMP_BYTES : 0;
	_cleanup_free_ uint8_t *table = malloc(size + 1);

	if (!table || array_reserve(&known->codes, num_slots))
		return -ENOMEM;
	for (uint64_t done = 0; done < size; done += READ_BYTES)
		if (!read_bytes(search, known->jump_table + done, table + done,
				size - done < READ_BYTES ? size - done : READ_BYTES))
			return -EBADMSG;
	known->codes.length = 0;
	for (uint32_t slot = 0; slot < num_slots; slot++) {
		uint64_t offset = get_slot_offset(slot, known->slot_bytes);
		uint64_t target = get_target(table + offset, known->jump_table + offset);

		if (!target)
			return -EBADMSG;
		*array_add(&known->codes) = (struct function_code){.start = target, .slot = slot};
	}
	if (num_slots)
		qsort(known->codes.items, num_slots, sizeof(*known->codes.items), compare_codes);
	return 0;
}

/* Whether the code of a function begins there. */
static bool is_begin(const struct search *search, const uint8_t *bytes)
{
	const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, search->layout->marker};
	static const uint8_t first[] = {0x45, 0x31, 0xe4, 0xe8};

	return memcmp(bytes, frame, sizeof(frame)) == 0 ||
	       (bytes[0] == 0x41 && bytes[1] == 0xbc && bytes[6] == 0xe8) ||
	       memcmp(bytes, first, sizeof(first)) == 0;
}

/* Where the code begins that an instruction is in; 0: that is not known. */
static uint64_t find_start(const struct search *search, uint64_t pc)
{
	/* It may reach behind the instruction. */
	uint8_t bytes[READ_BYTES + BEGIN_BYTES];
	uint64_t last = pc & ~(uint64_t)(CODE_ALIGNMENT - 1); /* where one may begin */
	uint64_t end = last + BEGIN_BYTES;

	while (last - end + BEGIN_BYTES < FUNCTION_BYTES_MAX) {
		uint64_t start = (end - BEGIN_BYTES) & ~(uint64_t)(READ_BYTES - 1);

		if (!start || !read_bytes(search, start, bytes, end - start))
			return 0;
		for (uint64_t i = end - start - BEGIN_BYTES;; i -= CODE_ALIGNMENT) {
			if (is_begin(search, bytes + i))
				return start + i;
			if (!i)
				break;
		}
		end = start - CODE_ALIGNMENT + BEGIN_BYTES;
	}
	return 0;
}

/*
 * Whether the frame of an innermost instruction is not there: it is not made yet, or gone again. The frame pointer is the caller's then.
 *
 *     8b e5             mov %rbp,%rsp
 *     5d                pop %rbp
 *     c2 …, c3          ret
 */
static bool has_no_frame(const struct search *search, const struct v8_wasm_place *place,
			 uint64_t start)
{
	uint8_t code;

	if (!place->is_innermost)
		return false;
	return place->pc - start < BEGIN_BYTES || !read_bytes(search, place->pc, &code, 1) ||
	       code == 0xc2 || code == 0xc3;
}

/* The slot that leads to code now; num_slots: none does, as far as is known. */
static uint32_t find_slot(const struct search *search, const struct known_module *known,
			  uint64_t start)
{
	size_t number = array_count_front(&known->codes, code, code->start < start);

	for (; number < known->codes.length && known->codes.items[number].start == start;
	     number++) {
		uint32_t slot = known->codes.items[number].slot;
		uint64_t address = known->jump_table + get_slot_offset(slot, known->slot_bytes);
		uint8_t bytes[JUMP_BYTES];

		if (read_bytes(search, address, bytes, sizeof(bytes)) &&
		    get_target(bytes, address) == start)
			return slot;
	}
	return (uint32_t)known->codes.length;
}

/* Two of V8's versions have slots of different sizes: that is said by where the second one is. */
static uint32_t find_slot_bytes(const struct search *search, uint64_t table)
{
	uint8_t bytes[LINE_BYTES];

	if (!read_bytes(search, table, bytes, sizeof(bytes)) || bytes[0] != JUMP)
		return 0;
	return bytes[JUMP_BYTES] == JUMP ? JUMP_BYTES : bytes[8] == JUMP ? 8 : JUMP_BYTES;
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

static size_t get_size(const struct known_module *known)
{
	return wasm_module_get_size(known->module) +
	       known->codes.capacity * sizeof(*known->codes.items);
}

/* Whether some slot leads to a function's code; the others may lead to what compiles them first. */
static bool has_code(const struct search *search, const struct known_module *known)
{
	uint8_t bytes[BEGIN_BYTES];

	array_for_each (&known->codes, code)
		if (read_bytes(search, code->start, bytes, sizeof(bytes)) &&
		    is_begin(search, bytes))
			return true;
	return false;
}

/* The word of an instance that is the address of the module's jump table. Returns 0, -ENOENT or -ENOMEM. */
static int find_jump_table(const struct search *search, const uint64_t *words, size_t num_words,
			   struct known_module *known)
{
	for (size_t i = 1; i < num_words; i++) {
		int err;

		if (!words[i] || words[i] % LINE_BYTES)
			continue;
		known->jump_table = words[i];
		known->slot_bytes = find_slot_bytes(search, words[i]);
		err = known->slot_bytes ? read_jump_table(search, known) : -EBADMSG;
		if (err == -ENOMEM)
			return err;
		if (!err && has_code(search, known))
			return 0;
	}
	return -ENOENT;
}

/* Find a module that is not known yet, and keep it. Returns 0, -ENOENT or -ENOMEM. */
static int add_module(struct v8_wasm_modules *modules, const struct search *search,
		      const struct v8_wasm_place *place, const uint64_t *words, size_t num_words,
		      struct known_module **ret)
{
	struct known_module known = {.generation = place->generation, .pid = place->pid};
	struct module_bytes bytes;
	struct wasm_source source = {.read = read_module_bytes, .context = &bytes};
	struct known_module *added = NULL;
	int err;

	if (!find_module_bytes(search, place->instance, &bytes))
		return -ENOENT;
	source.size = bytes.size;
	err = wasm_module_read(&source, &known.module);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	err = find_jump_table(search, words, num_words, &known);
	if (!err && modules->num_bytes + get_size(&known) > V8_WASM_BYTES_MAX)
		err = -ENOENT;
	if (!err) {
		added = array_add(&modules->items);
		err = added ? 0 : -ENOMEM;
	}
	if (err) {
		wasm_module_free(known.module);
		array_release(&known.codes);
		return err;
	}
	modules->num_bytes += get_size(&known);
	*added = known;
	*ret = added;
	return 0;
}

/* Whether it is still tried to find what was not found in the process. */
static bool may_search(struct v8_wasm_modules *modules, const struct v8_wasm_place *place)
{
	if (modules->pid != place->pid || modules->generation != place->generation) {
		modules->pid = place->pid;
		modules->generation = place->generation;
		modules->num_failures = 0;
	}
	return modules->num_failures < V8_WASM_FAILURES_MAX;
}

/* Functions are compiled again as they are run often: where none is known, the table is read anew. */
static int find_function(const struct search *search, struct known_module *known, uint64_t start,
			 uint32_t *ret)
{
	uint32_t slot = find_slot(search, known, start);
	int err;

	if (slot == known->codes.length) {
		err = read_jump_table(search, known);
		if (err)
			return err == -ENOMEM ? err : -ENOENT;
		slot = find_slot(search, known, start);
	}
	if (slot == known->codes.length)
		return -ENOENT;
	*ret = wasm_module_get_num_imports(known->module) + slot;
	return 0;
}

int v8_wasm_find(struct v8_wasm_modules *modules, const struct v8_wasm_layout *layout,
		 const struct v8_memory *memory, const struct v8_wasm_place *place,
		 const struct wasm_module **ret_module, uint32_t *ret_function)
{
	const struct search search = {.layout = layout, .memory = memory};
	uint64_t words[INSTANCE_WORDS];
	struct known_module *known;
	size_t num_words;
	uint64_t start;
	int err = 0;

	if (!layout->is_known || !is_object(place->instance) || !may_search(modules, place))
		return -ENOENT;
	num_words = read_words(&search, place->instance - 1, words, INSTANCE_WORDS);
	start = num_words ? find_start(&search, place->pc) : 0;
	if (start && has_no_frame(&search, place, start))
		return -ENOENT;
	known = start ? find_known(modules, place, words, num_words) : NULL;
	if (start && !known)
		err = modules->items.length < V8_WASM_MODULES_MAX
			      ? add_module(modules, &search, place, words, num_words, &known)
			      : -ENOENT;
	if (!err)
		err = known ? find_function(&search, known, start, ret_function) : -ENOENT;
	if (err) {
		modules->num_failures += err == -ENOENT && !known;
		return err;
	}
	*ret_module = known->module;
	return 0;
}
