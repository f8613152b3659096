#include "formats/gprofng/read_stacks.h"

#include <errno.h>
#include <string.h>

#include "formats/gprofng/read_packets.h"

/* Types of packets, and kinds of what is in a frame packet. */
enum { FRAME_PACKET = 11, UID_PACKET = 17 };
enum { STACK_INFO = 1, JAVA_INFO = 2 };
#define LINKED 0x80000000u

#define INFO_HEADER_BYTES 16 /* of a frame packet, of each of its parts, and of a uid packet */

/* Addresses that are none. */
#define LEAF_CHECK      UINT64_MAX
#define TRUNCATED       (UINT64_MAX - 1)
#define UNWIND_FAILED   (UINT64_MAX - 2)
#define FIRST_32_BIT    0xfffffffdull /* they, in a process of 32 bits */
#define MAX_DEPTH       4096          /* a collector goes half as deep */
#define JAVA_PAIR_BYTES 16

/* Beyond so much work for each byte, changes of the map are ignored. */
#define MAX_WORK_PER_BYTE 8

#define TRUNCATED_NAME     "[truncated]"
#define UNWIND_FAILED_NAME "[unwind failed]"
#define UNKNOWN_NAME       "[unknown]"
#define NO_JAVA_STACK_NAME "<no Java callstack recorded>"
#define MACHINE_NAME       "<JVM-System>"

void gprofng_stacks_release(struct gprofng_stacks *stacks)
{
	array_release(&stacks->chains);
	array_release(&stacks->stacks);
	array_release(&stacks->path);
	hash_index_release(&stacks->chain_index);
	hash_index_release(&stacks->stack_index);
}

/* ---- what the file holds ---- */

static uint64_t hash_chain(uint64_t uid, bool is_java)
{
	return hash_mix(is_java, uid);
}

static bool is_chain(const void *owner, uint32_t item, const void *key)
{
	const struct gprofng_stacks *stacks = owner;
	const struct gprofng_chain *chain = &stacks->chains.items[item];
	const struct gprofng_chain *wanted = key;

	return chain->uid == wanted->uid && chain->is_java == wanted->is_java;
}

static uint32_t find_chain(const struct gprofng_stacks *stacks, uint64_t uid, bool is_java)
{
	struct gprofng_chain wanted = {.uid = uid, .is_java = is_java};

	return hash_index_find(&stacks->chain_index, hash_chain(uid, is_java), is_chain, stacks,
			       &wanted);
}

static bool is_stack(const void *owner, uint32_t item, const void *key)
{
	const struct gprofng_stacks *stacks = owner;

	return stacks->stacks.items[item].uid == *(const uint64_t *)key;
}

static uint32_t find_stack(const struct gprofng_stacks *stacks, uint64_t uid)
{
	return hash_index_find(&stacks->stack_index, hash_mix(0, uid), is_stack, stacks, &uid);
}

/* What [start, end) of a record holds: addresses, and the uid of what goes on. */
static int add_chain(struct gprofng_stacks *stacks, const struct gprofng_record *record,
		     size_t start, size_t end, struct gprofng_chain chain, bool is_linked)
{
	struct gprofng_chain *added;

	if (is_linked && end - start >= 8) {
		end -= 8;
		chain.link = gprofng_record_get(record, end, 8);
	}
	if ((start == end && !chain.link) ||
	    find_chain(stacks, chain.uid, chain.is_java) != HASH_INDEX_NONE)
		return 0; /* the first one counts */
	chain.offset = (uint32_t)(record->offset + start);
	chain.size = (uint32_t)(end - start);
	added = array_add(&stacks->chains);
	if (!added)
		return -ENOMEM;
	*added = chain;
	return hash_index_add(&stacks->chain_index, hash_chain(chain.uid, chain.is_java),
			      (uint32_t)(stacks->chains.length - 1));
}

static int add_stack(struct gprofng_stacks *stacks, const struct gprofng_stack *stack)
{
	struct gprofng_stack *added;

	if (find_stack(stacks, stack->uid) != HASH_INDEX_NONE)
		return 0;
	added = array_add(&stacks->stacks);
	if (!added)
		return -ENOMEM;
	*added = *stack;
	return hash_index_add(&stacks->stack_index, hash_mix(0, stack->uid),
			      (uint32_t)(stacks->stacks.length - 1));
}

static int read_frame(struct gprofng_stacks *stacks, const struct gprofng_record *record)
{
	struct gprofng_stack stack = {.uid = gprofng_record_get(record, 8, 8)};
	size_t offset = (size_t)gprofng_record_get(record, 4, 4);
	int err = 0;

	if (offset < INFO_HEADER_BYTES)
		return 0;
	while (!err && offset < record->size && record->size - offset >= INFO_HEADER_BYTES) {
		uint64_t size = gprofng_record_get(record, offset, 4);
		uint32_t kind = (uint32_t)gprofng_record_get(record, offset + 4, 4);
		struct gprofng_chain chain = {.uid = gprofng_record_get(record, offset + 8, 8)};

		if (size < INFO_HEADER_BYTES || size > record->size - offset)
			break;
		chain.is_java = (kind & ~LINKED) == JAVA_INFO;
		if (chain.is_java)
			stack.java = chain.uid;
		else if ((kind & ~LINKED) == STACK_INFO)
			stack.native = chain.uid;
		if (chain.is_java || (kind & ~LINKED) == STACK_INFO)
			err = add_chain(stacks, record, offset + INFO_HEADER_BYTES,
					offset + (size_t)size, chain, kind & LINKED);
		offset += (size_t)size;
	}
	return err ? err : add_stack(stacks, &stack);
}

/* A stack by itself, which packets may name, too. */
static int read_uid(struct gprofng_stacks *stacks, const struct gprofng_record *record)
{
	uint32_t flags = (uint32_t)gprofng_record_get(record, 4, 4);
	struct gprofng_chain chain = {.uid = gprofng_record_get(record, 8, 8)};

	if (record->size < INFO_HEADER_BYTES)
		return 0;
	return add_chain(stacks, record, INFO_HEADER_BYTES, record->size, chain, flags & LINKED);
}

int gprofng_stacks_read(struct gprofng_stacks *stacks, const struct gprofng_file *file)
{
	struct gprofng_packets packets = {stacks->import, file, 0, stacks->log->is_big_endian};
	struct gprofng_record record;
	int got = 0;

	stacks->file = *file;
	if (file->size > UINT32_MAX)
		return import_fail_member(stacks->import, file->path, UINT32_MAX,
					  "the stacks of an experiment cannot have over 4 GB");
	while ((got = gprofng_packets_next(&packets, &record)) > 0) {
		int err = 0;

		if (record.type == FRAME_PACKET)
			err = read_frame(stacks, &record);
		else if (record.type == UID_PACKET)
			err = read_uid(stacks, &record);
		if (err)
			return err;
	}
	return got;
}

/* ---- locations ---- */

static int add_named(struct gprofng_stacks *stacks, const char *name, uint32_t *ret)
{
	struct frame frame = {0};
	int err = profile_add_string(stacks->import->profile, name, &frame.name);

	frame.full_name = frame.name;
	return err ? err : profile_add_frame_location(stacks->import->profile, &frame, ret);
}

static int add_function(struct gprofng_stacks *stacks, const struct gprofng_range *range,
			uint32_t *ret)
{
	struct frame frame = {.name = range->name, .full_name = range->name};

	frame.module = range->module;
	return profile_add_frame_location(stacks->import->profile, &frame, ret);
}

/* The addresses of callers are already those of their calls. */
static int locate(struct gprofng_stacks *stacks, uint64_t pc, uint64_t time_ns, uint32_t *ret)
{
	struct profile *profile = stacks->import->profile;
	const struct gprofng_range *range = gprofng_map_find(stacks->map, pc, time_ns);

	if (!range)
		return profile_add_location(profile, LOCATION_PROCESS, stacks->process, pc, ret);
	switch ((enum gprofng_range_kind)range->kind) {
	case GPROFNG_SEGMENT:
		return profile_add_location(profile, LOCATION_FILE, range->name,
					    pc - range->start + range->value, ret);
	case GPROFNG_METHOD:
		return gprofng_java_find(stacks->java, profile, range->value, ret);
	case GPROFNG_FUNCTION:
	case GPROFNG_UNMAPPED:
		break;
	}
	return add_function(stacks, range, ret);
}

static int push_truncated(struct gprofng_stacks *stacks, uint32_t *stack)
{
	uint32_t location;
	int err = add_named(stacks, TRUNCATED_NAME, &location);

	stacks->import->counts.truncated_stacks++;
	return err ? err : profile_add_stack(stacks->import->profile, *stack, location, stack);
}

/* Put the frame of an address on a stack. */
static int push_address(struct gprofng_stacks *stacks, uint64_t pc, uint64_t time_ns,
			uint32_t *stack)
{
	uint32_t location;
	int err;

	if (stacks->log->is_32_bit && pc >= FIRST_32_BIT)
		pc |= 0xffffffff00000000ull;
	if (pc == LEAF_CHECK)
		return 0;
	if (pc == TRUNCATED)
		return push_truncated(stacks, stack);
	if (pc == UNWIND_FAILED)
		err = add_named(stacks, UNWIND_FAILED_NAME, &location);
	else
		err = locate(stacks, pc, time_ns, &location);
	return err ? err : profile_add_stack(stacks->import->profile, *stack, location, stack);
}

/* A method, or, where there is none, why. */
static int push_method(struct gprofng_stacks *stacks, uint64_t id, uint32_t *stack)
{
	uint32_t location;
	int err = id ? gprofng_java_find(stacks->java, stacks->import->profile, id, &location)
		     : add_named(stacks, NO_JAVA_STACK_NAME, &location);

	return err ? err : profile_add_stack(stacks->import->profile, *stack, location, stack);
}

/* ---- chains ---- */

static size_t get_element_size(const struct gprofng_stacks *stacks,
			       const struct gprofng_chain *chain)
{
	return chain->is_java ? JAVA_PAIR_BYTES : stacks->log->is_32_bit ? 4 : 8;
}

/* Put what a chain holds, without its link, on a stack; rootward elements are last. */
static int push_chain(struct gprofng_stacks *stacks, const struct gprofng_chain *chain,
		      uint64_t time_ns, uint32_t *stack)
{
	size_t width = get_element_size(stacks, chain);
	struct gprofng_record elements = {
		.data = stacks->file.data + chain->offset,
		.size = chain->size,
		.is_big_endian = stacks->log->is_big_endian,
	};

	stacks->work += chain->size / width;
	for (size_t i = chain->size / width; i-- > 0;) {
		int err;

		if (chain->is_java)
			err = push_method(stacks, gprofng_record_get(&elements, i * width + 8, 8),
					  stack);
		else
			err = push_address(
				stacks,
				gprofng_record_get(&elements, i * width, (unsigned int)width),
				time_ns, stack);
		if (err)
			return err;
	}
	return 0;
}

/* Whether a chain's stack is there as the map has it now. */
static bool is_made(const struct gprofng_stacks *stacks, const struct gprofng_chain *chain,
		    uint32_t epoch)
{
	return chain->is_made && (chain->is_java || chain->epoch == epoch ||
				  stacks->work / MAX_WORK_PER_BYTE > stacks->file.size);
}

/*
 * List the chains from `first` on to the root, up to one that is made. What is deeper than any
 * stack, be it because the links go in a circle, is cut.
 *
 * ret_is_cut  whether more would follow
 */
static int list_path(struct gprofng_stacks *stacks, uint32_t first, uint32_t epoch,
		     bool *ret_is_cut)
{
	size_t depth = 0;
	uint32_t id = first;

	stacks->path.length = 0;
	*ret_is_cut = false;
	while (id != HASH_INDEX_NONE) {
		const struct gprofng_chain *chain = &stacks->chains.items[id];
		uint32_t *added;

		if (is_made(stacks, chain, epoch))
			depth += chain->depth;
		else
			depth += chain->size / get_element_size(stacks, chain);
		if (stacks->path.length &&
		    (depth > MAX_DEPTH || stacks->path.length >= MAX_DEPTH)) {
			*ret_is_cut = true;
			return 0;
		}
		added = array_add(&stacks->path);
		if (!added)
			return -ENOMEM;
		*added = id;
		if (is_made(stacks, chain, epoch) || !chain->link)
			return 0;
		id = find_chain(stacks, chain->link, chain->is_java);
		*ret_is_cut = id == HASH_INDEX_NONE;
	}
	return 0;
}

static int make_chain(struct gprofng_stacks *stacks, uint32_t first, uint64_t time_ns,
		      uint32_t *ret)
{
	uint32_t epoch = gprofng_map_get_epoch(stacks->map, time_ns);
	uint32_t stack = STACK_EMPTY;
	size_t depth = 0;
	bool is_cut;
	int err = list_path(stacks, first, epoch, &is_cut);

	if (!err && is_cut) {
		err = push_truncated(stacks, &stack);
		depth = 1;
	}
	for (size_t i = stacks->path.length; !err && i-- > 0;) {
		struct gprofng_chain *chain = &stacks->chains.items[stacks->path.items[i]];

		if (is_made(stacks, chain, epoch)) {
			stack = chain->stack;
			depth = chain->depth;
			continue;
		}
		err = push_chain(stacks, chain, time_ns, &stack);
		depth += chain->size / get_element_size(stacks, chain);
		chain->is_made = true;
		chain->epoch = epoch;
		chain->stack = stack;
		chain->depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	}
	*ret = stack;
	return err;
}

static int make_named(struct gprofng_stacks *stacks, const char *name, uint32_t *ret)
{
	uint32_t location;
	int err = add_named(stacks, name, &location);

	return err ? err : profile_add_stack(stacks->import->profile, STACK_EMPTY, location, ret);
}

int gprofng_stacks_find(struct gprofng_stacks *stacks, uint64_t uid, uint64_t time_ns,
			uint32_t *ret)
{
	uint32_t id = find_stack(stacks, uid);
	struct gprofng_stack stack = {.uid = uid, .native = uid};
	uint32_t chain;

	if (id != HASH_INDEX_NONE)
		stack = stacks->stacks.items[id];
	if (stack.java) {
		chain = find_chain(stacks, stack.java, true);
		if (chain != HASH_INDEX_NONE)
			return make_chain(stacks, chain, time_ns, ret);
	}
	/* The threads that a virtual machine has for itself. */
	if (stacks->java->methods.length)
		return make_named(stacks, MACHINE_NAME, ret);
	chain = find_chain(stacks, stack.native, false);
	if (chain != HASH_INDEX_NONE)
		return make_chain(stacks, chain, time_ns, ret);
	return make_named(stacks, UNKNOWN_NAME, ret);
}
