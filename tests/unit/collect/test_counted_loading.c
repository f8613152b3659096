/*
 * Opening and attaching an event's program. The program's object is opened, and not loaded: what it would be loaded with is
 * there to be read. The kernel's calls are those of this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CALLS 16

/* Perf events that were opened, and what runs there. */
struct opened {
	struct perf_event_attr attr;
	char path[64]; /* of user mode: of the file */
	int cpu;
	int fd;
	const void *program;
	uint64_t cookie;
	const char *filter;
};

static struct opened opened[MAX_CALLS];
static unsigned int num_opened;
static int first_cpu;          /* the others are offline */
static unsigned int fail_open; /* the number of the event that is refused, from 1 on; 0: none */
static int open_error;
static int attach_error;
static int filter_error;

static long open_fake_event(long number, struct perf_event_attr *attr, int pid, int cpu, int group,
			    unsigned long flags);
static int control_fake_event(int fd, unsigned long request, ...);

#define syscall            open_fake_event
#define ioctl              control_fake_event
#define allocator_code_add note_code
#include "collect/programs/counted_program.c"
#undef syscall
#undef ioctl

#include "collect/events/event_format.h"
#include "unit.h"

/* Programs of calls that are under way: those of the last event, and their use. */
static struct {
	struct calls_opts opts;
	int error;
	unsigned int num_new;
	unsigned int num_freed;
	unsigned int num_noted;
	uint64_t end_ns;
} calls;

int calls_program_new(const struct calls_opts *opts, struct calls_program **ret)
{
	calls.opts = *opts;
	calls.num_new++;
	*ret = calls.error ? NULL : (struct calls_program *)&calls;
	return calls.error;
}

void calls_program_free(struct calls_program *program)
{
	calls.num_freed += program != NULL;
}

void calls_program_note(struct calls_program *program)
{
	assert_ptr_equal(program, &calls);
	calls.num_noted++;
}

int calls_program_read(struct calls_program *program, uint64_t end_ns,
		       int (*handle)(const void *record, size_t size, void *context), void *context,
		       uint64_t *ret_num)
{
	assert_ptr_equal(program, &calls);
	calls.end_ns = end_ns;
	*ret_num = 3;
	return handle(NULL, 0, context);
}

/* Files whose code is noted as an allocator's. */
static struct {
	size_t event;
	int fd;
	uint64_t since_ns;
} noted[4];
static size_t num_noted;
static int note_error;

int note_code(struct allocator_code *code _unused_, size_t event,
	      const struct probe_site *noted_sites, size_t num_noted_sites, uint64_t since_ns)
{
	assert_int_equal(num_noted_sites, noted_sites->fd == 700 ? 2 : 1);
	noted[num_noted].event = event;
	noted[num_noted].fd = noted_sites->fd;
	noted[num_noted++].since_ns = since_ns;
	return note_error;
}

static const void *program_of_fd(int fd);

static long open_fake_event(long number, struct perf_event_attr *attr, int pid, int cpu, int group,
			    unsigned long flags)
{
	struct opened *event = &opened[num_opened];

	assert_int_equal(number, SYS_perf_event_open);
	assert_int_equal(pid, -1);
	assert_int_equal(group, -1);
	assert_int_equal(flags, PERF_FLAG_FD_CLOEXEC);
	assert_int_equal(attr->size, sizeof(*attr));
	assert_true(attr->disabled);
	errno = ENODEV;
	if (cpu < first_cpu)
		return -1;
	errno = open_error;
	if (num_opened + 1 == fail_open)
		return -1;
	assert_true(num_opened < MAX_CALLS);
	*event = (struct opened){.attr = *attr, .cpu = cpu};
	if (attr->type == 7 && attr->config1)
		snprintf(event->path, sizeof(event->path), "%s",
			 (const char *)(uintptr_t)attr->config1);
	event->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(event->fd >= 0);
	num_opened++;
	return event->fd;
}

static struct opened *find_opened(int fd)
{
	for (unsigned int i = 0; i < num_opened; i++)
		if (opened[i].fd == fd)
			return &opened[i];
	fail_msg("no event has this descriptor");
	return NULL;
}

static int control_fake_event(int fd, unsigned long request, ...)
{
	struct opened *event = find_opened(fd);
	va_list arguments;

	va_start(arguments, request);
	if (request == PERF_EVENT_IOC_SET_BPF)
		event->program = program_of_fd(va_arg(arguments, int));
	else
		event->filter = va_arg(arguments, const char *);
	va_end(arguments);
	errno = request == PERF_EVENT_IOC_SET_BPF ? attach_error : filter_error;
	return errno ? -1 : 0;
}

int bpf_link_create(int program_fd, int target_fd, enum bpf_attach_type type,
		    const struct bpf_link_create_opts *opts)
{
	struct opened *event = find_opened(target_fd);

	assert_int_equal(type, BPF_PERF_EVENT);
	if (attach_error)
		return -attach_error;
	event->program = program_of_fd(program_fd);
	event->cookie = opts->perf_event.bpf_cookie;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The process that holds probes of files. */
static unsigned int num_kept;
static int keep_error;

int probe_keeper_add(struct probe_keeper *keeper, int fd, const struct leased_file *file _unused_)
{
	assert_null(keeper);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	num_kept += !keep_error;
	return keep_error;
}

/* Raw tracepoints. */
static const char *raw_name;
static const void *raw_program;
static unsigned int num_before_raw; /* perf events that were there */

int bpf_raw_tracepoint_open(const char *name, int program_fd)
{
	raw_name = name;
	raw_program = program_of_fd(program_fd);
	num_before_raw = num_opened;
	return attach_error ? -attach_error : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The sources of arguments that were set, a letter each: N(one) or R(egister); L: a link. */
static char story[64];

/* Links to files. */
static struct {
	struct uprobe_link_opts opts;
	struct uprobe_link_point points[8];
} links[MAX_CALLS];
static unsigned int num_links;
static int link_error;

int uprobe_link_open(const struct uprobe_link_opts *opts)
{
	assert_true(num_links < MAX_CALLS && opts->num_points <= ARRAY_LENGTH(links[0].points));
	links[num_links].opts = *opts;
	memcpy(links[num_links].points, opts->points, opts->num_points * sizeof(*opts->points));
	num_links++;
	story[strlen(story)] = 'L';
	return link_error ? link_error : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Programs and maps are known by their number in the object. */
static struct counted_bpf *skeleton;

static const void *program_of_fd(int fd)
{
	struct bpf_program *program = NULL;

	while (fd-- > 0)
		program = bpf_object__next_program(skeleton->obj, program);
	return program;
}

int bpf_program__fd(const struct bpf_program *program)
{
	struct bpf_program *other = NULL;
	int fd = 0;

	do {
		other = bpf_object__next_program(skeleton->obj, other);
		fd++;
	} while (other != program);
	return fd;
}

int bpf_map__fd(const struct bpf_map *map)
{
	struct bpf_map *other = NULL;
	int fd = 0;

	do {
		other = bpf_object__next_map(skeleton->obj, other);
		fd++;
	} while (other != map);
	return fd;
}

static uint64_t num_updates; /* of all maps */
static uint64_t fail_update; /* its number, from 1 on; 0: none */
static uint64_t num_slots;
static uint32_t last_slot;
static struct wire_argument arguments[16];
static struct wire_own_code own_codes[16];
static uint64_t file_starts[16];
static int cgroup;
static uint32_t num_filter_parts;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	uint32_t index = key ? *(const uint32_t *)key : 0;

	assert_int_equal(flags, BPF_ANY);
	errno = EFAULT;
	if (++num_updates == fail_update)
		return -EFAULT;
	if (fd == bpf_map__fd(skeleton->maps.free_slots)) {
		num_slots++;
		last_slot = *(const uint32_t *)value;
	} else if (fd == bpf_map__fd(skeleton->maps.arguments)) {
		arguments[index] = *(const struct wire_argument *)value;
		story[strlen(story)] = arguments[index].source == WIRE_ARGUMENT_NONE ? 'N' : 'R';
	} else if (fd == bpf_map__fd(skeleton->maps.own_code)) {
		own_codes[index] = *(const struct wire_own_code *)value;
	} else if (fd == bpf_map__fd(skeleton->maps.file_starts)) {
		file_starts[index] = *(const uint64_t *)value;
		story[strlen(story)] = file_starts[index] == UINT64_MAX ? 'M' : 'S';
	} else if (fd == bpf_map__fd(skeleton->maps.event_filter)) {
		num_filter_parts = index + 1;
	} else {
		assert_int_equal(fd, bpf_map__fd(skeleton->maps.cgroups));
		assert_int_equal(index, 0);
		cgroup = *(const int *)value;
	}
	return 0;
}

static bool has_types;
static bool has_links;

bool kernel_has_types(void)
{
	return has_types;
}

bool kernel_has_uprobe_links(void)
{
	return has_links;
}

static struct sampling_program_opts sampling_opts;

const struct sampling_program_opts *sampling_program_get_opts(
	const struct sampling_program *program _unused_)
{
	return &sampling_opts;
}

void sampling_program_get_namespace(const struct sampling_program *program _unused_,
				    volatile __u64 *ret_dev, volatile __u64 *ret_inode)
{
	*ret_dev = 44;
	*ret_inode = 55;
}

static int share_error;

int sampling_program_share_maps(const struct sampling_program *program _unused_,
				const struct bpf_object *object _unused_)
{
	return share_error;
}

static unsigned int num_loads;
static bool refuses_kept_cpu;
static int load_error;

/* Opens and does not load. */
int bpf_log_load(int (*open_object_)(void *context, struct bpf_object_skeleton **ret),
		 void (*close_)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *opened_skeleton;
	int err = open_object_(context, &opened_skeleton);

	skeleton = ((struct counted_program *)context)->bpf;
	num_loads++;
	if (err)
		return err;
	assert_ptr_equal(opened_skeleton, skeleton->skeleton);
	return skeleton->rodata->keeps_cpu && refuses_kept_cpu ? -EINVAL : load_error;
}

static char name[] = "some:event";
static struct event event;
static struct probe probe;
static struct probe_site sites[3];
static struct counted_program_opts opts;
static struct counted_program *program;
static struct error error;

static int set_up(void **state _unused_)
{
	memset(opened, 0, sizeof(opened));
	num_opened = fail_open = num_links = num_loads = num_before_raw = 0;
	first_cpu = open_error = attach_error = filter_error = link_error = 0;
	share_error = load_error = 0;
	raw_name = NULL;
	num_updates = fail_update = num_slots = num_filter_parts = 0;
	last_slot = UINT32_MAX;
	num_noted = 0;
	note_error = 0;
	memset(&calls, 0, sizeof(calls));
	memset(story, 0, sizeof(story));
	cgroup = -1;
	has_types = true;
	has_links = refuses_kept_cpu = false;
	sampling_opts = (struct sampling_program_opts){0};
	event = (struct event){.name = name, .kind = EVENT_TRACEPOINT, .type = 2, .config = 301};
	for (size_t i = 0; i < ARRAY_LENGTH(sites); i++)
		sites[i] = (struct probe_site){
			.config = 0x100 + i,
			.offset = 0x2000 + i,
			.semaphore_offset = 0x30 + i,
			.argument = {.source = ARGUMENT_REGISTER,
				     .bytes = 8,
				     .index = ARGUMENT_NO_REGISTER},
			.fd = i < 2 ? 700 : 701,
			.own_code.jump_register = WIRE_NO_REGISTER,
			.own_code.jump_limit = i,
			.free_register = WIRE_NO_REGISTER,
		};
	probe = (struct probe){.kind = PROBE_UPROBE, .name = name};
	probe.sites.items = sites;
	probe.sites.length = ARRAY_LENGTH(sites);
	keep_error = 0;
	opts = (struct counted_program_opts){.event = &event, .number = 3, .cgroup_fd = -1};
	program = NULL;
	error = (struct error){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	counted_program_free(program);
	return 0;
}

static void be_probe(enum probe_kind kind)
{
	event.kind = EVENT_PROBE;
	event.type = 7;
	event.probe = &probe;
	probe.kind = kind;
}

static int make(void)
{
	return counted_program_new(&opts, NULL, &program, &error);
}

static void make_well(void)
{
	counted_program_free(program);
	program = NULL;
	num_kept = 0;
	assert_int_equal(make(), 0);
}

static uint32_t entries_of(const struct bpf_map *map)
{
	return bpf_map__max_entries(map);
}

/* The program at a hit, besides those that are wanted; all others are not loaded. */
static void expect_loaded(const struct bpf_program *hit, const struct bpf_program *second,
			  const struct bpf_program *third)
{
	struct bpf_program *other = NULL;

	assert_ptr_equal(program->hit, hit);
	while ((other = bpf_object__next_program(skeleton->obj, other)))
		assert_int_equal(bpf_program__autoload(other),
				 other == hit || other == second || other == third);
}

static void each_kind_has_its_program(void **state _unused_)
{
	make_well();
	expect_loaded(skeleton->progs.on_tracepoint, NULL, NULL);
	event.kind = EVENT_SYSTEM_CALL;
	event.start_config = 9;
	make_well();
	expect_loaded(skeleton->progs.on_tracepoint, skeleton->progs.on_start, NULL);
	event.kind = EVENT_BLOCK_IO;
	event.requests.end = "block_rq_complete";
	make_well();
	expect_loaded(skeleton->progs.on_request, skeleton->progs.on_start,
		      skeleton->progs.on_request_end);
	event = (struct event){.name = name, .kind = EVENT_SOFTWARE};
	make_well();
	expect_loaded(skeleton->progs.on_software_event, NULL, NULL);
	assert_int_equal(num_links, 0);
	be_probe(PROBE_UPROBE);
	make_well();
	expect_loaded(skeleton->progs.on_probe, NULL, NULL);
	event.is_live = true;
	make_well();
	expect_loaded(skeleton->progs.on_probe, skeleton->progs.on_return, NULL);
}

/* What an event does not need takes no memory. */
static void maps_are_as_large_as_the_event_needs(void **state _unused_)
{
	uint32_t num_cpus = (uint32_t)libbpf_num_possible_cpus();
	uint32_t num_requests, num_starts;

	make_well();
	assert_int_equal(entries_of(skeleton->maps.arguments), 1);
	assert_int_equal(entries_of(skeleton->maps.open_calls), num_cpus);
	assert_int_equal(entries_of(skeleton->maps.returning), num_cpus);
	assert_int_equal(entries_of(skeleton->maps.requests), 1);
	assert_int_equal(entries_of(skeleton->maps.calls), 1);
	assert_int_equal(entries_of(skeleton->maps.sent_stacks), num_cpus);
	assert_int_equal(entries_of(skeleton->maps.sent_runtime), num_cpus);
	assert_int_equal(entries_of(skeleton->maps.raw_samples), num_cpus);
	assert_int_equal(num_slots, 0);
	event.requests.end = "block_rq_complete";
	event.start_config = 9;
	make_well();
	num_requests = entries_of(skeleton->maps.requests);
	num_starts = entries_of(skeleton->maps.calls);
	assert_true(num_requests > 1000 && num_starts > 1000);
	be_probe(PROBE_ALLOCATOR);
	event.start_config = 0;
	event.requests.end = NULL;
	event.is_live = true;
	make_well();
	assert_int_equal(entries_of(skeleton->maps.arguments), 3 + PROBE_MAX_LATE_SITES);
	assert_int_equal(entries_of(skeleton->maps.own_code), 3 + PROBE_MAX_LATE_SITES);
	assert_int_equal(entries_of(skeleton->maps.file_starts), 3 + PROBE_MAX_LATE_SITES);
	assert_true(entries_of(skeleton->maps.open_calls) > 1000);
	assert_true(entries_of(skeleton->maps.returning) > 1000);
	assert_int_equal(entries_of(skeleton->maps.blocks), WIRE_MAX_BLOCKS);
	assert_int_equal(entries_of(skeleton->maps.free_slots), WIRE_MAX_BLOCKS);
	/* Each slot once; those with small numbers are taken first. */
	assert_int_equal(num_slots, WIRE_MAX_BLOCKS);
	assert_int_equal(last_slot, 0);
}

static int take_nothing(const void *record _unused_, size_t size, void *context)
{
	return size || context ? -EIO : 0;
}

static void calls_under_way_are_those_of_their_time(void **state _unused_)
{
	make_well();
	assert_int_equal(calls.num_new, 0);
	assert_int_equal(counted_program_read_calls(program, 80, take_nothing, NULL), 0);
	assert_int_equal(calls.end_ns, 0);
	event.kind = EVENT_SYSTEM_CALL;
	event.start_config = 9;
	make_well();
	assert_int_equal(calls.num_new, 1);
	assert_int_equal(calls.opts.event, 3);
	assert_int_equal(calls.opts.cgroup_fd, -1);
	/* Until the end of what is asked for, or of the recording. */
	program->stop_ns = 50;
	assert_int_equal(counted_program_read_calls(program, 80, take_nothing, NULL), 0);
	assert_int_equal(calls.end_ns, 50);
	assert_int_equal(program->num_open_calls, 3);
	assert_int_equal(counted_program_read_calls(program, 40, take_nothing, &calls), -EIO);
	assert_int_equal(calls.end_ns, 40);
	calls.error = -ENOMEM;
	assert_int_equal(counted_program_new(&opts, NULL, &program, &error), -ENOMEM);
}

static void the_program_knows_its_event(void **state _unused_)
{
	const struct counted_bpf__rodata *constants;

	event.field_offset = 24;
	event.field_bytes = 4;
	event.is_field_signed = true;
	event.field_scale = 512;
	event.hit_weight = 5;
	opts.count = 1000;
	make_well();
	constants = skeleton->rodata;
	assert_int_equal(constants->event_number, 3);
	assert_int_equal(constants->weight_offset, 24);
	assert_int_equal(constants->weight_bytes, 4);
	assert_true(constants->is_weight_signed);
	assert_int_equal(constants->weight_scale, 512);
	assert_int_equal(constants->hit_weight, 5);
	assert_int_equal(constants->fixed_period, 1000);
	assert_false(constants->weighs_time);
	assert_false(constants->has_calls);
	assert_false(constants->is_of_cgroup);
	assert_false(constants->is_filtered);
	assert_true(constants->take_user_stacks);
	assert_true(constants->take_kernel_stacks);
	assert_false(constants->walks_by_table);
	assert_false(constants->takes_runtime_frames);
	assert_int_equal(constants->pid_namespace_dev, 44);
	assert_int_equal(constants->pid_namespace_inode, 55);
	assert_false(constants->is_of_probe);
	assert_false(constants->is_live);
	assert_false(constants->keeps_cpu);
	assert_false(constants->points_differ);
	assert_int_equal(constants->request_kinds, 0);
	/* It weighs one else. */
	event.hit_weight = event.field_scale = 0;
	make_well();
	assert_int_equal(skeleton->rodata->hit_weight, 1);
	assert_int_equal(skeleton->rodata->weight_scale, 1);
}

static void the_program_knows_what_is_sampled(void **state _unused_)
{
	const struct counted_bpf__rodata *constants;

	sampling_opts = (struct sampling_program_opts){.no_kernel_stacks = true,
						       .no_user_stacks = true,
						       .walks_by_table = true,
						       .takes_runtime_frames = true,
						       .is_filtered = true};
	event.kind = EVENT_SYSTEM_CALL;
	event.start_config = 9;
	opts.cgroup_fd = 0;
	make_well();
	constants = skeleton->rodata;
	assert_true(constants->weighs_time);
	assert_true(constants->has_calls);
	assert_true(constants->is_of_cgroup);
	assert_true(constants->is_filtered);
	assert_false(constants->take_user_stacks);
	assert_false(constants->take_kernel_stacks);
	assert_true(constants->walks_by_table);
	assert_true(constants->takes_runtime_frames);
	assert_int_equal(cgroup, 0);
	/* All calls end at one point of the kernel. */
	sampling_opts.no_kernel_stacks = false;
	make_well();
	assert_false(skeleton->rodata->take_kernel_stacks);
	event.kind = EVENT_TRACEPOINT;
	opts.cgroup_fd = -1;
	cgroup = -1;
	make_well();
	assert_true(skeleton->rodata->take_kernel_stacks);
	assert_int_equal(cgroup, -1);
}

static void the_program_knows_where_requests_are_described(void **state _unused_)
{
	event.kind = EVENT_BLOCK_IO;
	event.requests = (struct event_requests){.kinds = 0x15,
						 .end = "block_rq_complete",
						 .device_offset = 8,
						 .sector_offset = 16,
						 .letters_offset = 24,
						 .bytes_offset = 32,
						 .num_sectors_offset = 40};
	make_well();
	assert_int_equal(skeleton->rodata->request_kinds, 0x15);
	assert_int_equal(skeleton->rodata->start_device_offset, 8);
	assert_int_equal(skeleton->rodata->start_sector_offset, 16);
	assert_int_equal(skeleton->rodata->start_letters_offset, 24);
	assert_int_equal(skeleton->rodata->start_bytes_offset, 32);
	assert_int_equal(skeleton->rodata->start_num_sectors_offset, 40);
}

static uint64_t get_period_of(uint64_t count, uint64_t mean)
{
	opts.count = count;
	event.mean_distance = mean;
	make_well();
	assert_int_equal(program->has_exponential_distances, mean != 0);
	return skeleton->rodata->fixed_period;
}

/* The distance that was asked for is the mean then. */
static void the_period_is_what_was_asked_for(void **state _unused_)
{
	assert_int_equal(get_period_of(0, 0), 0);
	assert_int_equal(get_period_of(7, 0), 7);
	assert_int_equal(get_period_of(0, 500), 500);
	assert_int_equal(get_period_of(7, 500), 7);
	assert_true(get_period_of(WIRE_MAX_MEAN_DISTANCE, 500) == WIRE_MAX_MEAN_DISTANCE);
	assert_true(get_period_of(WIRE_MAX_MEAN_DISTANCE + 1, 500) == WIRE_MAX_MEAN_DISTANCE);
	assert_true(get_period_of(WIRE_MAX_MEAN_DISTANCE + 1, 0) == WIRE_MAX_MEAN_DISTANCE + 1);
}

static void samples_of_a_window_follow_the_frequency(void **state _unused_)
{
	static const struct {
		uint32_t frequency_hz;
		uint32_t samples;
	} cases[] = {{0, 1}, {1, 1}, {99, 1}, {100, 1}, {199, 1}, {200, 2}, {990, 9}, {1000, 10}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		opts.frequency_hz = cases[i].frequency_hz;
		make_well();
		assert_int_equal(skeleton->rodata->samples_per_window, cases[i].samples);
	}
}

static void a_tracepoint_runs_its_program_on_all_cpus(void **state _unused_)
{
	make_well();
	assert_int_equal(num_opened, 1);
	assert_int_equal(opened[0].attr.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(opened[0].attr.config, 301);
	assert_int_equal(opened[0].cpu, 0);
	assert_ptr_equal(opened[0].program, skeleton->progs.on_tracepoint);
	assert_null(opened[0].filter);
	assert_null(program->opts.event); /* it was borrowed */
}

/* The first ones are offline. */
static void the_first_cpu_that_is_there_has_the_event(void **state _unused_)
{
	int num_cpus = libbpf_num_possible_cpus();

	first_cpu = num_cpus - 1;
	make_well();
	assert_int_equal(opened[0].cpu, num_cpus - 1);
	first_cpu = num_cpus;
	counted_program_free(program);
	program = NULL;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "the kernel refused an event at some:event"));
	assert_null(program);
}

/* What is to end is known when it began. */
static void the_start_is_attached_first(void **state _unused_)
{
	event.kind = EVENT_BLOCK_IO;
	event.start_config = 9;
	event.requests.end = "block_rq_complete";
	make_well();
	assert_int_equal(num_opened, 2);
	assert_int_equal(opened[0].attr.config, 9);
	assert_ptr_equal(opened[0].program, skeleton->progs.on_start);
	assert_int_equal(opened[1].attr.config, 301);
	assert_ptr_equal(opened[1].program, skeleton->progs.on_request);
	assert_string_equal(raw_name, "block_rq_complete");
	assert_ptr_equal(raw_program, skeleton->progs.on_request_end);
	assert_int_equal(num_before_raw, 1);
	assert_int_equal(program->held.fds.length, 3);
}

static void ticks_are_attached_by_the_sampler(void **state _unused_)
{
	event.kind = EVENT_SOFTWARE;
	make_well();
	assert_int_equal(num_opened, 0);
	assert_int_equal(counted_program_get_fd(program),
			 bpf_program__fd(skeleton->progs.on_software_event));
}

/* The kernel reads the very file that was looked into. */
/* A filter is the kernel's of the tracepoint that it is written for. */
static void tracepoints_alike_run_the_same_program(void **state _unused_)
{
	event.config = 8;
	event.more_configs[0] = 9;
	event.more_configs[1] = 10;
	event.num_more_configs = 2;
	make_well();
	assert_int_equal(num_opened, 3);
	assert_int_equal(opened[0].attr.config, 9);
	assert_int_equal(opened[1].attr.config, 10);
	assert_int_equal(opened[2].attr.config, 8);
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(opened[i].program, skeleton->progs.on_tracepoint);
}

static void each_point_of_a_probe_is_attached(void **state _unused_)
{
	be_probe(PROBE_UPROBE);
	make_well();
	assert_int_equal(num_opened, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(opened[i].attr.type, 7);
		assert_int_equal(opened[i].attr.config, 0x100 + i);
		assert_int_equal(opened[i].attr.config2, 0x2000 + i);
		assert_string_equal(opened[i].path,
				    i < 2 ? "/proc/self/fd/700" : "/proc/self/fd/701");
		assert_ptr_equal(opened[i].program, skeleton->progs.on_probe);
	}
	assert_true(skeleton->rodata->is_of_probe);
	assert_true(skeleton->rodata->is_probe_of_user_mode);
	assert_int_equal(num_links, 0);
	assert_int_equal(num_kept, 3);
	assert_int_equal(program->held.fds.length, 0);
	/* Whoever does not hold a probe could not end it. */
	counted_program_free(program);
	program = NULL;
	keep_error = -EPIPE;
	assert_int_equal(make(), -EPIPE);
	assert_non_null(strstr(error.message, "Broken pipe"));
}

static void functions_of_the_kernel_are_named(void **state _unused_)
{
	be_probe(PROBE_KPROBE);
	event.type = 6;
	make_well();
	assert_int_equal(opened[0].attr.type, 6);
	assert_ptr_equal((const void *)(uintptr_t)opened[0].attr.config1, name);
	assert_false(skeleton->rodata->is_probe_of_user_mode);
	assert_true(skeleton->rodata->is_of_probe);
	has_links = true;
	probe.are_addresses = true;
	num_opened = 0;
	make_well();
	assert_int_equal(opened[0].attr.config1, 0);
	assert_int_equal(num_links, 0);
}

/* Each point has its number, by which the program finds the argument. */
static void points_that_differ_have_a_cookie(void **state _unused_)
{
	be_probe(PROBE_USDT);
	sites[1].argument.base = 3;
	sites[2].return_config = 0x900;
	event.is_live = true;
	make_well();
	assert_true(skeleton->rodata->points_differ);
	assert_int_equal(num_opened, 4);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(opened[i].cookie, i);
		assert_ptr_equal(opened[i].program, skeleton->progs.on_probe);
	}
	assert_int_equal(opened[3].attr.config, 0x900);
	assert_int_equal(opened[3].cookie, 2);
	assert_ptr_equal(opened[3].program, skeleton->progs.on_return);
	assert_int_equal(num_kept, 8);
	assert_int_equal(entries_of(skeleton->maps.arguments), 3);
	assert_int_equal(arguments[1].base, 3);
	assert_int_equal(arguments[0].base, 0);
}

static void any_difference_of_an_argument_counts(void **state _unused_)
{
	be_probe(PROBE_USDT);
	assert_false(points_differ(&probe));
	for (unsigned int i = 0; i < 7; i++) {
		struct probe_argument *argument = &sites[2].argument;

		set_up(NULL);
		be_probe(PROBE_USDT);
		argument->source += i == 0;
		argument->bytes += i == 1;
		argument->is_signed += i == 2;
		argument->base += i == 3;
		argument->index -= i == 4;
		argument->scale += i == 5;
		argument->displacement += i == 6;
		assert_true(points_differ(&probe));
	}
	set_up(NULL);
	be_probe(PROBE_ALLOCATOR);
	assert_true(points_differ(&probe));
}

static void arguments_are_described(void **state _unused_)
{
	static const struct {
		enum argument_source source;
		uint8_t wire;
	} sources[] = {{ARGUMENT_NONE, WIRE_ARGUMENT_NONE},
		       {ARGUMENT_CONSTANT, WIRE_ARGUMENT_CONSTANT},
		       {ARGUMENT_REGISTER, WIRE_ARGUMENT_REGISTER},
		       {ARGUMENT_MEMORY, WIRE_ARGUMENT_MEMORY},
		       {ARGUMENT_PRODUCT, WIRE_ARGUMENT_PRODUCT}};

	be_probe(PROBE_UPROBE);
	for (size_t i = 0; i < ARRAY_LENGTH(sources); i++) {
		for (size_t site = 0; site < ARRAY_LENGTH(sites); site++)
			sites[site].argument =
				(struct probe_argument){.source = sources[i].source,
							.bytes = 4,
							.is_signed = 1,
							.base = 5,
							.index = ARGUMENT_NO_REGISTER,
							.scale = 8,
							.displacement = -16};
		num_opened = 0;
		make_well();
		assert_int_equal(arguments[0].source, sources[i].wire);
		assert_int_equal(arguments[0].bytes, 4);
		assert_int_equal(arguments[0].is_signed, 1);
		assert_int_equal(arguments[0].base, 5);
		assert_int_equal(arguments[0].index, WIRE_NO_REGISTER);
		assert_int_equal(arguments[0].scale, 8);
		assert_true(arguments[0].displacement == (uint64_t)-16);
		assert_int_equal(arguments[0].may_jump, 0);
		assert_int_equal(arguments[0].frees, WIRE_NO_REGISTER);
	}
	for (size_t site = 0; site < ARRAY_LENGTH(sites); site++)
		sites[site].argument.index = 7;
	num_opened = 0;
	make_well();
	assert_int_equal(arguments[0].index, 7);
}

static void allocators_have_their_code(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	sites[1].own_code.jump_register = 4;
	sites[2].free_register = 6;
	make_well();
	assert_true(skeleton->rodata->is_of_allocator);
	assert_int_equal(skeleton->rodata->own_pid, getpid());
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(arguments[i].may_jump, i == 1);
		assert_int_equal(own_codes[i].jump_limit, i);
		assert_int_equal(arguments[i].frees, i == 2 ? 6 : WIRE_NO_REGISTER);
	}
}

/* One link for all points of a file, and one for those whose returns are probed. */
static void files_are_linked_at_once(void **state _unused_)
{
	be_probe(PROBE_UPROBE);
	has_links = true;
	make_well();
	assert_int_equal(num_opened, 0);
	assert_int_equal(num_links, 2);
	assert_int_equal(links[0].opts.file_fd, 700);
	assert_int_equal(links[0].opts.num_points, 2);
	assert_int_equal(links[1].opts.file_fd, 701);
	assert_int_equal(links[1].opts.num_points, 1);
	for (uint32_t i = 0; i < 3; i++) {
		const struct uprobe_link_point *point =
			i < 2 ? &links[0].points[i] : &links[1].points[0];

		assert_int_equal(point->offset, 0x2000 + i);
		assert_int_equal(point->semaphore_offset, 0x30 + i);
		assert_int_equal(point->cookie, i);
	}
	assert_false(links[0].opts.at_returns);
	assert_ptr_equal(program_of_fd(links[0].opts.program_fd), skeleton->progs.on_probe);
	assert_int_equal(bpf_program__expected_attach_type(skeleton->progs.on_probe),
			 UPROBE_LINK_ATTACH_TYPE);
	assert_int_equal(bpf_program__expected_attach_type(skeleton->progs.on_return),
			 UPROBE_LINK_ATTACH_TYPE);
	assert_int_equal(num_kept, 2);
}

static void returns_are_linked_beside(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	event.is_live = true;
	sites[1].return_config = 1;
	make_well();
	assert_int_equal(num_links, 3);
	assert_true(links[1].opts.at_returns);
	assert_int_equal(links[1].opts.num_points, 1);
	assert_int_equal(links[1].points[0].cookie, 1);
	assert_int_equal(links[1].opts.file_fd, 700);
	assert_ptr_equal(program_of_fd(links[1].opts.program_fd), skeleton->progs.on_return);
	assert_false(links[2].opts.at_returns);
	/* A probe of returns. */
	event.is_live = false;
	sites[1].return_config = 0;
	num_links = 0;
	be_probe(PROBE_URETPROBE);
	make_well();
	assert_true(links[0].opts.at_returns);
	assert_ptr_equal(program_of_fd(links[0].opts.program_fd), skeleton->progs.on_probe);
	/* A link that fails ends it. */
	counted_program_free(program);
	program = NULL;
	link_error = -EBADF;
	assert_int_equal(make(), -ENOTSUP);
	link_error = 0;
}

/* Sites of a file that was mapped while the program records. */
static void more_sites_have_the_next_numbers(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	make_well();
	num_links = 0;
	sites[1].own_code.jump_limit = 77;
	memset(story, 0, sizeof(story));
	assert_int_equal(counted_program_attach_sites(program, sites, 2), 0);
	assert_string_equal(story, "RRMLS");
	assert_int_equal(links[0].points[0].cookie, 3);
	assert_int_equal(links[0].points[1].cookie, 4);
	assert_int_equal(links[0].points[1].offset, 0x2001);
	assert_int_equal(links[0].opts.file_fd, 700);
	assert_int_equal(own_codes[4].jump_limit, 77);
	assert_int_equal(arguments[4].source, WIRE_ARGUMENT_REGISTER);
	assert_int_equal(num_kept, 3);
	assert_int_equal(counted_program_attach_sites(program, sites, 0), 0);
	assert_int_equal(counted_program_attach_sites(program, &sites[2], 1), 0);
	assert_int_equal(links[1].points[0].cookie, 5);
	assert_int_equal(links[1].opts.file_fd, 701);
}

/* Calls from it to another allocator are parts of calls that count, as long as it is probed. */
static void the_code_of_allocators_is_noted(void **state _unused_)
{
	static int code;

	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	opts.allocator_code = (struct allocator_code *)&code;
	make_well();
	assert_int_equal(num_noted, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(noted[i].fd, 700 + i);
		assert_int_equal(noted[i].event, 3);
		assert_int_equal(noted[i].since_ns, 0);
	}
	assert_int_equal(counted_program_attach_sites(program, sites, 2), 0);
	assert_int_equal(num_noted, 3);
	/* Both from the same time on. */
	assert_true(noted[2].since_ns > 0);
	assert_true(file_starts[3] > 0 && file_starts[3] <= noted[2].since_ns);
	/* Calls out of it would count twice. */
	note_error = -ENOMEM;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -ENOMEM);
	assert_true(file_starts[5] == UINT64_MAX);
	counted_program_free(program);
	program = NULL;
	num_noted = 0;
	assert_int_equal(make(), -ENOMEM);
	assert_int_equal(num_noted, 1);
	note_error = 0;
	/* Those of other probes are not. */
	be_probe(PROBE_UPROBE);
	make_well();
	assert_int_equal(num_noted, 1);
}

static void files_have_numbers(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	sites[0].own_code.jumps_out = 1;
	make_well();
	assert_int_equal(arguments[0].may_jump, 1);
	assert_int_equal(arguments[1].may_jump, 0);
	assert_int_equal(own_codes[0].jumps_out, 1);
	assert_int_equal(own_codes[0].file, own_codes[1].file);
	assert_int_not_equal(own_codes[0].file, own_codes[2].file);
	assert_int_not_equal(own_codes[0].file, 0);
	assert_int_equal(counted_program_attach_sites(program, sites, 2), 0);
	assert_int_equal(own_codes[3].file, own_codes[4].file);
	assert_true(own_codes[3].file > own_codes[2].file);
}

/* Each is an event and a link, for its returns as well. */
static void more_sites_are_attached_without_links_to_files(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	event.is_live = true;
	make_well();
	num_opened = 0;
	sites[0].return_config = 9;
	assert_int_equal(counted_program_attach_sites(program, sites, 1), 0);
	assert_int_equal(num_opened, 2);
	assert_int_equal(opened[0].attr.type, 7);
	assert_string_equal(opened[0].path, "/proc/self/fd/700");
	assert_int_equal(opened[0].cookie, 3);
	assert_ptr_equal(opened[0].program, skeleton->progs.on_probe);
	assert_int_equal(opened[1].attr.config, 9);
	assert_ptr_equal(opened[1].program, skeleton->progs.on_return);
}

/* A block whose free is not seen would stay live. */
static void live_memory_counts_when_all_sites_are_attached(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	has_links = event.is_live = true;
	make_well();
	sites[0].return_config = 9;
	sites[1].free_register = 6;
	memset(story, 0, sizeof(story));
	assert_int_equal(counted_program_attach_sites(program, sites, 2), 0);
	assert_string_equal(story, "RRMLLS");
	assert_int_equal(arguments[4].frees, 6);
	assert_true(file_starts[3] < UINT64_MAX);
}

static void more_sites_than_there_is_room_for_are_refused(void **state _unused_)
{
	static struct probe_site many[PROBE_MAX_LATE_SITES + 1];

	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	make_well();
	num_links = 0;
	assert_int_equal(counted_program_attach_sites(program, many, ARRAY_LENGTH(many)), -ENOSPC);
	program->num_sites = 3 + PROBE_MAX_LATE_SITES - 1;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -ENOSPC);
	assert_int_equal(num_links, 0);
	program->num_sites = 3;
	/* Nothing is left of what the kernel refuses. */
	link_error = -EILSEQ;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -EILSEQ);
	link_error = 0;
	num_updates = 0;
	fail_update = 1;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -EFAULT);
	assert_int_equal(num_kept, 2);
	fail_update = 0;
	keep_error = -ETIMEDOUT;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -ETIMEDOUT);
}

static void nothing_is_attached_after_the_stop(void **state _unused_)
{
	struct held_fds held = {0};
	struct held_fd *added;

	be_probe(PROBE_ALLOCATOR);
	has_links = true;
	make_well();
	num_links = 0;
	program->is_stopped = true;
	assert_int_equal(counted_program_attach_sites(program, sites, 2), -ESHUTDOWN);
	assert_int_equal(num_links, 0);
	/* It was stopped meanwhile. */
	added = array_add(&held.fds);
	added->fd = -1;
	assert_int_equal(keep_sites(program, &held), -ESHUTDOWN);
	assert_int_equal(held.fds.length, 1);
	array_release(&held.fds);
}

/* A kernel may refuse to keep the CPU: then it is loaded once more. */
static void a_probe_keeps_its_cpu_if_it_may(void **state _unused_)
{
	make_well();
	assert_int_equal(num_loads, 1);
	assert_false(skeleton->rodata->keeps_cpu);
	be_probe(PROBE_UPROBE);
	num_loads = 0;
	make_well();
	assert_int_equal(num_loads, 1);
	assert_true(skeleton->rodata->keeps_cpu);
	refuses_kept_cpu = true;
	num_loads = num_opened = 0;
	make_well();
	assert_int_equal(num_loads, 2);
	assert_false(skeleton->rodata->keeps_cpu);
	refuses_kept_cpu = false;
	/* A tracepoint that is refused stays refused. */
	event = (struct event){.name = name, .kind = EVENT_TRACEPOINT};
	load_error = -EINVAL;
	num_loads = 0;
	counted_program_free(program);
	program = NULL;
	assert_int_equal(make(), -ENOTSUP);
	assert_int_equal(num_loads, 1);
	assert_non_null(strstr(error.message, "refused the program of some:event"));
}

static void refused_loads_say_why(void **state _unused_)
{
	static const struct {
		int code;
		int err;
	} cases[] = {{-EPERM, -EPERM}, {-EACCES, -EPERM}, {-EINVAL, -ENOTSUP}, {-ENOMEM, -ENOMEM}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		load_error = cases[i].code;
		assert_int_equal(make(), cases[i].err);
		load_error = 0;
		share_error = cases[i].code;
		assert_int_equal(make(), cases[i].err);
		share_error = 0;
	}
	has_types = false;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "which this kernel lacks"));
}

/* Maps that cannot be filled. */
static void failing_updates_are_errors(void **state _unused_)
{
	be_probe(PROBE_ALLOCATOR);
	event.is_live = true;
	opts.cgroup_fd = 9;
	/* Arguments and code of three points, slots, the cgroup. */
	static const uint64_t numbers[] = {1, 2, 6, 7, 6 + WIRE_MAX_BLOCKS, 7 + WIRE_MAX_BLOCKS};

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		num_updates = 0;
		fail_update = numbers[i];
		assert_int_equal(make(), -ENOTSUP);
		assert_non_null(strstr(error.message, "Bad address"));
	}
	num_updates = 0;
	fail_update = 8 + WIRE_MAX_BLOCKS;
	make_well();
	assert_int_equal(cgroup, 9);
}

static void expect_reason(int code, int err, const char *reason)
{
	error = (struct error){0};
	num_opened = 0;
	open_error = -code;
	fail_open = 1;
	assert_int_equal(make(), err);
	if (reason)
		assert_non_null(strstr(error.message, reason));
}

static void refused_events_say_why(void **state _unused_)
{
	expect_reason(-EACCES, -EPERM, "not permitted to sample some:event");
	expect_reason(-EPERM, -EPERM, "not permitted to sample some:event");
	expect_reason(-EMFILE, -EMFILE, "too many open files");
	expect_reason(-EINVAL, -ENOTSUP, "the kernel refused an event at some:event");
	expect_reason(-ENOMEM, -ENOMEM, NULL);
	be_probe(PROBE_UPROBE);
	expect_reason(-EILSEQ, -EINVAL, "middle of an instruction");
	expect_reason(-524, -ENOTSUP, "cannot replace the instruction");
	expect_reason(-ENOEXEC, -ENOTSUP, "cannot replace the instruction");
	expect_reason(-EADDRNOTAVAIL, -ENOTSUP, "several functions of this name");
	expect_reason(-EINVAL, -ENOTSUP, "the kernel refused an event at");
	expect_reason(-ENOMEM, -ENOMEM, NULL);
	be_probe(PROBE_KPROBE);
	expect_reason(-EINVAL, -ENOTSUP, "the kernel allows no probe there");
}

static void refused_programs_say_why(void **state _unused_)
{
	attach_error = E2BIG;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "limit of programs there is used up"));
	attach_error = EINVAL;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "the kernel refused a program at some:event"));
	be_probe(PROBE_KPROBE);
	num_opened = 0;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "the kernel refused a program at some:event"));
	be_probe(PROBE_ALLOCATOR);
	for (int code = EINVAL;; code = EOPNOTSUPP) {
		attach_error = code;
		num_opened = 0;
		assert_int_equal(make(), -ENOTSUP);
		assert_non_null(
			strstr(error.message,
			       "needs Linux 5.15 to tell its probes apart; 'uprobe:libc:malloc"));
		be_probe(PROBE_USDT);
		sites[1].argument.base = 3;
		num_opened = 0;
		assert_int_equal(make(), -ENOTSUP);
		assert_non_null(strstr(error.message, "in different locations"));
		be_probe(PROBE_ALLOCATOR);
		if (code == EOPNOTSUPP)
			break;
	}
	event = (struct event){
		.name = name, .kind = EVENT_BLOCK_IO, .requests.end = "block_rq_complete"};
	num_opened = 0;
	assert_int_equal(make(), -ENOTSUP);
	assert_int_equal(num_opened, 0);
}

/* Of three points the second is refused: the first one is closed. */
static void a_refused_point_ends_the_probe(void **state _unused_)
{
	be_probe(PROBE_UPROBE);
	open_error = EINVAL;
	fail_open = 2;
	assert_int_equal(make(), -ENOTSUP);
	assert_int_equal(num_opened, 1);
	assert_int_equal(fcntl(opened[0].fd, F_GETFD), -1);
	/* So is a start. */
	event = (struct event){.name = name, .kind = EVENT_SYSTEM_CALL, .start_config = 9};
	num_opened = 0;
	fail_open = 1;
	assert_int_equal(make(), -ENOTSUP);
	assert_int_equal(num_opened, 0);
}

static void the_kernel_checks_the_filter(void **state _unused_)
{
	static const char format_text[] = "name: event\nID: 301\nformat:\n"
					  "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n"
					  "\nprint fmt: \"%d\", REC->number\n";
	struct event_filter *filter = event_filter_new(name, 301);
	struct event_format format = {0};
	uint32_t num_parts;

	assert_int_equal(event_format_parse(format_text, &format), 0);
	assert_int_equal(event_filter_add(filter, "number == 5 || number == 7", &format, &error),
			 0);
	event_format_release(&format);
	(void)event_filter_get_parts(filter, &num_parts);
	event.filter = filter;
	event.start_config = 9;
	make_well();
	expect_loaded(skeleton->progs.on_filtered_tracepoint, skeleton->progs.on_start, NULL);
	assert_true(num_parts > 1);
	assert_int_equal(num_filter_parts, num_parts);
	assert_int_equal(entries_of(skeleton->maps.event_filter), num_parts);
	assert_null(opened[0].filter);
	assert_string_equal(opened[1].filter, event_filter_get_text(filter));
	filter_error = EINVAL;
	counted_program_free(program);
	program = NULL;
	num_opened = 0;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "this kernel refuses the filter"));
	filter_error = ENOMEM;
	num_opened = 0;
	assert_int_equal(make(), -ENOMEM);
	event_filter_free(filter);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_has_its_program),
		TEST(maps_are_as_large_as_the_event_needs),
		TEST(calls_under_way_are_those_of_their_time),
		TEST(the_program_knows_its_event),
		TEST(the_program_knows_what_is_sampled),
		TEST(the_program_knows_where_requests_are_described),
		TEST(the_period_is_what_was_asked_for),
		TEST(samples_of_a_window_follow_the_frequency),
		TEST(a_tracepoint_runs_its_program_on_all_cpus),
		TEST(the_first_cpu_that_is_there_has_the_event),
		TEST(the_start_is_attached_first),
		TEST(tracepoints_alike_run_the_same_program),
		TEST(ticks_are_attached_by_the_sampler),
		TEST(each_point_of_a_probe_is_attached),
		TEST(functions_of_the_kernel_are_named),
		TEST(points_that_differ_have_a_cookie),
		TEST(any_difference_of_an_argument_counts),
		TEST(arguments_are_described),
		TEST(allocators_have_their_code),
		TEST(files_are_linked_at_once),
		TEST(returns_are_linked_beside),
		TEST(more_sites_have_the_next_numbers),
		TEST(the_code_of_allocators_is_noted),
		TEST(files_have_numbers),
		TEST(more_sites_are_attached_without_links_to_files),
		TEST(live_memory_counts_when_all_sites_are_attached),
		TEST(more_sites_than_there_is_room_for_are_refused),
		TEST(nothing_is_attached_after_the_stop),
		TEST(a_probe_keeps_its_cpu_if_it_may),
		TEST(refused_loads_say_why),
		TEST(failing_updates_are_errors),
		TEST(refused_events_say_why),
		TEST(refused_programs_say_why),
		TEST(a_refused_point_ends_the_probe),
		TEST(the_kernel_checks_the_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
