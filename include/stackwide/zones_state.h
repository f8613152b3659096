/* SPDX-License-Identifier: MIT */
/*
 * Internals of stackwide/zones.h, first part: shared state, and records as text. Include zones.h
 * instead; the second part is zones_writer.h.
 *
 * Each thread appends records to a ring of its own, without locks. When a ring is full, its thread
 * empties all of them under a lock, in order of time, into the file, as text. It takes only records
 * from before the start of the emptying. Anything that happened before such a record is then in its
 * ring already. So a fiber's zones stay in order even if several threads wrote them by turns. It
 * takes a clock that all CPUs agree on: CLOCK_BOOTTIME.
 *
 * A record at least STACKWIDE_FLUSH_NS after the last write makes its thread write the records of
 * all threads, unless another thread is doing so. A program that is killed loses no more than that
 * interval. No thread of our own does this, since programs would see it.
 */
#ifndef STACKWIDE_ZONES_STATE_H
#define STACKWIDE_ZONES_STATE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef __USE_MISC
#error "stackwide/zones.h needs the C library's extensions: -std=gnu11, or _DEFAULT_SOURCE"
#endif
#ifndef __USE_GNU
extern int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);
#endif

/* ---- state shared by all files of the program; not to be used from outside ------------------ */

/* The linker keeps one of several weak definitions, however many files include this header. */
#define STACKWIDE_SHARED __attribute__((weak, visibility("default")))
/*
 * Never inlined: code that moves between threads must not keep the address of a thread's variable
 * from before a move.
 */
#define STACKWIDE_CALLED static __attribute__((noinline, unused))
#define STACKWIDE_INSIDE static __attribute__((unused))

#define STACKWIDE_RING_BYTES  65536u
#define STACKWIDE_UNIT        32u   /* sizes of records are multiples of it */
#define STACKWIDE_LONGEST     4000u /* bytes of a text; the rest is truncated */
#define STACKWIDE_LINE_BYTES  32768u
#define STACKWIDE_COMM_BYTES  32
#define STACKWIDE_NUM_SIGNALS 32
#define STACKWIDE_FLUSH_NS    100000000
/* A section's first line: pid and name of the process follow. Other readers see a comment. */
#define STACKWIDE_PROCESS_MARK "#! process "

struct stackwide_record {
	uint16_t size; /* in bytes, including the text behind it */
	uint16_t type;
	uint16_t text_length;
	uint16_t generation; /* lowest bits of the number of its file */
	uint64_t time_ns;
	uint64_t pointer; /* the zone; for a counter: its value */
	union {
		struct stackwide_location *location;
		const char *name; /* a literal, or the location (see stackwide_zones_record()) */
		uint64_t number;
	} of;
};

/* ---- shared memory: see zones_shared.h ------------------------------------------------------ */

#define STACKWIDE_SHARED_SUFFIX  ".ring" /* marks the path of such a file */
#define STACKWIDE_SHARED_MAGIC   "stackwide rings\n"
#define STACKWIDE_DECLARED_BYTES 1048576u
#define STACKWIDE_BLOCK_BYTES    4096u
#define STACKWIDE_SHARED_RINGS   256u
#ifndef STACKWIDE_SHARED_BLOCKS
#define STACKWIDE_SHARED_BLOCKS 256u /* per ring */
#endif
#define STACKWIDE_SHARED_BYTES (STACKWIDE_SHARED_BLOCKS * STACKWIDE_BLOCK_BYTES)

struct stackwide_shared_header {
	char magic[16]; /* without a NUL at its end; stored last */
	uint32_t version;
	uint32_t pid;
	uint32_t block_bytes;
	uint32_t capacity_bytes;
	uint64_t declared_bytes; /* used, of capacity_bytes */
	uint64_t num_undeclared; /* declarations dropped for lack of room */
	uint64_t num_dropped;    /* records dropped for lack of a ring */
	uint32_t ring_blocks;    /* per ring */
	char unused[4096 - 60];
};

struct stackwide_block {
	uint64_t sequence;    /* number in its ring, from 1; 0 while it is being replaced */
	uint64_t num_started; /* zones started in the ring before it */
	uint32_t ring;
	uint32_t tid;
	uint32_t used; /* bytes, including this header */
	uint32_t unused;
};

struct stackwide_shared_record {
	uint16_t size; /* in bytes, including the parameter's name and the text behind it */
	uint16_t type;
	uint16_t name_length;
	uint16_t text_length;
	uint64_t time_ns;
	uint64_t pointer; /* the zone; for a counter: its value */
	uint64_t number;  /* of the location, counter or flow */
};

/* The program's view of a ring of the file. */
struct stackwide_slot {
	char *blocks;
	uint64_t sequence; /* of the last block */
	uint64_t num_started;
	uint32_t number;
	int is_taken; /* by a thread; under the lock */
};

/* Rings of a file. Those of closed files stay, as threads may still be writing a record there. */
struct stackwide_slots {
	struct stackwide_slots *before;
	struct stackwide_slot items[STACKWIDE_SHARED_RINGS];
};

struct stackwide_ring {
	struct stackwide_ring *next;
	uint32_t tid;
	unsigned int generation;       /* of the file that contains its thread's declaration */
	int is_busy;                   /* its thread is writing a record */
	uint64_t head;                 /* bytes written ever; by its thread */
	uint64_t tail;                 /* bytes emptied ever; under the lock */
	uint64_t end;                  /* the head when emptying started; under the lock */
	struct stackwide_slot *slot;   /* its thread's ring in shared memory */
	struct stackwide_block *block; /* current block */
	uint32_t used;                 /* bytes used in it; the copy in the block is for readers */
	unsigned int slot_generation;
	uint64_t stack_begin; /* of its thread's own stack */
	uint64_t stack_end;
	char name[64];
	char data[STACKWIDE_RING_BYTES] __attribute__((aligned(32)));
};

struct stackwide_stack {
	uint64_t begin;
	uint64_t end;
	char name[64];
};

struct stackwide_digits {
	uint64_t number;
	unsigned int length;
	char text[16];
};

enum { STACKWIDE_NOT_ASKED, STACKWIDE_ON, STACKWIDE_OFF };

struct stackwide_zones {
	int is_on;
	int is_set_up;
	int fd;
	/* Each opened file has a number, so that no record gets into the wrong file. */
	unsigned int generation;
	unsigned int num_ids;
	pthread_key_t key; /* its destructor is called at the end of a thread */
	struct stackwide_ring *rings;
	unsigned int num_rings;
	/* Both always have room for the reports that the threads of the rings have yet to make. */
	struct stackwide_stack *stacks;
	unsigned int num_stacks;
	unsigned int stacks_capacity;
	uint32_t *tids; /* declared in this file */
	unsigned int num_tids;
	unsigned int tids_capacity;
	int catches_signals;
	struct sigaction actions[STACKWIDE_NUM_SIGNALS]; /* previous actions, of signals that are
							    caught */
	struct stackwide_digits pointer;                 /* upper digits of the last one */
	struct stackwide_digits time;
	unsigned int length;                    /* of the output */
	uint64_t flushed_ns;                    /* when the file was written last */
	int is_shared;                          /* the path asks for shared memory */
	struct stackwide_shared_header *shared; /* NULL: the file is text */
	struct stackwide_slots *slots;
	char path[4096];
	char own_path[4096 + 16];
	char output[65536];
};

STACKWIDE_SHARED struct stackwide_zones stackwide_zones_state;
STACKWIDE_SHARED pthread_mutex_t stackwide_zones_lock = PTHREAD_MUTEX_INITIALIZER;
STACKWIDE_SHARED __thread struct stackwide_ring *stackwide_zones_ring;

/* ---- text; under the lock ------------------------------------------------------------------- */

STACKWIDE_INSIDE uint64_t stackwide_zones_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

STACKWIDE_INSIDE void stackwide_zones_write_output(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	unsigned int done = 0;

	while (done < state->length) {
		ssize_t size = write(state->fd, state->output + done, state->length - done);

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			break; /* a full disk is no reason to stop the program */
		done += (unsigned int)size;
	}
	state->length = 0;
}

/* The last four digits of a number: "0042". In pairs; single digits would be half of all work. */
STACKWIDE_INSIDE char *stackwide_zones_put_four(char *out, unsigned int number)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	memcpy(out, pairs + number / 100 * 2, 2);
	memcpy(out + 2, pairs + number % 100 * 2, 2);
	return out + 4;
}

STACKWIDE_INSIDE char *stackwide_zones_put_number(char *out, uint64_t number)
{
	unsigned int groups[5]; /* of four digits, the last first */
	int count = 0;

	do {
		groups[count++] = (unsigned int)(number % 10000);
		number /= 10000;
	} while (number);
	count--;
	if (groups[count] >= 1000)
		*out++ = (char)('0' + groups[count] / 1000);
	if (groups[count] >= 100)
		*out++ = (char)('0' + groups[count] / 100 % 10);
	if (groups[count] >= 10)
		*out++ = (char)('0' + groups[count] / 10 % 10);
	*out++ = (char)('0' + groups[count] % 10);
	while (count)
		out = stackwide_zones_put_four(out, groups[--count]);
	return out;
}

/* The upper digits of a pointer or time usually equal those of the last one. */
STACKWIDE_INSIDE char *stackwide_zones_put_long(char *out, uint64_t number,
						struct stackwide_digits *upper)
{
	uint64_t high = number / 100000000;
	unsigned int low = (unsigned int)(number % 100000000);

	if (!high)
		return stackwide_zones_put_number(out, number);
	if (high != upper->number) {
		upper->number = high;
		upper->length =
			(unsigned int)(stackwide_zones_put_number(upper->text, high) - upper->text);
	}
	memcpy(out, upper->text, sizeof(upper->text));
	out = stackwide_zones_put_four(out + upper->length, low / 10000);
	return stackwide_zones_put_four(out, low % 10000);
}

STACKWIDE_INSIDE char *stackwide_zones_put_word(char *out, const char *word)
{
	size_t length = strlen(word);

	memcpy(out, word, length);
	return out + length;
}

/* Quoted, since it may contain any character; at most 2 * STACKWIDE_LONGEST + 3 bytes. */
STACKWIDE_INSIDE char *stackwide_zones_put_text(char *out, const char *text, size_t length)
{
	*out++ = ',';
	*out++ = '"';
	for (size_t i = 0; i < length && i < STACKWIDE_LONGEST; i++) {
		if (text[i] == '"')
			*out++ = '"';
		*out++ = (unsigned char)text[i] < ' ' ? ' ' : text[i];
	}
	*out++ = '"';
	return out;
}

/* Returns the place of the next line, with room for STACKWIDE_LINE_BYTES. */
STACKWIDE_INSIDE char *stackwide_zones_begin_line(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;

	if (sizeof(state->output) - state->length < STACKWIDE_LINE_BYTES)
		stackwide_zones_write_output();
	return state->output + state->length;
}

STACKWIDE_INSIDE void stackwide_zones_end_line(char *end)
{
	*end++ = '\n';
	stackwide_zones_state.length = (unsigned int)(end - stackwide_zones_state.output);
}

STACKWIDE_INSIDE void stackwide_zones_emit_stack(const struct stackwide_stack *stack)
{
	char *out = stackwide_zones_put_word(stackwide_zones_begin_line(), "STACK,");

	out = stackwide_zones_put_number(out, stack->begin);
	*out++ = ',';
	out = stackwide_zones_put_number(out, stack->end);
	stackwide_zones_end_line(stackwide_zones_put_text(out, stack->name, strlen(stack->name)));
}

/* Reserve room for one more stack and those of all threads. If it fails, they are not reported. */
STACKWIDE_INSIDE void stackwide_zones_reserve_reports(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	unsigned int num_stacks = state->num_stacks + state->num_rings + 1;
	unsigned int num_tids = state->num_tids + state->num_rings;
	void *grown;

	if (num_stacks > state->stacks_capacity) {
		grown = realloc(state->stacks, 2u * num_stacks * sizeof(*state->stacks));
		if (grown) {
			state->stacks = (struct stackwide_stack *)grown;
			state->stacks_capacity = 2 * num_stacks;
		}
	}
	if (num_tids > state->tids_capacity) {
		grown = realloc(state->tids, 2u * num_tids * sizeof(*state->tids));
		if (grown) {
			state->tids = (uint32_t *)grown;
			state->tids_capacity = 2 * num_tids;
		}
	}
}

/* Readers round ends up to a page. Round starts up too, so that neighbours do not overlap. */
STACKWIDE_INSIDE void stackwide_zones_keep_stack(uint64_t begin, uint64_t end, const char *name)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	struct stackwide_stack *stack;
	size_t length = strnlen(name, sizeof(stack->name) - 1);

	begin = (begin + 4095) & ~(uint64_t)4095;
	end = (end + 4095) & ~(uint64_t)4095;
	if (begin >= end)
		return;
	for (unsigned int i = 0; i < state->num_stacks; i++)
		if (begin < state->stacks[i].end && state->stacks[i].begin < end)
			return; /* memory that is used again; it keeps its first name */
	if (state->num_stacks == state->stacks_capacity)
		return;
	stack = &state->stacks[state->num_stacks++];
	stack->begin = begin;
	stack->end = end;
	memcpy(stack->name, name, length);
	stack->name[length] = '\0';
	if (state->is_on == STACKWIDE_ON)
		stackwide_zones_emit_stack(stack);
}

/* The thread and its stack, once for each tid. Several threads may have a tid one after another. */
STACKWIDE_INSIDE void stackwide_zones_emit_thread(struct stackwide_ring *ring)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	char *out;

	ring->generation = state->generation;
	stackwide_zones_keep_stack(ring->stack_begin, ring->stack_end,
				   ring->tid == (uint32_t)getpid() ? "[stack]" : ring->name);
	for (unsigned int i = 0; i < state->num_tids; i++)
		if (state->tids[i] == ring->tid)
			return;
	if (state->num_tids == state->tids_capacity)
		return;
	state->tids[state->num_tids++] = ring->tid;
	out = stackwide_zones_put_word(stackwide_zones_begin_line(), "THREAD,");
	out = stackwide_zones_put_number(out, ring->tid);
	stackwide_zones_end_line(stackwide_zones_put_text(out, ring->name, strlen(ring->name)));
}

STACKWIDE_INSIDE void stackwide_zones_emit_location(struct stackwide_location *location,
						    int is_counter)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	char *out;

	if (location->generation == state->generation)
		return;
	location->id = ++state->num_ids;
	__atomic_store_n(&location->generation, state->generation, __ATOMIC_RELEASE);
	out = stackwide_zones_put_word(stackwide_zones_begin_line(),
				       is_counter ? "COUNTER_TRACK," : "LOCATION,");
	out = stackwide_zones_put_number(out, location->id);
	out = stackwide_zones_put_text(out, location->name, strlen(location->name));
	if (!is_counter) {
		out = stackwide_zones_put_text(out, location->function, strlen(location->function));
		out = stackwide_zones_put_text(out, location->file, strlen(location->file));
		*out++ = ',';
		out = stackwide_zones_put_number(out, location->line);
	}
	stackwide_zones_end_line(out);
}

STACKWIDE_INSIDE char *stackwide_zones_put_pointer(char *out, const char *command,
						   const struct stackwide_record *record)
{
	out = stackwide_zones_put_word(out, command);
	return stackwide_zones_put_long(out, record->pointer, &stackwide_zones_state.pointer);
}

STACKWIDE_INSIDE void stackwide_zones_emit_value(const struct stackwide_record *record)
{
	int64_t value = (int64_t)record->pointer;
	char *out;

	stackwide_zones_emit_location(record->of.location, 1);
	out = stackwide_zones_put_word(stackwide_zones_begin_line(), "COUNTER_VALUE,");
	out = stackwide_zones_put_number(out, record->of.location->id);
	*out++ = ',';
	out = stackwide_zones_put_long(out, record->time_ns, &stackwide_zones_state.time);
	*out++ = ',';
	if (value < 0)
		*out++ = '-';
	stackwide_zones_end_line(
		stackwide_zones_put_number(out, value < 0 ? 0 - record->pointer : record->pointer));
}

STACKWIDE_INSIDE void stackwide_zones_emit_start(const struct stackwide_ring *ring,
						 const struct stackwide_record *record)
{
	char *out;

	stackwide_zones_emit_location(record->of.location, 0);
	out = stackwide_zones_put_pointer(stackwide_zones_begin_line(), "ZONE_START,", record);
	*out++ = ',';
	out = stackwide_zones_put_number(out, ring->tid);
	*out++ = ',';
	out = stackwide_zones_put_long(out, record->time_ns, &stackwide_zones_state.time);
	*out++ = ',';
	stackwide_zones_end_line(stackwide_zones_put_number(out, record->of.location->id));
}

STACKWIDE_INSIDE void stackwide_zones_emit(const struct stackwide_ring *ring,
					   const struct stackwide_record *record)
{
	const char *text = (const char *)(record + 1);
	char *out;

	if (record->type == STACKWIDE_START) {
		stackwide_zones_emit_start(ring, record);
		return;
	}
	if (record->type == STACKWIDE_VALUE) {
		stackwide_zones_emit_value(record);
		return;
	}
	out = stackwide_zones_begin_line();
	if (record->type == STACKWIDE_END) {
		out = stackwide_zones_put_pointer(out, "ZONE_END,", record);
		*out++ = ',';
		out = stackwide_zones_put_long(out, record->time_ns, &stackwide_zones_state.time);
	} else if (record->type == STACKWIDE_PARAM) {
		out = stackwide_zones_put_pointer(out, "ZONE_PARAM,", record);
		out = stackwide_zones_put_text(out, record->of.name, strlen(record->of.name));
		out = stackwide_zones_put_text(out, text, record->text_length);
	} else if (record->type == STACKWIDE_FLOW || record->type == STACKWIDE_LAST_FLOW) {
		out = stackwide_zones_put_pointer(
			out, record->type == STACKWIDE_FLOW ? "ZONE_FLOW," : "ZONE_FLOW_T,",
			record);
		*out++ = ',';
		out = stackwide_zones_put_number(out, record->of.number);
	} else {
		out = stackwide_zones_put_pointer(
			out, record->type == STACKWIDE_NAME ? "ZONE_NAME," : "ZONE_CATEGORY,",
			record);
		out = stackwide_zones_put_text(out, text, record->text_length);
	}
	stackwide_zones_end_line(out);
}

#endif
