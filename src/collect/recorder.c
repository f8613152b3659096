/*
 * Two streams meet here: samples from the BPF program's rings, and process events from the perf
 * rings. Both go through one queue in order of time, so that a sample sees the mappings of its
 * moment. The queue holds records back as long as an earlier one may still arrive. Stacks need no
 * order and are taken at once.
 */
#include "collect/recorder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/async_call.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/events/allocator_code.h"
#include "collect/events/allocator_follower.h"
#include "collect/kernel/event_queue.h"
#include "collect/kernel/idle_time.h"
#include "collect/kernel/own_times.h"
#include "collect/kernel_features.h"
#include "collect/processes/live_descendants.h"
#include "collect/processes/side_band.h"
#include "collect/processes/target_threads.h"
#include "collect/processes/thread_times.h"
#include "collect/programs/sampler.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/stacks/call_check.h"
#include "collect/stacks/raw_samples.h"
#include "collect/stacks/sample_ingest.h"
#include "collect/tables/publisher.h"
#include "collect/trace/scheduling.h"
#include "collect/trace/trace_builder.h"
#include "collect/trace/trace_log.h"
#include "collect/trace/trace_schedule.h"
#include "wire/wire.h"

#define HOTPLUG_INTERVAL_NS NS_PER_SECOND
/*
 * Between two readings of the rings, files are opened and identified, /proc is read, and calls are
 * proven. Meanwhile samples are read at this interval, up to this size of the queue. So no ring
 * fills up: a sample has its stack only if there was room for it.
 */
#define MEANWHILE_NS     (20 * NS_PER_MS)
#define MAX_QUEUED_BYTES (64u << 20)
/* How long tables are waited for at the end, by stacks that need them. */
#define TABLE_WAIT_NS (3 * NS_PER_SECOND)

enum record_kind {
	RECORD_SAMPLE,
	RECORD_RAW_SAMPLE,
	RECORD_RAW_REQUEST,
	RECORD_SIDE_BAND,
	RECORD_STACK_AREA,
	RECORD_WRITTEN,
};

struct recorder {
	struct recorder_opts opts;
	struct profile *profile;
	struct elf_files *elf_files;
	struct file_table *files;
	struct hotspot_layouts *hotspots;
	struct process_table *processes;
	struct event_queue *queue;
	struct side_band *side_band;
	struct sampler *sampler;
	struct own_times times_at_start; /* of our BPF programs */
	struct program_time program_time;
	struct allocator_follower *follower;   /* NULL: no allocators are probed */
	struct allocator_code *allocator_code; /* likewise */
	struct late_allocators late_allocators;
	struct sample_ingest *ingest;
	struct fp_step_check *fp_step_check;
	struct runtime_stacks *runtimes; /* NULL: native frames alone are wanted */
	struct call_check *call_check;   /* NULL: calls are not checked */
	struct publisher *publisher;     /* NULL: user stacks are not walked by table */
	struct raw_samples *raw_samples; /* likewise */
	struct trace_log *trace_log;     /* NULL: times are not kept */
	struct thread_times *thread_times;
	struct scheduling *scheduling; /* NULL: it is not recorded */
	int epoll_fd;
	int cgroup_fd;
	bool *cpus; /* CPUs that we sample or listen to; num_possible_cpus long */
	size_t num_possible_cpus;
	struct target_threads threads; /* for thread targets */
	bool is_running;
	uint32_t num_cpus;
	uint64_t start_ns;
	uint64_t stop_ns;     /* nothing counted any more */
	uint64_t observed_ns; /* summed over the threads with samples; when it has stopped */
	uint64_t idle_at_start_ns;
	uint64_t idle_ns; /* summed over the CPUs; when it has stopped */
	uint64_t next_hotplug_ns;
	uint64_t handled_ns;        /* events up to this time have been handled */
	uint64_t next_meanwhile_ns; /* when samples are read again, whatever else is being done */
	/* Samples after from_ns and up to until_ns are ours, others the recording's beside it. */
	uint64_t from_ns;
	uint64_t until_ns;
	ARRAY(uint64_t) num_of_others;     /* by event */
	ARRAY(struct metric_scale) scales; /* after the stop: of events that took turns */
	uint64_t num_waits_of_others;
	struct scheduler_code scheduler; /* where waits are sampled */
	uint64_t num_sleepers;           /* samples of threads that waited at the end */
};

/*
 * Whether a sample is of a child that is left out. Not every kernel tells the sampling program that
 * it is a child.
 */
static bool is_left_out(const struct recorder *recorder, const struct wire_sample *sample)
{
	const struct target_id process = {(pid_t)sample->pid};

	return recorder->opts.target.leaves_children_out &&
	       target_ids_find(&recorder->threads.pids, &process) == HASH_INDEX_NONE;
}

/* The event of a tick. An unexpected number is treated as event 0. */
static size_t get_event(const struct recorder *recorder, const struct wire_sample *sample)
{
	return sample->event < recorder->num_of_others.length ? sample->event : 0;
}

/* Count a sample outside the target. A waker's sample belongs to no tick and no wait. */
static void count_of_others(struct recorder *recorder, const struct wire_sample *sample)
{
	if (sample->flags & WIRE_SAMPLE_WAKER)
		return;
	if (sample->flags & WIRE_SAMPLE_OFF_CPU)
		recorder->num_waits_of_others++;
	else
		recorder->num_of_others.items[get_event(recorder, sample)]++;
}

/* For a waker outside the target, only its name and its kernel part are recorded. */
static bool proves_process(const struct wire_sample *sample)
{
	return !(sample->flags & WIRE_SAMPLE_WAKER) ||
	       !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
}

/*
 * Process events are sent for the target only. If they are lost, a sample proves that a process
 * belongs to it.
 */
static int add_sample(struct recorder *recorder, uint32_t kind, const struct wire_sample *sample,
		      size_t size)
{
	if (target_is_of_threads(&recorder->opts.target) && proves_process(sample)) {
		int err;

		if (is_left_out(recorder, sample)) {
			count_of_others(recorder, sample);
			return 0;
		}
		err = side_band_follow(recorder->side_band, (pid_t)sample->pid);
		if (err)
			return err;
	}
	return event_queue_add(recorder->queue, sample->time_ns, kind, sample, size);
}

/* A record of the BPF program's rings. */
static int on_record(const void *data, size_t size, void *context)
{
	struct recorder *recorder = context;
	const wire_u32 *type = data;

	if (size >= sizeof(*type) && *type == WIRE_STACK)
		return sample_ingest_add_stack(recorder->ingest, data, size);
	if (size >= sizeof(struct wire_sample) && *type == WIRE_SAMPLE)
		return add_sample(recorder, RECORD_SAMPLE, data, sizeof(struct wire_sample));
	if (size >= sizeof(struct wire_sample) && *type == WIRE_RAW_SAMPLE)
		return add_sample(recorder, RECORD_RAW_SAMPLE, data, size);
	/* The sample tells whether it is ours. */
	if (size >= sizeof(struct wire_sample) && *type == WIRE_RAW_REQUEST)
		return event_queue_add(recorder->queue, ((const struct wire_sample *)data)->time_ns,
				       RECORD_RAW_REQUEST, data, size);
	if (size >= sizeof(struct wire_stack_area) && *type == WIRE_STACK_AREA)
		return event_queue_add(recorder->queue,
				       ((const struct wire_stack_area *)data)->time_ns,
				       RECORD_STACK_AREA, data, sizeof(struct wire_stack_area));
	return recorder->runtimes ? runtime_stacks_add(recorder->runtimes, data, size) : 0;
}

static int handle_area(struct recorder *recorder, const void *record)
{
	struct wire_stack_area area;
	struct process *process;
	bool is_in_exec;
	int err;

	memcpy(&area, record, sizeof(area));
	err = process_table_find(recorder->processes, area.time_ns, (pid_t)area.pid,
				 area.generation, false, &process, &is_in_exec);
	if (err || is_in_exec || !recorder->trace_log)
		return err;
	return trace_log_add_area(recorder->trace_log, process->id, &area);
}

static int read_samples(struct recorder *recorder)
{
	int err = sampler_read(recorder->sampler);

	recorder->next_meanwhile_ns = clock_now_ns() + MEANWHILE_NS;
	return err ? err : scheduling_read(recorder->scheduling);
}

static int read_samples_meanwhile(void *context)
{
	struct recorder *recorder = context;

	if (clock_now_ns() < recorder->next_meanwhile_ns ||
	    event_queue_get_size(recorder->queue) > MAX_QUEUED_BYTES)
		return 0;
	return read_samples(recorder);
}

/* A sample that is ours, without a copy of its stack. */
static int add_plain_sample(struct recorder *recorder, const struct wire_sample *sample)
{
	bool is_taken = false;
	int err = recorder->raw_samples ? raw_samples_add_plain(recorder->raw_samples,
								sample->time_ns, sample, &is_taken)
					: 0;

	if (err || is_taken)
		return err;
	return sample_ingest_add_sample(recorder->ingest, sample);
}

static int handle(uint64_t time_ns, uint32_t kind, const void *record, size_t size, void *context)
{
	struct recorder *recorder = context;
	struct wire_sample sample;
	bool is_ours;
	int err = read_samples_meanwhile(recorder);

	if (err)
		return err;
	if (kind == RECORD_SIDE_BAND)
		return side_band_apply(recorder->side_band, time_ns, record, size);
	if (kind == RECORD_WRITTEN) {
		struct written_file written;

		memcpy(&written, record, sizeof(written));
		return process_table_on_written(recorder->processes, time_ns, &written);
	}
	is_ours = time_ns > recorder->from_ns && time_ns <= recorder->until_ns;
	if (kind == RECORD_STACK_AREA)
		return is_ours ? handle_area(recorder, record) : 0;
	if (kind == RECORD_RAW_REQUEST)
		return is_ours ? raw_samples_add_request(recorder->raw_samples, time_ns, record,
							 size)
			       : 0;
	memcpy(&sample, record, sizeof(sample)); /* a raw one starts with it, too */
	if (!is_ours) {
		count_of_others(recorder, &sample);
		return 0;
	}
	sample.time_ns = time_ns;
	if (!(sample.flags & WIRE_SAMPLE_WAKER)) {
		err = thread_times_add_sample(recorder->thread_times, sample.pid, sample.tid);
		if (err)
			return err;
	}
	if (kind == RECORD_RAW_SAMPLE)
		return raw_samples_add(recorder->raw_samples, time_ns, record, size);
	return add_plain_sample(recorder, &sample);
}

/* Take a sample of a thread that waits at the end, after all earlier events. */
static int on_sleeper(const void *data, size_t size, void *context)
{
	struct recorder *recorder = context;
	const struct wire_sample *sample = data;

	if (sample->type == WIRE_STACK)
		return sample_ingest_add_stack(recorder->ingest, data, size);
	if (is_left_out(recorder, sample)) {
		count_of_others(recorder, sample);
		return 0;
	}
	return handle(sample->time_ns,
		      sample->type == WIRE_RAW_SAMPLE ? RECORD_RAW_SAMPLE : RECORD_SAMPLE, data,
		      size, recorder);
}

static int expect_waits(struct recorder *recorder)
{
	struct waker_code wakers;
	struct sample_periods periods = {
		.tick_ns = NS_PER_SECOND / recorder->opts.frequency_hz,
		.wait_ns = recorder->opts.off_cpu_period_ns,
	};
	int err;

	recorder->scheduler = scheduler_code_find();
	err = sample_ingest_add_off_cpu(recorder->ingest, &periods, &recorder->scheduler);
	if (err || !recorder->opts.takes_wakers)
		return err;
	err = waker_code_find(&wakers);
	return err ? err
		   : sample_ingest_add_wakers(recorder->ingest, &wakers,
					      !recorder->opts.no_kernel_stacks,
					      recorder->opts.takes_futexes);
}

static void on_new_thread(void *context, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	trace_log_add_thread(context, time_ns, pid, tid);
}

static void on_rename(void *context, uint64_t time_ns, uint32_t pid, uint32_t tid, const char *comm)
{
	trace_log_add_rename(context, time_ns, pid, tid, comm);
}

static struct runtime_sources get_runtime_sources(const struct recorder *recorder)
{
	return (struct runtime_sources){
		.files = recorder->files,
		.elf_files = recorder->elf_files,
		.hotspots = recorder->hotspots,
	};
}

static void on_opened(const struct opened_mapping *mapping, void *context)
{
	const struct recorder *recorder = context;

	allocator_follower_add(recorder->follower, mapping);
}

/* A file whose probes were taken away is followed again, whatever it contains by now. */
static uint64_t count_lost(dev_t device, ino_t inode, void *context)
{
	const struct recorder *recorder = context;
	const struct leased_file file = {device, inode};

	return recorder->sampler ? sampler_count_let_go(recorder->sampler, &file) : 0;
}

static int attach_sites(void *sampler, size_t event, const struct probe_site *sites, size_t count)
{
	return sampler_attach_sites(sampler, event, sites, count);
}

/* Files are told to it from the first one on. */
static int make_follower(struct recorder *recorder)
{
	struct allocator_follower_opts opts = {
		.events = recorder->opts.events,
		.num_events = recorder->opts.num_events,
		.is_shared = !target_is_of_threads(&recorder->opts.target),
		.worker_user = recorder->opts.tables.worker_user,
	};
	int err;

	if (!allocator_follower_is_needed(opts.events, opts.num_events))
		return 0;
	recorder->allocator_code = allocator_code_new();
	if (!recorder->allocator_code)
		return -ENOMEM;
	/* Links need it to load the program only, perf events whenever one is opened. */
	opts.keeps_administrator = !kernel_has_uprobe_links();
	err = allocator_follower_new(&opts, &recorder->follower);
	if (err)
		return err;
	file_table_set_listener(recorder->files,
				&(struct opened_listener){on_opened, count_lost, recorder});
	return 0;
}

static int make_parts(struct recorder *recorder, struct error *error)
{
	int num_cpus = libbpf_num_possible_cpus();
	int err;

	if (num_cpus < 0)
		return num_cpus;
	recorder->num_possible_cpus = (size_t)num_cpus;
	recorder->cpus = calloc(recorder->num_possible_cpus, sizeof(*recorder->cpus));
	recorder->profile = profile_new();
	err = elf_files_new(recorder->opts.tables.worker_user, &recorder->elf_files);
	if (err)
		return err;
	recorder->files =
		file_table_new("/proc", &(struct file_build_id_reader){elf_files_read_build_id,
								       recorder->elf_files});
	if (!recorder->files)
		return -ENOMEM;
	err = file_table_start_opener(recorder->files);
	if (err)
		return err;
	err = make_follower(recorder);
	if (err)
		return err;
	recorder->hotspots = hotspot_layouts_new(recorder->files, recorder->elf_files);
	if (!recorder->hotspots)
		return -ENOMEM;
	recorder->queue = event_queue_new();
	recorder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (recorder->epoll_fd < 0)
		return -errno;
	if (!recorder->cpus || !recorder->profile || !recorder->files || !recorder->queue)
		return -ENOMEM;
	for (size_t i = 0; !i || i < recorder->opts.num_events; i++)
		if (!array_add(&recorder->num_of_others))
			return -ENOMEM;
	if (recorder->opts.keeps_timestamps && profile_keep_timestamps(recorder->profile))
		return -ENOMEM;
	recorder->processes = process_table_new("/proc", recorder->files);
	if (!recorder->processes)
		return -ENOMEM;
	if (recorder->opts.keeps_scripts)
		process_table_keep_scripts(recorder->processes);
	recorder->side_band = side_band_new(recorder->queue, RECORD_SIDE_BAND, recorder->files,
					    recorder->processes);
	recorder->ingest =
		sample_ingest_new(recorder->profile, recorder->files, recorder->processes,
				  sampler_read_max_depth(), recorder->opts.user_stacks);
	recorder->fp_step_check = fp_step_check_new(recorder->files, recorder->elf_files);
	recorder->thread_times = thread_times_new();
	if (!recorder->side_band || !recorder->ingest || !recorder->fp_step_check ||
	    !recorder->thread_times)
		return -ENOMEM;
	err = sample_ingest_set_events(recorder->ingest, recorder->opts.events,
				       recorder->opts.num_events);
	if (err)
		return err;
	sample_ingest_set_allocator_code(recorder->ingest, recorder->allocator_code);
	side_band_set_thread_times(recorder->side_band, recorder->thread_times);
	sample_ingest_set_fp_step_check(recorder->ingest, recorder->fp_step_check);
	if (recorder->opts.user_stacks == USER_STACKS_TABLE &&
	    recorder->opts.tables.runtime_frames != RUNTIME_FRAMES_NATIVE) {
		const struct runtime_sources sources = get_runtime_sources(recorder);

		recorder->runtimes = runtime_stacks_new(recorder->profile, &sources,
							recorder->opts.tables.runtime_frames);
		if (!recorder->runtimes)
			return -ENOMEM;
		sample_ingest_set_runtimes(recorder->ingest, recorder->runtimes);
	}
	/* A trace log is kept only for traces. */
	if (recorder->opts.makes_trace) {
		err = trace_log_new(recorder->opts.temporary_folder, &recorder->trace_log, error);
		if (err)
			return err;
		process_table_keep_details(recorder->processes);
		sample_ingest_set_trace_log(recorder->ingest, recorder->trace_log);
		side_band_set_listener(recorder->side_band, &(struct side_band_listener){
								    .on_thread = on_new_thread,
								    .on_rename = on_rename,
								    .context = recorder->trace_log,
							    });
	}
	if (recorder->opts.checks_calls) {
		recorder->call_check = call_check_new(recorder->files);
		if (!recorder->call_check)
			return -ENOMEM;
		sample_ingest_set_call_check(recorder->ingest, recorder->call_check);
	}
	return recorder->opts.off_cpu_period_ns ? expect_waits(recorder) : 0;
}

/* Borrowed until the sampler is freed. */
static struct sampler_opts describe_sampler(struct recorder *recorder)
{
	return (struct sampler_opts){
		.frequency_hz = recorder->opts.frequency_hz,
		.events = recorder->opts.events,
		.num_events = recorder->opts.num_events,
		.allocator_code = recorder->allocator_code,
		.count = recorder->opts.event_count,
		.no_kernel_stacks = recorder->opts.no_kernel_stacks,
		.no_user_stacks = recorder->opts.user_stacks == USER_STACKS_NONE,
		.walks_by_table = recorder->opts.user_stacks == USER_STACKS_TABLE,
		.takes_runtime_frames = recorder->runtimes,
		.cgroup_fd = recorder->cgroup_fd,
		.is_filtered = target_is_of_threads(&recorder->opts.target),
		.starts_on_exec = recorder->opts.target.starts_on_exec,
		.leaves_children_out = recorder->opts.target.leaves_children_out,
		.takes_areas = recorder->opts.makes_trace,
		.tracks_running = recorder->opts.records_schedule,
		.off_cpu = {.period_ns = recorder->opts.off_cpu_period_ns,
			    .min_block_ns = recorder->opts.off_cpu_min_block_ns,
			    .scheduler_pc =
				    recorder->scheduler.end ? recorder->scheduler.start + 1 : 0,
			    .scheduler_text_start = recorder->scheduler.text_start,
			    .scheduler_text_end = recorder->scheduler.text_end,
			    .takes_wakers = recorder->opts.takes_wakers,
			    .only_futexes = recorder->opts.only_futexes},
		.ring_bytes = recorder->opts.ring_bytes,
		.on_record = on_record,
		.context = recorder,
	};
}

static int start_follower(struct recorder *recorder)
{
	const struct site_attacher attacher = {attach_sites, recorder->sampler};

	return recorder->follower ? allocator_follower_start(recorder->follower, &attacher) : 0;
}

static int start_publishing(struct recorder *recorder)
{
	struct unwind_maps maps;
	int err;

	if (!recorder->publisher)
		return 0;
	maps = sampler_get_unwind_maps(recorder->sampler);
	err = publisher_start(recorder->publisher, &maps);
	if (err)
		return err;
	recorder->raw_samples =
		raw_samples_new(recorder->ingest, recorder->publisher, recorder->processes);
	return recorder->raw_samples ? 0 : -ENOMEM;
}

/* Listen to a CPU, unless it has gone offline. */
static int listen_to_cpu(struct recorder *recorder, int cpu, struct error *error)
{
	int err = side_band_open(recorder->side_band, cpu);

	if (err && err != -ENODEV)
		return side_band_explain(err, error);
	recorder->cpus[cpu] = !err;
	return 0;
}

/* Sample a CPU that is listened to. If it has gone offline, stop listening. */
static int sample_cpu(struct recorder *recorder, int cpu, struct error *error)
{
	int err;

	if (recorder->opts.target.kind == TARGET_CGROUP)
		err = sampler_add_cgroup(recorder->sampler, recorder->cgroup_fd, cpu, error);
	else
		err = sampler_add_cpu(recorder->sampler, cpu, error);
	if (!err)
		return 0;
	side_band_close_cpu(recorder->side_band, cpu);
	recorder->cpus[cpu] = false;
	return err == -ENODEV ? 0 : err;
}

static void watch_fd(int fd, void *context)
{
	struct recorder *recorder = context;
	struct epoll_event event = {.events = EPOLLIN};

	/* EEXIST: watched already. Any other failure only delays reading to the next interval. */
	(void)epoll_ctl(recorder->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_cpu(struct recorder *recorder, int cpu, struct error *error)
{
	int err = listen_to_cpu(recorder, cpu, error);

	return err || !recorder->cpus[cpu] ? err : sample_cpu(recorder, cpu, error);
}

/* Without a watch, names of generated code are read a little later. */
static void watch_code(struct recorder *recorder)
{
	int fd = process_table_watch_code(recorder->processes);

	if (fd >= 0)
		watch_fd(fd, recorder);
	else
		log_debug("perf-maps cannot be watched: %s", strerror(-fd));
}

/* Without a watch, a file that is overwritten is noticed when it is read. */
static int watch_files(struct recorder *recorder)
{
	int fd = file_table_watch(recorder->files);

	if (fd == -ENOMEM)
		return fd;
	if (fd >= 0)
		watch_fd(fd, recorder);
	else
		log_debug("mapped files cannot be watched: %s", strerror(-fd));
	return 0;
}

static int listen_to_cpus(struct recorder *recorder, struct error *error)
{
	_cleanup_free_ bool *online = calloc(recorder->num_possible_cpus, sizeof(*online));
	int num_online;

	if (!online)
		return -ENOMEM;
	num_online = target_read_online_cpus(online, recorder->num_possible_cpus);
	if (num_online < 0)
		return num_online;
	recorder->num_cpus = (uint32_t)num_online;
	for (size_t cpu = 0; cpu < recorder->num_possible_cpus; cpu++) {
		int err = online[cpu] ? listen_to_cpu(recorder, (int)cpu, error) : 0;

		if (err)
			return err;
	}
	side_band_for_each_fd(recorder->side_band, watch_fd, recorder);
	return 0;
}

static int sample_cpus(struct recorder *recorder, struct error *error)
{
	for (size_t cpu = 0; cpu < recorder->num_possible_cpus; cpu++) {
		int err = recorder->cpus[cpu] ? sample_cpu(recorder, (int)cpu, error) : 0;

		if (err)
			return err;
	}
	return sampler_check_events(recorder->sampler, error);
}

/* Events of processes outside the target are skipped. */
static int follow_target(struct recorder *recorder)
{
	const struct target *target = &recorder->opts.target;

	for (size_t i = 0; i < target->num_ids; i++) {
		pid_t pid = target_get_pid(target->ids[i]);
		int err;

		if (pid == -ENOMEM)
			return pid;
		/* Also if it is gone: following no process would mean following all. */
		err = side_band_follow(recorder->side_band, pid > 0 ? pid : target->ids[i]);
		if (err)
			return err;
	}
	return 0;
}

static int add_to_filter(void *context, pid_t tid, struct error *error)
{
	return sampler_add_target(context, tid, error);
}

/*
 * Put the target into the filter, now that forks are reported, and read its processes from /proc.
 * Processes that are gone are skipped.
 */
static int scan_target(struct recorder *recorder, struct error *error)
{
	const struct target *target = &recorder->opts.target;
	int err = target_threads_add(&recorder->threads, target, add_to_filter, recorder->sampler,
				     error);
	if (err)
		return err;
	for (size_t i = 0; i < target->num_ids && target->kind == TARGET_THREADS; i++) {
		pid_t pid = target_get_pid(target->ids[i]);

		err = pid > 0 ? process_table_scan_pid(recorder->processes, pid) : pid;
		if (err && err != -ESRCH && err != -ENOENT)
			return err;
	}
	array_for_each (&recorder->threads.pids, pid) {
		err = side_band_follow(recorder->side_band, pid->id);
		if (err)
			return err;
		err = process_table_scan_pid(recorder->processes, pid->id);
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

static int record_schedule(struct recorder *recorder, struct error *error)
{
	struct scheduling_opts opts = {
		.running_fd = sampler_get_running_fd(recorder->sampler),
		.targets_fd = target_is_of_threads(&recorder->opts.target)
				      ? sampler_get_targets_fd(recorder->sampler)
				      : -1,
		.ring_bytes = recorder->opts.ring_bytes,
		.folder = recorder->opts.temporary_folder,
	};
	int err;

	if (!recorder->opts.records_schedule)
		return 0;
	err = scheduling_new(&opts, &recorder->scheduling, error);
	if (err)
		return err;
	watch_fd(scheduling_get_fd(recorder->scheduling), recorder);
	return 0;
}

struct sampler_loading {
	struct sampler_opts opts;
	struct sampler *sampler; /* NULL: not loaded */
	struct error error;
};

static int run_loading(void *context)
{
	struct sampler_loading *loading = context;

	return sampler_new(&loading->opts, &loading->sampler, &loading->error);
}

/* Prepare to publish; meanwhile nothing else can be done until the sampler is loaded. */
static int prepare_publishing(struct recorder *recorder)
{
	const struct runtime_sources sources = get_runtime_sources(recorder);

	return recorder->opts.user_stacks == USER_STACKS_TABLE
		       ? publisher_new(&sources, recorder->processes, &recorder->opts.tables,
				       &recorder->publisher)
		       : 0;
}

/* Listen to the CPUs and read the processes, unless only some are sampled. */
static int read_processes(struct recorder *recorder, struct error *error)
{
	int err = listen_to_cpus(recorder, error);

	if (!err && !target_is_of_threads(&recorder->opts.target))
		err = process_table_scan(recorder->processes);
	return err ? err : prepare_publishing(recorder);
}

/*
 * Load the sampler. The kernel verifies its programs for some tens of milliseconds, in which the
 * other preparations are made.
 */
static int load_sampler(struct recorder *recorder, struct error *error)
{
	struct sampler_loading loading = {.opts = describe_sampler(recorder)};
	struct async_call call;
	int load_err;
	int err;

	async_call_start(&call, run_loading, &loading);
	err = read_processes(recorder, error);
	load_err = async_call_finish(&call);
	recorder->sampler = loading.sampler;
	/* If neither is permitted, report the sampler: it needs more. */
	if (!load_err || err == -ENOMEM)
		return err;
	if (error)
		*error = loading.error;
	return load_err;
}

/* The order matters: listen, then read the current state, then (in recorder_start) sample. */
static int open_all(struct recorder *recorder, struct error *error)
{
	const struct target *target = &recorder->opts.target;
	int err = make_parts(recorder, error);

	if (err)
		return err;
	if (target->kind == TARGET_CGROUP) {
		recorder->cgroup_fd = target_open_cgroup(target->cgroup_path, error);
		if (recorder->cgroup_fd < 0)
			return recorder->cgroup_fd;
	}
	if (target_is_of_threads(target)) {
		err = target_threads_list(&recorder->threads, target, error);
		if (err)
			return err;
		err = follow_target(recorder);
		if (err)
			return err;
	}
	err = load_sampler(recorder, error);
	if (err)
		return err;
	err = start_follower(recorder);
	if (err)
		return err;
	err = start_publishing(recorder);
	if (err)
		return err;
	watch_fd(sampler_get_fd(recorder->sampler), recorder);
	watch_code(recorder);
	err = watch_files(recorder);
	if (err)
		return err;
	err = sample_cpus(recorder, error);
	if (err)
		return err;
	err = target_is_of_threads(target) ? scan_target(recorder, error) : 0;
	if (err)
		return err;
	if (recorder->publisher) {
		watch_fd(publisher_get_fd(recorder->publisher), recorder);
		err = publisher_update(recorder->publisher);
		if (err)
			return err;
	}
	/* Last: its programs run after the others, so that wakeups are not before their samples. */
	return record_schedule(recorder, error);
}

/* A generic message, unless a callee that knew more has set one. */
static int explain(int err, const char *what, struct error *error)
{
	if (error && !error->message[0])
		(void)error_set(error, err, "%s: %s%s", what, strerror(-err),
				err == -EMFILE ? "; raise the limit (ulimit -n, LimitNOFILE=)"
					       : "");
	return err;
}

int recorder_new(const struct recorder_opts *opts, struct recorder **ret, struct error *error)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int err;

	if (!recorder)
		return -ENOMEM;
	recorder->opts = *opts;
	recorder->epoll_fd = recorder->cgroup_fd = -1;
	recorder->until_ns = UINT64_MAX;
	if (error)
		error->message[0] = '\0';
	err = open_all(recorder, error);
	if (err) {
		recorder_free(recorder);
		return explain(err, "cannot start recording", error);
	}
	*ret = recorder;
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	own_times_release(&recorder->times_at_start);
	scheduling_free(recorder->scheduling);
	raw_samples_free(recorder->raw_samples);
	publisher_free(recorder->publisher);
	/* A thread that hangs in the kernel may still use both. */
	if (allocator_follower_free(recorder->follower)) {
		sampler_free(recorder->sampler);
		allocator_code_free(recorder->allocator_code);
	}
	side_band_free(recorder->side_band);
	sample_ingest_free(recorder->ingest);
	fp_step_check_free(recorder->fp_step_check);
	runtime_stacks_free(recorder->runtimes);
	call_check_free(recorder->call_check);
	trace_log_free(recorder->trace_log);
	thread_times_free(recorder->thread_times);
	event_queue_free(recorder->queue);
	process_table_free(recorder->processes);
	file_table_free(recorder->files);
	hotspot_layouts_free(recorder->hotspots);
	elf_files_free(recorder->elf_files);
	profile_free(recorder->profile);
	if (recorder->epoll_fd >= 0)
		close(recorder->epoll_fd);
	if (recorder->cgroup_fd >= 0)
		close(recorder->cgroup_fd);
	target_threads_release(&recorder->threads);
	array_release(&recorder->num_of_others);
	array_release(&recorder->scales);
	free(recorder->cpus);
	free(recorder);
}

static int read_own_times(const struct recorder *recorder, struct own_times *ret)
{
	int err = sampler_read_time(recorder->sampler, ret);

	return err ? err : scheduling_read_time(recorder->scheduling, ret);
}

static void read_program_time(struct recorder *recorder)
{
	struct own_times now = {0};

	if (!read_own_times(recorder, &now))
		recorder->program_time = own_times_subtract(&recorder->times_at_start, &now);
	own_times_release(&now);
	log_debug("BPF programs: %" PRIu64 " runs, %.6f s by %s, %.6f s by those timed",
		  recorder->program_time.num_runs, (double)recorder->program_time.ns / 1e9,
		  recorder->program_time.is_sampled ? "runs timed" : "the kernel's statistics",
		  (double)recorder->program_time.sampled_ns / 1e9);
}

void recorder_start(struct recorder *recorder)
{
	/* If this fails, the programs' earlier time counts, too. */
	if (read_own_times(recorder, &recorder->times_at_start))
		own_times_release(&recorder->times_at_start);
	recorder->idle_at_start_ns = idle_time_read_ns();
	recorder->start_ns = clock_now_ns();
	recorder->next_hotplug_ns = recorder->start_ns + HOTPLUG_INTERVAL_NS;
	recorder->is_running = true;
	sampler_enable(recorder->sampler);
}

int recorder_get_fd(const struct recorder *recorder)
{
	return recorder->epoll_fd;
}

/* CPU hotplug: sample CPUs that went online, close those that went offline. Polls now and then. */
static int follow_cpus(struct recorder *recorder, uint64_t now_ns, struct error *error)
{
	_cleanup_free_ bool *online = NULL;
	bool has_new = false;

	if (now_ns < recorder->next_hotplug_ns)
		return 0;
	recorder->next_hotplug_ns = now_ns + HOTPLUG_INTERVAL_NS;
	online = calloc(recorder->num_possible_cpus, sizeof(*online));
	if (!online)
		return -ENOMEM;
	if (target_read_online_cpus(online, recorder->num_possible_cpus) < 0)
		return 0;
	for (size_t cpu = 0; cpu < recorder->num_possible_cpus; cpu++) {
		int err = 0;

		if (recorder->cpus[cpu] && !online[cpu]) {
			log_debug("CPU %zu went offline", cpu);
			sampler_remove_cpu(recorder->sampler, (int)cpu);
			side_band_close_cpu(recorder->side_band, (int)cpu);
			recorder->cpus[cpu] = false;
		} else if (!recorder->cpus[cpu] && online[cpu]) {
			log_debug("CPU %zu came online", cpu);
			err = open_cpu(recorder, (int)cpu, error);
			has_new = true;
		}
		if (err)
			return err;
	}
	if (has_new) {
		side_band_for_each_fd(recorder->side_band, watch_fd, recorder);
		sampler_enable(recorder->sampler);
	}
	return 0;
}

/* Files that were overwritten. */
static int read_written(struct recorder *recorder)
{
	struct written_file written;
	int err = 0;

	while (!err && file_table_take_written(recorder->files, clock_now_ns(), &written))
		err = event_queue_add(recorder->queue, written.time_ns, RECORD_WRITTEN, &written,
				      sizeof(written));
	return err;
}

/* now_ns   as of event_queue_drain() */
static int read_rings(struct recorder *recorder, uint64_t now_ns)
{
	int err = read_written(recorder);

	if (err)
		return err;
	err = side_band_read(recorder->side_band, read_samples_meanwhile, recorder);
	if (err)
		return err;
	err = read_samples(recorder);
	if (err)
		return err;
	err = process_table_read_code(recorder->processes, clock_now_ns());
	if (err)
		return err;
	process_table_trim(recorder->processes, clock_now_ns());
	recorder->handled_ns = event_queue_get_until_ns(now_ns);
	err = event_queue_drain(recorder->queue, now_ns, handle, recorder);
	if (err || !recorder->publisher)
		return err;
	err = publisher_update(recorder->publisher);
	if (err)
		return err;
	return raw_samples_retry(recorder->raw_samples, false);
}

uint64_t recorder_get_due_ns(const struct recorder *recorder)
{
	uint64_t change_ns = side_band_get_last_change_ns(recorder->side_band);
	uint64_t look_ns;

	if (!recorder->publisher)
		return UINT64_MAX;
	look_ns = publisher_get_look_ns(recorder->publisher);
	return change_ns > recorder->handled_ns && change_ns + EVENT_QUEUE_HOLD_BACK_NS < look_ns
		       ? change_ns + EVENT_QUEUE_HOLD_BACK_NS
		       : look_ns;
}

int recorder_read(struct recorder *recorder, struct error *error)
{
	uint64_t now_ns = clock_now_ns();
	int err = follow_cpus(recorder, now_ns, error);

	if (err)
		return explain(err, "cannot go on recording", error);
	err = read_rings(recorder, now_ns);
	if (err)
		return explain(err, "cannot go on recording", error);
	return 0;
}

bool recorder_has_ended(const struct recorder *recorder)
{
	if (!target_is_of_threads(&recorder->opts.target))
		return false;
	for (size_t i = 0; i < recorder->opts.target.num_ids; i++)
		if (target_is_alive(recorder->opts.target.ids[i]))
			return false;
	return true;
}

struct block_search {
	struct recorder *recorder;
	size_t event;
};

static int on_block(const struct wire_block *block, void *context)
{
	const struct block_search *search = context;

	return sample_ingest_add_block(search->recorder->ingest, search->event, block,
				       search->recorder->stop_ns);
}

/* Add memory that was allocated and not freed, when all samples of allocations are known. */
static int add_blocks(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->opts.num_events; i++) {
		struct block_search search = {recorder, i};
		int err;

		if (!recorder->opts.events[i].is_live)
			continue;
		err = sampler_for_each_block(recorder->sampler, i, on_block, &search);
		if (err)
			return err;
	}
	return 0;
}

struct rest_search {
	struct recorder *recorder;
	size_t event;
};

static int on_rest(uint32_t cpu, uint64_t weight, void *context)
{
	const struct rest_search *search = context;

	return sample_ingest_add_rest(search->recorder->ingest, search->event, cpu, weight);
}

/*
 * Add hits after the last sample of each CPU, when all samples are known. If another recording goes
 * on, some of these hits are its own.
 */
static int add_rests(struct recorder *recorder)
{
	for (size_t i = 0; recorder->until_ns == UINT64_MAX && i < recorder->opts.num_events; i++) {
		struct rest_search search = {recorder, i};
		int err = sampler_for_each_rest(recorder->sampler, i, on_rest, &search);

		if (err == -ENOMEM || err == -EOVERFLOW)
			return err;
		if (err)
			log_debug("hits after the last sample are unknown: %s", strerror(-err));
	}
	return 0;
}

/* Read the rings a last time, then process the queue to its end, and the raw stacks. */
static int finish(struct recorder *recorder)
{
	int err = scheduling_stop(recorder->scheduling);

	if (err)
		return err;
	err = side_band_catch_up(recorder->side_band);
	if (err)
		return err;
	/* Before the last samples are resolved, and for those whose code is first seen in them. */
	err = process_table_finish_code(recorder->processes);
	if (err)
		return err;
	err = read_rings(recorder, UINT64_MAX);
	if (err)
		return err;
	err = sampler_read_sleepers(recorder->sampler, recorder->until_ns, on_sleeper, recorder,
				    &recorder->num_sleepers);
	if (err)
		return err;
	err = process_table_refresh_details(recorder->processes);
	if (err)
		return err;
	err = process_table_finish_code(recorder->processes);
	if (err)
		return err;
	if (recorder->publisher) {
		uint64_t until_ns = clock_now_ns() + TABLE_WAIT_NS;

		/* Raw stacks need tables: wait for those that are still being built. */
		while (raw_samples_get_count(recorder->raw_samples) &&
		       publisher_wait(recorder->publisher, until_ns)) {
			err = raw_samples_retry(recorder->raw_samples, false);
			if (err)
				return err;
		}
		err = raw_samples_retry(recorder->raw_samples, true);
		if (err)
			return err;
		publisher_finish(recorder->publisher);
	}
	err = add_blocks(recorder);
	if (err)
		return err;
	err = add_rests(recorder);
	if (err)
		return err;
	err = sample_ingest_finish(recorder->ingest);
	if (err)
		return err;
	recorder->late_allocators = allocator_follower_finish(recorder->follower);
	/* The follower was not told of files that were gone at once. */
	if (recorder->follower)
		recorder->late_allocators.num_unread +=
			(uint32_t)file_table_count_unseen(recorder->files);
	elf_files_finish(recorder->elf_files);
	return 0;
}

void recorder_hand_over(struct recorder *last, struct recorder *next)
{
	last->until_ns = next->from_ns = clock_now_ns();
}

/* Time in which samples are ours. */
struct own_window {
	uint64_t start_ns;
	uint64_t end_ns;
};

static struct own_window get_own_window(const struct recorder *recorder)
{
	struct own_window window = {recorder->start_ns,
				    recorder->is_running ? clock_now_ns() : recorder->stop_ns};

	if (recorder->from_ns > window.start_ns)
		window.start_ns = recorder->from_ns;
	if (recorder->until_ns < window.end_ns)
		window.end_ns = recorder->until_ns;
	return window;
}

static uint64_t sum_observed_ns(const struct recorder *recorder)
{
	struct own_window window = get_own_window(recorder);

	return thread_times_sum_ns(recorder->thread_times, window.start_ns, window.end_ns);
}

/* Scale events whose counter was not always running: the gaps are taken to be like the rest. */
static int scale_events(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->opts.num_events; i++) {
		struct event_times times = sampler_get_event_times(recorder->sampler, i);
		struct metric_scale scale = {
			.metric = sample_ingest_get_event_metric(recorder->ingest, i),
			.ratio = {times.enabled_ns, times.running_ns},
		};
		struct metric_scale *added;
		int err;

		if (!event_times_have_gaps(&times))
			continue;
		err = profile_scale_samples(recorder->profile, scale.metric, &scale.ratio);
		if (err)
			return err;
		added = array_add(&recorder->scales);
		if (!added)
			return -ENOMEM;
		*added = scale;
	}
	return 0;
}

static int explain_end(int err, struct error *error)
{
	return error_set(error, err, "cannot finish the recording: %s", strerror(-err));
}

int recorder_stop(struct recorder *recorder, struct error *error)
{
	int err;

	/* Taking thousands of probes away takes seconds, which are not part of the recording. */
	sampler_end(recorder->sampler);
	recorder->stop_ns = clock_now_ns();
	recorder->idle_ns = idle_time_read_ns() - recorder->idle_at_start_ns;
	recorder->is_running = false;
	allocator_follower_close(recorder->follower);
	sampler_disable(recorder->sampler);
	err = finish(recorder);
	read_program_time(recorder);
	if (err)
		return explain_end(err, error);
	err = scale_events(recorder);
	if (err)
		return explain_end(err, error);
	recorder->observed_ns = sum_observed_ns(recorder);
	file_table_settle(recorder->files);
	/* The opener serves the recording only, and so do the rings. */
	slow_opener_end(file_table_get_opener(recorder->files));
	sampler_close_rings(recorder->sampler);
	side_band_close(recorder->side_band);
	return 0;
}

static struct waker_counts count_wakers(const struct recorder *recorder)
{
	struct sample_ingest_wakers waits = sample_ingest_get_wakers(recorder->ingest);
	struct sample_ingest_counts stacks = sample_ingest_get_waker_counts(recorder->ingest);
	struct wire_waker_counters seen;
	struct waker_counts counts;

	if (sampler_read_waker_counters(recorder->sampler, &seen))
		log_debug("the counters of wakers cannot be read");
	counts = (struct waker_counts){
		.is_recorded = recorder->opts.takes_wakers,
		.known = waits.known,
		.open = waits.open,
		.unseen = waits.unseen,
		.lost = waits.lost,
		.lost_ring = seen.lost_ring,
		.lost_nested = seen.lost_nested,
		.hidden = seen.hidden,
		.in_exec = stacks.user.in_exec,
		.left_out = waits.left_out,
	};
	memcpy(counts.walks, stacks.user.walks, sizeof(counts.walks));
	return counts;
}

static struct off_cpu_counts count_off_cpu(const struct recorder *recorder)
{
	const uint64_t *weights_ns;
	struct sample_ingest_counts ingested =
		sample_ingest_get_off_cpu_counts(recorder->ingest, &weights_ns);
	struct wire_off_cpu_counters seen;
	struct off_cpu_counts counts;

	if (sampler_read_off_cpu_counters(recorder->sampler, &seen))
		log_debug("the off-CPU program's counters cannot be read");
	counts = (struct off_cpu_counts){
		.is_recorded = true,
		.period_ns = recorder->opts.off_cpu_period_ns,
		.min_block_ns = recorder->opts.off_cpu_min_block_ns,
		.only_futexes = recorder->opts.only_futexes,
		.fired = seen.fired,
		.filtered = seen.filtered + recorder->num_waits_of_others,
		.unseen_begin = seen.unseen_begin,
		.other_waits = seen.other_waits,
		.other_waits_ns = seen.other_waits_ns,
		.below_min_block = seen.below_min_block,
		.below_min_block_ns = seen.below_min_block_ns,
		.below_period = seen.below_period,
		.samples = ingested.samples,
		.lost = {[LOSS_RING_SAMPLE] = seen.sends.lost_ring_sample,
			 [LOSS_RING_STACK] = seen.sends.lost_ring_stack,
			 [LOSS_UNKNOWN_STACK] = ingested.unknown_stack,
			 [LOSS_UNREAD] = seen.sent_unfinished - recorder->num_sleepers},
		.unfinished = seen.unfinished,
		.unnoted = seen.unnoted,
		.exact_ns = {[WAIT_BLOCKED] = seen.blocked_ns,
			     [WAIT_UNINTERRUPTIBLE] = seen.uninterruptible_ns,
			     [WAIT_RUN_QUEUE] = seen.run_queue_ns,
			     [WAIT_PREEMPTED] = seen.preempted_ns},
		.cpu_ns = seen.cpu_ns,
		.knows_lives = sampler_knows_lives(recorder->sampler),
		.lived_ns = seen.lived_ns,
		.in_exec = ingested.user.in_exec,
		.kernel_only = ingested.user.kernel_only,
		.wakers = count_wakers(recorder),
	};
	memcpy(counts.sampled_ns, weights_ns, sizeof(counts.sampled_ns));
	memcpy(counts.walks, ingested.user.walks, sizeof(counts.walks));
	return counts;
}

static uint64_t scale_weight(const struct event_times *times, uint64_t weight)
{
	struct ratio ratio = {times->enabled_ns, times->running_ns};

	return event_times_have_gaps(times) ? ratio_scale(&ratio, weight) : weight;
}

/* The points of a Poisson process, or the requests that are not measured, are left to chance. */
static bool is_estimated(const struct recorder *recorder, size_t number, bool has_all)
{
	const struct event *event;

	if (!recorder->opts.num_events)
		return false;
	event = &recorder->opts.events[number];
	if (event->requests.end)
		return !has_all;
	return recorder->opts.event_count != 1 && event->mean_distance > 1;
}

static uint64_t get_mean_distance(const struct recorder *recorder, size_t number)
{
	uint64_t mean = recorder->opts.num_events ? recorder->opts.events[number].mean_distance : 0;

	return mean && recorder->opts.event_count ? recorder->opts.event_count : mean;
}

static double count_effective_samples(const struct sample_ingest_event *ingested)
{
	double weight = (double)ingested->weight;

	return ingested->weight_squares > 0 ? weight * weight / ingested->weight_squares : 0;
}

static struct event_counts count_event(const struct recorder *recorder, size_t number)
{
	struct sample_ingest_event ingested = sample_ingest_get_event(recorder->ingest, number);
	struct wire_counters seen = {0};
	struct event_times times = {0};
	uint64_t preempted = 0;
	uint64_t skipped = sampler_get_skipped(recorder->sampler, number);
	uint64_t due = sampler_count_due_ticks(recorder->sampler, number);
	uint64_t undelivered;
	uint64_t rest = 0;

	if (sampler_read_counters(recorder->sampler, number, &seen) ||
	    sampler_read_rest(recorder->sampler, number, &rest) ||
	    sampler_read_preempted(recorder->sampler, number, &preempted))
		log_debug("the sampling program's counters cannot be read");
	if (recorder->opts.num_events)
		times = sampler_get_event_times(recorder->sampler, number);
	undelivered = due > seen.fired ? due - seen.fired : 0;
	return (struct event_counts){
		.name = recorder->opts.num_events ? recorder->opts.events[number].name : "samples",
		.unit = recorder->opts.num_events ? event_get_unit(&recorder->opts.events[number])
						  : "count",
		.fired = seen.fired + preempted + skipped + undelivered,
		.idle = seen.idle,
		.filtered = seen.filtered + recorder->num_of_others.items[number],
		.outside = seen.outside,
		.unmatched = seen.unmatched,
		.weightless = seen.weightless + ingested.nested,
		.unseen_begin = seen.unseen_begin,
		.unfinished = seen.unfinished,
		.below_period = seen.below_period,
		.samples = ingested.samples,
		.lost = {[LOSS_RING_SAMPLE] = seen.sends.lost_ring_sample,
			 [LOSS_RING_STACK] = seen.sends.lost_ring_stack,
			 [LOSS_UNKNOWN_STACK] = ingested.unknown_stack,
			 [LOSS_PREEMPTED] = preempted,
			 [LOSS_SKIPPED] = skipped,
			 [LOSS_BLOCK] = seen.lost_block,
			 [LOSS_UNDELIVERED] = undelivered},
		.is_estimated = is_estimated(recorder, number, !seen.below_period),
		.is_of_requests =
			recorder->opts.num_events && recorder->opts.events[number].requests.end,
		.mean_distance = get_mean_distance(recorder, number),
		.effective_samples = seen.below_period ? count_effective_samples(&ingested) : 0,
		.is_live = recorder->opts.num_events && recorder->opts.events[number].is_live,
		.live = ingested.live,
		.oldest_ns = ingested.oldest_ns,
		.times = times,
		.weight = ingested.weight,
		.scaled_weight = scale_weight(&times, ingested.weight),
		.rest = rest > ingested.rest ? rest - ingested.rest : 0,
		.lost_weight = seen.lost_weight + ingested.lost_weight,
	};
}

struct event_counts *recorder_get_event_counts(const struct recorder *recorder)
{
	size_t num_events = recorder->num_of_others.length;
	struct event_counts *counts = calloc(num_events, sizeof(*counts));

	for (size_t i = 0; counts && i < num_events; i++)
		counts[i] = count_event(recorder, i);
	return counts;
}

#define ADD_OUTCOME(name)       account->name += counts.name;
#define LEAVE_OUTCOME_OUT(name) account->fired -= counts.name;

/* Sum over all events. */
static void count_ticks(const struct recorder *recorder, struct recorder_account *account)
{
	for (size_t i = 0; i < recorder->num_of_others.length; i++) {
		struct event_counts counts = count_event(recorder, i);

		account->fired += counts.fired;
		EVENT_OUTCOMES(ADD_OUTCOME, LEAVE_OUTCOME_OUT)
		account->outside += counts.outside;
		for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
			account->lost[loss] += counts.lost[loss];
	}
}

#undef ADD_OUTCOME
#undef LEAVE_OUTCOME_OUT

struct recorder_account recorder_get_account(const struct recorder *recorder)
{
	struct sample_ingest_counts counts = sample_ingest_get_counts(recorder->ingest);
	struct broken_leases broken = sampler_get_broken_leases(recorder->sampler);
	struct own_window window = get_own_window(recorder);
	struct recorder_account account;

	account = (struct recorder_account){
		.in_exec = counts.user.in_exec,
		.kernel_only = counts.user.kernel_only,
		.lost_side_band = side_band_get_lost_count(recorder->side_band),
		.late_events = event_queue_get_late_count(recorder->queue),
		.duration_ns = window.end_ns - window.start_ns,
		.observed_ns = recorder->observed_ns,
		.idle_ns = recorder->idle_ns,
		.num_cpus = recorder->num_cpus,
		.program_time = recorder->program_time,
		.recovered = counts.recovered,
		.unproven = counts.user.unproven,
		.processes = process_table_get_stats(recorder->processes),
		.unopened_files = file_table_get_unopened_count(recorder->files),
		.late_allocators = recorder->late_allocators,
		.overwritten = {(uint32_t)broken.count, broken.first_path},
		.left_probes = sampler_get_left_probes(recorder->sampler),
		.opener = slow_opener_get_counts(file_table_get_opener(recorder->files)),
	};
	count_ticks(recorder, &account);
	if (sampler_read_unfollowed(recorder->sampler, &account.unfollowed))
		log_debug("the sampling program's counters cannot be read");
	memcpy(account.walks, counts.user.walks, sizeof(account.walks));
	if (recorder->publisher)
		account.tables = publisher_get_statistics(recorder->publisher);
	account.tables.worker_cpu_ns +=
		elf_files_get_cost(recorder->elf_files).cpu_ns +
		slow_opener_read_cpu_ns(file_table_get_opener(recorder->files)) +
		sampler_read_helper_cpu_ns(recorder->sampler);
	account.tables.worker_rss_bytes += elf_files_get_cost(recorder->elf_files).max_rss_bytes;
	account.tables.worker_cpu_ns += allocator_follower_get_cost(recorder->follower).cpu_ns;
	account.tables.worker_rss_bytes +=
		allocator_follower_get_cost(recorder->follower).max_rss_bytes;
	if (recorder->scheduling)
		account.scheduling = scheduling_get_counts(recorder->scheduling);
	if (recorder->opts.off_cpu_period_ns)
		account.off_cpu = count_off_cpu(recorder);
	if (recorder->call_check)
		account.calls = call_check_get_counts(recorder->call_check);
	if (recorder->runtimes) {
		const struct runtime_counts *runtimes =
			runtime_stacks_get_counts(recorder->runtimes, &account.num_runtimes);

		if (account.num_runtimes)
			memcpy(account.runtimes, runtimes,
			       account.num_runtimes * sizeof(*runtimes));
		account.lost_runtime_codes = runtime_stacks_get_lost_codes(recorder->runtimes);
	}
	return account;
}

const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder,
							size_t *ret_count)
{
	return sample_ingest_get_user_stacks(recorder->ingest, ret_count);
}

const struct stack_count *recorder_get_event_stacks(const struct recorder *recorder,
						    size_t *ret_count)
{
	return sample_ingest_get_weighed_stacks(recorder->ingest, ret_count);
}

struct profile *recorder_get_profile(struct recorder *recorder)
{
	return recorder->profile;
}

struct recorded_code recorder_get_code(const struct recorder *recorder)
{
	struct recorded_code code = {.files = recorder->files, .processes = recorder->processes};

	code.kernel = side_band_get_kernel_code(recorder->side_band, &code.num_kernel);
	return code;
}

int recorder_list_descendants(const struct recorder *recorder, const pid_t *pids, size_t num_pids,
			      pid_t **ret, size_t *ret_count)
{
	return live_descendants_list(recorder->processes, pids, num_pids, ret, ret_count);
}

static int give_kworks(struct kwork_store *kworks, struct timeline *timeline)
{
	FILE *kallsyms = fopen("/proc/kallsyms", "re");
	int err = kwork_store_give(kworks, kallsyms, timeline);

	if (kallsyms)
		fclose(kallsyms);
	return err;
}

int recorder_build_trace(const struct recorder *recorder, struct timeline *timeline)
{
	struct trace_source source = {
		.log = recorder->trace_log,
		.profile = recorder->profile,
		.processes = recorder->processes,
		.period_ns = NS_PER_SECOND / recorder->opts.frequency_hz,
		.wait_ns = recorder->opts.off_cpu_period_ns,
		.scales = recorder->scales.items,
		.num_scales = recorder->scales.length,
	};
	int err = trace_builder_build(&source, timeline);

	if (err)
		return err;
	if (recorder->scheduling) {
		err = trace_schedule_add(scheduling_get_store(recorder->scheduling),
					 recorder->processes,
					 trace_log_get_occupancies(recorder->trace_log), timeline);
		if (err)
			return err;
		err = give_kworks(scheduling_get_kworks(recorder->scheduling), timeline);
		if (err)
			return err;
	}
	return trace_log_complete(recorder->trace_log);
}

void recorder_add_fds(const struct recorder *recorder, struct fd_list *fds)
{
	if (recorder->trace_log)
		trace_log_add_fds(recorder->trace_log, fds);
	if (recorder->scheduling) {
		schedule_store_add_fds(scheduling_get_store(recorder->scheduling), fds);
		kwork_store_add_fds(scheduling_get_kworks(recorder->scheduling), fds);
	}
}

struct trace_losses recorder_get_trace_losses(const struct recorder *recorder)
{
	struct trace_log *log = recorder->trace_log;
	struct spool_counts samples = spool_get_counts(trace_log_get_samples(log));
	struct spool_counts others[] = {
		spool_get_counts(trace_log_get_fills(log)),
		trace_log_get_wait_counts(log),
		recorded_occupancies_get_counts(trace_log_get_occupancies(log)),
		spool_get_counts(trace_log_get_task_events(log)),
	};
	struct trace_losses losses = {
		.num_samples = samples.lost + samples.kept,
		.lost_samples = samples.lost,
		.lost_fills = others[0].lost,
		.lost_waits = others[1].lost,
		.lost_occupancies = others[2].lost,
		.lost_task_events = others[3].lost,
		.lost_renames = trace_log_get_lost_renames(log),
		.error = samples.lost_errno,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(others) && !losses.error; i++)
		losses.error = others[i].lost_errno;
	return losses;
}

const char *recorder_get_event_name(const struct recorder *recorder)
{
	return sampler_get_event_name(recorder->sampler);
}

int recorder_list_runtimes(const struct recorder *recorder, struct runtime_process **ret,
			   size_t *ret_count)
{
	ARRAY(struct runtime_process) found = {0};
	uint32_t count = recorder->runtimes ? process_table_get_count(recorder->processes) : 0;

	for (uint32_t id = 0; id < count; id++) {
		const struct process *process = process_table_get(recorder->processes, id);
		struct process_runtime runtime =
			runtime_stacks_get_runtime(recorder->runtimes, process);
		struct runtime_process *added;

		if (!runtime.is_there || process->is_exited || process->end_ns)
			continue;
		added = array_add(&found);
		if (!added) {
			array_release(&found);
			return -ENOMEM;
		}
		*added = (struct runtime_process){.pid = process->pid,
						  .runtime = runtime.runtime,
						  .major = runtime.major,
						  .minor = runtime.minor,
						  .is_known = runtime.is_known};
		snprintf(added->comm, sizeof(added->comm), "%s", process->comm);
	}
	*ret = found.items;
	*ret_count = found.length;
	return 0;
}
