/* SPDX-License-Identifier: MIT */
/*
 * Internals of stackwide/zones.h: zones in a file that is mapped as shared memory. Include zones.h
 * instead.
 *
 * A thread appends records to a ring of its own in the file, in binary, and does nothing else: no
 * text, no system call, no lock. Records in the file survive any end of the program. Text files
 * cost several times as much, and lack the last 100 ms of a program that was killed. But a text
 * file grows as needed, while a full ring loses its oldest zones. The writer never waits for a
 * reader, and need not know of one.
 *
 *	header        a page: struct stackwide_shared_header
 *	declarations  STACKWIDE_DECLARED_BYTES of text, as in the other files: THREAD, STACK,
 *	              LOCATION, COUNTER_TRACK; each once, when it is used first, under the lock
 *	blocks        of STACKWIDE_BLOCK_BYTES; STACKWIDE_SHARED_BLOCKS in a row are a ring
 *
 * A block describes itself: its ring, the thread, its number in the ring (`sequence`, from 1) and
 * the number of valid bytes (`used`). `used` is stored last when a record is added. A reader orders
 * blocks by these numbers and finds gaps by them. Its copy of a block is valid if the sequence is
 * the same after copying as before. Records do not go across blocks. `num_started` counts the zones
 * that started in the ring before the block, so that the reader knows how many it has missed.
 *
 * Memory is reserved in the file before it is mapped, since on a full disk a store would be a
 * SIGBUS. If no ring is free, records are dropped and counted in the header. Rings of threads that
 * have ended go to new threads, which append to them. All numbers are in the machine's byte order.
 */
#ifndef STACKWIDE_ZONES_SHARED_H
#define STACKWIDE_ZONES_SHARED_H

#include <stackwide/zones_state.h>

/* Declare a new location, counter or thread in the file's text. Under the lock. */
STACKWIDE_INSIDE void stackwide_zones_declare(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	struct stackwide_shared_header *header = state->shared;
	uint64_t declared = header->declared_bytes;

	if (STACKWIDE_DECLARED_BYTES - declared < state->length) {
		__atomic_fetch_add(&header->num_undeclared, 1, __ATOMIC_RELAXED);
	} else {
		memcpy((char *)(header + 1) + declared, state->output, state->length);
		__atomic_store_n(&header->declared_bytes, declared + state->length,
				 __ATOMIC_RELEASE);
	}
	state->length = 0;
}

/*
 * Map an empty file. Under the lock. Returns 0, or -1 with errno. Earlier mappings stay: a thread
 * may be writing a record there.
 */
STACKWIDE_INSIDE int stackwide_zones_share(int fd)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	size_t size = sizeof(struct stackwide_shared_header) + STACKWIDE_DECLARED_BYTES;
	struct stackwide_slots *slots = (struct stackwide_slots *)calloc(1, sizeof(*slots));
	struct stackwide_shared_header *header;
	int err = slots ? posix_fallocate(fd, 0, (off_t)size) : ENOMEM;
	void *mapped =
		err ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED) {
		free(slots);
		errno = err ? err : errno;
		return -1;
	}
	header = (struct stackwide_shared_header *)mapped;
	header->version = 1;
	header->pid = (uint32_t)getpid();
	header->block_bytes = STACKWIDE_BLOCK_BYTES;
	header->capacity_bytes = STACKWIDE_DECLARED_BYTES;
	header->ring_blocks = STACKWIDE_SHARED_BLOCKS;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, STACKWIDE_SHARED_MAGIC, sizeof(header->magic));
	slots->before = state->slots;
	state->slots = slots;
	state->shared = header;
	return 0;
}

/*
 * Rename a file of an earlier run: the pid of that run is appended. The plain name is always that
 * of the last run's file. Returns 0, or -1 if it is not such a file.
 */
STACKWIDE_INSIDE int stackwide_zones_set_aside(int fd, const char *path)
{
	char *name = stackwide_zones_state.output; /* still unused; a stack may be small */
	char start[24];
	uint32_t pid;

	if (pread(fd, start, sizeof(start), 0) != (ssize_t)sizeof(start) ||
	    memcmp(start, STACKWIDE_SHARED_MAGIC, 16) != 0)
		return -1;
	memcpy(&pid, start + 20, sizeof(pid));
	snprintf(name, sizeof(stackwide_zones_state.output), "%s.%lu", path, (unsigned long)pid);
	return rename(path, name);
}

/* In the child of a fork: unmap the parent's memory. Only one thread runs then. Under the lock. */
STACKWIDE_INSIDE void stackwide_zones_unshare(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;

	if (!state->shared)
		return;
	munmap(state->shared, sizeof(struct stackwide_shared_header) + STACKWIDE_DECLARED_BYTES);
	for (unsigned int i = 0; i < STACKWIDE_SHARED_RINGS; i++)
		if (state->slots->items[i].blocks)
			munmap(state->slots->items[i].blocks, STACKWIDE_SHARED_BYTES);
	state->shared = NULL;
}

/* Returns a free ring, or NULL. Under the lock. */
STACKWIDE_INSIDE struct stackwide_slot *stackwide_zones_find_slot(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	struct stackwide_slot *slot = state->slots->items;
	struct stackwide_slot *end = slot + STACKWIDE_SHARED_RINGS;
	off_t offset = (off_t)(sizeof(struct stackwide_shared_header) + STACKWIDE_DECLARED_BYTES);
	void *mapped;

	while (slot < end && slot->is_taken)
		slot++;
	if (slot == end || slot->blocks)
		return slot == end ? NULL : slot;
	offset += (slot - state->slots->items) * (off_t)STACKWIDE_SHARED_BYTES;
	if (posix_fallocate(state->fd, offset, STACKWIDE_SHARED_BYTES))
		return NULL;
	mapped = mmap(NULL, STACKWIDE_SHARED_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, state->fd, offset);
	if (mapped == MAP_FAILED)
		return NULL;
	slot->blocks = (char *)mapped;
	slot->number = (uint32_t)(slot - state->slots->items);
	return slot;
}

/* Start the ring's next block in the place of its oldest one. */
STACKWIDE_INSIDE void stackwide_zones_begin_block(struct stackwide_ring *ring)
{
	struct stackwide_slot *slot = ring->slot;
	struct stackwide_block *block =
		(struct stackwide_block *)(void *)(slot->blocks + slot->sequence %
									  STACKWIDE_SHARED_BLOCKS *
									  STACKWIDE_BLOCK_BYTES);

	__atomic_store_n(&block->sequence, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	block->ring = slot->number;
	block->tid = ring->tid;
	block->num_started = slot->num_started;
	block->used = sizeof(*block);
	__atomic_store_n(&block->sequence, ++slot->sequence, __ATOMIC_RELEASE);
	ring->block = block;
	ring->used = sizeof(*block);
}

/* Prepare for the thread's first record in this file. It may get no ring. */
STACKWIDE_CALLED void stackwide_zones_attach(struct stackwide_ring *ring)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	int error = errno;

	pthread_mutex_lock(&stackwide_zones_lock);
	ring->slot = state->shared ? stackwide_zones_find_slot() : NULL;
	ring->slot_generation = state->generation;
	if (ring->slot) {
		ring->slot->is_taken = 1;
		stackwide_zones_emit_thread(ring);
		stackwide_zones_declare();
		stackwide_zones_begin_block(ring);
	}
	pthread_mutex_unlock(&stackwide_zones_lock);
	errno = error;
}

/* Under the lock. */
STACKWIDE_INSIDE void stackwide_zones_detach(struct stackwide_ring *ring)
{
	if (ring->slot && ring->slot_generation == stackwide_zones_state.generation)
		ring->slot->is_taken = 0;
	ring->slot = NULL;
}

STACKWIDE_CALLED void stackwide_zones_declare_location(struct stackwide_location *location,
						       int is_counter)
{
	int error = errno;

	pthread_mutex_lock(&stackwide_zones_lock);
	if (stackwide_zones_state.shared) {
		stackwide_zones_emit_location(location, is_counter);
		stackwide_zones_declare();
	}
	pthread_mutex_unlock(&stackwide_zones_lock);
	errno = error;
}

/* Write a record; the thread's ring is busy. Returns whether it was written. */
STACKWIDE_INSIDE int stackwide_zones_record_shared(struct stackwide_ring *ring,
						   enum stackwide_record_type type,
						   unsigned int generation, uint64_t pointer,
						   const void *of, uint64_t number,
						   const char *text, size_t text_length)
{
	size_t name_length = type == STACKWIDE_PARAM || type >= STACKWIDE_INTEGER
				     ? strnlen((const char *)of, STACKWIDE_LONGEST - text_length)
				     : 0;
	uint32_t size = (uint32_t)((sizeof(struct stackwide_shared_record) + name_length +
				    text_length + STACKWIDE_UNIT - 1) &
				   ~(size_t)(STACKWIDE_UNIT - 1));
	struct stackwide_shared_record *record;

	if (ring->slot_generation != generation)
		stackwide_zones_attach(ring);
	if (ring->slot_generation != generation)
		return 0; /* the file has been closed */
	if (!ring->slot) {
		__atomic_fetch_add(&stackwide_zones_state.shared->num_dropped, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (type == STACKWIDE_START || type == STACKWIDE_VALUE) {
		struct stackwide_location *location = (struct stackwide_location *)(uintptr_t)of;

		if (__atomic_load_n(&location->generation, __ATOMIC_ACQUIRE) != generation)
			stackwide_zones_declare_location(location, type == STACKWIDE_VALUE);
		number = location->id;
	}
	if (ring->used + size > STACKWIDE_BLOCK_BYTES)
		stackwide_zones_begin_block(ring);
	record = (struct stackwide_shared_record *)(void *)((char *)ring->block + ring->used);
	record->size = (uint16_t)size;
	record->type = (uint16_t)type;
	record->name_length = (uint16_t)name_length;
	record->text_length = (uint16_t)text_length;
	record->pointer = pointer;
	record->number = number;
	if (name_length)
		memcpy(record + 1, of, name_length);
	if (text_length)
		memcpy((char *)(record + 1) + name_length, text, text_length);
	record->time_ns = stackwide_zones_now();
	ring->slot->num_started += type == STACKWIDE_START;
	ring->used += size;
	__atomic_store_n(&ring->block->used, ring->used, __ATOMIC_RELEASE);
	return 1;
}

#endif
