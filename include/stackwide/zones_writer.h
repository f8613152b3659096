/* SPDX-License-Identifier: MIT */
/*
 * Internals of stackwide/zones.h, second part: rings, threads and files. Include zones.h instead.
 */
#ifndef STACKWIDE_ZONES_WRITER_H
#define STACKWIDE_ZONES_WRITER_H

#include <stackwide/zones_shared.h>

/* ---- emptying the rings; under the lock ----------------------------------------------------- */

/* The ring's next record, or NULL if no record is to be written now. */
STACKWIDE_INSIDE struct stackwide_record *stackwide_zones_peek(struct stackwide_ring *ring,
							       uint64_t limit_ns)
{
	while (ring->tail < ring->end) {
		struct stackwide_record *record =
			(struct stackwide_record *)(void *)(ring->data +
							    ring->tail % STACKWIDE_RING_BYTES);

		if (record->type != STACKWIDE_PAD)
			return record->time_ns <= limit_ns ? record : NULL;
		__atomic_store_n(&ring->tail, ring->tail + record->size, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Empty a ring up to a time. */
STACKWIDE_INSIDE void stackwide_zones_drain(struct stackwide_ring *ring, uint64_t limit_ns)
{
	struct stackwide_record *record;

	if (ring->generation != stackwide_zones_state.generation)
		stackwide_zones_emit_thread(ring);
	while ((record = stackwide_zones_peek(ring, limit_ns))) {
		if (record->generation == (uint16_t)stackwide_zones_state.generation)
			stackwide_zones_emit(ring, record);
		__atomic_store_n(&ring->tail, ring->tail + record->size, __ATOMIC_RELEASE);
	}
}

/* See the head of zones_state.h for why the time is taken before the rings' heads. */
STACKWIDE_INSIDE void stackwide_zones_empty(void)
{
	uint64_t now_ns = stackwide_zones_now();
	struct stackwide_ring *first;

	for (struct stackwide_ring *ring = stackwide_zones_state.rings; ring; ring = ring->next)
		ring->end = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	do {
		uint64_t first_ns = UINT64_MAX;
		uint64_t second_ns = now_ns;

		first = NULL;
		for (struct stackwide_ring *ring = stackwide_zones_state.rings; ring;
		     ring = ring->next) {
			struct stackwide_record *record = stackwide_zones_peek(ring, now_ns);

			if (record && record->time_ns < first_ns) {
				second_ns = first ? first_ns : second_ns;
				first_ns = record->time_ns;
				first = ring;
			} else if (record && record->time_ns < second_ns) {
				second_ns = record->time_ns;
			}
		}
		if (first)
			stackwide_zones_drain(first, second_ns);
	} while (first);
}

/* ---- files, threads, forks ------------------------------------------------------------------ */

/* The process's name, which may differ from that of the thread that opens the file; on one line. */
STACKWIDE_INSIDE void stackwide_zones_read_name(char name[STACKWIDE_COMM_BYTES])
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, name, STACKWIDE_COMM_BYTES - 1);

	if (fd >= 0)
		close(fd);
	if (length > 0) {
		name[length - 1] = '\0'; /* the kernel's newline */
	} else {
		memset(name, 0, STACKWIDE_COMM_BYTES);
		prctl(PR_GET_NAME, name);
	}
	for (; *name; name++)
		if ((unsigned char)*name < ' ')
			*name = ' ';
}

STACKWIDE_INSIDE void stackwide_zones_start_file(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	char name[STACKWIDE_COMM_BYTES];
	char *out;

	state->num_ids = state->num_tids = state->length = 0;
	__atomic_store_n(&state->flushed_ns, stackwide_zones_now(), __ATOMIC_RELAXED);
	stackwide_zones_read_name(name);
	out = stackwide_zones_put_word(state->output, STACKWIDE_PROCESS_MARK);
	out = stackwide_zones_put_number(out, (uint64_t)getpid());
	*out++ = ' ';
	stackwide_zones_end_line(stackwide_zones_put_word(out, name));
	__atomic_store_n(&state->generation, state->generation + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&state->is_on, STACKWIDE_ON, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < state->num_stacks; i++)
		stackwide_zones_emit_stack(&state->stacks[i]);
	if (state->shared)
		stackwide_zones_declare();
}

/*
 * Prepare a file with earlier sections for one more. Its last line may be incomplete if its program
 * was killed; it is removed, since the next line would be appended to it. Under the file's lock.
 * Returns 0, or -1 if the file does not contain zones of this kind.
 */
STACKWIDE_INSIDE int stackwide_zones_mend_end(int fd, off_t size)
{
	static const char mark[] = STACKWIDE_PROCESS_MARK;
	char *end = stackwide_zones_state.output; /* still unused */
	off_t start = size > (off_t)sizeof(stackwide_zones_state.output)
			      ? size - (off_t)sizeof(stackwide_zones_state.output)
			      : 0;
	ssize_t length = pread(fd, end, sizeof(mark) - 1, 0);

	if (length != (ssize_t)sizeof(mark) - 1 || memcmp(end, mark, sizeof(mark) - 1) != 0)
		return -1;
	length = pread(fd, end, sizeof(stackwide_zones_state.output), start);
	while (length > 0 && end[length - 1] != '\n')
		length--;
	if (length <= 0)
		return -1;
	return start + length == size ? 0 : ftruncate(fd, start + length);
}

/*
 * Prepare a file that an earlier run may have left: keep text to append to it, rename shared memory
 * and open a new file instead. Under the file's lock. Returns 0, or -1 if the file contains
 * something else.
 */
STACKWIDE_INSIDE int stackwide_zones_take_over(int *fd, const char *path)
{
	struct stat status;

	if (fstat(*fd, &status))
		return -1;
	if (!status.st_size)
		return 0;
	if (!stackwide_zones_state.is_shared)
		return stackwide_zones_mend_end(*fd, status.st_size);
	if (stackwide_zones_set_aside(*fd, path))
		return -1;
	close(*fd);
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (*fd < 0)
		return -1;
	return flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? -1 : 0;
}

/*
 * Open a file for zones. Its writer holds the file's lock as long as it is open. Returns the
 * descriptor, or -1 with errno: EBUSY if another process writes it, EEXIST if it contains something
 * else.
 */
STACKWIDE_INSIDE int stackwide_zones_open_path(const char *path)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC;
	struct stat status;
	int fd;

	/* Pipes and devices are only written. A pipe opened for reading would never break. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return open(path, O_WRONLY | O_CLOEXEC);
	fd = open(path, stackwide_zones_state.is_shared ? flags : flags | O_APPEND, 0666);
	if (fd < 0)
		return -1;
	/* Ignored on file systems without locks. */
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	if (stackwide_zones_take_over(&fd, path)) {
		if (fd >= 0)
			close(fd);
		errno = EEXIST;
		return -1;
	}
	if (stackwide_zones_state.is_shared && stackwide_zones_share(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* For a path that is in use or contains something else: append a dot and the pid. */
STACKWIDE_INSIDE int stackwide_zones_open_own(const char *path)
{
	char *own = stackwide_zones_state.own_path;

	snprintf(own, sizeof(stackwide_zones_state.own_path), "%.4095s.%ld", path, (long)getpid());
	return stackwide_zones_open_path(own);
}

/* Under the lock. */
STACKWIDE_INSIDE void stackwide_zones_write_all(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;

	if (state->is_on != STACKWIDE_ON || state->shared)
		return;
	stackwide_zones_empty();
	stackwide_zones_write_output();
	__atomic_store_n(&state->flushed_ns, stackwide_zones_now(), __ATOMIC_RELAXED);
}

STACKWIDE_CALLED void stackwide_zones_flush(void)
{
	pthread_mutex_lock(&stackwide_zones_lock);
	stackwide_zones_write_all();
	pthread_mutex_unlock(&stackwide_zones_lock);
}

/* Another thread may have written the file after the time of our record. */
STACKWIDE_INSIDE int stackwide_zones_are_due(uint64_t time_ns)
{
	uint64_t flushed_ns = __atomic_load_n(&stackwide_zones_state.flushed_ns, __ATOMIC_RELAXED);

	return (int64_t)(time_ns - flushed_ns) >= STACKWIDE_FLUSH_NS;
}

/* Nobody waits: the holder of the lock writes the file, or is about to. */
STACKWIDE_CALLED void stackwide_zones_flush_if_due(uint64_t time_ns)
{
	int error = errno;

	if (pthread_mutex_trylock(&stackwide_zones_lock) == 0) {
		if (stackwide_zones_are_due(time_ns))
			stackwide_zones_write_all();
		pthread_mutex_unlock(&stackwide_zones_lock);
	}
	errno = error;
}

STACKWIDE_CALLED void stackwide_zones_close(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;

	stackwide_zones_flush();
	pthread_mutex_lock(&stackwide_zones_lock);
	if (state->is_on == STACKWIDE_ON) {
		flock(state->fd, LOCK_UN); /* the mapping would keep the lock */
		close(state->fd);
	}
	__atomic_store_n(&state->is_on, STACKWIDE_OFF, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&stackwide_zones_lock);
}

STACKWIDE_INSIDE void stackwide_zones_end_thread(void *memory)
{
	struct stackwide_ring *ring = (struct stackwide_ring *)memory;
	struct stackwide_ring **place = &stackwide_zones_state.rings;

	stackwide_zones_ring = NULL;
	stackwide_zones_flush();
	pthread_mutex_lock(&stackwide_zones_lock);
	while (*place && *place != ring)
		place = &(*place)->next;
	if (*place) {
		*place = ring->next;
		stackwide_zones_state.num_rings--;
	}
	stackwide_zones_detach(ring);
	pthread_mutex_unlock(&stackwide_zones_lock);
	free(ring);
}

STACKWIDE_INSIDE void stackwide_zones_before_fork(void)
{
	pthread_mutex_lock(&stackwide_zones_lock);
}

STACKWIDE_INSIDE void stackwide_zones_in_parent(void)
{
	pthread_mutex_unlock(&stackwide_zones_lock);
}

/* The child has one thread, and reports nothing of its parent. */
STACKWIDE_INSIDE void stackwide_zones_in_child(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	struct stackwide_ring *own = stackwide_zones_ring;

	while (state->rings) {
		struct stackwide_ring *ring = state->rings;

		state->rings = ring->next;
		if (ring != own)
			free(ring);
	}
	if (own) {
		own->next = NULL;
		own->tail = own->head;
		own->tid = (uint32_t)syscall(SYS_gettid);
		own->slot = NULL;
		own->slot_generation = 0;
		state->rings = own;
	}
	state->num_rings = own != NULL;
	if (state->is_on == STACKWIDE_ON) {
		close(state->fd);
		stackwide_zones_unshare();
		state->fd = stackwide_zones_open_own(state->path);
		state->is_on = STACKWIDE_OFF;
		if (state->fd >= 0)
			stackwide_zones_start_file();
	}
	pthread_mutex_unlock(&stackwide_zones_lock);
}

/* Returns 0, or -1 with errno set. Under the lock. */
STACKWIDE_INSIDE int stackwide_zones_open_file(const char *path)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	size_t length = 0;

	for (; *path && length + 24 < sizeof(state->path); path++) {
		if (path[0] == '%' && path[1] == 'p') {
			length += (size_t)sprintf(state->path + length, "%ld", (long)getpid());
			path++;
		} else {
			state->path[length++] = *path;
		}
	}
	state->path[length] = '\0';
	state->shared = NULL;
	state->is_shared = length > strlen(STACKWIDE_SHARED_SUFFIX) &&
			   strcmp(state->path + length - strlen(STACKWIDE_SHARED_SUFFIX),
				  STACKWIDE_SHARED_SUFFIX) == 0;
	state->fd = stackwide_zones_open_path(state->path);
	if (state->fd < 0 && (errno == EBUSY || errno == EEXIST))
		state->fd = stackwide_zones_open_own(state->path);
	if (state->fd < 0)
		return -1;
	if (!state->is_set_up) {
		state->is_set_up = 1;
		pthread_key_create(&state->key, stackwide_zones_end_thread);
		pthread_atfork(stackwide_zones_before_fork, stackwide_zones_in_parent,
			       stackwide_zones_in_child);
		atexit(stackwide_zones_close);
#ifdef __GLIBC__
		at_quick_exit(stackwide_zones_close);
#endif
	}
	stackwide_zones_start_file();
	return 0;
}

STACKWIDE_CALLED int stackwide_zones_open(const char *path)
{
	int err;

	stackwide_zones_close();
	pthread_mutex_lock(&stackwide_zones_lock);
	err = stackwide_zones_open_file(path);
	pthread_mutex_unlock(&stackwide_zones_lock);
	return err;
}

/* See zones_signals.h. */
STACKWIDE_CALLED void stackwide_zones_flush_on_signals(void);

/* The first zone of the program reads the environment. */
STACKWIDE_CALLED int stackwide_zones_ask(void)
{
	struct stackwide_zones *state = &stackwide_zones_state;
	const char *path = getenv("STACKWIDE_ZONES");
	const char *signals = getenv("STACKWIDE_ZONES_SIGNALS");
	int error = errno; /* saved: a zone may precede the program's check of it */

	pthread_mutex_lock(&stackwide_zones_lock);
	if (state->is_on == STACKWIDE_NOT_ASKED &&
	    (!path || !*path || stackwide_zones_open_file(path)))
		__atomic_store_n(&state->is_on, STACKWIDE_OFF, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&stackwide_zones_lock);
	if (state->is_on == STACKWIDE_ON && signals && *signals)
		stackwide_zones_flush_on_signals();
	errno = error;
	return state->is_on == STACKWIDE_ON;
}

STACKWIDE_INSIDE unsigned int stackwide_zones_generation(void)
{
	return __atomic_load_n(&stackwide_zones_state.generation, __ATOMIC_RELAXED);
}

STACKWIDE_INSIDE int stackwide_zones_are_on(void)
{
	int is_on = __atomic_load_n(&stackwide_zones_state.is_on, __ATOMIC_RELAXED);

	return is_on == STACKWIDE_NOT_ASKED ? stackwide_zones_ask() : is_on == STACKWIDE_ON;
}

/* NULL when out of memory. */
STACKWIDE_CALLED struct stackwide_ring *stackwide_zones_new_ring(void)
{
	struct stackwide_ring *ring;
	pthread_attr_t attributes;
	void *lowest = NULL;
	size_t size = 0;
	int error = errno;

	if (posix_memalign((void **)(void *)&ring, 32, sizeof(*ring)))
		return NULL;
	memset(ring, 0, sizeof(*ring) - sizeof(ring->data));
	ring->tid = (uint32_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, ring->name);
	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstack(&attributes, &lowest, &size);
		pthread_attr_destroy(&attributes);
	}
	ring->stack_begin = (uintptr_t)lowest;
	ring->stack_end = (uintptr_t)lowest + size;
	pthread_mutex_lock(&stackwide_zones_lock);
	ring->next = stackwide_zones_state.rings;
	stackwide_zones_state.rings = ring;
	stackwide_zones_state.num_rings++;
	stackwide_zones_reserve_reports();
	pthread_mutex_unlock(&stackwide_zones_lock);
	pthread_setspecific(stackwide_zones_state.key, ring);
	stackwide_zones_ring = ring;
	errno = error;
	return ring;
}

STACKWIDE_CALLED void stackwide_zones_name_thread(const char *name)
{
	struct stackwide_ring *ring;

	if (!stackwide_zones_are_on())
		return;
	ring = stackwide_zones_ring ? stackwide_zones_ring : stackwide_zones_new_ring();
	if (!ring)
		return;
	pthread_mutex_lock(&stackwide_zones_lock);
	snprintf(ring->name, sizeof(ring->name), "%s", name);
	pthread_mutex_unlock(&stackwide_zones_lock);
}

STACKWIDE_CALLED void stackwide_zones_add_stack(const void *lowest, uint64_t size, const char *name)
{
	if (!stackwide_zones_are_on())
		return;
	pthread_mutex_lock(&stackwide_zones_lock);
	stackwide_zones_reserve_reports();
	stackwide_zones_keep_stack((uintptr_t)lowest, (uintptr_t)lowest + size, name);
	if (stackwide_zones_state.shared)
		stackwide_zones_declare();
	stackwide_zones_reserve_reports();
	pthread_mutex_unlock(&stackwide_zones_lock);
}

/* ---- records -------------------------------------------------------------------------------- */

/* Empty all rings, since the thread's own is full. */
STACKWIDE_CALLED void stackwide_zones_make_room(void)
{
	int error = errno;

	pthread_mutex_lock(&stackwide_zones_lock);
	stackwide_zones_empty();
	pthread_mutex_unlock(&stackwide_zones_lock);
	errno = error;
}

/* Contiguous room for a record; the thread's ring is busy until it is published. */
STACKWIDE_INSIDE struct stackwide_record *stackwide_zones_reserve(struct stackwide_ring *ring,
								  size_t text_length)
{
	uint32_t size =
		(uint32_t)((sizeof(struct stackwide_record) + text_length + STACKWIDE_UNIT - 1) &
			   ~(size_t)(STACKWIDE_UNIT - 1));
	uint32_t position = (uint32_t)(ring->head % STACKWIDE_RING_BYTES);
	uint32_t pad = position + size > STACKWIDE_RING_BYTES ? STACKWIDE_RING_BYTES - position : 0;
	struct stackwide_record *record =
		(struct stackwide_record *)(void *)(ring->data + position);

	while (STACKWIDE_RING_BYTES -
		       (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) <
	       pad + size)
		stackwide_zones_make_room();
	if (pad) {
		record->size = (uint16_t)pad;
		record->type = STACKWIDE_PAD;
		__atomic_store_n(&ring->head, ring->head + pad, __ATOMIC_RELEASE);
		record = (struct stackwide_record *)(void *)ring->data;
	}
	record->size = (uint16_t)size;
	record->text_length = (uint16_t)text_length;
	record->time_ns = stackwide_zones_now();
	return record;
}

/* A parameter's value as text. For a decimal, number holds its bits. */
STACKWIDE_INSIDE void stackwide_zones_format(char *text, size_t size,
					     enum stackwide_record_type type, uint64_t number)
{
	double decimal;

	if (type == STACKWIDE_INTEGER) {
		snprintf(text, size, "%lld", (long long)(int64_t)number);
		return;
	}
	memcpy(&decimal, &number, sizeof(decimal));
	snprintf(text, size, "%.15g", decimal);
}

/* Append to the ring of a text file; the thread's ring is busy. */
STACKWIDE_INSIDE void stackwide_zones_record_text(struct stackwide_ring *ring,
						  enum stackwide_record_type type,
						  unsigned int generation, uint64_t pointer,
						  const void *of, uint64_t number, const char *text,
						  size_t text_length)
{
	struct stackwide_record *record = stackwide_zones_reserve(ring, text_length);
	uint64_t time_ns;

	record->type = (uint16_t)type;
	record->generation = (uint16_t)generation;
	record->pointer = pointer;
	if (of)
		record->of.name = (const char *)of;
	else
		record->of.number = number;
	if (text_length)
		memcpy(record + 1, text, text_length);
	time_ns = record->time_ns; /* once published, it may be emptied */
	__atomic_store_n(&ring->head, ring->head + record->size, __ATOMIC_RELEASE);
	if (stackwide_zones_are_due(time_ns))
		stackwide_zones_flush_if_due(time_ns);
}

/*
 * Write a record into the calling thread's ring. Returns whether it was written: not if a signal
 * handler interrupts another record of its thread.
 */
STACKWIDE_CALLED int stackwide_zones_record(enum stackwide_record_type type,
					    unsigned int generation, uint64_t pointer,
					    const void *of, uint64_t number, const char *text)
{
	struct stackwide_ring *ring = stackwide_zones_ring;
	size_t text_length;
	char value[40];
	int is_there = 1;

	if (!ring)
		ring = stackwide_zones_new_ring();
	if (!ring || ring->is_busy)
		return 0;
	__atomic_store_n(&ring->is_busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!stackwide_zones_state.shared && type >= STACKWIDE_INTEGER) {
		stackwide_zones_format(value, sizeof(value), type, number);
		type = STACKWIDE_PARAM;
		text = value;
		text_length = strlen(value);
	} else {
		text_length = text ? strnlen(text, STACKWIDE_LONGEST) : 0;
	}
	if (stackwide_zones_state.shared)
		is_there = stackwide_zones_record_shared(ring, type, generation, pointer, of,
							 number, text, text_length);
	else
		stackwide_zones_record_text(ring, type, generation, pointer, of, number, text,
					    text_length);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&ring->is_busy, 0, __ATOMIC_RELAXED);
	return is_there;
}

#endif
