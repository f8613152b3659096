/*
 * A fake kernel for BPF programs: helpers and maps in memory. A test compiles a program of bpf/ unchanged, sets
 * the state of the kernel in fake_kernel, and calls the program's functions:
 *
 *	#include "bpf/fake_kernel.h"
 *
 *	#define const
 *	#include "off_cpu.bpf.c"
 *	#undef const
 *
 * User space sets a program's constants before loading; a test sets them before it calls. Therefore they are not
 * const here. The headers beside this file replace libbpf's <bpf/...> in unit tests. Each test starts with
 * fake_kernel_reset() and makes the maps that its program uses. A lookup in any other map fails the test.
 */
#ifndef BPF_FAKE_KERNEL_H
#define BPF_FAKE_KERNEL_H

#include "unit.h"

#include <string.h>

#include "base/attributes.h"

/* bpf/kernel.h defines these. */
#undef bool
#undef true
#undef false
#ifndef __TARGET_ARCH_x86
#define __TARGET_ARCH_x86
#endif
/* Selects the kernel's types in wire/types.h. */
#define __bpf__
#define preserve_access_index
/* stdlib.h declares another on_exit(). */
#define on_exit on_exit_event

#define FAKE_MAX_MAPS     40
#define FAKE_MAX_RECORDS  256
#define FAKE_RECORD_BYTES (1 << 20) /* all records */
#define FAKE_MAX_FRAMES   16
#define FAKE_MAX_MEMORIES 8
#define FAKE_ALL_FIT      (-1)

struct fake_record {
	const void *bytes;
	uint64_t size;
};

/* Readable memory of the running process. */
struct fake_memory {
	uint64_t address;
	const void *bytes;
	uint64_t size;
};

struct fake_map {
	const void *map; /* the program's variable */
	uint64_t key_size;
	uint64_t value_size;
	uint64_t max_entries;
	uint64_t num_entries;
	int is_array;
	int is_of_tasks;
	uint8_t *keys;
	uint8_t *values;
};

/* Zeros: the idle task runs on CPU 0 at time 0. */
static struct {
	uint64_t now_ns;         /* CLOCK_MONOTONIC */
	uint64_t clock_step_ns;  /* from one reading of it to the next */
	uint64_t boot_offset_ns; /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
	uint32_t cpu;
	uint32_t random;
	uint64_t pid_tgid;      /* in the first namespace */
	uint64_t namespace_dev; /* of the running thread's own PID namespace */
	uint64_t namespace_inode;
	uint64_t namespace_pid_tgid;
	void *task; /* struct task_struct */
	const char *comm;
	const void *registers; /* struct user_registers, the same for all tasks */
	void *vma;             /* struct vm_area_struct for all addresses; NULL: no mapping */
	int is_under_cgroup;
	uint64_t cookie;          /* attach cookie of the program */
	const char *lacked_field; /* field that this kernel lacks; NULL: none */
	int lacks_helpers;        /* of kernels later than 5.10 */
	uint64_t kernel_stack[FAKE_MAX_FRAMES];
	uint64_t user_stack[FAKE_MAX_FRAMES];
	uint64_t num_kernel_frames;
	uint64_t num_user_frames;
	uint64_t ring_quarters; /* used part of the ring, in quarters */
	int64_t ring_room;      /* records that still fit; FAKE_ALL_FIT: any number */
	uint64_t ring_bytes;    /* of the largest record that fits; 0: any */
	int64_t seq_room;       /* the same for the buffer of an iterator */
	uint64_t num_forced_wakeups;
	/* All other memory is unreadable. */
	struct fake_memory memories[FAKE_MAX_MEMORIES];
	uint64_t num_memories;
	/* Records that the program sent. */
	struct fake_record records[FAKE_MAX_RECORDS];
	uint64_t num_records;
	uint8_t record_bytes[FAKE_RECORD_BYTES];
	uint64_t num_record_bytes;
	struct fake_map maps[FAKE_MAX_MAPS];
	uint64_t num_maps;
} fake_kernel;

static inline void fake_kernel_release(void)
{
	for (uint64_t i = 0; i < fake_kernel.num_maps; i++) {
		free(fake_kernel.maps[i].keys);
		free(fake_kernel.maps[i].values);
	}
	memset(&fake_kernel, 0, sizeof(fake_kernel));
}

static inline void fake_kernel_reset(void)
{
	fake_kernel_release();
	fake_kernel.comm = "thread";
	fake_kernel.ring_room = fake_kernel.seq_room = FAKE_ALL_FIT;
}

/* Makes the address readable until the test ends. */
static inline void fake_memory_add(uint64_t address, const void *bytes, uint64_t size)
{
	assert_true(fake_kernel.num_memories < FAKE_MAX_MEMORIES);
	fake_kernel.memories[fake_kernel.num_memories++] =
		(struct fake_memory){address, bytes, size};
}

/* Returns 0, or -1 with zeros in ret like the kernel. */
static inline long fake_memory_read(void *ret, uint64_t size, uint64_t address)
{
	for (uint64_t i = 0; i < fake_kernel.num_memories; i++) {
		const struct fake_memory *memory = &fake_kernel.memories[i];
		uint64_t offset = address - memory->address;

		if (offset > memory->size || size > memory->size - offset)
			continue;
		memcpy(ret, (const uint8_t *)memory->bytes + offset, size);
		return 0;
	}
	memset(ret, 0, size);
	return -1;
}

/* Returns 0, or -1 if the ring is full. */
static inline long fake_record_add(int64_t *room, const void *bytes, uint64_t size)
{
	uint8_t *copy = fake_kernel.record_bytes + fake_kernel.num_record_bytes;

	if (!*room)
		return -1;
	*room -= *room != FAKE_ALL_FIT;
	assert_true(fake_kernel.num_records < FAKE_MAX_RECORDS);
	assert_true(size <= FAKE_RECORD_BYTES - fake_kernel.num_record_bytes);
	memcpy(copy, bytes, size);
	fake_kernel.records[fake_kernel.num_records++] = (struct fake_record){copy, size};
	fake_kernel.num_record_bytes += (size + 7) / 8 * 8;
	return 0;
}

static inline uint32_t fake_record_type(uint64_t number)
{
	uint32_t type;

	memcpy(&type, fake_kernel.records[number].bytes, sizeof(type));
	return type;
}

static inline uint64_t fake_record_count(uint32_t type)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < fake_kernel.num_records; i++)
		count += fake_record_type(i) == type;
	return count;
}

/* Last record of a type. Without one the test fails. */
static inline const void *fake_record_last(uint32_t type)
{
	for (uint64_t i = fake_kernel.num_records; i > 0; i--)
		if (fake_record_type(i - 1) == type)
			return fake_kernel.records[i - 1].bytes;
	fail_msg("no record of type %u was sent", type);
	return NULL;
}

static inline void fake_map_make(const void *map, uint64_t key_size, uint64_t value_size,
				 uint64_t max_entries, int is_array, int is_of_tasks)
{
	assert_true(fake_kernel.num_maps < FAKE_MAX_MAPS);
	fake_kernel.maps[fake_kernel.num_maps++] = (struct fake_map){
		.map = map,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = max_entries,
		.num_entries = is_array ? max_entries : 0,
		.is_array = is_array,
		.is_of_tasks = is_of_tasks,
		.keys = is_array ? NULL : calloc(max_entries, key_size),
		.values = calloc(max_entries, value_size),
	};
	assert_non_null(fake_kernel.maps[fake_kernel.num_maps - 1].values);
}

/* Make the map of a program's variable. */
#define FAKE_ARRAY(map, max_entries) \
	fake_map_make(&(map), sizeof(*(map).key), sizeof(*(map).value), max_entries, 1, 0)
#define FAKE_HASH(map, max_entries) \
	fake_map_make(&(map), sizeof(*(map).key), sizeof(*(map).value), max_entries, 0, 0)
/* A map of type stack. */
#define FAKE_STACK(map, value_type, max_entries) \
	fake_map_make(&(map), sizeof(uint32_t), sizeof(value_type), max_entries, 0, 0)
#define FAKE_TASK_STORAGE(map, max_entries) \
	fake_map_make(&(map), sizeof(void *), sizeof(*(map).value), max_entries, 0, 1)
/* A per-CPU map. Tests run one CPU at a time. */
#define FAKE_PER_CPU(map) FAKE_ARRAY(map, 1)
/* One ring. */
#define FAKE_RINGS(map) fake_map_make(&(map), sizeof(uint32_t), 1, 1, 1, 0)

static inline struct fake_map *fake_map_find(const void *map)
{
	for (uint64_t i = 0; i < fake_kernel.num_maps; i++)
		if (fake_kernel.maps[i].map == map)
			return &fake_kernel.maps[i];
	fail_msg("a program uses a map that the test has not made");
	return NULL;
}

static inline void *fake_map_lookup(const struct fake_map *map, const void *key)
{
	uint32_t index;

	if (map->is_array) {
		memcpy(&index, key, sizeof(index));
		return index < map->max_entries ? map->values + index * map->value_size : NULL;
	}
	for (uint64_t i = 0; i < map->num_entries; i++)
		if (!memcmp(map->keys + i * map->key_size, key, map->key_size))
			return map->values + i * map->value_size;
	return NULL;
}

/* Returns 0, or -1 if the map is full. value NULL: zeros. */
static inline long fake_map_update(struct fake_map *map, const void *key, const void *value)
{
	void *place = fake_map_lookup(map, key);

	if (!place && (map->is_array || map->num_entries == map->max_entries))
		return -1;
	if (!place) {
		memcpy(map->keys + map->num_entries * map->key_size, key, map->key_size);
		place = map->values + map->num_entries++ * map->value_size;
	}
	if (value)
		memcpy(place, value, map->value_size);
	else
		memset(place, 0, map->value_size);
	return 0;
}

/* Returns 0, or -1 if the key is missing. */
static inline long fake_map_delete(struct fake_map *map, const void *key)
{
	uint8_t *place = fake_map_lookup(map, key);
	uint64_t index;

	if (!place || map->is_array)
		return -1;
	index = (uint64_t)(place - map->values) / map->value_size;
	map->num_entries--;
	memmove(map->keys + index * map->key_size, map->keys + map->num_entries * map->key_size,
		map->key_size);
	memmove(place, map->values + map->num_entries * map->value_size, map->value_size);
	return 0;
}

#endif
