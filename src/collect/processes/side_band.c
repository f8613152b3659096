/*
 * Events are opened per CPU, for any process. If only some processes are targets, the records of
 * others are dropped when read. The kernel could do that with an event that belongs to a thread and
 * is inherited by its children. But such events end just when they are needed. The kernel removes
 * all events of a task at an exec that raises privileges (set-user-id, file capabilities) or that
 * its user may not inspect. It then reports neither the mappings of the new program nor its
 * children. Noticing that and reading /proc instead is too late for a process that lives for
 * milliseconds. CPU events do not belong to a task, and need no right that sampling does not need
 * too. There is one per CPU instead of one per thread and CPU. The extra cost is a copy and a hash
 * lookup for each record of a process that is not a target; these do not wake anybody.
 *
 * Whether a process is a target is known once its parent's fork was read. All rings are therefore
 * read before any record is handled, and the records sorted by time. The kernel writes a fork
 * before the child runs. So it is in the same round as the child's first record, or an earlier one.
 */
#include "collect/processes/side_band.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/log.h"
#include "collect/kernel/perf_ring.h"
#include "collect/kernel/permission_probe.h"

#define RECORD_ALIGNMENT 8 /* of records, in bytes */

#define RING_BYTES (512u << 10) /* per CPU; a few thousand records */
/*
 * Used if few of the records are about target processes. Their records are still read soon, because
 * the BPF sampler wakes us: at the exec and exit of such a process, and when it meets code without
 * a known mapping.
 */
#define FILTERED_WATERMARK_BYTES (RING_BYTES / 8)

/*
 * Anybody can make events faster than they are read. Reading /proc again takes at most this part of the
 * time, and is not done more often than this.
 */
#define SCAN_TIME_FACTOR 20
#define SCAN_PAUSE_NS    (100 * NS_PER_MS)

struct cpu_ring {
	int cpu;
	struct perf_ring ring;
};

/* A pid and whether the process that has it now is a target. */
struct followed_pid {
	uint32_t pid;
	bool is_followed;
};
INTERN_TABLE(followed_pids, struct followed_pid, pid);

struct side_band {
	struct event_queue *queue;
	uint32_t kind;
	struct file_table *files;
	struct process_table *processes;
	struct side_band_listener listener; /* all 0: no listener */
	struct thread_times *thread_times;  /* NULL: not wanted */
	ARRAY(struct cpu_ring) rings;
	struct followed_pids followed; /* empty: everybody is a target */
	ARRAY(struct kernel_code) kernel_code;
	uint64_t last_change_ns; /* of a target's exec or mapping that was read */
	uint64_t num_lost;
	bool is_behind;        /* events were lost, and /proc has not been read since */
	uint64_t next_scan_ns; /* not before then */
	bool has_no_build_ids; /* this kernel cannot put build IDs into its records */
};

struct side_band *side_band_new(struct event_queue *queue, uint32_t kind, struct file_table *files,
				struct process_table *processes)
{
	struct side_band *side_band = calloc(1, sizeof(*side_band));

	if (!side_band)
		return NULL;
	side_band->queue = queue;
	side_band->kind = kind;
	side_band->files = files;
	side_band->processes = processes;
	return side_band;
}

void side_band_set_listener(struct side_band *side_band, const struct side_band_listener *listener)
{
	side_band->listener = *listener;
}

void side_band_set_thread_times(struct side_band *side_band, struct thread_times *times)
{
	side_band->thread_times = times;
}

void side_band_close(struct side_band *side_band)
{
	array_for_each (&side_band->rings, ring)
		perf_ring_release(&ring->ring);
	array_release(&side_band->rings);
}

void side_band_free(struct side_band *side_band)
{
	if (!side_band)
		return;
	side_band_close(side_band);
	followed_pids_release(&side_band->followed);
	array_release(&side_band->kernel_code);
	free(side_band);
}

int side_band_follow(struct side_band *side_band, pid_t pid)
{
	uint32_t number;
	int err = followed_pids_intern(&side_band->followed,
				       &(struct followed_pid){.pid = (uint32_t)pid}, &number);

	if (err)
		return err;
	side_band->followed.items[number].is_followed = true;
	return 0;
}

static bool follows_all(const struct side_band *side_band)
{
	return side_band->followed.length == 0;
}

static struct followed_pid *find_followed(const struct side_band *side_band, uint32_t pid)
{
	uint32_t number =
		followed_pids_find(&side_band->followed, &(struct followed_pid){.pid = pid});

	return number == HASH_INDEX_NONE ? NULL : &side_band->followed.items[number];
}

static bool is_followed(pid_t pid, void *context)
{
	const struct followed_pid *found = find_followed(context, (uint32_t)pid);

	return found && found->is_followed;
}

static int open_event(struct side_band *side_band, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.watermark = 1,
		.wakeup_watermark = follows_all(side_band) ? 1 : FILTERED_WATERMARK_BYTES,
	};
	int fd;

	attr.build_id = !side_band->has_no_build_ids;
	fd = perf_event_open(&attr, -1, cpu);
	if (fd == -EINVAL && attr.build_id) {
		/* Before Linux 5.12. The file is then identified by device and inode. */
		attr.build_id = 0;
		fd = perf_event_open(&attr, -1, cpu);
		side_band->has_no_build_ids = fd >= 0;
	}
	return fd;
}

int side_band_open(struct side_band *side_band, int cpu)
{
	int fd = open_event(side_band, cpu);
	struct cpu_ring *ring;
	int err;

	if (fd < 0)
		return fd;
	ring = array_add(&side_band->rings);
	err = ring ? perf_ring_init(&ring->ring, fd, RING_BYTES) : -ENOMEM;
	if (err) {
		if (ring)
			side_band->rings.length--;
		close(fd);
		return err;
	}
	ring->cpu = cpu;
	return 0;
}

int side_band_explain(int err, struct error *error)
{
	if (err && error && !error->message[0])
		(void)error_set(error, err, "cannot listen to process events: %s",
				err == -EPERM || err == -EACCES
					? permission_probe_explain_call(SYS_perf_event_open)
					: strerror(-err));
	return err;
}

void side_band_close_cpu(struct side_band *side_band, int cpu)
{
	for (size_t i = side_band->rings.length; i-- > 0;) {
		if (side_band->rings.items[i].cpu != cpu)
			continue;
		perf_ring_release(&side_band->rings.items[i].ring);
		array_remove(&side_band->rings, i);
	}
}

void side_band_for_each_fd(struct side_band *side_band, void (*visit)(int fd, void *context),
			   void *context)
{
	array_for_each (&side_band->rings, ring)
		visit(ring->ring.fd, context);
}

/* The fields of PERF_RECORD_MMAP2, as far as we use them. */
struct mmap_record {
	uint32_t pid;
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	struct file_identity identity;
};

static bool read_mmap(const struct perf_event_header *header, struct mmap_record *ret)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	struct file_identity *identity = &ret->identity;
	const void *id;
	uint64_t length;

	*ret = (struct mmap_record){.pid = bytes_u32(&bytes)};
	bytes_skip(&bytes, 4); /* tid */
	ret->start = bytes_u64(&bytes);
	length = bytes_u64(&bytes);
	ret->file_offset = bytes_u64(&bytes);
	if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		uint8_t size = bytes_u8(&bytes);

		bytes_skip(&bytes, 3);
		id = bytes_take(&bytes, FILE_BUILD_ID_MAX_BYTES);
		if (id && size <= FILE_BUILD_ID_MAX_BYTES) {
			memcpy(identity->build_id, id, size);
			identity->build_id_size = size;
		}
	} else {
		identity->dev_major = bytes_u32(&bytes);
		identity->dev_minor = bytes_u32(&bytes);
		identity->inode = bytes_u64(&bytes);
		bytes_skip(&bytes, 8); /* inode generation */
	}
	bytes_skip(&bytes, 8); /* prot, flags */
	identity->path = bytes_string(&bytes);
	return !bytes.failed && !__builtin_add_overflow(ret->start, length, &ret->end);
}

/* Returns the file's number, or FILE_NONE. Running out of memory shows when the record is applied. */
static uint32_t open_mapped_file(struct side_band *side_band, uint64_t time_ns,
				 const struct perf_event_header *header)
{
	struct mmap_record record;
	struct mapped_range range;
	uint32_t file;

	if (!read_mmap(header, &record) || record.identity.path[0] != '/' ||
	    string_starts_with(record.identity.path, "//anon"))
		return FILE_NONE;
	range = (struct mapped_range){
		.pid = (pid_t)record.pid,
		.start = record.start,
		.end = record.end,
		.time_ns = time_ns,
	};
	if (file_table_add(side_band->files, &range, &record.identity, &file))
		return FILE_NONE;
	return file;
}

/*
 * Whether a record is about a target. A fork decides about the child, even if another process had
 * its pid before. An exit decides nothing: the kernel also reports one when it removes the events
 * of a task that continues (see above).
 */
static int judge(struct side_band *side_band, const struct perf_event_header *header,
		 bool *ret_is_target)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	uint32_t parent_pid = bytes_u32(&bytes); /* of a fork */
	struct followed_pid *followed;

	*ret_is_target = true;
	if (follows_all(side_band) || header->type == PERF_RECORD_KSYMBOL ||
	    header->type == PERF_RECORD_LOST)
		return 0;
	if (header->type == PERF_RECORD_FORK && pid != parent_pid &&
	    is_followed((pid_t)parent_pid, side_band))
		return side_band_follow(side_band, (pid_t)pid);
	followed = find_followed(side_band, pid);
	if (followed && header->type == PERF_RECORD_FORK && pid != parent_pid)
		followed->is_followed = false;
	*ret_is_target = followed && followed->is_followed;
	return 0;
}

/* A record that was read in this round. */
struct round_record {
	uint64_t time_ns;
	size_t offset; /* in the bytes of the round */
};

/* All records that the rings held at once. */
struct round {
	struct text bytes;
	ARRAY(struct round_record) records;
};

/* Appended to each record in the queue; its size is a multiple of eight bytes, like a record's. */
struct record_trailer {
	uint32_t file; /* of a mapping, opened when the record was read; FILE_NONE: not opened */
	uint32_t script_size; /* of the name that follows, padded with NULs; 0: no name */
};

static void round_release(struct round *round)
{
	text_release(&round->bytes);
	array_release(&round->records);
}

static int add_to_round(const struct perf_event_header *header, void *context)
{
	static const struct record_trailer no_trailer = {.file = FILE_NONE};
	struct round *round = context;
	struct round_record *record = array_add(&round->records);
	struct bytes bytes = bytes_of(header, header->size);

	if (!record)
		return -ENOMEM;
	/* sample_id_all: every record but samples ends in pid, tid and time. */
	bytes_skip(&bytes, header->size - sizeof(record->time_ns));
	record->time_ns = bytes_u64(&bytes);
	record->offset = round->bytes.length;
	text_append(&round->bytes, (const char *)header, header->size);
	text_append(&round->bytes, (const char *)&no_trailer, sizeof(no_trailer));
	return round->bytes.failed ? -ENOMEM : 0;
}

/* Sort by time; records of equal time in order of arrival. */
static int compare_records(const void *a_record, const void *b_record)
{
	const struct round_record *a = a_record;
	const struct round_record *b = b_record;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int side_band_catch_up(struct side_band *side_band)
{
	uint64_t start_ns = clock_now_ns();
	int err;

	if (!side_band->is_behind)
		return 0;
	log_debug("%llu process events lost so far; rescanning /proc",
		  (unsigned long long)side_band->num_lost);
	/* A child whose fork was lost is followed from its first sample on. */
	err = follows_all(side_band)
		      ? process_table_scan(side_band->processes)
		      : process_table_scan_some(side_band->processes, is_followed, side_band);
	side_band->is_behind = err != 0;
	side_band->next_scan_ns =
		clock_now_ns() + SCAN_PAUSE_NS + SCAN_TIME_FACTOR * (clock_now_ns() - start_ns);
	return err;
}

static int catch_up_when_due(struct side_band *side_band)
{
	return clock_now_ns() < side_band->next_scan_ns ? 0 : side_band_catch_up(side_band);
}

/*
 * The script that an exec'd program runs, followed by NULs; empty if unknown or not wanted. It is
 * read now, as the process may be gone at the record's turn. The kernel writes the record just
 * before the new command line is in place. If read too early, none is found, and it is left to the
 * first sample.
 */
static void read_script(struct side_band *side_band, const struct perf_event_header *header,
			struct text *script)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	const char *comm;

	bytes_skip(&bytes, 4); /* tid */
	comm = bytes_string(&bytes);
	if (comm)
		process_table_read_script(side_band->processes, (pid_t)pid, comm, script);
	if (!script->length)
		return;
	do
		text_append_char(script, '\0');
	while (script->length % RECORD_ALIGNMENT && !script->failed);
}

/*
 * header  of a record in a round, followed by its trailer
 */
static int queue_record(struct side_band *side_band, uint64_t time_ns,
			const struct perf_event_header *header, struct record_trailer *trailer)
{
	_cleanup_(text_release) struct text script = {0};
	_cleanup_(text_release) struct text record = {0};
	size_t size = header->size + sizeof(*trailer);

	if (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC))
		read_script(side_band, header, &script);
	if (!script.length)
		return event_queue_add(side_band->queue, time_ns, side_band->kind, header, size);
	trailer->script_size = (uint32_t)script.length;
	text_append(&record, header, size);
	text_append(&record, script.data, script.length);
	if (script.failed || record.failed)
		return -ENOMEM;
	return event_queue_add(side_band->queue, time_ns, side_band->kind, record.data,
			       record.length);
}

/* Whether the process has other code after the record's time. */
static bool changes_code(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_MMAP2 ||
	       (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC));
}

int side_band_read(struct side_band *side_band, int (*on_file)(void *context), void *context)
{
	_cleanup_(round_release) struct round round = {0};
	int err = catch_up_when_due(side_band);

	if (err)
		return err;

	array_for_each (&side_band->rings, ring) {
		err = perf_ring_read(&ring->ring, add_to_round, &round);
		if (err)
			return err;
	}
	if (round.records.length)
		qsort(round.records.items, round.records.length, sizeof(*round.records.items),
		      compare_records);
	array_for_each (&round.records, record) {
		/* Records are padded to eight bytes, and malloc() aligns the start of the text. */
		const struct perf_event_header *header =
			(const void *)(round.bytes.data + record->offset);
		struct record_trailer *trailer =
			(void *)(round.bytes.data + record->offset + header->size);
		bool is_target;

		err = judge(side_band, header, &is_target);
		if (err)
			return err;
		if (!is_target)
			continue;
		if (header->type == PERF_RECORD_MMAP2)
			trailer->file = open_mapped_file(side_band, record->time_ns, header);
		if (changes_code(header))
			side_band->last_change_ns = record->time_ns;
		err = queue_record(side_band, record->time_ns, header, trailer);
		if (err)
			return err;
		if (header->type != PERF_RECORD_MMAP2 && !trailer->script_size)
			continue;
		err = on_file(context);
		if (err)
			return err;
	}
	return 0;
}

static int apply_mmap(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	const struct record_trailer *trailer = (const void *)((const char *)header + header->size);
	struct mmap_record record;
	struct mapping mapping;

	if (!read_mmap(header, &record))
		return 0;
	mapping = (struct mapping){
		.start = record.start,
		.end = record.end,
		.file_offset = record.file_offset,
		.file = trailer->file,
	};
	return process_table_on_mmap(side_band->processes, time_ns, (pid_t)record.pid, &mapping,
				     &record.identity);
}

static int apply_comm(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	uint32_t tid = bytes_u32(&bytes);
	const char *comm = bytes_string(&bytes);
	const struct record_trailer *trailer = (const void *)((const char *)header + header->size);
	int err;

	if (!comm)
		return 0;
	if (side_band->listener.on_rename && !(header->misc & PERF_RECORD_MISC_COMM_EXEC))
		side_band->listener.on_rename(side_band->listener.context, time_ns, pid, tid, comm);
	if (pid != tid) /* a thread's name is in its samples */
		return 0;
	err = process_table_on_comm(side_band->processes, time_ns, (pid_t)pid, comm,
				    header->misc & PERF_RECORD_MISC_COMM_EXEC);
	if (err || !trailer->script_size)
		return err;
	return process_table_set_script(side_band->processes, time_ns, (pid_t)pid,
					(const char *)(trailer + 1));
}

static int apply_task(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	uint32_t parent_pid = bytes_u32(&bytes);
	uint32_t tid = bytes_u32(&bytes);
	uint32_t parent_tid = bytes_u32(&bytes);

	if (bytes.failed)
		return 0;
	if (side_band->thread_times && header->type == PERF_RECORD_EXIT) {
		thread_times_end(side_band->thread_times, time_ns, pid, tid);
	} else if (side_band->thread_times) {
		int err = thread_times_start(side_band->thread_times, time_ns, pid, tid);

		if (err)
			return err;
	}
	if (pid != tid) {
		if (header->type == PERF_RECORD_EXIT)
			process_table_on_thread_exit(side_band->processes, time_ns, (pid_t)pid);
		else if (side_band->listener.on_thread)
			side_band->listener.on_thread(side_band->listener.context, time_ns, pid,
						      tid);
		return 0;
	}
	if (header->type == PERF_RECORD_EXIT)
		return process_table_on_exit(side_band->processes, time_ns, (pid_t)pid);
	return process_table_on_fork_by(side_band->processes, time_ns, (pid_t)pid,
					(pid_t)parent_pid, (pid_t)parent_tid);
}

static int apply_ksymbol(struct side_band *side_band, const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint64_t start = bytes_u64(&bytes);
	uint32_t size_bytes = bytes_u32(&bytes);
	const char *name;
	struct kernel_code *code;

	bytes_skip(&bytes, 2); /* type */
	if (bytes_u16(&bytes) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		return 0;
	name = bytes_string(&bytes);
	if (!name)
		return 0;
	code = array_add(&side_band->kernel_code);
	if (!code)
		return -ENOMEM;
	code->start = start;
	code->size_bytes = size_bytes;
	strncpy(code->name, name, sizeof(code->name) - 1);
	return 0;
}

static int apply_lost(struct side_band *side_band, const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint64_t num_lost;

	bytes_skip(&bytes, 8); /* event id */
	num_lost = bytes_u64(&bytes);
	side_band->num_lost += num_lost;
	side_band->is_behind = true;
	return catch_up_when_due(side_band);
}

int side_band_apply(struct side_band *side_band, uint64_t time_ns, const void *record, size_t size)
{
	const struct perf_event_header *header = record;

	if (size < sizeof(*header) || size < header->size + sizeof(struct record_trailer))
		return 0;
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return apply_mmap(side_band, time_ns, header);
	case PERF_RECORD_COMM:
		return apply_comm(side_band, time_ns, header);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return apply_task(side_band, time_ns, header);
	case PERF_RECORD_KSYMBOL:
		return apply_ksymbol(side_band, header);
	case PERF_RECORD_LOST:
		return apply_lost(side_band, header);
	}
	return 0;
}

uint64_t side_band_get_last_change_ns(const struct side_band *side_band)
{
	return side_band->last_change_ns;
}

uint64_t side_band_get_lost_count(const struct side_band *side_band)
{
	return side_band->num_lost;
}

const struct kernel_code *side_band_get_kernel_code(const struct side_band *side_band,
						    size_t *ret_count)
{
	*ret_count = side_band->kernel_code.length;
	return side_band->kernel_code.items;
}
