/* SPDX-License-Identifier: MIT */
/*
 * The inside of stackwide/zones.h, first part: what is shared, and records as text. Include that
 * one; the second part is zones_writer.h.
 *
 * Each thread appends records to a ring of its own, without locks. When a ring is full, its thread
 * empties all of them under a lock, in order of time, into the file, as text. Only records from
 * before the emptying began are taken: whatever happened before such a record is then in its ring
 * already, so a fiber's zones stay in order though several threads wrote them by turns. That needs
 * a clock that all CPUs agree on, which CLOCK_BOOTTIME is.
 *
 * Beside that, a record that comes STACKWIDE_FLUSH_NS after the file was written last makes its
 * thread write what there is, of all threads, unless another thread is at it: a program that is
 * killed loses no more than that. There is no thread of our own for it, which programs would see.
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

/* ---- what is shared by all files of the program; not to be used from outside ---------------- */

/* Of weak definitions the linker keeps one, however many files include this header. */
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
	uint16_t size; /* in bytes, with the text behind it */
	uint16_t type;
	uint16_t text_length;
	uint16_t generation; /* of the file it is for, the lowest bits */
	uint64_t time_ns;
	uint64_t pointer; /* the zone; of a counter's value, that */
	union {
		struct stackwide_location *location;
		const char *name; /* a literal, or the location as it is passed on */
		uint64_t number;
	} of;
};

/* ---- shared memory: see zones_shared.h ------------------------------------------------------ */

#define STACKWIDE_SHARED_SUFFIX  ".ring" /* of a path that names such a file */
#define STACKWIDE_SHARED_MAGIC   "stackwide rings\n"
#define STACKWIDE_DECLARED_BYTES 1048576u
#define STACKWIDE_BLOCK_BYTES    4096u
#define STACKWIDE_SHARED_RINGS   256u
#ifndef STACKWIDE_SHARED_BLOCKS
#define STACKWIDE_SHARED_BLOCKS 256u /* of a ring */
#endif
#define STACKWIDE_SHARED_BYTES (STACKWIDE_SHARED_BLOCKS * STACKWIDE_BLOCK_BYTES)

struct stackwide_shared_header {
	char magic[16]; /* without a NUL at its end; stored last */
	uint32_t version;
	uint32_t pid;
	uint32_t block_bytes;
	uint32_t capacity_bytes;
	uint64_t declared_bytes; /* of these */
	uint64_t num_undeclared; /* for which there was no room among them */
	uint64_t num_dropped;    /* records, for want of a ring */
	uint32_t ring_blocks;    /* blocks of a ring */
	char unused[4096 - 60];
};

struct stackwide_block {
	uint64_t sequence;    /* in its ring, from 1; 0 while it is made anew */
	uint64_t num_started; /* zones that have begun in the ring before it */
	uint32_t ring;
	uint32_t tid;
	uint32_t used; /* bytes, with these */
	uint32_t unused;
};

struct stackwide_shared_record {
	uint16_t size; /* in bytes, with what is behind it: a parameter's name, the text */
	uint16_t type;
	uint16_t name_length;
	uint16_t text_length;
	uint64_t time_ns;
	uint64_t pointer; /* the zone; of a counter's value, that */
	uint64_t number;  /* of the location, counter or flow */
};

/* A ring of the file, as the program knows it. */
struct stackwide_slot {
	char *blocks;
	uint64_t sequence; /* of the last block */
	uint64_t num_started;
	uint32_t number;
	int is_taken; /* a thread has it; under the lock */
};

/* Those of a file. Others that the program has closed stay, as threads may be at a record. */
struct stackwide_slots {
	struct stackwide_slots *before;
	struct stackwide_slot items[STACKWIDE_SHARED_RINGS];
};

struct stackwide_ring {
	struct stackwide_ring *next;
	uint32_t tid;
	unsigned int generation;       /* of the file that its thread is reported in */
	int is_busy;                   /* its thread is writing a record */
	uint64_t head;                 /* bytes written ever; by its thread */
	uint64_t tail;                 /* bytes emptied ever; under the lock */
	uint64_t end;                  /* while it is emptied: of what is old enough */
	struct stackwide_slot *slot;   /* its thread's in shared memory */
	struct stackwide_block *block; /* the one that it adds to */
	uint32_t used;                 /* of that: what the file says is for readers */
	unsigned int slot_generation;
	uint64_t stack_begin; /* its thread's own stack */
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
	/* Each file that is opened has a number, so that nothing of another gets into it. */
	unsigned int generation;
	unsigned int num_ids;
	pthread_key_t key; /* its destructor is called at the end of a thread */
	struct stackwide_ring *rings;
	unsigned int num_rings;
	/* Of both there is always room for what the rings' threads are yet to report. */
	struct stackwide_stack *stacks;
	unsigned int num_stacks;
	unsigned int stacks_capacity;
	uint32_t *tids; /* declared in this file */
	unsigned int num_tids;
	unsigned int tids_capacity;
	int catches_signals;
	struct sigaction actions[STACKWIDE_NUM_SIGNALS]; /* before, of signals that are caught */
	struct stackwide_digits pointer;                 /* the last one's upper digits */
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

/* The last four digits of a number: "0042". Two at a time, or this would be half of all work. */
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

/* Of pointers and times, the upper digits are most often those of the last one. */
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

/* Quoted, for it may hold anything; at most 2 * STACKWIDE_LONGEST + 3 bytes. */
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

/* Where the next line goes: there is room for STACKWIDE_LINE_BYTES. */
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

/* Room for one more stack, and those of all threads. What cannot be kept is not reported. */
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

/* Readers round ends up to a page; begins are rounded up, too, lest neighbours overlap. */
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
			return; /* memory that is used again */
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

/* The thread and its stack; once for each tid, though one thread may have it after another. */
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
