/* Rings of several CPUs with the kernel's records in them, which the test writes: what is read, in which order, of whom. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel/perf_ring.h"
#include "collect/trace/trace_log.h"

static int open_fake_event(const struct perf_event_attr *attr, pid_t tid, int cpu);
static int init_fake_ring(struct perf_ring *ring, int fd, size_t requested_bytes);
static void release_fake_ring(struct perf_ring *ring);
static int read_fake_ring(struct perf_ring *ring,
			  int (*handle)(const struct perf_event_header *record, void *context),
			  void *context);

#define perf_event_open   open_fake_event
#define perf_ring_init    init_fake_ring
#define perf_ring_release release_fake_ring
#define perf_ring_read    read_fake_ring
#include "collect/processes/side_band.c"
#undef perf_event_open
#undef perf_ring_init
#undef perf_ring_release
#undef perf_ring_read

#include "process/process_fixture.h"
#include "unit.h"

#define NUM_CPUS    3
#define MAX_RECORDS 8
#define OTHER       11

/* A record of the kernel, and what it ends in. */
union record {
	struct perf_event_header header;
	uint8_t bytes[256];
};

static union record rings[NUM_CPUS][MAX_RECORDS];
static unsigned int num_records[NUM_CPUS];
static int fds[NUM_CPUS]; /* -1: not open */
static unsigned int num_opened;
static struct perf_event_attr last_attr;
static int open_error;
static bool has_no_build_ids;
static int ring_error;

static int open_fake_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	assert_int_equal(tid, -1);
	assert_in_range(cpu, 0, NUM_CPUS - 1);
	last_attr = *attr;
	num_opened++;
	if (open_error)
		return open_error;
	if (has_no_build_ids && attr->build_id)
		return -EINVAL;
	fds[cpu] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fds[cpu];
}

static int init_fake_ring(struct perf_ring *ring, int fd, size_t requested_bytes)
{
	if (ring_error)
		return ring_error;
	*ring = (struct perf_ring){.fd = fd, .size_bytes = requested_bytes};
	return 0;
}

static void release_fake_ring(struct perf_ring *ring)
{
	close(ring->fd);
}

static int read_fake_ring(struct perf_ring *ring,
			  int (*handle)(const struct perf_event_header *record, void *context),
			  void *context)
{
	for (unsigned int cpu = 0; cpu < NUM_CPUS; cpu++) {
		for (unsigned int i = 0; fds[cpu] == ring->fd && i < num_records[cpu]; i++) {
			int err = handle(&rings[cpu][i].header, context);

			if (err)
				return err;
		}
		if (fds[cpu] == ring->fd)
			num_records[cpu] = 0;
	}
	return 0;
}

static char notes[256]; /* of threads and renames */

static void note_rename(void *log, uint64_t time_ns, uint32_t pid, uint32_t tid, const char *comm)
{
	assert_non_null(log);
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%u/%u %s %u,", pid, tid,
		 comm, (unsigned int)time_ns);
}

static void note_thread(void *log, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	assert_non_null(log);
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%u/%u %u,", pid, tid,
		 (unsigned int)time_ns);
}

/* ---- records -------------------------------------------------------------------------------------------------------- */

static struct perf_event_header *start_record(unsigned int cpu, uint32_t type, uint16_t misc)
{
	union record *record = &rings[cpu][num_records[cpu]++];

	assert_true(num_records[cpu] <= MAX_RECORDS);
	memset(record, 0, sizeof(*record));
	record->header = (struct perf_event_header){
		.type = type, .misc = misc, .size = sizeof(record->header)};
	return &record->header;
}

static void add_bytes(struct perf_event_header *header, const void *bytes, size_t size)
{
	assert_true(header->size + size <= sizeof(union record));
	memcpy((char *)header + header->size, bytes, size);
	header->size += (uint16_t)size;
}

static void add_u32(struct perf_event_header *header, uint32_t value)
{
	add_bytes(header, &value, sizeof(value));
}

static void add_u64(struct perf_event_header *header, uint64_t value)
{
	add_bytes(header, &value, sizeof(value));
}

/* Padded to eight bytes. */
static void add_text(struct perf_event_header *header, const char *text)
{
	char padded[64] = "";

	strcpy(padded, text);
	add_bytes(header, padded, strlen(text) / 8 * 8 + 8);
}

static void end_record(struct perf_event_header *header, uint32_t pid, uint64_t time_ns)
{
	add_u32(header, pid);
	add_u32(header, pid);
	add_u64(header, time_ns);
}

static void add_task(unsigned int cpu, uint32_t type, uint64_t time_ns, uint32_t pid, uint32_t tid,
		     uint32_t parent_pid)
{
	struct perf_event_header *header = start_record(cpu, type, 0);

	add_u32(header, pid);
	add_u32(header, parent_pid);
	add_u32(header, tid);
	add_u32(header, parent_pid);
	add_u64(header, time_ns);
	end_record(header, pid, time_ns);
}

static void add_fork(unsigned int cpu, uint64_t time_ns, uint32_t pid, uint32_t parent_pid)
{
	add_task(cpu, PERF_RECORD_FORK, time_ns, pid, pid, parent_pid);
}

static void add_comm(unsigned int cpu, uint64_t time_ns, uint32_t pid, uint32_t tid, uint16_t misc,
		     const char *comm)
{
	struct perf_event_header *header = start_record(cpu, PERF_RECORD_COMM, misc);

	add_u32(header, pid);
	add_u32(header, tid);
	add_text(header, comm);
	end_record(header, pid, time_ns);
}

static struct perf_event_header *add_mmap(unsigned int cpu, uint64_t time_ns, uint32_t pid,
					  uint64_t start, uint64_t length, const char *path)
{
	struct perf_event_header *header = start_record(cpu, PERF_RECORD_MMAP2, 0);

	add_u32(header, pid);
	add_u32(header, pid);
	add_u64(header, start);
	add_u64(header, length);
	add_u64(header, 0x3000); /* in the file */
	add_u32(header, 8);      /* device */
	add_u32(header, 1);
	add_u64(header, 777); /* inode */
	add_u64(header, 0);
	add_u64(header, 5); /* prot, flags */
	add_text(header, path);
	end_record(header, pid, time_ns);
	return header;
}

static void add_symbol(uint64_t start, uint32_t size, uint16_t flags, const char *name)
{
	struct perf_event_header *header = start_record(0, PERF_RECORD_KSYMBOL, 0);

	add_u64(header, start);
	add_u32(header, size);
	add_u32(header, 1u | (uint32_t)flags << 16);
	add_text(header, name);
	end_record(header, 0, 500);
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

struct scene {
	struct fixture *fixture;
	struct event_queue *queue;
	struct side_band *side_band;
	unsigned int num_files; /* on_file() was called */
	unsigned int fail_file; /* its number, from 1 on; 0: none */
	char order[256];        /* of records that were queued: type and time */
};

static int set_up_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	void *fixture;

	assert_non_null(scene);
	assert_int_equal(set_up(&fixture), 0);
	scene->fixture = fixture;
	scene->queue = event_queue_new();
	scene->side_band =
		side_band_new(scene->queue, 4, scene->fixture->files, scene->fixture->table);
	assert_non_null(scene->side_band);
	memset(num_records, 0, sizeof(num_records));
	memset(fds, -1, sizeof(fds));
	num_opened = 0;
	open_error = ring_error = 0;
	has_no_build_ids = false;
	notes[0] = '\0';
	*state = scene;
	return 0;
}

static int tear_down_scene(void **state)
{
	struct scene *scene = *state;
	void *fixture = scene->fixture;

	side_band_free(scene->side_band);
	event_queue_free(scene->queue);
	free(scene);
	return tear_down(&fixture);
}

static void open_rings(struct scene *scene)
{
	for (int cpu = 0; cpu < NUM_CPUS; cpu++)
		assert_int_equal(side_band_open(scene->side_band, cpu), 0);
}

static int on_file(void *context)
{
	struct scene *scene = context;

	return ++scene->num_files == scene->fail_file ? -EINTR : 0;
}

static int apply(uint64_t time_ns, uint32_t kind, const void *record, size_t size, void *context)
{
	struct scene *scene = context;
	const struct perf_event_header *header = record;

	assert_int_equal(kind, 4);
	assert_true(size >= header->size + sizeof(struct record_trailer));
	snprintf(scene->order + strlen(scene->order), sizeof(scene->order) - strlen(scene->order),
		 "%u@%u ", header->type, (unsigned int)time_ns);
	return side_band_apply(scene->side_band, time_ns, record, size);
}

/* All that the rings hold. Returns the records in their order. */
static const char *read_all(struct scene *scene)
{
	scene->order[0] = '\0';
	assert_int_equal(side_band_read(scene->side_band, on_file, scene), 0);
	assert_int_equal(event_queue_drain(scene->queue, UINT64_MAX, apply, scene), 0);
	return scene->order;
}

static void a_ring_of_each_cpu_is_asked_for_what_happens(void **state)
{
	struct scene *scene = *state;

	open_rings(scene);
	assert_int_equal(num_opened, NUM_CPUS);
	assert_int_equal(last_attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(last_attr.config, PERF_COUNT_SW_DUMMY);
	assert_int_equal(last_attr.size, sizeof(last_attr));
	assert_int_equal(last_attr.sample_type, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	assert_true(last_attr.sample_id_all && last_attr.mmap && last_attr.mmap2 &&
		    last_attr.comm && last_attr.comm_exec && last_attr.task && last_attr.ksymbol &&
		    last_attr.exclude_kernel && last_attr.use_clockid && last_attr.watermark &&
		    last_attr.build_id);
	assert_int_equal(last_attr.clockid, CLOCK_BOOTTIME);
	assert_int_equal(last_attr.wakeup_watermark, 1);
	/* Of targets alone we are woken elsewhere. */
	assert_int_equal(side_band_follow(scene->side_band, PID), 0);
	assert_int_equal(side_band_open(scene->side_band, 0), 0);
	assert_int_equal(last_attr.wakeup_watermark, 64 << 10);
}

/* The first CPU shows it. */
static void an_old_kernel_is_asked_for_build_ids_once(void **state)
{
	struct scene *scene = *state;

	has_no_build_ids = true;
	open_rings(scene);
	assert_int_equal(num_opened, NUM_CPUS + 1);
	assert_false(last_attr.build_id);
	/* What is refused all the same is refused. */
	open_error = -EINVAL;
	assert_int_equal(side_band_open(scene->side_band, 0), -EINVAL);
	assert_int_equal(num_opened, NUM_CPUS + 2);
}

static void another_error_says_nothing_of_build_ids(void **state)
{
	struct scene *scene = *state;

	open_error = -ENODEV;
	assert_int_equal(side_band_open(scene->side_band, 0), -ENODEV);
	assert_int_equal(num_opened, 1);
	open_error = -EINVAL;
	assert_int_equal(side_band_open(scene->side_band, 0), -EINVAL);
	assert_int_equal(num_opened, 3);
	open_error = 0;
	assert_int_equal(side_band_open(scene->side_band, 0), 0);
	assert_true(last_attr.build_id);
}

static void a_ring_that_cannot_be_mapped_is_closed(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(side_band_open(scene->side_band, 1), 0);
	ring_error = -EPERM;
	assert_int_equal(side_band_open(scene->side_band, 0), -EPERM);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	fds[0] = -1;
	add_fork(1, 10, PID, 7);
	assert_string_equal(read_all(scene), "7@10 ");
}

static void count_fd(int fd, void *context)
{
	assert_true(fd >= 0);
	++*(unsigned int *)context;
}

static void a_cpu_that_goes_takes_its_ring(void **state)
{
	struct scene *scene = *state;
	unsigned int count = 0;

	open_rings(scene);
	side_band_for_each_fd(scene->side_band, count_fd, &count);
	assert_int_equal(count, NUM_CPUS);
	side_band_close_cpu(scene->side_band, 1);
	for (int cpu = 0; cpu < NUM_CPUS; cpu++)
		assert_int_equal(fcntl(fds[cpu], F_GETFD) >= 0, cpu != 1);
	count = 0;
	side_band_for_each_fd(scene->side_band, count_fd, &count);
	assert_int_equal(count, NUM_CPUS - 1);
	side_band_close_cpu(scene->side_band, 1);
	add_fork(2, 10, PID, 7);
	assert_string_equal(read_all(scene), "7@10 ");
}

static void errors_are_explained_once(void **state _unused_)
{
	struct error error = {0};

	assert_int_equal(side_band_explain(0, &error), 0);
	assert_string_equal(error.message, "");
	assert_int_equal(side_band_explain(-ENODEV, &error), -ENODEV);
	assert_string_equal(error.message, "cannot listen to process events: No such device");
	assert_int_equal(side_band_explain(-EPERM, &error), -EPERM);
	assert_string_equal(error.message, "cannot listen to process events: No such device");
	error = (struct error){0};
	assert_int_equal(side_band_explain(-EPERM, &error), -EPERM);
	assert_null(strstr(error.message, "Operation not permitted"));
	error = (struct error){0};
	assert_int_equal(side_band_explain(-EACCES, &error), -EACCES);
	assert_null(strstr(error.message, "Permission denied"));
}

static void records_of_all_cpus_are_in_order_of_time(void **state)
{
	struct scene *scene = *state;

	open_rings(scene);
	add_fork(0, 30, 30, 7);
	add_fork(0, 40, 40, 7);
	add_fork(1, 10, 10, 7);
	add_task(1, PERF_RECORD_EXIT, 35, 10, 10, 7);
	add_fork(2, 20, 20, 7);
	assert_string_equal(read_all(scene), "7@10 7@20 7@30 4@35 7@40 ");
	assert_int_equal(process_table_get_count(scene->fixture->table), 4);
	assert_string_equal(read_all(scene), "");
	/* Of one time: as they were read. */
	add_fork(0, 50, 50, 7);
	add_comm(0, 50, 50, 50, 0, "b");
	add_comm(0, 50, 50, 50, 0, "c");
	assert_string_equal(read_all(scene), "7@50 3@50 3@50 ");
	assert_string_equal(find(scene->fixture, 60, 50, NO_GEN)->comm, "c");
}

/* What a target starts is one. */
static void only_targets_are_taken(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(side_band_follow(scene->side_band, PID), 0);
	open_rings(scene);
	add_fork(0, 10, CHILD, PID);
	add_comm(1, 20, CHILD, CHILD, 0, "child");
	add_comm(1, 21, OTHER, OTHER, 0, "other");
	add_fork(0, 22, OTHER + 1, OTHER);
	assert_string_equal(read_all(scene), "7@10 3@20 ");
	/* Its pid is another process's: what that starts is none. */
	add_task(0, PERF_RECORD_EXIT, 30, CHILD, CHILD, PID);
	add_fork(0, 40, CHILD, OTHER);
	add_comm(0, 50, CHILD, CHILD, 0, "new");
	add_fork(0, 60, OTHER + 2, CHILD);
	assert_string_equal(read_all(scene), "4@30 ");
	/* A thread is its process's, whoever that is. */
	add_task(0, PERF_RECORD_FORK, 70, PID, PID + 90, PID);
	add_task(0, PERF_RECORD_FORK, 71, OTHER, OTHER + 90, OTHER);
	assert_string_equal(read_all(scene), "7@70 ");
	add_symbol(0x1000, 8, 0, "bpf_prog");
	assert_string_equal(read_all(scene), "17@500 ");
}

static void a_mapping_has_its_file(void **state)
{
	struct scene *scene = *state;
	const struct mapping *mapping;
	struct process *process;

	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	add_mmap(0, 10, PID, 0x10000, 0x2000, "/no/file");
	add_mmap(0, 11, PID, 0x20000, 0x1000, "//anon");
	add_mmap(0, 12, PID, 0x30000, 0x1000, "[stack]");
	read_all(scene);
	assert_int_equal(scene->num_files, 3);
	process = find(scene->fixture, 20, PID, NO_GEN);
	assert_mapped(scene->fixture, process, 0x10000, "/no/file");
	assert_mapped(scene->fixture, process, 0x11fff, "/no/file");
	assert_mapped(scene->fixture, process, 0x12000, NULL);
	assert_mapped(scene->fixture, process, 0x20000, "");
	assert_mapped(scene->fixture, process, 0x30000, "");
	mapping = process_find_mapping(process, 0x10000);
	assert_int_equal(mapping->file_offset, 0x3000);
}

/* Ones that end beyond the last address, or within themselves. */
static void broken_mappings_are_left_out(void **state)
{
	struct scene *scene = *state;
	struct perf_event_header *header;

	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	add_mmap(0, 10, PID, 0xfffffffffffff000, 0x1001, "/no/file");
	header = start_record(0, PERF_RECORD_MMAP2, 0);
	add_u32(header, PID);
	end_record(header, PID, 11);
	read_all(scene);
	assert_mapped(scene->fixture, find(scene->fixture, 20, PID, NO_GEN), 0xfffffffffffff000,
		      NULL);
}

static void a_build_id_is_as_long_as_it_says(void **state)
{
	static const uint8_t sizes[] = {0, 20, 21};

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct mmap_record record;
		struct perf_event_header *header;
		uint8_t id[24] = {sizes[i], 0, 0, 0, 1, 2, 3};

		num_records[0] = 0;
		header = start_record(0, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
		add_u32(header, PID);
		add_u32(header, PID);
		add_u64(header, 0x10000);
		add_u64(header, 0x1000);
		add_u64(header, 0);
		add_bytes(header, id, sizeof(id));
		add_u64(header, 5);
		add_text(header, "/no/file");
		end_record(header, PID, 10);
		assert_true(read_mmap(header, &record));
		assert_int_equal(record.identity.build_id_size, sizes[i] == 20 ? 20 : 0);
		assert_int_equal(record.identity.build_id[2], sizes[i] == 20 ? 3 : 0);
		assert_int_equal(record.identity.inode, 0);
		assert_string_equal(record.identity.path, "/no/file");
	}
	num_records[0] = 0;
	(void)state;
}

static void a_file_has_its_device_and_inode(void **state _unused_)
{
	struct mmap_record record;

	assert_true(read_mmap(add_mmap(0, 10, PID, 0x10000, 0x1000, "/a"), &record));
	assert_int_equal(record.pid, PID);
	assert_int_equal(record.identity.dev_major, 8);
	assert_int_equal(record.identity.dev_minor, 1);
	assert_int_equal(record.identity.inode, 777);
	assert_int_equal(record.identity.build_id_size, 0);
	num_records[0] = 0;
}

/* Other events do not change the code of a process. */
static void execs_and_mappings_of_targets_are_changes(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(side_band_follow(scene->side_band, PID), 0);
	open_rings(scene);
	assert_int_equal(side_band_get_last_change_ns(scene->side_band), 0);
	add_mmap(0, 10, PID, 0x10000, 0x2000, "/a");
	(void)read_all(scene);
	assert_int_equal(side_band_get_last_change_ns(scene->side_band), 10);
	add_mmap(0, 20, PID + 1, 0x10000, 0x2000, "/a");
	(void)read_all(scene);
	assert_int_equal(side_band_get_last_change_ns(scene->side_band), 10);
	add_comm(0, 30, PID, PID, 0, "thread");
	(void)read_all(scene);
	assert_int_equal(side_band_get_last_change_ns(scene->side_band), 10);
	add_comm(0, 40, PID, PID, PERF_RECORD_MISC_COMM_EXEC, "program");
	(void)read_all(scene);
	assert_int_equal(side_band_get_last_change_ns(scene->side_band), 40);
}

static void an_answer_of_on_file_ends_the_round(void **state)
{
	struct scene *scene = *state;

	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	add_mmap(0, 10, PID, 0x10000, 0x2000, "/a");
	add_mmap(0, 11, PID, 0x20000, 0x2000, "/b");
	scene->fail_file = 1;
	assert_int_equal(side_band_read(scene->side_band, on_file, scene), -EINTR);
	assert_int_equal(event_queue_get_length(scene->queue), 1);
}

static void put_command_line(struct scene *scene)
{
	static const char line[] = "python3\0long_name.py";
	_cleanup_(text_release) struct text path =
		fake_proc_path(&scene->fixture->proc, "8/cmdline");
	FILE *file = fopen(path.data, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(line, 1, sizeof(line), file), sizeof(line));
	assert_int_equal(fclose(file), 0);
}

static void an_exec_has_its_script(void **state)
{
	struct scene *scene = *state;

	process_table_keep_scripts(scene->fixture->table);
	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	add_process(scene->fixture, PID, "python3", "");
	put_command_line(scene);
	fake_proc_write(&scene->fixture->proc, "8/status", "Name:\tpython3\nUid:\t0\t0\t0\t0\n");
	add_comm(0, 10, PID, PID, PERF_RECORD_MISC_COMM_EXEC, "python3");
	/* A rename is no exec. */
	add_comm(0, 20, PID, PID, 0, "python3");
	read_all(scene);
	assert_int_equal(scene->num_files, 1);
	assert_string_equal(process_get_script(find(scene->fixture, 30, PID, NO_GEN)),
			    "long_name.py");
}

static void new_threads_and_names_are_noted_for_a_trace(void **state)
{
	struct scene *scene = *state;

	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	add_task(0, PERF_RECORD_FORK, 10, PID, PID + 1, PID);
	read_all(scene);
	assert_string_equal(notes, "");
	side_band_set_listener(scene->side_band,
			       &(struct side_band_listener){note_thread, note_rename, scene});
	add_task(0, PERF_RECORD_FORK, 20, PID, PID + 1, PID);
	add_task(0, PERF_RECORD_EXIT, 21, PID, PID + 1, PID);
	add_comm(0, 22, PID, PID + 1, 0, "worker");
	add_comm(0, 23, PID, PID, 0, "main");
	add_comm(0, 24, PID, PID, PERF_RECORD_MISC_COMM_EXEC, "exec");
	read_all(scene);
	assert_string_equal(notes, "8/9 20,8/9 worker 22,8/8 main 23,");
	/* A thread's name is not its process's. */
	assert_string_equal(find(scene->fixture, 23, PID, NO_GEN)->comm, "exec");
	add_comm(0, 30, PID, PID + 1, 0, "late");
	read_all(scene);
	assert_string_equal(find(scene->fixture, 40, PID, NO_GEN)->comm, "exec");
}

static void threads_live_from_fork_to_exit(void **state)
{
	struct scene *scene = *state;
	struct thread_times *times = thread_times_new();

	open_rings(scene);
	on_fork(scene->fixture, 5, PID, 7);
	side_band_set_thread_times(scene->side_band, times);
	add_task(0, PERF_RECORD_FORK, 100, PID, PID + 100, PID);
	add_fork(1, 200, CHILD, PID);
	read_all(scene);
	/* Those with samples. */
	assert_int_equal(thread_times_sum_ns(times, 0, 1000), 0);
	assert_int_equal(thread_times_add_sample(times, PID, PID + 100), 0);
	assert_int_equal(thread_times_add_sample(times, CHILD, CHILD), 0);
	add_task(0, PERF_RECORD_EXIT, 400, PID, PID + 100, PID);
	add_task(1, PERF_RECORD_EXIT, 900, CHILD, CHILD, PID);
	read_all(scene);
	assert_int_equal(thread_times_sum_ns(times, 0, 1000), 300 + 700);
	thread_times_free(times);
}

static void code_of_the_kernel_is_kept_while_it_is_registered(void **state)
{
	struct scene *scene = *state;
	const struct kernel_code *code;
	size_t count;

	open_rings(scene);
	add_symbol(0xffff1000, 64, 0, "bpf_prog_one");
	add_symbol(0xffff1000, 64, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, "bpf_prog_one");
	add_symbol(0xffff2000, 32, 0, "bpf_prog_two");
	read_all(scene);
	code = side_band_get_kernel_code(scene->side_band, &count);
	assert_int_equal(count, 2);
	assert_int_equal(code[0].start, 0xffff1000);
	assert_int_equal(code[0].size_bytes, 64);
	assert_string_equal(code[0].name, "bpf_prog_one");
	assert_int_equal(code[1].start, 0xffff2000);
	assert_string_equal(code[1].name, "bpf_prog_two");
}

/* Without what we put behind it, or without what the kernel does. */
static void short_records_are_left_out(void **state)
{
	struct scene *scene = *state;
	struct perf_event_header *header;

	open_rings(scene);
	add_fork(0, 10, PID, 7);
	header = &rings[0][0].header;
	assert_int_equal(side_band_apply(scene->side_band, 10, header, 4), 0);
	assert_int_equal(side_band_apply(scene->side_band, 10, header, header->size + 7u), 0);
	assert_int_equal(process_table_get_count(scene->fixture->table), 0);
	num_records[0] = 0;
	header = start_record(0, PERF_RECORD_FORK, 0);
	add_u32(header, PID);
	add_u64(header, 10);
	read_all(scene);
	assert_int_equal(process_table_get_count(scene->fixture->table), 0);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_ring_of_each_cpu_is_asked_for_what_happens),
		SCENE_TEST(an_old_kernel_is_asked_for_build_ids_once),
		SCENE_TEST(another_error_says_nothing_of_build_ids),
		SCENE_TEST(a_ring_that_cannot_be_mapped_is_closed),
		SCENE_TEST(a_cpu_that_goes_takes_its_ring),
		SCENE_TEST(errors_are_explained_once),
		SCENE_TEST(records_of_all_cpus_are_in_order_of_time),
		SCENE_TEST(only_targets_are_taken),
		SCENE_TEST(a_mapping_has_its_file),
		SCENE_TEST(broken_mappings_are_left_out),
		SCENE_TEST(a_build_id_is_as_long_as_it_says),
		SCENE_TEST(a_file_has_its_device_and_inode),
		SCENE_TEST(execs_and_mappings_of_targets_are_changes),
		SCENE_TEST(an_answer_of_on_file_ends_the_round),
		SCENE_TEST(an_exec_has_its_script),
		SCENE_TEST(new_threads_and_names_are_noted_for_a_trace),
		SCENE_TEST(threads_live_from_fork_to_exit),
		SCENE_TEST(code_of_the_kernel_is_kept_while_it_is_registered),
		SCENE_TEST(short_records_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
