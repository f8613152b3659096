/*
 * data.frameinfo: stacks by number. The collector hashes a stack to a number of 64 bits, its uid,
 * writes number and addresses once, and from then on only the number. Two stacks that share their
 * callers share them in the file as well:
 *
 *	uid 7   [leaf, caller]           → link 5
 *	uid 9   [other leaf, caller]     → link 5
 *	uid 5   [caller of both, main]
 *
 * A "chain" is such a list with its link. It is made into a stack of the profile when a packet
 * names it, rootwards first. It remembers its stack, so that a deep stack costs once.
 *
 * The meaning of an address depends on the time, because libraries are unloaded and JITs write over
 * their code: a chain is made again for packets of another epoch of the map. A program that maps
 * and unmaps all the time would make that quadratic; beyond MAX_WORK_PER_BYTE the first meaning is
 * kept.
 *
 * In a Java process a packet leads to two chains, the native one and that of Java methods. The user
 * of a Java program expects the latter.
 */
#include "formats/gprofng/read_stacks.h"

#include <errno.h>
#include <string.h>

#include "formats/gprofng/read_packets.h"

/* Types of packets, and kinds of the parts of a frame packet. Source: gprofng, data_pckts.h. */
enum { FRAME_PACKET = 11, UID_PACKET = 17 };
enum { STACK_INFO = 1, JAVA_INFO = 2 };
#define LINKED 0x80000000u /* in a kind: the last 8 bytes are the uid of the callers */

#define INFO_HEADER_BYTES 16 /* of a frame packet, of each of its parts, and of a uid packet */

/* Special values in place of an address. */
#define LEAF_CHECK      UINT64_MAX
#define TRUNCATED       (UINT64_MAX - 1)
#define UNWIND_FAILED   (UINT64_MAX - 2)
#define FIRST_32_BIT    0xfffffffdull /* the first of these values in a 32-bit process */
#define MAX_DEPTH       4096          /* twice the limit of a collector */
#define JAVA_PAIR_BYTES 16            /* a bytecode index, which is not used, and a method's id */

/* Addresses looked up for each byte of the file; beyond, changes of the map are ignored. */
#define MAX_WORK_PER_BYTE 8

#define UNWIND_FAILED_NAME "[unwind failed]"
#define NO_JAVA_STACK_NAME "<no Java callstack recorded>"
#define MACHINE_NAME       "<JVM-System>"

void gprofng_stacks_release(struct gprofng_stacks *stacks)
{
	gprofng_chain_table_release(&stacks->chains);
	gprofng_stack_table_release(&stacks->stacks);
	array_release(&stacks->path);
}

/* ---- contents of the file ---- */

static uint32_t find_chain(const struct gprofng_stacks *stacks, uint64_t uid, bool is_java)
{
	struct gprofng_chain wanted = {.uid = uid, .is_java = is_java};

	return gprofng_chain_table_find(&stacks->chains, &wanted);
}

/* Add a chain of the bytes [start, end) of a record: addresses and, if it is linked, a uid. */
static int add_chain(struct gprofng_stacks *stacks, const struct gprofng_record *record,
		     size_t start, size_t end, struct gprofng_chain chain, bool is_linked)
{
	uint32_t ignored;

	if (is_linked && end - start >= 8) {
		end -= 8;
		chain.link = gprofng_record_get(record, end, 8);
	}
	if (start == end && !chain.link)
		return 0;
	chain.offset = (uint32_t)(record->offset + start);
	chain.size = (uint32_t)(end - start);
	/* The collector forgets stacks and then writes them again: the first one counts. */
	return gprofng_chain_table_intern(&stacks->chains, &chain, &ignored);
}

/*
 * A frame packet: a uid, which data packets name, and one or more parts. A process with a Java
 * virtual machine has two parts, the native stack and the Java one, each with a uid of its own.
 */
static int read_frame(struct gprofng_stacks *stacks, const struct gprofng_record *record)
{
	struct gprofng_stack stack = {.uid = gprofng_record_get(record, 8, 8)};
	size_t offset = (size_t)gprofng_record_get(record, 4, 4);
	uint32_t ignored;
	int err;

	if (offset < INFO_HEADER_BYTES)
		return 0;
	while (offset < record->size && record->size - offset >= INFO_HEADER_BYTES) {
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
		if (chain.is_java || (kind & ~LINKED) == STACK_INFO) {
			err = add_chain(stacks, record, offset + INFO_HEADER_BYTES,
					offset + (size_t)size, chain, kind & LINKED);
			if (err)
				return err;
		}
		offset += (size_t)size;
	}
	return gprofng_stack_table_intern(&stacks->stacks, &stack, &ignored);
}

/* A uid packet: a chain by itself. Others link to it, and data packets may name it directly. */
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
	if (err)
		return err;
	return profile_add_frame_location(stacks->import->profile, &frame, ret);
}

static int add_function(struct gprofng_stacks *stacks, const struct gprofng_range *range,
			uint32_t *ret)
{
	struct frame frame = {.name = range->name, .full_name = range->name};

	frame.module = range->module;
	return profile_add_frame_location(stacks->import->profile, &frame, ret);
}

/* The collector has already moved return addresses back to their calls. */
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
	stacks->import->counts.truncated_stacks++;
	return profile_add_truncated_frame(stacks->import->profile, *stack, stack);
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
	if (err)
		return err;
	return profile_add_stack(stacks->import->profile, *stack, location, stack);
}

/* Push a method; number 0: the JVM gave no stack. */
static int push_method(struct gprofng_stacks *stacks, uint64_t id, uint32_t *stack)
{
	uint32_t location;
	int err = id ? gprofng_java_find(stacks->java, stacks->import->profile, id, &location)
		     : add_named(stacks, NO_JAVA_STACK_NAME, &location);

	if (err)
		return err;
	return profile_add_stack(stacks->import->profile, *stack, location, stack);
}

/* ---- chains ---- */

static size_t get_element_size(const struct gprofng_stacks *stacks,
			       const struct gprofng_chain *chain)
{
	return chain->is_java ? JAVA_PAIR_BYTES : stacks->log->is_32_bit ? 4 : 8;
}

/* Put a chain's own elements on a stack of its callers. The file has the leaf first. */
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

/* Whether a chain's stack is known, and its addresses mean the same in this epoch. */
static bool is_made(const struct gprofng_stacks *stacks, const struct gprofng_chain *chain,
		    uint32_t epoch)
{
	return chain->is_made && (chain->is_java || chain->epoch == epoch ||
				  stacks->work / MAX_WORK_PER_BYTE > stacks->file.size);
}

/*
 * List the chains from `first` on to the root, or up to one that is made already. A path deeper
 * than any stack is truncated: the links of a damaged file may go in a circle.
 *
 * ret_is_truncated  whether callers are missing
 */
static int list_path(struct gprofng_stacks *stacks, uint32_t first, uint32_t epoch,
		     bool *ret_is_truncated)
{
	size_t depth = 0;
	uint32_t id = first;

	stacks->path.length = 0;
	*ret_is_truncated = false;
	while (id != HASH_INDEX_NONE) {
		const struct gprofng_chain *chain = &stacks->chains.items[id];
		uint32_t *added;

		if (is_made(stacks, chain, epoch))
			depth += chain->depth;
		else
			depth += chain->size / get_element_size(stacks, chain);
		if (stacks->path.length &&
		    (depth > MAX_DEPTH || stacks->path.length >= MAX_DEPTH)) {
			*ret_is_truncated = true;
			return 0;
		}
		added = array_add(&stacks->path);
		if (!added)
			return -ENOMEM;
		*added = id;
		if (is_made(stacks, chain, epoch) || !chain->link)
			return 0;
		id = find_chain(stacks, chain->link, chain->is_java);
		*ret_is_truncated = id == HASH_INDEX_NONE;
	}
	return 0;
}

static int make_chain(struct gprofng_stacks *stacks, uint32_t first, uint64_t time_ns,
		      uint32_t *ret)
{
	uint32_t epoch = gprofng_map_get_epoch(stacks->map, time_ns);
	uint32_t stack = STACK_EMPTY;
	size_t depth = 0;
	bool is_truncated;
	int err = list_path(stacks, first, epoch, &is_truncated);

	if (err)
		return err;
	if (is_truncated) {
		err = push_truncated(stacks, &stack);
		if (err)
			return err;
		depth = 1;
	}
	for (size_t i = stacks->path.length; i-- > 0;) {
		struct gprofng_chain *chain = &stacks->chains.items[stacks->path.items[i]];

		if (is_made(stacks, chain, epoch)) {
			stack = chain->stack;
			depth = chain->depth;
			continue;
		}
		err = push_chain(stacks, chain, time_ns, &stack);
		if (err)
			return err;
		depth += chain->size / get_element_size(stacks, chain);
		chain->is_made = true;
		chain->epoch = epoch;
		chain->stack = stack;
		chain->depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	}
	*ret = stack;
	return 0;
}

static int make_named(struct gprofng_stacks *stacks, const char *name, uint32_t *ret)
{
	uint32_t location;
	int err = add_named(stacks, name, &location);

	if (err)
		return err;
	return profile_add_stack(stacks->import->profile, STACK_EMPTY, location, ret);
}

int gprofng_stacks_find(struct gprofng_stacks *stacks, uint64_t uid, uint64_t time_ns,
			uint32_t *ret)
{
	struct gprofng_stack stack = {.uid = uid, .native = uid};
	uint32_t id = gprofng_stack_table_find(&stacks->stacks, &stack);
	uint32_t chain;

	if (id != HASH_INDEX_NONE)
		stack = stacks->stacks.items[id];
	if (stack.java) {
		chain = find_chain(stacks, stack.java, true);
		if (chain != HASH_INDEX_NONE)
			return make_chain(stacks, chain, time_ns, ret);
	}
	/* Threads of the JVM itself, as its compilers and collectors, have no Java stack. */
	if (stacks->java->methods.length)
		return make_named(stacks, MACHINE_NAME, ret);
	chain = find_chain(stacks, stack.native, false);
	if (chain != HASH_INDEX_NONE)
		return make_chain(stacks, chain, time_ns, ret);
	return make_named(stacks, UNKNOWN_NAME, ret);
}
