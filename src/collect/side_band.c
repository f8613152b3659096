#include "collect/side_band.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/log.h"
#include "collect/perf_ring.h"
#include "collect/refusal.h"

#define RING_BYTES (512u << 10) /* per CPU; a few thousand records */

struct cpu_ring {
	int cpu;
	struct perf_ring ring;
};

struct thread_event {
	int cpu;
	int fd; /* writes into the ring of its CPU */
};

struct side_band {
	struct event_queue *queue;
	uint32_t kind;
	struct file_table *files;
	struct process_table *processes;
	struct trace_log *trace_log; /* NULL: nobody asks for threads */
	ARRAY(struct cpu_ring) rings;
	ARRAY(struct thread_event) thread_events;
	ARRAY(struct kernel_code) kernel_code;
	uint64_t num_lost;
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

void side_band_set_trace_log(struct side_band *side_band, struct trace_log *log)
{
	side_band->trace_log = log;
}

void side_band_free(struct side_band *side_band)
{
	if (!side_band)
		return;
	array_for_each (&side_band->thread_events, event)
		close(event->fd);
	array_for_each (&side_band->rings, ring)
		perf_ring_release(&ring->ring);
	array_release(&side_band->thread_events);
	array_release(&side_band->rings);
	array_release(&side_band->kernel_code);
	free(side_band);
}

static struct cpu_ring *find_ring(struct side_band *side_band, int cpu)
{
	array_for_each (&side_band->rings, ring)
		if (ring->cpu == cpu)
			return ring;
	return NULL;
}

static int open_event(struct side_band *side_band, pid_t tid, int cpu)
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
		.ksymbol = tid == -1,
		.inherit = tid != -1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd;

	attr.build_id = !side_band->has_no_build_ids;
	fd = perf_event_open(&attr, tid, cpu);
	if (fd == -EINVAL && attr.build_id) {
		/* Before Linux 5.12. The file is then known by device and inode. */
		attr.build_id = 0;
		fd = perf_event_open(&attr, tid, cpu);
		side_band->has_no_build_ids = fd >= 0;
	}
	return fd;
}

static int add_ring(struct side_band *side_band, int cpu, int fd)
{
	struct cpu_ring *ring = array_add(&side_band->rings);
	int err = ring ? perf_ring_init(&ring->ring, fd, RING_BYTES) : -ENOMEM;

	if (err) {
		if (ring)
			side_band->rings.length--;
		close(fd);
		return err;
	}
	ring->cpu = cpu;
	return 0;
}

int side_band_open(struct side_band *side_band, pid_t tid, int cpu)
{
	struct cpu_ring *ring = find_ring(side_band, cpu);
	int fd = open_event(side_band, tid, cpu);
	struct thread_event *event;

	if (fd < 0)
		return fd;
	if (!ring)
		return add_ring(side_band, cpu, fd);
	event = array_add(&side_band->thread_events);
	if (!event || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->ring.fd)) {
		int err = event ? -errno : -ENOMEM;

		if (event)
			side_band->thread_events.length--;
		close(fd);
		return err;
	}
	*event = (struct thread_event){.cpu = cpu, .fd = fd};
	return 0;
}

int side_band_explain(int err, struct error *error)
{
	if (err && error && !error->message[0])
		(void)error_set(error, err, "cannot listen to process events: %s",
				err == -EPERM || err == -EACCES
					? refusal_explain_call(SYS_perf_event_open)
					: strerror(-err));
	return err;
}

void side_band_close_cpu(struct side_band *side_band, int cpu)
{
	for (size_t i = side_band->thread_events.length; i-- > 0;) {
		if (side_band->thread_events.items[i].cpu != cpu)
			continue;
		close(side_band->thread_events.items[i].fd);
		array_remove(&side_band->thread_events, i);
	}
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

static void open_mapped_file(struct side_band *side_band, const struct perf_event_header *header)
{
	struct mmap_record record;
	uint32_t file;

	if (read_mmap(header, &record) && record.identity.path[0] == '/' &&
	    !string_starts_with(record.identity.path, "//anon"))
		/* Only the file matters now; running out of memory shows when it is applied. */
		(void)!file_table_add(side_band->files, (pid_t)record.pid, 0, record.start,
				      record.end, &record.identity, &file);
}

static int enqueue(const struct perf_event_header *header, void *context)
{
	struct side_band *side_band = context;
	struct bytes bytes = bytes_of(header, header->size);
	uint64_t time_ns;

	/* sample_id_all: every record but samples ends in pid, tid and time. */
	bytes_skip(&bytes, header->size - sizeof(time_ns));
	time_ns = bytes_u64(&bytes);
	if (header->type == PERF_RECORD_MMAP2)
		open_mapped_file(side_band, header);
	return event_queue_add(side_band->queue, time_ns, side_band->kind, header, header->size);
}

int side_band_read(struct side_band *side_band)
{
	array_for_each (&side_band->rings, ring) {
		int err = perf_ring_read(&ring->ring, enqueue, side_band);

		if (err)
			return err;
	}
	return 0;
}

static int apply_mmap(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	struct mmap_record record;

	if (!read_mmap(header, &record))
		return 0;
	return process_table_on_mmap(side_band->processes, time_ns, (pid_t)record.pid, record.start,
				     record.end, record.file_offset, &record.identity);
}

static int apply_comm(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	uint32_t tid = bytes_u32(&bytes);
	const char *comm = bytes_string(&bytes);

	if (!comm || pid != tid) /* a thread's name comes with its samples */
		return 0;
	return process_table_on_comm(side_band->processes, time_ns, (pid_t)pid, comm,
				     header->misc & PERF_RECORD_MISC_COMM_EXEC);
}

static int apply_task(struct side_band *side_band, uint64_t time_ns,
		      const struct perf_event_header *header)
{
	struct bytes bytes = bytes_of(header + 1, header->size - sizeof(*header));
	uint32_t pid = bytes_u32(&bytes);
	uint32_t parent_pid = bytes_u32(&bytes);
	uint32_t tid = bytes_u32(&bytes);

	if (bytes.failed)
		return 0;
	if (pid != tid) {
		if (side_band->trace_log && header->type == PERF_RECORD_FORK)
			trace_log_add_thread(side_band->trace_log, time_ns, pid, tid);
		return 0;
	}
	if (header->type == PERF_RECORD_EXIT)
		return process_table_on_exit(side_band->processes, time_ns, (pid_t)pid);
	return process_table_on_fork(side_band->processes, time_ns, (pid_t)pid, (pid_t)parent_pid);
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
	log_debug("the kernel dropped %llu process events; reading /proc again",
		  (unsigned long long)num_lost);
	return process_table_scan(side_band->processes);
}

int side_band_apply(struct side_band *side_band, uint64_t time_ns, const void *record, size_t size)
{
	const struct perf_event_header *header = record;

	if (size < sizeof(*header))
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
