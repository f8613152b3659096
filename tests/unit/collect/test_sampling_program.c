/*
 * The sampling program: which of the two is opened with what, its hooks, the maps that others share, and why it is refused. Its
 * object is opened, and not loaded; the kernel is this file.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"

static int stat_of_test(const char *path, struct stat *ret);
static int read_format(int folder, const char *path, size_t limit, struct text *ret);
static int get_limit_of_test(int resource, struct rlimit *ret);

#define file_read_at             read_format
#define getrlimit(resource, ret) get_limit_of_test(resource, ret)
#define stat(path, ret)          stat_of_test(path, ret)
#include "collect/programs/sampling_program.c"
#undef file_read_at
#undef getrlimit
#undef stat

#include "unit.h"

static ino_t pid_namespace;
static int stat_error;

static int stat_of_test(const char *path, struct stat *ret)
{
	assert_string_equal(path, "/proc/self/ns/pid");
	*ret = (struct stat){.st_dev = 44, .st_ino = pid_namespace};
	return stat_error;
}

static const char *format_folder; /* where tracefs is; NULL: nowhere */
static const char *format;

static int read_format(int folder _unused_, const char *path, size_t limit _unused_,
		       struct text *ret)
{
	if (!format_folder || strncmp(path, format_folder, strlen(format_folder)))
		return -ENOENT;
	text_append(ret, format, strlen(format));
	return 0;
}

static rlim_t memory_limit;
static rlim_t address_space_limit;
static bool counts_as_locked;

static int get_limit_of_test(int resource, struct rlimit *ret)
{
	rlim_t limit = resource == RLIMIT_AS ? address_space_limit : memory_limit;

	assert_true(resource == RLIMIT_AS || resource == RLIMIT_MEMLOCK);
	*ret = (struct rlimit){limit, limit};
	return 0;
}

bool kernel_counts_bpf_as_locked(void)
{
	return counts_as_locked;
}

static bool has_types;
static bool has_find_vma;

bool kernel_has_types(void)
{
	return has_types;
}

bool kernel_has_find_vma(void)
{
	return has_find_vma;
}

void bpf_log_start(void)
{
}

static struct sampling_program *opened; /* the last one */
static int load_error;

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *skeleton;
	int err = open(context, &skeleton);

	opened = ((struct sampling_program_load *)context)->program;
	if (!err)
		assert_ptr_equal(*skeleton->obj, opened->object);
	return err ? err : load_error;
}

static unsigned int num_attached;
static unsigned int num_destroyed;
static const char *refused_hook;

struct bpf_link *bpf_program__attach(const struct bpf_program *program)
{
	errno = EBUSY;
	if (refused_hook && !strcmp(bpf_program__name(program), refused_hook))
		return NULL;
	num_attached++;
	return (struct bpf_link *)&num_attached;
}

int bpf_link__destroy(struct bpf_link *link)
{
	num_destroyed += link != NULL;
	return 0;
}

#define RINGS 5
/* A map's descriptor is the length of its name. */
int bpf_map__fd(const struct bpf_map *map)
{
	return (int)strlen(bpf_map__name(map));
}

static unsigned int num_reused;
static int reuse_error;

int bpf_map__reuse_fd(struct bpf_map *map, int fd)
{
	num_reused++;
	assert_int_equal(fd, strlen(bpf_map__name(map)));
	return reuse_error;
}

static int update_error;
static int updated_fd;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	assert_int_equal(fd, strlen("rings"));
	assert_int_equal(*(const uint32_t *)key, 0);
	updated_fd = *(const int *)value;
	errno = update_error;
	return update_error ? -1 : 0;
}

int own_times_add(struct own_times *times _unused_, const struct bpf_object *object)
{
	assert_ptr_equal(object, opened->object);
	return -ENOMEM;
}

static struct sampling_program_opts opts;
static struct sampling_program *program;
static struct error error;

static int set_up(void **state _unused_)
{
	pid_namespace = 0xeffffffc;
	stat_error = load_error = reuse_error = update_error = 0;
	format_folder = "/sys/kernel/tracing";
	format = "\tfield:pid_t child_pid;\toffset:44;\tsize:4;\n\tfield:pid_t pid;\toffset:12;\n"
		 "\tfield:pid_t old_pid;\toffset:16;\n";
	address_space_limit = RLIM_INFINITY;
	memory_limit = 65536;
	counts_as_locked = false;
	has_types = has_find_vma = true;
	num_attached = num_destroyed = num_reused = 0;
	refused_hook = NULL;
	opts = (struct sampling_program_opts){0};
	program = NULL;
	error = (struct error){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	sampling_program_free(program);
	return 0;
}

static int make(void)
{
	error = (struct error){0};
	if (!opts.rings_fd)
		opts.rings_fd = RINGS;
	return sampling_program_new(&opts, 40, &program, &error);
}

static void make_well(void)
{
	sampling_program_free(program);
	num_attached = num_destroyed = 0;
	assert_int_equal(make(), 0);
}

static uint32_t entries_of(const char *map)
{
	return bpf_map__max_entries(bpf_object__find_map_by_name(program->object, map));
}

static void the_program_knows_what_is_sampled(void **state _unused_)
{
	make_well();
	assert_true(program->typed->rodata->take_user_stacks);
	assert_true(program->typed->rodata->take_kernel_stacks);
	assert_int_equal(program->typed->rodata->event_number, 0);
	for (unsigned int i = 0; i < 7; i++) {
		const struct sampler_bpf__rodata *constants;

		opts = (struct sampling_program_opts){.no_user_stacks = i == 0,
						      .no_kernel_stacks = i == 1,
						      .walks_by_table = i == 2,
						      .takes_runtime_frames = i == 3,
						      .tracks_running = i == 4,
						      .is_filtered = i == 5,
						      .leaves_children_out = i == 6};
		make_well();
		constants = program->typed->rodata;
		assert_int_equal(constants->take_user_stacks, i != 0);
		assert_int_equal(constants->take_kernel_stacks, i != 1);
		assert_int_equal(constants->walks_by_table, i == 2);
		assert_int_equal(constants->takes_runtime_frames, i == 3);
		assert_int_equal(constants->tracks_running, i == 4);
		assert_int_equal(constants->is_filtered, i == 5);
		assert_int_equal(constants->leaves_children_out, i == 6);
	}
}

static void areas_are_taken_if_the_kernel_has_them(void **state _unused_)
{
	for (unsigned int i = 0; i < 4; i++) {
		bool takes_areas = i == 3;

		opts.takes_areas = i & 1;
		has_find_vma = i & 2;
		make_well();
		assert_int_equal(bpf_program__autoload(program->typed->progs.on_tick_with_areas),
				 takes_areas);
		assert_int_equal(bpf_program__autoload(program->typed->progs.on_tick),
				 !takes_areas);
		assert_ptr_equal(program->tick, takes_areas
							? program->typed->progs.on_tick_with_areas
							: program->typed->progs.on_tick);
	}
}

/* In the initial one pids are the kernel's. */
static void a_container_has_its_own_pids(void **state _unused_)
{
	__u64 dev = 1, inode = 1;

	make_well();
	assert_false(sampling_program_is_in_namespace(program));
	sampling_program_get_namespace(program, &dev, &inode);
	assert_int_equal(dev, 0);
	assert_int_equal(inode, 0);
	for (unsigned int i = 0; i < 2; i++) {
		has_types = !i;
		pid_namespace = 0xf0000001;
		make_well();
		assert_true(sampling_program_is_in_namespace(program));
		sampling_program_get_namespace(program, &dev, &inode);
		assert_int_equal(dev, 44);
		assert_int_equal(inode, 0xf0000001);
	}
	stat_error = -1;
	make_well();
	assert_false(sampling_program_is_in_namespace(program));
}

static void maps_are_as_large_as_the_machine(void **state _unused_)
{
	make_well();
	assert_int_equal(entries_of("sent_stacks"), 40);
	assert_int_equal(entries_of("sent_runtime"), 40);
	assert_int_equal(entries_of("raw_samples"), 40);
	assert_int_equal(num_reused, 1); /* its own rings */
	assert_int_equal(entries_of("target_tids"), 1);
	opts.is_filtered = true;
	make_well();
	assert_int_equal(entries_of("target_tids"), WIRE_MAX_TARGETS);
}

/* Loading it explains why. */
static void without_rings_it_is_loaded_with_those_of_the_object(void **state _unused_)
{
	opts.rings_fd = -EPERM;
	make_well();
	assert_int_equal(num_reused, 0);
	sampling_program_free(program);
	program = NULL;
	opts.rings_fd = RINGS;
	reuse_error = -EBADF;
	assert_int_equal(sampling_program_new(&opts, 40, &program, &error), -ENOTSUP);
	assert_null(program);
}

/* Mappings are forgotten when a process ends; a filter follows forks. */
static void hooks_are_attached_if_they_are_needed(void **state _unused_)
{
	make_well();
	assert_int_equal(num_attached, 0);
	opts.walks_by_table = true;
	make_well();
	assert_int_equal(num_attached, 3);
	opts.is_filtered = true;
	make_well();
	assert_int_equal(num_attached, 4);
	sampling_program_free(program);
	program = NULL;
	assert_int_equal(num_destroyed, 4);
}

static void a_filter_needs_its_hooks(void **state _unused_)
{
	refused_hook = "on_exec";
	opts.walks_by_table = true;
	make_well();
	assert_int_equal(num_attached, 2);
	sampling_program_free(program);
	program = NULL;
	opts.is_filtered = true;
	num_attached = num_destroyed = 0;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "Device or resource busy"));
	assert_int_equal(num_attached, 1);
	assert_int_equal(num_destroyed, 1);
}

/* It has its own counters, and no hooks. */
static void another_event_shares_the_maps(void **state _unused_)
{
	struct sampling_program *second = NULL;

	opts = (struct sampling_program_opts){
		.is_filtered = true, .walks_by_table = true, .tracks_running = true};
	make_well();
	num_attached = num_reused = 0;
	assert_int_equal(sampling_program_new_beside(program, 3, &second, &error), 0);
	assert_int_equal(second->typed->rodata->event_number, 3);
	assert_true(second->typed->rodata->is_filtered);
	assert_false(second->typed->rodata->tracks_running);
	assert_int_equal(num_attached, 0);
	assert_int_equal(num_reused, 7);
	assert_int_equal(second->num_cpus, 40);
	for (size_t i = 0; i < NUM_HOOKS; i++)
		assert_false(bpf_program__autoload(
			bpf_object__find_program_by_name(second->object, hook_names[i])));
	assert_true(sampling_program_get_opts(second)->walks_by_table);
	sampling_program_free(second);
	second = NULL;
	reuse_error = -EBADF;
	assert_int_equal(sampling_program_new_beside(program, 3, &second, &error), -ENOTSUP);
	assert_null(second);
}

static void a_map_that_is_missing_is_not_shared(void **state _unused_)
{
	struct sampling_program *untyped = NULL;

	make_well();
	has_types = false;
	assert_int_equal(sampling_program_new(&opts, 40, &untyped, &error), 0);
	assert_int_equal(sampling_program_share_maps(program, untyped->object), -ENOENT);
	assert_int_equal(sampling_program_get_map(untyped, "unwind_pages"), -1);
	assert_int_equal(sampling_program_get_map(program, "unwind_pages"), strlen("unwind_pages"));
	sampling_program_free(untyped);
}

static void programs_that_were_detached_are_waited_for(void **state _unused_)
{
	make_well();
	assert_int_equal(sampling_program_wait(program, 9), 0);
	assert_int_equal(updated_fd, 9);
	update_error = EINVAL;
	assert_int_equal(sampling_program_wait(program, 9), -EINVAL);
	assert_int_equal(sampling_program_read_time(program, NULL), -ENOMEM);
}

/* ---- without type information ------------------------------------------------------------------------------------------ */

static void an_old_kernel_follows_frame_pointers(void **state _unused_)
{
	has_types = false;
	opts = (struct sampling_program_opts){.no_user_stacks = true, .leaves_children_out = true};
	make_well();
	assert_null(program->typed);
	assert_ptr_equal(program->tick, program->untyped->progs.on_tick);
	assert_false(program->untyped->rodata->take_user_stacks);
	assert_true(program->untyped->rodata->take_kernel_stacks);
	assert_false(program->untyped->rodata->is_filtered);
	assert_true(program->untyped->rodata->leaves_children_out);
	opts = (struct sampling_program_opts){.no_kernel_stacks = true};
	make_well();
	assert_true(program->untyped->rodata->take_user_stacks);
	assert_false(program->untyped->rodata->take_kernel_stacks);
	assert_false(program->untyped->rodata->leaves_children_out);
}

static void an_old_kernel_lacks_tables_and_events(void **state _unused_)
{
	struct sampling_program *second = NULL;

	make_well();
	has_types = false;
	assert_int_equal(sampling_program_new_beside(program, 1, &second, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "only one event at a time can be sampled"));
	sampling_program_free(program);
	program = NULL;
	opts.walks_by_table = true;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "--user-stacks fp"));
}

static void fields_of_tracepoints_are_found(void **state _unused_)
{
	has_types = false;
	opts.is_filtered = true;
	make_well();
	assert_int_equal(program->untyped->rodata->fork_child_pid_offset, 44);
	assert_int_equal(program->untyped->rodata->exec_pid_offset, 12);
	assert_int_equal(program->untyped->rodata->exec_old_pid_offset, 16);
	assert_int_equal(program->untyped->rodata->free_pid_offset, 12);
	format_folder = "/sys/kernel/debug/tracing";
	make_well();
	sampling_program_free(program);
	program = NULL;
	format = "\tfield:pid_t child_pid;\toffset:44;\n\tfield:pid_t pid;\toffset:12;\n";
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "sched_process_exec/format: no old_pid"));
	format_folder = NULL;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "mount -t tracefs"));
}

static void refused_loads_say_why(void **state _unused_)
{
	load_error = -EPERM;
	assert_int_equal(make(), -EPERM);
	assert_non_null(strstr(error.message, "not permitted to load BPF programs"));
	counts_as_locked = true;
	assert_int_equal(make(), -EPERM);
	assert_non_null(strstr(error.message, "ulimit -l unlimited"));
	memory_limit = RLIM_INFINITY;
	assert_int_equal(make(), -EPERM);
	assert_non_null(strstr(error.message, "not permitted to load BPF programs"));
	memory_limit = 65536;
	load_error = -EACCES;
	assert_int_equal(make(), -EPERM);
	assert_non_null(strstr(error.message, "not permitted to load BPF programs"));
	load_error = -EINVAL;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "refused the sampling program (Invalid argument)"));
	address_space_limit = 60000 << 10;
	assert_int_equal(make(), -ENOTSUP);
	assert_non_null(strstr(error.message, "(Invalid argument): the limit of memory"));
	load_error = -EMFILE;
	assert_int_equal(make(), -EMFILE);
	assert_non_null(strstr(error.message, "too many open files"));
	load_error = -ENOMEM;
	assert_int_equal(make(), -ENOMEM);
	assert_string_equal(error.message, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_program_knows_what_is_sampled),
		TEST(areas_are_taken_if_the_kernel_has_them),
		TEST(a_container_has_its_own_pids),
		TEST(maps_are_as_large_as_the_machine),
		TEST(without_rings_it_is_loaded_with_those_of_the_object),
		TEST(hooks_are_attached_if_they_are_needed),
		TEST(a_filter_needs_its_hooks),
		TEST(another_event_shares_the_maps),
		TEST(a_map_that_is_missing_is_not_shared),
		TEST(programs_that_were_detached_are_waited_for),
		TEST(an_old_kernel_follows_frame_pointers),
		TEST(an_old_kernel_lacks_tables_and_events),
		TEST(fields_of_tracepoints_are_found),
		TEST(refused_loads_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
