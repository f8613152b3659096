#include "collect/trace/schedule_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/heap.h"
#include "base/intern.h"
#include "base/log.h"
#include "collect/trace/schedule_decoder.h"
#include "profile/profile.h"

/* More than any kernel has. */
#define MAX_CPUS 16384

/* A batch in the file. */
struct schedule_chunk {
	uint64_t offset : 47; /* bytes */
	uint64_t is_after_loss : 1;
	uint64_t size_bytes : 16;
};

/* Everything of one CPU. */
struct schedule_stream {
	ARRAY(struct schedule_chunk) chunks;
	uint32_t next_number; /* number of the next batch */
	bool has_lost;        /* a batch before it */
	uint32_t idle_name;
	/* While reading: */
	size_t next_chunk;
	struct wire_schedule *batch;
	struct schedule_decoder decoder;
	struct schedule_event event; /* its next one */
};

INTERN_TABLE(scheduled_threads, struct scheduled_thread, pid, tid);

struct schedule_store {
	int fd;
	struct string_table *strings; /* of the threads' names */
	uint32_t unknown_name;        /* in them */
	ARRAY(uint32_t) given_names;  /* the same of the timeline */
	uint64_t start_ns;
	uint64_t end;                          /* of the file */
	ARRAY(struct schedule_stream) streams; /* by CPU */
	struct scheduled_threads threads;
	struct schedule_store_counts counts;
	/* CPUs that have events left, as a heap (heap.h): the one with the oldest is first. */
	ARRAY(uint32_t) heap;
};

/* ---- the file ----------------------------------------------------------------------------- */

int schedule_store_new(const char *folder, struct schedule_store **ret, struct error *error)
{
	struct schedule_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	store->fd = -1;
	store->strings = string_table_new();
	if (!store->strings || string_table_add(store->strings, UNKNOWN_NAME, strlen(UNKNOWN_NAME),
						&store->unknown_name)) {
		schedule_store_free(store);
		return -ENOMEM;
	}
	store->fd = file_open_anonymous(folder, error);
	if (store->fd < 0) {
		err = store->fd;
		schedule_store_free(store);
		return err;
	}
	*ret = store;
	return 0;
}

void schedule_store_free(struct schedule_store *store)
{
	if (!store)
		return;
	array_for_each (&store->streams, stream) {
		array_release(&stream->chunks);
		free(stream->batch);
	}
	array_release(&store->streams);
	scheduled_threads_release(&store->threads);
	array_release(&store->heap);
	array_release(&store->given_names);
	string_table_free(store->strings);
	if (store->fd >= 0)
		close(store->fd);
	free(store);
}

void schedule_store_add_fds(const struct schedule_store *store, struct fd_list *fds)
{
	fd_list_add(fds, store->fd);
}

void schedule_store_set_start(struct schedule_store *store, uint64_t start_ns)
{
	store->start_ns = start_ns;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Batches of several CPUs are not in order of time. */
static int add_thread(const struct scheduled_name *named, void *context)
{
	struct schedule_store *store = context;
	struct scheduled_thread thread = {.pid = named->pid, .tid = named->tid};
	struct scheduled_thread *known;
	uint32_t id;
	int err = scheduled_threads_intern(&store->threads, &thread, &id);

	if (err)
		return err;
	known = &store->threads.items[id];
	if (named->time_ns < known->named_ns)
		return 0;
	known->name = named->name;
	known->named_ns = named->time_ns;
	return 0;
}

static struct schedule_stream *find_stream(struct schedule_store *store, uint32_t cpu)
{
	char name[32];

	while (store->streams.length <= cpu) {
		int length = snprintf(name, sizeof(name), "swapper/%zu", store->streams.length);
		struct schedule_stream *added = array_add(&store->streams);

		if (!added ||
		    string_table_add(store->strings, name, (size_t)length, &added->idle_name))
			return NULL;
	}
	return &store->streams.items[cpu];
}

/* Write a batch at the end of the file. False, and counted, when that fails. */
static bool write_batch(struct schedule_store *store, const struct wire_schedule *batch,
			size_t size)
{
	ssize_t written = pwrite(store->fd, batch, size, (off_t)store->end);

	if (written == (ssize_t)size)
		return true;
	if (!store->counts.lost_switches && !store->counts.lost_wakeups)
		log_debug("scheduling is lost, the temporary file cannot be written: %s",
			  written < 0 ? strerror(errno) : "no room");
	store->counts.lost_switches += batch->num_switches;
	store->counts.lost_wakeups += batch->num_wakeups;
	return false;
}

int schedule_store_add(struct schedule_store *store, const void *record, size_t size)
{
	struct wire_schedule batch;
	struct schedule_stream *stream;
	struct schedule_chunk *chunk;
	int err;

	if (!schedule_batch_is_valid(record, size) || size > sizeof(batch))
		return 0;
	memcpy(&batch, record, size);
	stream = batch.cpu < MAX_CPUS ? find_stream(store, batch.cpu) : NULL;
	if (!stream)
		return batch.cpu < MAX_CPUS ? -ENOMEM : 0;
	err = schedule_batch_intern(&batch, store->strings, add_thread, store);
	if (err)
		return err;
	stream->has_lost = stream->has_lost || batch.number != stream->next_number;
	stream->next_number = batch.number + 1;
	if (!write_batch(store, &batch, size)) {
		stream->has_lost = true;
		return 0;
	}
	chunk = array_add(&stream->chunks);
	if (!chunk)
		return -ENOMEM;
	*chunk = (struct schedule_chunk){
		.offset = store->end,
		.is_after_loss = stream->has_lost,
		.size_bytes = (uint16_t)size,
	};
	stream->has_lost = false;
	store->end += size;
	store->counts.switches += batch.num_switches;
	store->counts.wakeups += batch.num_wakeups;
	store->counts.size_bytes = store->end;
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int read_chunk(const struct schedule_store *store, struct schedule_stream *stream)
{
	const struct schedule_chunk *chunk = &stream->chunks.items[stream->next_chunk++];
	ssize_t got;

	if (!stream->batch)
		stream->batch = calloc(1, sizeof(*stream->batch));
	if (!stream->batch)
		return -ENOMEM;
	got = pread(store->fd, stream->batch, chunk->size_bytes, (off_t)chunk->offset);
	if (got != (ssize_t)chunk->size_bytes)
		return got < 0 ? -errno : -EIO;
	schedule_decoder_start(&stream->decoder, stream->batch, chunk->is_after_loss,
			       store->start_ns, stream->idle_name);
	return 0;
}

/* Step to the CPU's next event. Returns 1, 0 at the end, or negative errno. */
static int advance(const struct schedule_store *store, struct schedule_stream *stream)
{
	for (;;) {
		int err;

		if (stream->decoder.batch &&
		    schedule_decoder_next(&stream->decoder, &stream->event))
			return 1;
		if (stream->next_chunk == stream->chunks.length)
			return 0;
		err = read_chunk(store, stream);
		if (err)
			return err;
	}
}

static uint64_t get_time(const struct schedule_store *store, uint32_t cpu)
{
	const struct schedule_event *event = &store->streams.items[cpu].event;

	return event->is_wakeup ? event->wakeup.time_ns : event->on_cpu.time_ns;
}

static bool is_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct schedule_store *store = owner;
	uint64_t time_a = get_time(store, a);
	uint64_t time_b = get_time(store, b);

	return time_a < time_b || (time_a == time_b && a < b);
}

static int rewind_store(void *context)
{
	struct schedule_store *store = context;

	store->heap.length = 0;
	for (uint32_t cpu = 0; cpu < store->streams.length; cpu++) {
		struct schedule_stream *stream = &store->streams.items[cpu];
		uint32_t *added;
		int got;

		stream->next_chunk = 0;
		stream->decoder = (struct schedule_decoder){
			.unknown_name = store->unknown_name,
		};
		got = advance(store, stream);
		if (got < 0)
			return got;
		added = got ? array_add(&store->heap) : NULL;
		if (added)
			*added = cpu;
		else if (got)
			return -ENOMEM;
	}
	heap_heapify(store->heap.items, store->heap.length, is_before, store);
	return 0;
}

static int next_event(void *context, void *ret_item)
{
	struct schedule_store *store = context;
	struct schedule_event *ret = ret_item;
	struct schedule_stream *stream;
	uint32_t *name;
	int got;

	if (!store->heap.length)
		return 0;
	stream = &store->streams.items[store->heap.items[0]];
	*ret = stream->event;
	name = ret->is_wakeup ? &ret->wakeup.name : &ret->on_cpu.next_name;
	*name = store->given_names.items[*name];
	got = advance(store, stream);
	if (got < 0)
		return got;
	if (!got)
		store->heap.items[0] = store->heap.items[--store->heap.length];
	heap_sift_down(store->heap.items, store->heap.length, is_before, store);
	return 1;
}

int schedule_store_give(struct schedule_store *store, struct timeline *timeline)
{
	struct timeline_source source = {
		.rewind = rewind_store,
		.next = next_event,
		.context = store,
	};
	uint32_t count = string_table_get_count(store->strings);

	store->given_names.length = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *given = array_add(&store->given_names);

		if (!given || timeline_add_bytes(timeline, string_table_get(store->strings, i),
						 string_table_get_length(store->strings, i), given))
			return -ENOMEM;
	}
	timeline_set_schedule(timeline, &source);
	return 0;
}

const struct scheduled_thread *schedule_store_get_threads(const struct schedule_store *store,
							  size_t *ret_count)
{
	*ret_count = store->threads.length;
	return store->threads.items;
}

const char *schedule_store_get_name(const struct schedule_store *store, uint32_t name)
{
	return string_table_get(store->strings, name);
}

struct schedule_store_counts schedule_store_get_counts(const struct schedule_store *store)
{
	return store->counts;
}
