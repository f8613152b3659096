/* Which perf events a sampler opens for which CPU, and what it asks of the programs. Neither are the kernel's here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_OPENED 32

struct fake_event {
	struct perf_event_attr attr;
	int cgroup_fd;
	int cpu;
	int fd;
	int program_fd;
	bool is_enabled;
};

static long open_fake_event(long number, struct perf_event_attr *attr, int cgroup_fd, int cpu,
			    int group, unsigned long flags);
static int control_fake_event(int fd, unsigned long request, int program_fd);
static int read_fake_file(int folder, const char *path, size_t limit, struct text *ret);

#define syscall              open_fake_event
#define ioctl                control_fake_event
#define file_read_at         read_fake_file
#define read(fd, ret, bytes) pread(fd, ret, bytes, 0)
#include "collect/programs/sampler.c"
#undef syscall
#undef ioctl
#undef file_read_at
#undef read

#include "collect/kernel/own_times.h"
#include "unit.h"

static struct fake_event opened[MAX_OPENED];
static unsigned int num_opened;
/* What perf_event_open() says. */
static int open_error;
static uint32_t refused_type; /* with which attr.type; UINT32_MAX: whichever */
static int refused_cpu;       /* -1: all */
static int attach_error;

static long open_fake_event(long number, struct perf_event_attr *attr, int cgroup_fd, int cpu,
			    int group, unsigned long flags)
{
	struct fake_event *event = &opened[num_opened];
	/* The count, and the times that it was enabled and running. */
	const uint64_t value[] = {9, 1000, 100};

	assert_int_equal(number, SYS_perf_event_open);
	assert_int_equal(group, -1);
	assert_int_equal(flags, PERF_FLAG_FD_CLOEXEC | (cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0));
	assert_int_equal(attr->size, sizeof(*attr));
	assert_int_equal(attr->read_format,
			 PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	assert_true(attr->disabled);
	if (open_error && (refused_type == UINT32_MAX || refused_type == attr->type) &&
	    (refused_cpu < 0 || refused_cpu == cpu)) {
		errno = open_error;
		return -1;
	}
	assert_true(num_opened < MAX_OPENED);
	*event = (struct fake_event){.attr = *attr, .cgroup_fd = cgroup_fd, .cpu = cpu};
	event->fd = memfd_create("event", MFD_CLOEXEC);
	assert_int_equal(write(event->fd, value, sizeof(value)), sizeof(value));
	num_opened++;
	return event->fd;
}

static struct fake_event *find_opened(int fd)
{
	for (unsigned int i = num_opened; i-- > 0;)
		if (opened[i].fd == fd)
			return &opened[i];
	fail_msg("no event has this descriptor");
	return NULL;
}

static int control_fake_event(int fd, unsigned long request, int program_fd)
{
	struct fake_event *event = find_opened(fd);

	if (request == PERF_EVENT_IOC_SET_BPF) {
		event->program_fd = program_fd;
		errno = attach_error;
		return attach_error ? -1 : 0;
	}
	assert_true(request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE);
	event->is_enabled = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

static const char *max_rate;
static const char *max_stack;

static int read_fake_file(int folder, const char *path, size_t limit _unused_, struct text *ret)
{
	const char *content = strstr(path, "max_stack") ? max_stack : max_rate;

	assert_int_equal(folder, AT_FDCWD);
	if (!content)
		return -ENOENT;
	text_append(ret, content, strlen(content));
	return 0;
}

/* ---- programs: each is known by a number, which is its descriptor, too -------------------------------------------- */

#define FIRST_PROGRAM 100
#define COUNTED       200
#define OFF_CPU       300
/* A map of a program: its name's first letter, and the program. */
#define MAP_OF(program, letter) ((program)*1000 + (letter))

static int num_programs; /* that are there */
static int load_error;
static struct sampling_program_opts sampling_opts;
static struct counted_program_opts counted_opts;
static struct off_cpu_program_opts off_cpu_opts;
static bool is_in_namespace;
static unsigned int num_started, num_stopped, num_ended, num_waited_for, num_waits, num_let_go;
static int keeper_error;
static unsigned int num_code_ends;
static struct file_leases_user leases_user;
static unsigned int num_leases, num_leases_started;
static int last_ring_fd;

static void *program_at(int number)
{
	num_programs++;
	return (void *)(intptr_t)number;
}

static int number_of(const void *program)
{
	return (int)(intptr_t)program;
}

static void forget(const void *program)
{
	num_programs -= program != NULL;
}

int sampling_program_new(const struct sampling_program_opts *opts, uint32_t num_cpus,
			 struct sampling_program **ret, struct error *error _unused_)
{
	assert_int_equal(num_cpus, libbpf_num_possible_cpus());
	sampling_opts = *opts;
	if (load_error == 1)
		return -EPERM;
	*ret = program_at(FIRST_PROGRAM);
	return 0;
}

int sampling_program_new_beside(const struct sampling_program *first, uint32_t event,
				struct sampling_program **ret, struct error *error _unused_)
{
	assert_int_equal(number_of(first), FIRST_PROGRAM);
	if (load_error == 2)
		return -EINVAL;
	*ret = program_at(FIRST_PROGRAM + (int)event);
	return 0;
}

void sampling_program_free(struct sampling_program *program)
{
	forget(program);
}

int sampling_program_get_fd(const struct sampling_program *program)
{
	return number_of(program);
}

int sampling_program_get_map(const struct sampling_program *program, const char *name)
{
	return MAP_OF(number_of(program), name[0]);
}

int sampling_program_wait(const struct sampling_program *program, int ring_fd)
{
	assert_int_equal(number_of(program), FIRST_PROGRAM);
	last_ring_fd = ring_fd;
	num_waits++;
	return 0;
}

bool sampling_program_is_in_namespace(const struct sampling_program *program)
{
	assert_int_equal(number_of(program), FIRST_PROGRAM);
	return is_in_namespace;
}

/* Which programs' times were read, as a number with a digit for each. */
static uint64_t times_read;
static int time_error; /* of the program with this number */

static int add_time(const void *program, uint64_t digit)
{
	times_read = times_read * 10 + digit;
	return time_error == number_of(program) ? -ENOMEM : 0;
}

int sampling_program_read_time(const struct sampling_program *program,
			       struct own_times *times _unused_)
{
	return add_time(program, (uint64_t)(number_of(program) - FIRST_PROGRAM) + 1);
}

int counted_program_new(const struct counted_program_opts *opts,
			const struct sampling_program *sampling, struct counted_program **ret,
			struct error *error _unused_)
{
	assert_int_equal(number_of(sampling), FIRST_PROGRAM);
	counted_opts = *opts;
	if (load_error == 3)
		return -ENOTSUP;
	*ret = program_at(COUNTED + (int)opts->number);
	return 0;
}

void counted_program_free(struct counted_program *program)
{
	forget(program);
}

int counted_program_get_fd(const struct counted_program *program)
{
	return number_of(program);
}

int counted_program_read_calls(struct counted_program *program _unused_, uint64_t until_ns,
			       int (*handle)(const void *record, size_t size, void *context),
			       void *context)
{
	return handle(&until_ns, sizeof(until_ns), context);
}

int counted_program_attach_sites(struct counted_program *program _unused_,
				 const struct probe_site *sites _unused_, size_t count)
{
	return -(int)count;
}

/* Before a probe is away. */
void allocator_code_end(struct allocator_code *code, size_t event, dev_t device _unused_,
			ino_t inode _unused_, uint64_t until_ns)
{
	assert_ptr_equal(code, &num_code_ends);
	assert_true(event < 4 && until_ns > 0);
	num_code_ends++;
}

int probe_keeper_new(struct probe_keeper **ret)
{
	*ret = (struct probe_keeper *)&keeper_error;
	return 0;
}

void probe_keeper_free(struct probe_keeper *keeper)
{
	assert_true(!keeper || keeper == (struct probe_keeper *)&keeper_error);
}

/* All programs have been stopped before their probes are taken away. */
int probe_keeper_let_go(struct probe_keeper *keeper, const struct leased_file *file,
			unsigned int limit_ms)
{
	probe_keeper_free(keeper);
	assert_true(limit_ms <= 5000);
	if (file)
		assert_int_equal(file->inode, 5);
	else
		assert_int_equal(num_stopped, 2);
	assert_int_equal(num_waited_for, 0);
	num_let_go++;
	return keeper_error;
}

struct probe_keeper_state probe_keeper_get_state(const struct probe_keeper *keeper _unused_)
{
	return (struct probe_keeper_state){.pid = 8, .silent = 9};
}

uint64_t probe_keeper_read_cpu_ns(const struct probe_keeper *keeper)
{
	return keeper ? 12 : 0;
}

int file_leases_new(const struct file_leases_user *user, struct file_leases **ret)
{
	leases_user = *user;
	num_leases++;
	*ret = (struct file_leases *)&leases_user;
	return 0;
}

void file_leases_start(struct file_leases *leases)
{
	assert_ptr_equal(leases, &leases_user);
	num_leases_started++;
}

void file_leases_free(struct file_leases *leases)
{
	num_leases -= leases != NULL;
}

struct broken_leases file_leases_get_broken(struct file_leases *leases)
{
	return (struct broken_leases){.count = leases ? 3 : 0};
}

uint64_t file_leases_count_returned(struct file_leases *leases, const struct leased_file *file)
{
	return leases ? 100 + file->inode : 0;
}

void counted_program_start(struct counted_program *program _unused_)
{
	num_started++;
}

void counted_program_end(struct counted_program *program _unused_)
{
	assert_int_equal(num_stopped, 0);
	num_ended++;
}

void counted_program_stop(struct counted_program *program _unused_)
{
	num_stopped++;
}

void counted_program_wait(const struct counted_program *program _unused_)
{
	num_waited_for++;
}

int counted_program_read_counters(const struct counted_program *program, struct wire_counters *ret)
{
	*ret = (struct wire_counters){.fired = (uint64_t)number_of(program)};
	return 0;
}

int counted_program_read_rest(const struct counted_program *program, uint64_t *ret)
{
	*ret = (uint64_t)number_of(program) + 1;
	return 0;
}

int counted_program_for_each_rest(const struct counted_program *program,
				  int (*handle)(uint32_t cpu, uint64_t weight, void *context),
				  void *context)
{
	return handle(5, (uint64_t)number_of(program) + 1, context);
}

int counted_program_read_preempted(const struct counted_program *program, uint64_t *ret)
{
	*ret = (uint64_t)number_of(program) + 2;
	return 0;
}

uint64_t counted_program_get_skipped(const struct counted_program *program)
{
	return (uint64_t)number_of(program) + 3;
}

int counted_program_for_each_block(const struct counted_program *program,
				   int (*handle)(const struct wire_block *block, void *context),
				   void *context)
{
	struct wire_block block = {.slot = (uint32_t)number_of(program)};

	return handle(&block, context);
}

int counted_program_read_time(const struct counted_program *program,
			      struct own_times *times _unused_)
{
	return add_time(program, 7);
}

int off_cpu_program_new(const struct off_cpu_program_opts *opts,
			const struct sampling_program *sampling, struct off_cpu_program **ret,
			struct error *error _unused_)
{
	assert_int_equal(number_of(sampling), FIRST_PROGRAM);
	off_cpu_opts = *opts;
	*ret = program_at(OFF_CPU);
	return 0;
}

void off_cpu_program_free(struct off_cpu_program *program)
{
	forget(program);
}

void off_cpu_program_start(struct off_cpu_program *program _unused_)
{
	num_started += 100;
}

void off_cpu_program_end(struct off_cpu_program *program _unused_)
{
	num_ended += 100;
}

int off_cpu_program_stop(struct off_cpu_program *program _unused_, int ring_fd)
{
	last_ring_fd = ring_fd;
	num_stopped += 100;
	return 0;
}

int off_cpu_program_read_sleepers(struct off_cpu_program *program _unused_, uint64_t until_ns,
				  int (*handle)(const void *record, size_t size, void *context),
				  void *context, uint64_t *ret_num)
{
	*ret_num = until_ns;
	return handle(NULL, 0, context);
}

int off_cpu_program_read_counters(const struct off_cpu_program *program _unused_,
				  struct wire_off_cpu_counters *ret)
{
	memset(ret, 1, sizeof(*ret));
	return 0;
}

bool off_cpu_program_knows_lives(const struct off_cpu_program *program _unused_)
{
	return true;
}

int off_cpu_program_read_waker_counters(const struct off_cpu_program *program _unused_,
					struct wire_waker_counters *ret)
{
	memset(ret, 1, sizeof(*ret));
	return 0;
}

int off_cpu_program_read_time(const struct off_cpu_program *program,
			      struct own_times *times _unused_)
{
	return add_time(program, 9);
}

/* ---- rings and maps ----------------------------------------------------------------------------------------------- */

static int rings_error;
static int map_error;
static int rings_map_fd; /* of the rings */
static uint32_t num_cpus_of_map, num_cpus_of_rings;
static uint32_t ring_bytes;

int bpf_rings_create_map(uint32_t num_cpus)
{
	num_cpus_of_map = num_cpus;
	return map_error ? map_error : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* In a thread of its own. */
int bpf_rings_init(struct bpf_rings *rings, int map_fd, uint32_t num_cpus, uint32_t size_bytes)
{
	rings_map_fd = map_fd;
	num_cpus_of_rings = num_cpus;
	ring_bytes = size_bytes;
	*rings = (struct bpf_rings){.epoll_fd = -1};
	if (rings_error)
		return rings_error;
	array_add(&rings->rings)->fd = 77;
	return 0;
}

void bpf_rings_release(struct bpf_rings *rings)
{
	array_release(&rings->rings);
}

int bpf_rings_read(struct bpf_rings *rings _unused_,
		   int (*handle)(const void *record, size_t size, void *context), void *context)
{
	return handle(NULL, 5, context);
}

static int counters_error;

int bpf_counters_read(int map_fd, void *ret, size_t size)
{
	assert_int_equal(size, sizeof(struct wire_counters));
	*(struct wire_counters *)ret =
		(struct wire_counters){.fired = (uint64_t)map_fd, .unfollowed = 6};
	return counters_error;
}

static uint64_t target_key;
static uint32_t target;
static bool is_filter_full;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	assert_int_equal(fd, MAP_OF(FIRST_PROGRAM, 't'));
	target_key = *(const uint64_t *)key;
	target = *(const uint32_t *)value;
	errno = E2BIG;
	return is_filter_full ? -E2BIG : 0;
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

static char name[] = "some";
static struct event events[4];
static struct sampler_opts opts;
static struct sampler *sampler;
static struct error error;

static int set_up(void **state _unused_)
{
	num_opened = 0;
	open_error = attach_error = load_error = rings_error = counters_error = time_error = 0;
	map_error = 0;
	refused_type = UINT32_MAX;
	refused_cpu = -1;
	num_programs = 0;
	num_started = num_stopped = num_ended = num_waited_for = num_waits = 0;
	num_let_go = num_leases_started = 0;
	keeper_error = 0;
	num_code_ends = 0;
	last_ring_fd = -1;
	times_read = 0;
	is_in_namespace = is_filter_full = false;
	max_rate = "100000\n";
	max_stack = "127\n";
	/* A clock, two that are counted by a program, and one of the CPU. */
	events[0] = (struct event){.name = name,
				   .kind = EVENT_SOFTWARE,
				   .type = PERF_TYPE_SOFTWARE,
				   .config = PERF_COUNT_SW_CPU_CLOCK};
	events[1] = (struct event){.name = name,
				   .kind = EVENT_SOFTWARE,
				   .type = PERF_TYPE_SOFTWARE,
				   .config = PERF_COUNT_SW_PAGE_FAULTS};
	events[2] = (struct event){
		.name = name, .kind = EVENT_TRACEPOINT, .type = PERF_TYPE_TRACEPOINT};
	events[3] = (struct event){.name = name,
				   .kind = EVENT_HARDWARE,
				   .type = PERF_TYPE_HARDWARE,
				   .config = PERF_COUNT_HW_INSTRUCTIONS};
	opts = (struct sampler_opts){.frequency_hz = 49, .cgroup_fd = -1};
	sampler = NULL;
	error = (struct error){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	sampler_free(sampler);
	assert_int_equal(num_programs, 0);
	assert_int_equal(num_leases, 0);
	for (unsigned int i = 0; i < num_opened; i++)
		assert_int_equal(fcntl(opened[i].fd, F_GETFD), -1);
	return 0;
}

static void make(size_t num_events)
{
	opts.events = events;
	opts.num_events = num_events;
	assert_int_equal(sampler_new(&opts, &sampler, &error), 0);
}

static void a_cpu_ticks_with_its_cycles(void **state _unused_)
{
	make(0);
	assert_int_equal(sampler_add_cpu(sampler, 2, &error), 0);
	assert_int_equal(num_opened, 1);
	assert_int_equal(opened[0].cpu, 2);
	assert_int_equal(opened[0].cgroup_fd, -1);
	assert_int_equal(opened[0].attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(opened[0].attr.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(opened[0].attr.freq, 1);
	assert_int_equal(opened[0].attr.sample_freq, 49);
	assert_int_equal(opened[0].program_fd, FIRST_PROGRAM);
	assert_string_equal(sampler_get_event_name(sampler), "cycles");
	assert_int_equal(sampler_add_cgroup(sampler, 9, 2, &error), 0);
	assert_int_equal(opened[1].cgroup_fd, 9);
	assert_int_equal(opened[1].cpu, 2);
}

/* The first CPU decides for all. */
static void without_a_pmu_a_cpu_ticks_with_its_clock(void **state _unused_)
{
	open_error = ENOENT;
	refused_type = PERF_TYPE_HARDWARE;
	make(0);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), 0);
	assert_int_equal(num_opened, 2);
	assert_int_equal(opened[0].attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(opened[0].attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(opened[1].attr.type, PERF_TYPE_SOFTWARE);
	assert_string_equal(sampler_get_event_name(sampler), "cpu-clock");
}

static void cycles_that_one_cpu_lacks_are_an_error(void **state _unused_)
{
	open_error = ENOENT;
	refused_cpu = 1;
	make(0);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "the kernel refused a perf event"));
	assert_string_equal(sampler_get_event_name(sampler), "cycles");
}

static void each_event_has_its_program_and_number(void **state _unused_)
{
	static const int programs[] = {FIRST_PROGRAM, COUNTED + 1, FIRST_PROGRAM + 3};

	make(4);
	assert_int_equal(counted_opts.number, 2);
	assert_ptr_equal(counted_opts.event, &events[2]);
	assert_int_equal(counted_opts.frequency_hz, 490);
	assert_int_equal(counted_opts.cgroup_fd, -1);
	assert_int_equal(num_programs, 4);
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), 0);
	/* A tracepoint's program is attached for all CPUs. */
	assert_int_equal(num_opened, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(opened[i].program_fd, programs[i]);
	/* The program counts page faults. */
	assert_int_equal(opened[1].attr.sample_period, 1);
	assert_int_equal(opened[1].attr.freq, 0);
	assert_int_equal(opened[0].attr.sample_freq, 49);
	assert_int_equal(opened[2].attr.sample_freq, 49);
	assert_int_equal(opened[2].attr.freq, 1);
	assert_int_equal(opened[2].attr.config, PERF_COUNT_HW_INSTRUCTIONS);
}

/* Time is sampled at the frequency. */
static void a_count_is_the_period_of_what_is_no_time(void **state _unused_)
{
	opts.count = 5000;
	make(4);
	assert_int_equal(counted_opts.count, 5000);
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), 0);
	assert_int_equal(opened[0].attr.freq, 1);
	assert_int_equal(opened[0].attr.sample_freq, 49);
	assert_int_equal(opened[1].attr.sample_period, 1);
	assert_int_equal(opened[2].attr.freq, 0);
	assert_int_equal(opened[2].attr.sample_period, 5000);
}

static void modifiers_of_an_event_are_the_kernels(void **state _unused_)
{
	events[0] = events[3];
	events[0].config1 = 11;
	events[0].config2 = 12;
	make(1);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	events[0].leaves_user_out = true;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	events[0].leaves_user_out = false;
	events[0].leaves_kernel_out = true;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	events[0].leaves_kernel_out = false;
	events[0].leaves_hypervisor_out = true;
	events[0].precision = 2;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	events[0].precision = 3;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(opened[i].attr.config1, 11);
		assert_int_equal(opened[i].attr.config2, 12);
		assert_int_equal(opened[i].attr.exclude_user, i == 1);
		assert_int_equal(opened[i].attr.exclude_kernel, i == 2);
		assert_int_equal(opened[i].attr.exclude_hv, i >= 3);
		assert_int_equal(opened[i].attr.precise_ip, i < 3 ? 0 : i - 1);
		/* Stacks of what is precise are the PMU's. */
		assert_int_equal(opened[i].attr.sample_type, i < 3 ? 0 : PERF_SAMPLE_CALLCHAIN);
	}
}

static void expect_refusal(int code, int err, const char *reason)
{
	error = (struct error){0};
	open_error = code;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), err);
	if (reason)
		assert_non_null(strstr(error.message, reason));
	else
		assert_string_equal(error.message, "");
}

static void a_refused_clock_says_why(void **state _unused_)
{
	make(0);
	expect_refusal(ENODEV, -ENODEV, NULL);
	expect_refusal(EPERM, -EPERM, "not permitted to sample");
	expect_refusal(EACCES, -EPERM, "not permitted to sample");
	expect_refusal(EMFILE, -EMFILE, "too many open files");
	expect_refusal(EINVAL, -ENOTSUP, "the kernel refused a perf event");
	max_rate = "48\n";
	expect_refusal(EINVAL, -ENOTSUP, "at most 48 samples per second");
	assert_non_null(strstr(error.message, "kernel.perf_event_max_sample_rate=49"));
	expect_refusal(EBUSY, -ENOTSUP, "the kernel refused a perf event");
	max_rate = "49\n";
	expect_refusal(EINVAL, -ENOTSUP, "the kernel refused a perf event");
	max_rate = NULL;
	expect_refusal(EINVAL, -ENOTSUP, "the kernel refused a perf event");
	max_rate = "";
	expect_refusal(EINVAL, -ENOTSUP, "the kernel refused a perf event");
	max_rate = "0\n";
	expect_refusal(EINVAL, -ENOTSUP, "the kernel refused a perf event");
}

static void a_refused_event_says_why(void **state _unused_)
{
	static const int codes[] = {ENOENT, EOPNOTSUPP, ENXIO, EINVAL};

	events[0] = events[3];
	make(1);
	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
		expect_refusal(codes[i], -ENOTSUP, "has no PMU that counts some");
	expect_refusal(EBUSY, -ENOTSUP, "the kernel refused the event some");
	events[0].precision = 1;
	expect_refusal(ENOENT, -ENOTSUP, "nothing counts some that precisely");
	expect_refusal(EBUSY, -ENOTSUP, "the kernel refused the event some");
	events[0].precision = 0;
	events[0].kind = EVENT_SOFTWARE;
	expect_refusal(ENOENT, -ENOTSUP, "the kernel refused the event some");
}

/* CPUs of one machine may count different ones. */
static void some_cpus_may_lack_an_event(void **state _unused_)
{
	static const enum event_kind kinds[] = {EVENT_RAW, EVENT_DEVICE};

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		set_up(NULL);
		events[0] = events[3];
		events[0].kind = kinds[i];
		open_error = ENOENT;
		refused_cpu = 0;
		make(1);
		assert_int_equal(sampler_check_events(sampler, &error), 0);
		assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
		assert_int_equal(sampler_check_events(sampler, &error), -ENOTSUP);
		assert_non_null(strstr(error.message, "has no PMU that counts some"));
		assert_int_equal(sampler_add_cpu(sampler, 1, &error), 0);
		assert_int_equal(sampler_check_events(sampler, &error), 0);
		/* Other errors are errors. */
		open_error = EBUSY;
		assert_int_equal(sampler_add_cpu(sampler, 0, &error), -ENOTSUP);
		sampler_free(sampler);
		sampler = NULL;
	}
}

/* Of three events the last one is refused: the CPU has none. */
static void a_cpu_has_all_events_or_none(void **state _unused_)
{
	make(4);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	open_error = EBUSY;
	refused_type = PERF_TYPE_HARDWARE;
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), -ENOTSUP);
	assert_int_equal(num_opened, 5);
	for (unsigned int i = 0; i < num_opened; i++)
		assert_int_equal(fcntl(opened[i].fd, F_GETFD) >= 0, i < 3);
	/* The first one is refused: there are no others. */
	refused_type = PERF_TYPE_SOFTWARE;
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), -ENOTSUP);
	assert_int_equal(num_opened, 5);
}

static void a_program_that_is_refused_closes_the_tick(void **state _unused_)
{
	make(1);
	attach_error = EINVAL;
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "refused to run a BPF program"));
	assert_int_equal(fcntl(opened[0].fd, F_GETFD), -1);
}

static void the_times_of_a_cpu_outlive_it(void **state _unused_)
{
	struct event_times times;

	make(4);
	for (int cpu = 0; cpu < 3; cpu++)
		assert_int_equal(sampler_add_cpu(sampler, cpu, &error), 0);
	times = sampler_get_event_times(sampler, 3);
	assert_int_equal(times.enabled_ns, 3000);
	assert_int_equal(times.running_ns, 300);
	sampler_remove_cpu(sampler, 1);
	for (unsigned int i = 0; i < num_opened; i++)
		assert_int_equal(fcntl(opened[i].fd, F_GETFD) >= 0, opened[i].cpu != 1);
	times = sampler_get_event_times(sampler, 3);
	assert_int_equal(times.enabled_ns, 3000);
	assert_int_equal(times.running_ns, 300);
	/* Of a tracepoint there are no ticks. */
	times = sampler_get_event_times(sampler, 2);
	assert_int_equal(times.enabled_ns, 0);
	/* A CPU that goes gives no times. */
	assert_int_equal(ftruncate(opened[0].fd, 8), 0);
	times = sampler_get_event_times(sampler, 0);
	assert_int_equal(times.enabled_ns, 2000);
	sampler_remove_cpu(sampler, 7);
	assert_int_equal(sampler_get_event_times(sampler, 0).enabled_ns, 2000);
}

/* Each CPU has counted for 100 ns. */
static void a_timer_has_ticks_that_are_due(void **state _unused_)
{
	opts.frequency_hz = 33333333; /* 30 ns */
	make(4);
	for (int cpu = 0; cpu < 3; cpu++)
		assert_int_equal(sampler_add_cpu(sampler, cpu, &error), 0);
	assert_int_equal(sampler_count_due_ticks(sampler, 0), 9);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(sampler_count_due_ticks(sampler, i), 0);
	sampler_remove_cpu(sampler, 1);
	assert_int_equal(sampler_count_due_ticks(sampler, 0), 9);
	/* Ticks in the kernel are not told. */
	events[0].leaves_kernel_out = true;
	assert_int_equal(sampler_count_due_ticks(sampler, 0), 3);
}

static void without_events_a_cpu_may_go_as_well(void **state _unused_)
{
	make(0);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	sampler_remove_cpu(sampler, 0);
	assert_int_equal(fcntl(opened[0].fd, F_GETFD), -1);
}

static void all_ticks_and_programs_start_and_stop(void **state _unused_)
{
	opts.off_cpu.period_ns = 1000;
	make(4);
	assert_int_equal(sampler_add_cpu(sampler, 0, &error), 0);
	assert_int_equal(sampler_add_cpu(sampler, 1, &error), 0);
	sampler_enable(sampler);
	assert_int_equal(num_started, 102);
	for (unsigned int i = 0; i < num_opened; i++)
		assert_true(opened[i].is_enabled);
	sampler_end(sampler);
	assert_int_equal(num_ended, 102);
	for (unsigned int i = 0; i < num_opened; i++)
		assert_false(opened[i].is_enabled);
	sampler_disable(sampler);
	assert_int_equal(num_stopped, 102);
	assert_int_equal(last_ring_fd, 77);
	assert_int_equal(num_waits, 0); /* the off-CPU program waits */
}

static void make_probed(void)
{
	static struct probe probe = {.kind = PROBE_UPROBE};

	opts.allocator_code = (struct allocator_code *)&num_code_ends;
	events[1].kind = EVENT_PROBE;
	events[1].probe = &probe;
	make(4);
}

static void a_probed_file_is_let_go_of(void **state _unused_)
{
	const struct leased_file file = {.inode = 5};

	make(4);
	assert_int_equal(num_leases, 0);
	assert_int_equal(sampler_get_broken_leases(sampler).count, 0);
	assert_int_equal(sampler_count_let_go(sampler, &file), 0);
	assert_int_equal(sampler_read_helper_cpu_ns(sampler), 0);
	sampler_free(sampler);
	make_probed();
	assert_int_equal(num_leases, 1);
	assert_int_equal(num_leases_started, 1);
	assert_ptr_equal(counted_opts.leases, &leases_user);
	assert_int_equal(sampler_count_let_go(sampler, &file), 100 + file.inode);
	assert_true(leases_user.let_go(leases_user.context, &file));
	assert_int_equal(num_let_go, 1);
	assert_int_equal(num_code_ends, 4);
	keeper_error = -ETIMEDOUT;
	assert_false(leases_user.let_go(leases_user.context, &file));
	/* There is nobody left who could. */
	keeper_error = -EPIPE;
	assert_true(leases_user.let_go(leases_user.context, &file));
	assert_true(leases_user.let_go(leases_user.context, &(struct leased_file){9, 5}));
	assert_int_equal(sampler_get_broken_leases(sampler).count, 3);
	assert_int_equal(sampler_read_helper_cpu_ns(sampler), 12);
}

static void probes_that_stay_are_told(void **state _unused_)
{
	struct left_probes left;

	make_probed();
	sampler_disable(sampler);
	left = sampler_get_left_probes(sampler);
	assert_false(left.keeper || left.silent || left.ended_early);
	assert_int_equal(num_let_go, 1);
	assert_int_equal(num_waited_for, 2);
	num_stopped = num_waited_for = 0;
	keeper_error = -ETIMEDOUT;
	sampler_disable(sampler);
	left = sampler_get_left_probes(sampler);
	assert_int_equal(left.keeper, 8);
	assert_int_equal(left.silent, 9);
	assert_false(left.ended_early);
	/* It has its probes until it ends. */
	num_stopped = num_waited_for = 0;
	keeper_error = -ENOMEM;
	sampler_disable(sampler);
	left = sampler_get_left_probes(sampler);
	assert_int_equal(left.keeper, 8);
	assert_false(left.ended_early);
	num_stopped = num_waited_for = 0;
	keeper_error = -EPIPE;
	sampler_disable(sampler);
	left = sampler_get_left_probes(sampler);
	assert_int_equal(left.keeper, 0);
	assert_true(left.ended_early);
}

static void programs_of_events_are_waited_for(void **state _unused_)
{
	make(1);
	sampler_enable(sampler);
	sampler_disable(sampler);
	assert_int_equal(num_waits, 1);
	assert_int_equal(last_ring_fd, 77);
	assert_int_equal(num_started, 0);
	sampler_free(sampler);
	num_waits = 0;
	make(0);
	sampler_disable(sampler);
	assert_int_equal(num_waits, 0);
}

static void a_target_has_its_key(void **state _unused_)
{
	make(0);
	assert_int_equal(sampler_add_target(sampler, 1234, &error), 0);
	assert_int_equal(target_key, 1234);
	assert_int_equal(target, WIRE_TARGET);
	sampler_free(sampler);
	opts.starts_on_exec = is_in_namespace = true;
	make(0);
	assert_int_equal(sampler_add_target(sampler, 1234, &error), 0);
	assert_true(target_key == (1234 | WIRE_NAMED_IN_NAMESPACE));
	assert_int_equal(target, WIRE_TARGET_FROM_EXEC);
	is_filter_full = true;
	assert_int_equal(sampler_add_target(sampler, 1234, &error), -E2BIG);
	assert_non_null(strstr(error.message, "more than"));
}

static int take_record(const void *record, size_t size, void *context)
{
	assert_null(record);
	*(size_t *)context = size + 1;
	return -EIO;
}

static int take_block(const struct wire_block *block, void *context)
{
	*(uint32_t *)context = block->slot;
	return -EIO;
}

static int take_rest(uint32_t cpu, uint64_t weight, void *context)
{
	*(uint64_t *)context = cpu * 1000 + weight;
	return -EIO;
}

static void each_event_has_its_counters(void **state _unused_)
{
	struct wire_counters counters;
	uint64_t value = 9;
	uint32_t slot = 0;

	make(4);
	assert_int_equal(sampler_read_counters(sampler, 0, &counters), 0);
	assert_int_equal(counters.fired, MAP_OF(FIRST_PROGRAM, 'c'));
	assert_int_equal(sampler_read_counters(sampler, 1, &counters), 0);
	assert_int_equal(counters.fired, COUNTED + 1);
	assert_int_equal(sampler_read_counters(sampler, 3, &counters), 0);
	assert_int_equal(counters.fired, MAP_OF(FIRST_PROGRAM + 3, 'c'));
	assert_int_equal(sampler_read_rest(sampler, 1, &value), 0);
	assert_int_equal(value, COUNTED + 2);
	assert_int_equal(sampler_read_rest(sampler, 0, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(sampler_for_each_rest(sampler, 1, take_rest, &value), -EIO);
	assert_int_equal(value, 5000 + COUNTED + 2);
	assert_int_equal(sampler_for_each_rest(sampler, 0, take_rest, &value), 0);
	assert_int_equal(sampler_read_preempted(sampler, 2, &value), 0);
	assert_int_equal(value, COUNTED + 4);
	assert_int_equal(sampler_read_preempted(sampler, 3, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(sampler_get_skipped(sampler, 2), COUNTED + 5);
	assert_int_equal(sampler_get_skipped(sampler, 0), 0);
	assert_int_equal(sampler_for_each_block(sampler, 2, take_block, &slot), -EIO);
	assert_int_equal(slot, COUNTED + 2);
	assert_int_equal(sampler_for_each_block(sampler, 0, take_block, &slot), 0);
	assert_int_equal(sampler_read_unfollowed(sampler, &value), 0);
	assert_int_equal(value, 6);
	counters_error = -ENOENT;
	assert_int_equal(sampler_read_unfollowed(sampler, &value), -ENOENT);
	assert_int_equal(value, 0);
	counters_error = 0;
	sampler_free(sampler);
	make(0);
	assert_int_equal(sampler_read_counters(sampler, 0, &counters), 0);
	assert_int_equal(counters.fired, MAP_OF(FIRST_PROGRAM, 'c'));
	assert_int_equal(sampler_read_rest(sampler, 0, &value), 0);
	assert_int_equal(value, 0);
}

static void off_cpu_time_has_its_own_counters(void **state _unused_)
{
	struct wire_off_cpu_counters off_cpu, no_off_cpu = {0};
	struct wire_waker_counters wakers, no_wakers = {0};
	uint64_t num = 1;
	size_t taken = 0;

	make(0);
	memset(&off_cpu, 7, sizeof(off_cpu));
	memset(&wakers, 7, sizeof(wakers));
	assert_int_equal(sampler_read_off_cpu_counters(sampler, &off_cpu), 0);
	assert_memory_equal(&off_cpu, &no_off_cpu, sizeof(off_cpu));
	assert_int_equal(sampler_read_waker_counters(sampler, &wakers), 0);
	assert_memory_equal(&wakers, &no_wakers, sizeof(wakers));
	assert_false(sampler_knows_lives(sampler));
	assert_int_equal(sampler_read_sleepers(sampler, 8, take_record, &taken, &num), 0);
	assert_int_equal(num, 0);
	assert_int_equal(taken, 0);
	sampler_free(sampler);
	opts.off_cpu.period_ns = 1000;
	make(0);
	memset(&no_off_cpu, 1, sizeof(no_off_cpu));
	memset(&no_wakers, 1, sizeof(no_wakers));
	assert_int_equal(sampler_read_off_cpu_counters(sampler, &off_cpu), 0);
	assert_memory_equal(&off_cpu, &no_off_cpu, sizeof(off_cpu));
	assert_int_equal(sampler_read_waker_counters(sampler, &wakers), 0);
	assert_memory_equal(&wakers, &no_wakers, sizeof(wakers));
	assert_true(sampler_knows_lives(sampler));
	assert_int_equal(sampler_read_sleepers(sampler, 8, take_record, &taken, &num), -EIO);
	assert_int_equal(num, 8);
	assert_int_equal(taken, 1);
}

static void programs_know_what_is_sampled(void **state _unused_)
{
	opts.off_cpu = (struct sampler_off_cpu){.period_ns = 1000,
						.min_block_ns = 20,
						.scheduler_pc = 30,
						.scheduler_text_start = 20,
						.scheduler_text_end = 40};
	make(0);
	assert_false(sampling_opts.no_kernel_stacks || sampling_opts.no_user_stacks ||
		     sampling_opts.walks_by_table || sampling_opts.takes_runtime_frames ||
		     sampling_opts.is_filtered || sampling_opts.leaves_children_out ||
		     sampling_opts.takes_areas || sampling_opts.tracks_running);
	assert_false(off_cpu_opts.no_kernel_stacks || off_cpu_opts.no_user_stacks ||
		     off_cpu_opts.walks_by_table || off_cpu_opts.takes_runtime_frames ||
		     off_cpu_opts.is_filtered || off_cpu_opts.starts_on_exec ||
		     off_cpu_opts.takes_wakers || off_cpu_opts.only_futexes);
	assert_int_equal(off_cpu_opts.period_ns, 1000);
	assert_int_equal(off_cpu_opts.min_block_ns, 20);
	assert_int_equal(off_cpu_opts.scheduler_pc, 30);
	assert_int_equal(off_cpu_opts.scheduler_text_start, 20);
	assert_int_equal(off_cpu_opts.scheduler_text_end, 40);
	assert_int_equal(off_cpu_opts.cgroup_fd, -1);
	/* One after the other. */
	for (unsigned int i = 0; i < 11; i++) {
		sampler_free(sampler);
		opts = (struct sampler_opts){.no_kernel_stacks = i == 0,
					     .no_user_stacks = i == 1,
					     .walks_by_table = i == 2,
					     .takes_runtime_frames = i == 3,
					     .is_filtered = i == 4,
					     .leaves_children_out = i == 5,
					     .takes_areas = i == 6,
					     .tracks_running = i == 7,
					     .starts_on_exec = i == 8,
					     .off_cpu = {.period_ns = 1,
							 .takes_wakers = i == 9,
							 .only_futexes = i == 10}};
		make(0);
		assert_int_equal(sampling_opts.no_kernel_stacks, i == 0);
		assert_int_equal(sampling_opts.no_user_stacks, i == 1);
		assert_int_equal(sampling_opts.walks_by_table, i == 2);
		assert_int_equal(sampling_opts.takes_runtime_frames, i == 3);
		assert_int_equal(sampling_opts.is_filtered, i == 4);
		assert_int_equal(sampling_opts.leaves_children_out, i == 5);
		assert_int_equal(sampling_opts.takes_areas, i == 6);
		assert_int_equal(sampling_opts.tracks_running, i == 7);
		assert_int_equal(off_cpu_opts.no_kernel_stacks, i == 0);
		assert_int_equal(off_cpu_opts.no_user_stacks, i == 1);
		assert_int_equal(off_cpu_opts.walks_by_table, i == 2);
		assert_int_equal(off_cpu_opts.takes_runtime_frames, i == 3);
		assert_int_equal(off_cpu_opts.is_filtered, i == 4);
		assert_int_equal(off_cpu_opts.starts_on_exec, i == 8);
		assert_int_equal(off_cpu_opts.takes_wakers, i == 9);
		assert_int_equal(off_cpu_opts.only_futexes, i == 10);
	}
}

static void rings_have_8_mib_unless_said_otherwise(void **state _unused_)
{
	size_t taken = 0;

	opts.on_record = take_record;
	opts.context = &taken;
	make(0);
	assert_int_equal(num_cpus_of_map, libbpf_num_possible_cpus());
	assert_int_equal(num_cpus_of_rings, libbpf_num_possible_cpus());
	assert_int_equal(rings_map_fd, sampling_opts.rings_fd);
	assert_int_equal(ring_bytes, 8 << 20);
	assert_int_equal(sampler_read(sampler), -EIO);
	assert_int_equal(taken, 6);
	assert_int_equal(sampler_get_fd(sampler), -1);
	sampler_free(sampler);
	opts.ring_bytes = 4096;
	make(0);
	assert_int_equal(ring_bytes, 4096);
}

/* Whatever was loaded by then is freed. */
static void what_is_refused_leaves_nothing(void **state _unused_)
{
	static const int errors[] = {0, -EPERM, -EINVAL, -ENOTSUP};

	opts.events = events;
	opts.num_events = 4;
	for (size_t i = 1; i < ARRAY_LENGTH(errors); i++) {
		load_error = (int)i;
		assert_int_equal(sampler_new(&opts, &sampler, &error), errors[i]);
		assert_int_equal(num_programs, 0);
		assert_null(sampler);
	}
	load_error = 0;
	rings_error = -ENOMEM;
	assert_int_equal(sampler_new(&opts, &sampler, &error), -ENOMEM);
	rings_error = -EINVAL;
	assert_int_equal(sampler_new(&opts, &sampler, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "the kernel refused the rings"));
	assert_int_equal(num_programs, 0);
	rings_error = 0;
	map_error = -E2BIG;
	assert_int_equal(sampler_new(&opts, &sampler, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "the rings of the program: Argument list too long"));
	assert_int_equal(num_programs, 0);
	/* The program has a better reason. */
	map_error = -EPERM;
	load_error = 1;
	assert_int_equal(sampler_new(&opts, &sampler, &error), -EPERM);
	assert_int_equal(sampling_opts.rings_fd, -EPERM);
}

static void the_time_of_each_program_is_read(void **state _unused_)
{
	static const struct {
		int program;
		uint64_t times;
	} cases[] = {{FIRST_PROGRAM, 1}, {COUNTED + 1, 17}, {FIRST_PROGRAM + 3, 1774}};
	struct own_times times = {0};

	opts.off_cpu.period_ns = 1000;
	make(4);
	assert_int_equal(sampler_read_time(sampler, &times), 0);
	assert_int_equal(times_read, 17749);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		times_read = 0;
		time_error = cases[i].program;
		assert_int_equal(sampler_read_time(sampler, &times), -ENOMEM);
		assert_int_equal(times_read, cases[i].times);
	}
	sampler_free(sampler);
	times_read = 0;
	time_error = 0;
	opts.off_cpu.period_ns = 0;
	make(4);
	assert_int_equal(sampler_read_time(sampler, &times), 0);
	assert_int_equal(times_read, 1774);
}

static void the_depth_of_stacks_is_the_kernels(void **state _unused_)
{
	assert_int_equal(sampler_read_max_depth(), 127);
	max_stack = "20\n";
	assert_int_equal(sampler_read_max_depth(), 20);
	max_stack = "";
	assert_int_equal(sampler_read_max_depth(), 127);
	max_stack = NULL;
	assert_int_equal(sampler_read_max_depth(), 127);
	max_stack = "640\n";
	assert_int_equal(sampler_read_max_depth(), WIRE_MAX_FRAMES);
}

static void maps_are_those_of_the_first_program(void **state _unused_)
{
	struct unwind_maps maps;

	make(4);
	maps = sampler_get_unwind_maps(sampler);
	assert_int_equal(maps.pages_fd, MAP_OF(FIRST_PROGRAM, 'u'));
	assert_int_equal(maps.layouts_fd, MAP_OF(FIRST_PROGRAM, 'r'));
	assert_int_equal(sampler_get_targets_fd(sampler), MAP_OF(FIRST_PROGRAM, 't'));
	assert_int_equal(sampler_get_running_fd(sampler), MAP_OF(FIRST_PROGRAM, 'r'));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_cpu_ticks_with_its_cycles),
		TEST(without_a_pmu_a_cpu_ticks_with_its_clock),
		TEST(cycles_that_one_cpu_lacks_are_an_error),
		TEST(each_event_has_its_program_and_number),
		TEST(a_count_is_the_period_of_what_is_no_time),
		TEST(modifiers_of_an_event_are_the_kernels),
		TEST(a_refused_clock_says_why),
		TEST(a_refused_event_says_why),
		TEST(some_cpus_may_lack_an_event),
		TEST(a_cpu_has_all_events_or_none),
		TEST(a_program_that_is_refused_closes_the_tick),
		TEST(the_times_of_a_cpu_outlive_it),
		TEST(a_timer_has_ticks_that_are_due),
		TEST(without_events_a_cpu_may_go_as_well),
		TEST(all_ticks_and_programs_start_and_stop),
		TEST(a_probed_file_is_let_go_of),
		TEST(probes_that_stay_are_told),
		TEST(programs_of_events_are_waited_for),
		TEST(a_target_has_its_key),
		TEST(each_event_has_its_counters),
		TEST(off_cpu_time_has_its_own_counters),
		TEST(programs_know_what_is_sampled),
		TEST(rings_have_8_mib_unless_said_otherwise),
		TEST(what_is_refused_leaves_nothing),
		TEST(the_time_of_each_program_is_read),
		TEST(the_depth_of_stacks_is_the_kernels),
		TEST(maps_are_those_of_the_first_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
