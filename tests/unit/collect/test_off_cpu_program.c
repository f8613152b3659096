/*
 * The program of off-CPU time: which of its variants are loaded and attached, and what starts and stops. Its object is opened,
 * and not loaded; the kernel is this file.
 */
#include "collect/programs/off_cpu_program.c"

#include "unit.h"

/* ---- the kernel ---------------------------------------------------------------------------------------------------- */

static bool has_types;
static bool has_btf;
static const char *storage_member; /* of bpf_local_storage_map; NULL: no such struct */
static bool keeps_queue_times;
static const char *queue_member; /* of sched_info, besides others */
static enum switch_arguments switch_arguments;
static struct switch_in_hook switch_in;

bool kernel_has_types(void)
{
	return has_types;
}

struct switch_in_hook kernel_find_switch_in_hook(void)
{
	return switch_in;
}

bool kernel_keeps_queue_times(void)
{
	return keeps_queue_times;
}

enum switch_arguments schedule_tap_probe_switch(const struct btf *btf)
{
	assert_non_null(btf);
	return switch_arguments;
}

struct btf *btf__load_vmlinux_btf(void)
{
	struct btf *btf = has_btf ? btf__new_empty() : NULL;

	if (!btf)
		return btf;
	assert_true(btf__add_int(btf, "int", 4, BTF_INT_SIGNED) > 0);
	assert_true(btf__add_struct(btf, "sched_info", 12) > 0);
	assert_int_equal(btf__add_field(btf, "run_delay", 1, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "last_arrival", 1, 32, 0), 0);
	assert_int_equal(btf__add_field(btf, queue_member, 1, 64, 0), 0);
	if (!storage_member)
		return btf;
	assert_true(btf__add_struct(btf, "bpf_local_storage_map", 8) > 0);
	assert_int_equal(btf__add_field(btf, "elem_size", 1, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, storage_member, 1, 32, 0), 0);
	return btf;
}

/* Programs that are attached, in this order. */
static struct {
	const struct bpf_program *program;
	const char *function; /* of a kprobe */
	bool is_destroyed;
} attached[NUM_LINKS];
static size_t num_attached;
static size_t fail_attach; /* its number, from 1 on; 0: none */
static size_t num_destroyed;

static struct bpf_link *attach_one(const struct bpf_program *program, const char *function)
{
	errno = EBUSY;
	if (num_attached + 1 == fail_attach)
		return NULL;
	assert_true(num_attached < NUM_LINKS);
	attached[num_attached].program = program;
	attached[num_attached].function = function;
	return (struct bpf_link *)&attached[num_attached++];
}

struct bpf_link *bpf_program__attach(const struct bpf_program *program)
{
	return attach_one(program, NULL);
}

struct bpf_link *bpf_program__attach_kprobe(const struct bpf_program *program, bool is_return,
					    const char *function)
{
	assert_false(is_return);
	return attach_one(program, function);
}

int bpf_link__destroy(struct bpf_link *link)
{
	num_destroyed += link != NULL;
	return 0;
}

static struct off_cpu_bpf *skeleton;
static const char *map_read; /* the last one */
static int map_error;
static int cgroup;

/* A map is known by its name's address. */
int bpf_map__fd(const struct bpf_map *map)
{
	map_read = bpf_map__name(map);
	return !strcmp(map_read, "departures_of_tasks") ? 1
	       : !strcmp(map_read, "departures_by_tid") ? 2
							: 3;
}

int bpf_map_update_elem(int fd _unused_, const void *key, const void *value, __u64 flags _unused_)
{
	assert_string_equal(map_read, "cgroups");
	assert_int_equal(*(const uint32_t *)key, 0);
	cgroup = *(const int *)value;
	errno = EFAULT;
	return map_error ? -1 : 0;
}

static int counters_error;

int bpf_counters_read(int map_fd _unused_, void *ret, size_t size)
{
	assert_string_equal(map_read, "states");
	memset(ret, 1, size);
	return counters_error;
}

static int load_error;

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *opened;
	int err = open(context, &opened);

	skeleton = ((struct off_cpu_program *)context)->bpf;
	if (!err)
		assert_ptr_equal(opened, skeleton->skeleton);
	return err ? err : load_error;
}

/* ---- other programs -------------------------------------------------------------------------------------------------- */

static bool is_in_namespace;
static int share_error;
static int waited_with;

void sampling_program_get_namespace(const struct sampling_program *program _unused_,
				    volatile __u64 *ret_dev, volatile __u64 *ret_inode)
{
	*ret_dev = 44;
	*ret_inode = 55;
}

int sampling_program_share_maps(const struct sampling_program *program _unused_,
				const struct bpf_object *object)
{
	assert_non_null(object);
	return share_error;
}

int sampling_program_wait(const struct sampling_program *program _unused_, int ring_fd)
{
	waited_with = ring_fd;
	/* Nothing is attached any more. */
	assert_int_equal(num_destroyed, num_attached);
	return -EAGAIN;
}

bool sampling_program_is_in_namespace(const struct sampling_program *program _unused_)
{
	return is_in_namespace;
}

static struct sleepers_opts sleepers_opts;
static bool has_sleepers;
static int sleepers_error;
static unsigned int num_notes;
static unsigned int num_freed;
static uint64_t read_until_ns;
static int count_error;

int sleepers_program_new(const struct sleepers_opts *opts, struct sleepers_program **ret)
{
	sleepers_opts = *opts;
	*ret = has_sleepers && !sleepers_error ? (void *)1 : NULL;
	return sleepers_error;
}

void sleepers_program_free(struct sleepers_program *program)
{
	num_freed += program != NULL;
}

void sleepers_program_note(struct sleepers_program *program _unused_, uint64_t start_ns)
{
	assert_true(skeleton->bss->is_recording);
	assert_int_equal(skeleton->bss->start_ns, start_ns);
	num_notes++;
}

int sleepers_program_count(struct sleepers_program *program _unused_, uint64_t start_ns,
			   uint64_t end_ns)
{
	assert_int_equal(start_ns, skeleton->bss->start_ns);
	assert_true(end_ns > 0);
	/* Threads that end now are seen. */
	assert_int_equal(num_destroyed, 0);
	return count_error;
}

int sleepers_program_read(struct sleepers_program *program _unused_, uint64_t end_ns,
			  int (*handle)(const void *record, size_t size, void *context) _unused_,
			  void *context _unused_, uint64_t *ret_num)
{
	read_until_ns = end_ns;
	*ret_num = 4;
	return 0;
}

static struct wakers_program_opts wakers_opts;
static int wakers_error;
static unsigned int num_wakers_started, num_wakers_stopped;

int wakers_program_new(const struct wakers_program_opts *opts,
		       const struct sampling_program *sampling _unused_,
		       struct wakers_program **ret)
{
	wakers_opts = *opts;
	assert_ptr_equal(opts->off_cpu, skeleton->obj);
	if (!wakers_error)
		*ret = (void *)1;
	return wakers_error;
}

void wakers_program_free(struct wakers_program *program)
{
	num_freed += 10 * (program != NULL);
}

void wakers_program_start(struct wakers_program *program _unused_)
{
	num_wakers_started++;
}

void wakers_program_stop(struct wakers_program *program _unused_)
{
	num_wakers_stopped++;
}

int wakers_program_read_counters(const struct wakers_program *program _unused_,
				 struct wire_waker_counters *ret)
{
	memset(ret, 1, sizeof(*ret));
	return 0;
}

static unsigned int num_times;
static int times_error;

int own_times_add(struct own_times *times _unused_, const struct bpf_object *object)
{
	assert_ptr_equal(object, skeleton->obj);
	num_times++;
	return times_error;
}

int wakers_program_read_time(const struct wakers_program *program _unused_,
			     struct own_times *times _unused_)
{
	num_times += 10;
	return 0;
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

static struct off_cpu_program_opts opts;
static struct off_cpu_program *program;
static struct error error;

static int set_up_test(void **state _unused_)
{
	has_types = has_btf = true;
	storage_member = NULL;
	keeps_queue_times = false;
	queue_member = "last_queued";
	switch_arguments = SWITCH_PREVIOUS_NEXT_STATE;
	switch_in = (struct switch_in_hook){SWITCH_IN_TRACEPOINT, "sched_exit_tp"};
	memset(attached, 0, sizeof(attached));
	num_attached = fail_attach = num_destroyed = 0;
	map_error = counters_error = load_error = share_error = sleepers_error = wakers_error = 0;
	count_error = times_error = 0;
	cgroup = -1;
	is_in_namespace = has_sleepers = false;
	num_notes = num_freed = num_wakers_started = num_wakers_stopped = num_times = 0;
	opts = (struct off_cpu_program_opts){.period_ns = 1000, .cgroup_fd = -1};
	program = NULL;
	error = (struct error){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	off_cpu_program_free(program);
	return 0;
}

static int make(void)
{
	error = (struct error){0};
	return off_cpu_program_new(&opts, NULL, &program, &error);
}

static void make_well(void)
{
	off_cpu_program_free(program);
	num_attached = num_destroyed = 0;
	assert_int_equal(make(), 0);
}

static void expect_variants(const struct bpf_program *depart, const struct bpf_program *resume)
{
	const struct bpf_program *const all[] = {
		skeleton->progs.on_depart,
		skeleton->progs.on_depart_state_second,
		skeleton->progs.on_depart_state_last,
		skeleton->progs.on_resume,
		skeleton->progs.on_resume_entry,
		skeleton->progs.on_resume_probe,
	};
	bool departs = false, resumes = false;

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		assert_int_equal(bpf_program__autoload(all[i]),
				 all[i] == depart || all[i] == resume);
	for (size_t i = 0; i < num_attached; i++) {
		departs |= attached[i].program == depart;
		resumes |= attached[i].program == resume;
	}
	assert_true(departs && resumes);
}

static void each_kernel_has_its_variants(void **state _unused_)
{
	make_well();
	expect_variants(skeleton->progs.on_depart_state_last, skeleton->progs.on_resume);
	switch_arguments = SWITCH_STATE_PREVIOUS_NEXT;
	switch_in = (struct switch_in_hook){SWITCH_IN_ENTRY, "finish_task_switch"};
	make_well();
	expect_variants(skeleton->progs.on_depart_state_second, skeleton->progs.on_resume_entry);
	switch_arguments = SWITCH_PREVIOUS_NEXT;
	switch_in = (struct switch_in_hook){SWITCH_IN_PROBE, "finish_task_switch.isra.0"};
	make_well();
	expect_variants(skeleton->progs.on_depart, skeleton->progs.on_resume_probe);
	for (size_t i = 0; i < num_attached; i++) {
		bool is_probe = attached[i].program == skeleton->progs.on_resume_probe;

		assert_int_equal(attached[i].function != NULL, is_probe);
		if (is_probe)
			assert_string_equal(attached[i].function, "finish_task_switch.isra.0");
	}
}

static bool is_attached(const struct bpf_program *wanted)
{
	for (size_t i = 0; i < num_attached; i++)
		if (attached[i].program == wanted)
			return true;
	return false;
}

static void threads_are_followed_from_start_to_end(void **state _unused_)
{
	make_well();
	assert_int_equal(num_attached, 5);
	assert_true(is_attached(skeleton->progs.on_woken));
	assert_true(is_attached(skeleton->progs.on_started));
	assert_true(is_attached(skeleton->progs.on_exit));
	assert_false(bpf_program__autoload(skeleton->progs.on_command));
	/* Departures last: whoever leaves then is seen to come back. */
	assert_ptr_equal(attached[4].program, skeleton->progs.on_depart_state_last);
	opts.starts_on_exec = true;
	make_well();
	assert_int_equal(num_attached, 6);
	assert_true(is_attached(skeleton->progs.on_command));
	assert_true(bpf_program__autoload(skeleton->progs.on_command));
	off_cpu_program_free(program);
	program = NULL;
	assert_int_equal(num_destroyed, 6);
}

/* The program of the wakers notes wakeups as well. */
static void wakers_take_the_wakeups(void **state _unused_)
{
	make_well();
	assert_true(bpf_program__autoload(skeleton->progs.on_woken));
	opts.takes_wakers = true;
	storage_member = "selem_ma";
	make_well();
	assert_false(bpf_program__autoload(skeleton->progs.on_woken));
	assert_false(is_attached(skeleton->progs.on_woken));
	assert_int_equal(num_attached, 4);
	assert_true(wakers_opts.notes_in_tasks);
	assert_int_equal(wakers_opts.waits.period_ns, 1000);
	off_cpu_program_start(program);
	assert_int_equal(num_wakers_started, 1);
	assert_int_equal(off_cpu_program_stop(program, 5), -EAGAIN);
	assert_int_equal(num_wakers_stopped, 1);
	off_cpu_program_free(program);
	program = NULL;
	assert_int_equal(num_freed, 10);
	wakers_error = -EINVAL;
	num_attached = num_destroyed = 0;
	assert_int_equal(make(), -ENOTSUP);
	assert_int_equal(num_attached, 0);
}

static void times_in_run_queues_replace_the_program_at_wakeups(void **state _unused_)
{
	has_sleepers = keeps_queue_times = true;
	make_well();
	assert_true(skeleton->rodata->has_queue_times);
	assert_true(sleepers_opts.has_queue_times);
	assert_false(bpf_program__autoload(skeleton->progs.on_woken));
	assert_int_equal(num_attached, 4);
	/* The wakers' program runs at them anyway, but its own time is not in them. */
	opts.takes_wakers = true;
	make_well();
	assert_true(skeleton->rodata->has_queue_times);
	assert_true(sleepers_opts.has_queue_times);
	assert_false(bpf_program__autoload(skeleton->progs.on_woken));
	opts.takes_wakers = false;
	queue_member = "pcount"; /* the field is not there */
	make_well();
	assert_false(skeleton->rodata->has_queue_times);
	assert_true(is_attached(skeleton->progs.on_woken));
	queue_member = "last_queued";
	keeps_queue_times = false;
	make_well();
	assert_false(skeleton->rodata->has_queue_times);
	assert_true(is_attached(skeleton->progs.on_woken));
}

/* In tasks where their memory is had without the page allocator. */
static void notes_are_where_they_are_safe(void **state _unused_)
{
	static const struct {
		const char *member;
		bool is_safe;
	} cases[] = {{NULL, false},
		     {"cache_idx", false},
		     {"selem_ma", true},
		     {"use_kmalloc_nolock", true}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		storage_member = cases[i].member;
		make_well();
		assert_int_equal(skeleton->rodata->notes_in_tasks, cases[i].is_safe);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_of_tasks),
				 cases[i].is_safe);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_by_tid),
				 !cases[i].is_safe);
		assert_int_equal(sleepers_opts.notes_in_tasks, cases[i].is_safe);
		assert_int_equal(sleepers_opts.departures_fd, cases[i].is_safe ? 1 : 2);
	}
}

static void the_program_knows_what_is_sampled(void **state _unused_)
{
	uint32_t num_cpus = (uint32_t)libbpf_num_possible_cpus();
	const struct off_cpu_bpf__rodata *constants;

	opts.min_block_ns = 20;
	make_well();
	constants = skeleton->rodata;
	assert_int_equal(constants->period_ns, 1000);
	assert_int_equal(constants->min_block_ns, 20);
	assert_int_equal(constants->pid_namespace_dev, 44);
	assert_int_equal(constants->pid_namespace_inode, 55);
	assert_true(constants->take_user_stacks && constants->take_kernel_stacks);
	assert_false(constants->only_futexes || constants->is_of_cgroup || constants->is_filtered ||
		     constants->walks_by_table || constants->takes_runtime_frames);
	assert_int_equal(bpf_map__max_entries(skeleton->maps.sent_stacks), num_cpus);
	assert_int_equal(bpf_map__max_entries(skeleton->maps.sent_runtime), num_cpus);
	assert_int_equal(bpf_map__max_entries(skeleton->maps.raw_samples), num_cpus);
	assert_int_equal(cgroup, -1);
	for (unsigned int i = 0; i < 7; i++) {
		opts = (struct off_cpu_program_opts){.period_ns = 1000,
						     .no_user_stacks = i == 0,
						     .no_kernel_stacks = i == 1,
						     .only_futexes = i == 2,
						     .cgroup_fd = i == 3 ? 0 : -1,
						     .is_filtered = i == 4,
						     .walks_by_table = i == 5,
						     .takes_runtime_frames = i == 6};
		make_well();
		constants = skeleton->rodata;
		assert_int_equal(constants->take_user_stacks, i != 0);
		assert_int_equal(constants->take_kernel_stacks, i != 1);
		assert_int_equal(constants->only_futexes, i == 2);
		assert_int_equal(constants->is_of_cgroup, i == 3);
		assert_int_equal(constants->is_filtered, i == 4);
		assert_int_equal(constants->walks_by_table, i == 5);
		assert_int_equal(constants->takes_runtime_frames, i == 6);
		assert_int_equal(cgroup, i >= 3 ? 0 : -1);
	}
}

static void expect_failure(int err, const char *reason)
{
	num_attached = num_destroyed = 0;
	assert_int_equal(make(), err);
	assert_null(program);
	assert_non_null(strstr(error.message, reason));
	assert_int_equal(num_attached, num_destroyed);
}

static void what_a_kernel_lacks_is_said(void **state _unused_)
{
	has_types = false;
	expect_failure(-ENOTSUP, "has no type information");
	has_types = true;
	has_btf = false;
	expect_failure(-ENOTSUP, "cannot read the kernel's type information");
	has_btf = true;
	switch_arguments = SWITCH_UNKNOWN;
	expect_failure(-ENOTSUP, "unknown form of the tracepoint sched_switch");
	switch_arguments = SWITCH_PREVIOUS_NEXT;
	switch_in.kind = SWITCH_IN_NONE;
	expect_failure(-ENOTSUP, "has no hook for switches");
}

static void a_refused_program_says_why(void **state _unused_)
{
	int *const errors[] = {&load_error, &share_error, &sleepers_error};

	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		*errors[i] = -EPERM;
		expect_failure(-EPERM, "not permitted to record off-CPU time");
		*errors[i] = -EACCES;
		expect_failure(-EPERM, "not permitted to record off-CPU time");
		*errors[i] = -EINVAL;
		expect_failure(-ENOTSUP, "refused the off-CPU program (Invalid argument)");
		*errors[i] = -ENOMEM;
		expect_failure(-ENOMEM, "");
		*errors[i] = 0;
	}
	opts.cgroup_fd = 3;
	map_error = 1;
	expect_failure(-ENOTSUP, "Bad address");
}

/* Whichever hook is refused, those before it are detached. */
static void a_refused_hook_ends_all(void **state _unused_)
{
	opts.starts_on_exec = true;
	for (fail_attach = 1; fail_attach <= 6; fail_attach++) {
		expect_failure(-ENOTSUP, "Device or resource busy");
		assert_int_equal(num_attached, fail_attach - 1);
	}
	make_well();
}

/* CPUs come online: it starts once. */
static void it_starts_once(void **state _unused_)
{
	uint64_t start_ns;

	has_sleepers = true;
	make_well();
	assert_false(skeleton->bss->is_recording);
	off_cpu_program_start(program);
	start_ns = skeleton->bss->start_ns;
	assert_true(start_ns > 0);
	assert_true(skeleton->bss->is_recording);
	assert_int_equal(num_notes, 1);
	off_cpu_program_start(program);
	assert_int_equal(num_notes, 1);
	assert_int_equal(skeleton->bss->start_ns, start_ns);
	off_cpu_program_end(program);
	assert_false(skeleton->bss->is_recording);
	assert_int_equal(off_cpu_program_stop(program, 5), -EAGAIN);
	assert_int_equal(waited_with, 5);
	off_cpu_program_free(program);
	program = NULL;
	assert_int_equal(num_freed, 1);
	assert_int_equal(num_destroyed, num_attached); /* once each */
}

static void sleepers_are_read_until_the_stop(void **state _unused_)
{
	uint64_t num = 9;

	make_well();
	off_cpu_program_start(program);
	off_cpu_program_end(program);
	(void)!off_cpu_program_stop(program, 5);
	assert_int_equal(off_cpu_program_read_sleepers(program, 7, NULL, NULL, &num), 0);
	assert_int_equal(num, 0);
	off_cpu_program_free(program);
	program = NULL;
	has_sleepers = true;
	make_well();
	off_cpu_program_start(program);
	off_cpu_program_end(program);
	(void)!off_cpu_program_stop(program, 5);
	assert_int_equal(off_cpu_program_read_sleepers(program, 7, NULL, NULL, &num), 0);
	assert_int_equal(num, 4);
	assert_int_equal(read_until_ns, 7);
	assert_int_equal(off_cpu_program_read_sleepers(program, UINT64_MAX, NULL, NULL, &num), 0);
	assert_int_equal(read_until_ns, program->stop_ns);
}

/* All threads were there to be counted. */
static void lives_are_known_if_all_threads_were_counted(void **state _unused_)
{
	for (unsigned int i = 0; i < 5; i++) {
		has_sleepers = i != 1;
		count_error = i == 2 ? -EIO : 0;
		is_in_namespace = i == 3;
		opts.cgroup_fd = i == 4 ? 3 : -1;
		make_well();
		off_cpu_program_start(program);
		assert_false(off_cpu_program_knows_lives(program));
		off_cpu_program_end(program);
		(void)!off_cpu_program_stop(program, 5);
		assert_int_equal(off_cpu_program_knows_lives(program), i == 0);
	}
}

static void counters_are_those_of_the_state(void **state _unused_)
{
	struct wire_off_cpu_counters counters, ones;
	struct wire_waker_counters wakers, no_wakers = {0};

	memset(&ones, 1, sizeof(ones));
	make_well();
	assert_int_equal(off_cpu_program_read_counters(program, &counters), 0);
	assert_memory_equal(&counters, &ones, sizeof(ones));
	counters_error = -ENOENT;
	assert_int_equal(off_cpu_program_read_counters(program, &counters), -ENOENT);
	assert_int_equal(off_cpu_program_read_waker_counters(program, &wakers), 0);
	assert_memory_equal(&wakers, &no_wakers, sizeof(wakers));
	assert_int_equal(off_cpu_program_read_time(program, NULL), 0);
	assert_int_equal(num_times, 1);
	opts.takes_wakers = true;
	make_well();
	memset(&no_wakers, 1, sizeof(no_wakers));
	assert_int_equal(off_cpu_program_read_waker_counters(program, &wakers), 0);
	assert_memory_equal(&wakers, &no_wakers, sizeof(wakers));
	num_times = 0;
	assert_int_equal(off_cpu_program_read_time(program, NULL), 0);
	assert_int_equal(num_times, 11);
	times_error = -ENOMEM;
	assert_int_equal(off_cpu_program_read_time(program, NULL), -ENOMEM);
	assert_int_equal(num_times, 12);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up_test, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kernel_has_its_variants),
		TEST(threads_are_followed_from_start_to_end),
		TEST(wakers_take_the_wakeups),
		TEST(times_in_run_queues_replace_the_program_at_wakeups),
		TEST(notes_are_where_they_are_safe),
		TEST(the_program_knows_what_is_sampled),
		TEST(what_a_kernel_lacks_is_said),
		TEST(a_refused_program_says_why),
		TEST(a_refused_hook_ends_all),
		TEST(it_starts_once),
		TEST(sleepers_are_read_until_the_stop),
		TEST(lives_are_known_if_all_threads_were_counted),
		TEST(counters_are_those_of_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
