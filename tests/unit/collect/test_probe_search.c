/* Where points of probes are looked for, in which file, and what is said when there are none. Files and readers are the test's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define event_device_configure    configure_device
#define elf_worker_new            start_reader
#define elf_worker_free           end_reader
#define elf_worker_find_library   find_in_cache
#define elf_worker_identify       identify
#define elf_worker_find_probe     find_points
#define elf_worker_find_allocator find_functions
#define foreign_file_find         find_seen_file
#define file_open_found           open_found
#define file_open_regular         open_path
#define file_owner_get            get_owner
#define proc_maps_read            read_maps
#define mapped_files_find         find_mapped_files
#define mapped_files_add          add_mapped_file
#define slow_opener_new           start_opener
#define slow_opener_free          end_opener
#define slow_opener_follow        follow_link
#define target_read_state         read_state
#define access(path, mode)        look_for(path)
static int look_for(const char *path);
#include "collect/events/probes.c"
#include "collect/events/process_answers.c"
#undef access

#include "unit.h"

/* ---- files ----------------------------------------------------------------------------------------------------------- */

/* Files that there are, each with what opening it gives: 0 or negative errno. */
static struct {
	const char *path;
	int err;
} files[12];
static size_t num_files;
static const char *opened[64];
static size_t num_opened;

static void put_file(const char *path, int err)
{
	files[num_files].path = path;
	files[num_files++].err = err;
}

int open_path(int folder, const char *path, int flags, struct stat *ret)
{
	assert_int_equal(folder, AT_FDCWD);
	assert_int_equal(flags, 0);
	assert_null(ret);
	for (size_t i = 0; i < num_files; i++) {
		if (strcmp(files[i].path, path))
			continue;
		if (files[i].err)
			return files[i].err;
		opened[num_opened++] = files[i].path;
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	return -ENOENT;
}

static int look_for(const char *path)
{
	for (size_t i = 0; i < num_files; i++)
		if (!strcmp(files[i].path, path))
			return 0;
	return -1;
}

uid_t get_owner(int fd)
{
	assert_true(fd >= 0);
	return 42;
}

/* As a target sees them. */
static int seen_error;
static char seen[128];

int find_seen_file(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		   int flags, struct foreign_file *ret)
{
	assert_non_null(opener);
	assert_int_equal(flags, 0);
	snprintf(seen, sizeof(seen), "%d %s %s", pid, root, path);
	if (seen_error)
		return seen_error;
	*ret = (struct foreign_file){.handle = open("/dev/null", O_PATH | O_CLOEXEC)};
	return 0;
}

int open_found(int handle)
{
	assert_true(handle >= 0);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

static struct proc_mapping mappings[6];
static size_t num_mappings;
static pid_t maps_of;

int read_maps(struct slow_opener *opener _unused_, const char *proc_root, pid_t pid,
	      int (*visit)(const struct proc_mapping *mapping, void *context), void *context)
{
	assert_string_equal(proc_root, "/proc");
	maps_of = pid;
	for (size_t i = 0; i < num_mappings; i++) {
		int err = visit(&mappings[i], context);

		if (err)
			return err;
	}
	return 0;
}

static void map_file(const char *path, bool is_executable, bool is_deleted)
{
	struct proc_mapping *mapping = &mappings[num_mappings++];

	*mapping = (struct proc_mapping){.is_executable = is_executable, .is_deleted = is_deleted};
	snprintf(mapping->path, sizeof(mapping->path), "%s", path);
}

static int cache_error;
static const char *cached_path;

int find_in_cache(struct elf_worker *worker, const struct elf_source_file *cache, const char *name,
		  char ret[PATH_MAX])
{
	assert_non_null(worker);
	assert_string_equal(cache->path, "/etc/ld.so.cache");
	assert_int_equal(cache->owner, 42);
	assert_true(cache->fd >= 0);
	snprintf(ret, PATH_MAX, "%s%s", cached_path, name);
	return cache_error;
}

/* ---- readers ---------------------------------------------------------------------------------------------------------- */

static unsigned int num_readers, num_openers;
static uid_t reader_user;
static int reader_error;

int start_reader(uid_t user, bool is_awaited, struct elf_worker **ret)
{
	assert_false(is_awaited);
	reader_user = user;
	if (reader_error)
		return reader_error;
	num_readers++;
	*ret = (struct elf_worker *)&num_readers;
	return 0;
}

void end_reader(struct elf_worker *worker)
{
	num_readers -= worker != NULL;
}

int start_opener(struct slow_opener **ret)
{
	num_openers++;
	*ret = (struct slow_opener *)&num_openers;
	return 0;
}

void end_opener(struct slow_opener *opener)
{
	num_openers -= opener != NULL;
}

static struct elf_identity identity;

int identify(struct elf_worker *worker _unused_, const struct elf_source_file *file _unused_,
	     struct elf_identity *ret)
{
	*ret = identity;
	return 0;
}

static struct elf_probe_query query;
static bool had_debug_file;
static int find_error;
static size_t num_points;

int find_points(struct elf_worker *worker _unused_, const struct elf_source_file *file _unused_,
		int debug_fd, const struct elf_probe_query *asked, struct probe_point_list *ret,
		struct error *error)
{
	query = *asked;
	had_debug_file = debug_fd >= 0;
	if (find_error)
		return error_set(error, find_error, "a\nb\x7f");
	for (size_t i = 0; i < num_points; i++) {
		struct probe_point point = {
			.file_offset = 0x1000 + i,
			.semaphore_offset = i == 1 ? 0x77 : 0,
			.argument = {.source = ARGUMENT_REGISTER, .bytes = 8},
		};

		assert_int_equal(probe_point_list_add(ret, &point), 0);
	}
	return 0;
}

/* The config of words: their number of letters, and a bit for the kernel. */
static int configure_error;

int configure_device(const char *devices, const char *device, const char *words, struct event *ret,
		     struct error *error _unused_)
{
	assert_string_equal(devices, "/devices");
	ret->type = string_equals(device, "uprobe") ? 7 : 6;
	ret->config = string_equals(words, "retprobe=1")            ? 1
		      : string_equals(words, "ref_ctr_offset=0x77") ? 2
		      : string_equals(words, "")                    ? 0
								    : 99;
	return configure_error;
}

/* ---- allocators -------------------------------------------------------------------------------------------------------- */

static int allocator_error;
static size_t num_functions;

int find_functions(struct elf_worker *worker _unused_, const struct elf_source_file *file _unused_,
		   struct allocator *ret)
{
	if (allocator_error)
		return allocator_error;
	for (size_t i = 0; i < num_functions; i++) {
		struct allocator_function *function = array_add(&ret->functions);

		assert_non_null(function);
		/* The last one frees alone. */
		*function = (struct allocator_function){
			.point = {.file_offset = 0x1000 * (i + 1),
				  .argument = {.source = i + 1 < num_functions ? ARGUMENT_REGISTER
									       : ARGUMENT_NONE}},
			.bytes = 0x10,
			.free_register = 3,
			.pointer_register = ARGUMENT_NO_REGISTER,
			.jump_register = 4,
			.jump_limit = 5,
		};
	}
	return 0;
}

static size_t num_mapped; /* files of the target */
static unsigned int num_unreadable;
static char looked_at[512];
static int mapped_error;

int find_mapped_files(struct mapped_files *mapped, const struct target *target)
{
	assert_non_null(target);
	mapped->num_unreadable = num_unreadable;
	for (size_t i = 0; i < num_mapped; i++) {
		int err = mapped->handle(open("/dev/null", O_RDONLY | O_CLOEXEC), "mapped",
					 mapped->context);

		if (err)
			return err;
	}
	return mapped_error;
}

int add_mapped_file(struct mapped_files *mapped, int fd, const char *path)
{
	snprintf(looked_at + strlen(looked_at), sizeof(looked_at) - strlen(looked_at), "%s,", path);
	return mapped->handle(fd, path, mapped->context);
}

/* ---- processes ---------------------------------------------------------------------------------------------------------- */

static pid_t hanging; /* keeps its map locked; 0: none */
static struct target_state hanging_state;
static int follow_result;
static unsigned int num_followed;

int read_state(pid_t id, struct target_state *ret)
{
	if (id != hanging)
		return -ESRCH;
	*ret = hanging_state;
	return 0;
}

int follow_link(struct slow_opener *opener _unused_, pid_t pid, const char *link)
{
	char expected[64];

	num_followed++;
	snprintf(expected, sizeof(expected), "/proc/%d/map_files/0-1000", pid);
	assert_string_equal(link, expected);
	return follow_result ? follow_result : open("/dev/null", O_PATH | O_CLOEXEC);
}

/* ---- tests -------------------------------------------------------------------------------------------------------------- */

static char event_name[] = "some";
static char file_name[128];
static char function_name[] = "f";
static char provider_name[] = "p";
static struct event_paths paths = {.devices = "/devices"};
static struct probe_search search;
static struct event_list events;
static struct error error;

static int set_up(void **state _unused_)
{
	struct event *event = array_add(&events.events);

	num_files = num_opened = num_mappings = num_mapped = 0;
	num_readers = num_openers = num_unreadable = num_followed = 0;
	seen_error = cache_error = reader_error = find_error = configure_error = 0;
	allocator_error = mapped_error = follow_result = 0;
	num_points = 1;
	num_functions = 3;
	hanging = 0;
	hanging_state = (struct target_state){.comm = "stuck\n"};
	identity = (struct elf_identity){0};
	cached_path = "/lib/";
	seen[0] = looked_at[0] = '\0';
	put_file("/devices/uprobe", 0);
	put_file("/devices/kprobe", 0);
	put_file("/bin/x", 0);
	search = (struct probe_search){.worker_user = 9, .kallsyms = "/no/kallsyms"};
	error = (struct error){0};
	assert_non_null(event);
	*event = (struct event){.name = event_name, .kind = EVENT_PROBE};
	event->probe = calloc(1, sizeof(*event->probe));
	event->probe->kind = PROBE_UPROBE;
	event->probe->name = function_name;
	strcpy(file_name, "/bin/x");
	event->probe->file = file_name;
	return 0;
}

static struct probe *get_probe(void)
{
	return events.events.items[0].probe;
}

static void forget_sites(void)
{
	struct probe *probe = get_probe();

	array_for_each (&probe->fds, fd)
		close(*fd);
	array_release(&probe->fds);
	array_release(&probe->sites);
}

static int tear_down(void **state _unused_)
{
	forget_sites();
	mapped_files_release(&get_probe()->unknown);
	free(get_probe());
	array_release(&events.events);
	assert_int_equal(num_readers, 0);
	assert_int_equal(num_openers, 0);
	return 0;
}

static int locate_all(void)
{
	forget_sites();
	error = (struct error){0};
	return probes_locate(&paths, &search, &events, &error);
}

static void expect_error(int err, const char *text)
{
	assert_int_equal(locate_all(), err);
	assert_non_null(strstr(error.message, text));
}

static void each_point_of_a_file_is_a_site(void **state _unused_)
{
	struct probe *probe = get_probe();

	num_points = 3;
	probe->offset = 4;
	probe->argument = 2;
	probe->is_weighted = true;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(reader_user, 9);
	assert_int_equal(events.events.items[0].type, 7);
	assert_int_equal(probe->fds.length, 1);
	assert_int_equal(probe->sites.length, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct probe_site *site = &probe->sites.items[i];

		assert_int_equal(site->offset, 0x1000 + i);
		assert_int_equal(site->fd, probe->fds.items[0]);
		assert_int_equal(site->config, i == 1 ? 2 : 0);
		assert_int_equal(site->semaphore_offset, i == 1 ? 0x77 : 0);
		assert_int_equal(site->argument.bytes, 8);
		assert_int_equal(site->free_register, WIRE_NO_REGISTER);
	}
	assert_string_equal(query.name, "f");
	assert_string_equal(query.provider, "");
	assert_string_equal(query.path, "/bin/x");
	assert_int_equal(query.offset, 4);
	assert_int_equal(query.argument, 2);
	assert_true(query.is_weighted);
}

static void a_type_that_was_said_is_that_of_the_argument(void **state _unused_)
{
	struct probe *probe = get_probe();

	probe->argument_bytes = 4;
	probe->is_argument_signed = true;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(probe->sites.items[0].argument.bytes, 4);
	assert_int_equal(probe->sites.items[0].argument.is_signed, 1);
}

static void returns_are_asked_for_as_such(void **state _unused_)
{
	get_probe()->kind = PROBE_URETPROBE;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(get_probe()->sites.items[0].config, 1);
	configure_error = -ENOTSUP;
	assert_int_equal(locate_all(), -ENOTSUP);
}

/* By its build ID; a statically defined probe is in the file itself. */
static void a_stripped_file_has_its_names_elsewhere(void **state _unused_)
{
	identity.build_id_size = 3;
	memcpy(identity.build_id, (uint8_t[]){0x0a, 0xbc, 0x5}, 3);
	put_file("/usr/lib/debug/.build-id/0a/bc05.debug", 0);
	assert_int_equal(locate_all(), 0);
	assert_true(had_debug_file);
	identity.build_id_size = 1;
	assert_int_equal(locate_all(), 0);
	assert_false(had_debug_file);
	identity.build_id_size = 2;
	assert_int_equal(locate_all(), 0);
	assert_false(had_debug_file); /* there is no such file */
	identity.build_id_size = 3;
	get_probe()->kind = PROBE_USDT;
	get_probe()->provider = provider_name;
	assert_int_equal(locate_all(), 0);
	assert_false(had_debug_file);
	assert_string_equal(query.provider, "p");
}

static void a_file_that_cannot_be_opened_is_explained(void **state _unused_)
{
	strcpy(file_name, "/no/x");
	expect_error(-EINVAL, "no file /no/x");
	put_file("/no/x", -ENOTDIR);
	expect_error(-EINVAL, "no file /no/x");
	files[num_files - 1].err = -EACCES;
	expect_error(-EACCES, "not permitted to read /no/x");
	files[num_files - 1].err = -EPERM;
	expect_error(-EACCES, "not permitted to read /no/x");
	files[num_files - 1].err = -ENOTSUP;
	expect_error(-EINVAL, "cannot read /no/x: it is not a regular file");
	files[num_files - 1].err = -EIO;
	expect_error(-EINVAL, "cannot read /no/x: Input/output error");
}

/* What it says may be another user's text. */
static void errors_of_readers_are_clean(void **state _unused_)
{
	find_error = -ENOENT;
	expect_error(-EINVAL, "a?b?");
	find_error = -ENOMEM;
	assert_int_equal(locate_all(), -ENOMEM);
	reader_error = -EAGAIN;
	assert_int_equal(locate_all(), -EAGAIN);
}

static void a_target_sees_files_of_its_own(void **state _unused_)
{
	search.target = 77;
	assert_int_equal(locate_all(), 0);
	assert_string_equal(seen, "77 /proc/77/root /bin/x");
	assert_int_equal(num_opened, 0);
	/* What it does not have is ours. */
	seen_error = -ENOENT;
	assert_int_equal(locate_all(), 0);
	assert_string_equal(opened[0], "/bin/x");
	seen_error = -ETIMEDOUT;
	expect_error(-EINVAL, "cannot read ");
	seen_error = -ENOTSUP;
	expect_error(-EINVAL, "not a regular file");
	/* A relative path is ours. */
	seen_error = 0;
	strcpy(file_name, "./x");
	put_file("./x", 0);
	assert_int_equal(locate_all(), 0);
	assert_string_equal(opened[num_opened - 1], "./x");
}

static void a_library_is_in_the_cache(void **state _unused_)
{
	strcpy(file_name, "libz");
	put_file("/etc/ld.so.cache", 0);
	put_file("/lib/libz", 0);
	assert_int_equal(locate_all(), 0);
	assert_string_equal(opened[0], "/etc/ld.so.cache");
	assert_string_equal(opened[1], "/lib/libz");
	cache_error = -ENOENT;
	expect_error(-EINVAL, "no library 'libz' ('ldconfig -p'");
	cache_error = -EINVAL;
	expect_error(-EINVAL, "': cannot read /etc/ld.so.cache; ");
	cache_error = -ENOMEM;
	assert_int_equal(locate_all(), -ENOMEM);
}

static void a_library_may_be_mapped(void **state _unused_)
{
	strcpy(file_name, "libz");
	put_file("/etc/ld.so.cache", 0);
	map_file("/old/libz.so.1", true, true);
	map_file("/data/libz.so.1", false, false);
	map_file("libz.so.1", true, false);
	map_file("/first/libz.so.1", true, false);
	map_file("/second/libz.so.1", true, false);
	search.target = 77;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(maps_of, 77);
	assert_string_equal(seen, "77 /proc/77/root /first/libz.so.1");
	/* The very name is better than one with more around it. */
	strcpy(file_name, "libz.so.1");
	num_mappings = 0;
	map_file("/first/libz.so.1.2.3", true, false);
	map_file("/second/libz.so.1", true, false);
	map_file("/third/libz.so.1.2.3", true, false);
	assert_int_equal(locate_all(), 0);
	assert_string_equal(seen, "77 /proc/77/root /second/libz.so.1");
}

/* Alpine has none: our own libraries are looked at. */
static void without_a_cache_libraries_are_those_we_have(void **state _unused_)
{
	strcpy(file_name, "libz");
	expect_error(-EINVAL, "no library 'libz': cannot read /etc/ld.so.cache (No such");
	map_file("/own/libz.so.1", true, false);
	put_file("/own/libz.so.1", 0);
	assert_int_equal(locate_all(), 0);
	assert_int_equal(maps_of, getpid());
	assert_string_equal(opened[0], "/own/libz.so.1");
}

static void a_kernel_may_have_no_probes(void **state _unused_)
{
	struct probe *probe = get_probe();

	files[0].path = "/devices/other";
	expect_error(-ENOTSUP, "no probes of programs");
	files[0].path = "/devices/uprobe";
	files[1].path = "/devices/other";
	assert_int_equal(locate_all(), 0);
	get_probe()->kind = PROBE_KPROBE;
	expect_error(-ENOTSUP, "no probes of its own code");
	files[1].path = "/devices/kprobe";
	expect_error(-ENOTSUP, "cannot read the kernel's functions: /no/kallsyms");
	events.events.items[0].probe = NULL;
	assert_int_equal(probes_locate(&paths, &search, &events, &error), 0);
	events.events.items[0].probe = probe;
}

/* A probe would wait for it, and cannot be killed. */
static void a_process_that_does_not_answer_is_named(void **state _unused_)
{
	hanging = getpid();
	follow_result = -ETIMEDOUT;
	assert_int_equal(locate_all(), -EBUSY);
	assert_non_null(strstr(error.message, "(stuck?) did not answer in time"));
	assert_int_equal(num_followed, 1);
	hanging_state.has_ended = true;
	assert_int_equal(locate_all(), 0);
	hanging_state = (struct target_state){.is_kernel_thread = true};
	assert_int_equal(locate_all(), 0);
	assert_int_equal(num_followed, 1);
	hanging_state.is_kernel_thread = false;
	follow_result = -ENOENT;
	assert_int_equal(locate_all(), 0);
	follow_result = 0;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(num_followed, 3);
	/* Of the kernel nothing waits. */
	get_probe()->kind = PROBE_KPROBE;
	follow_result = -ETIMEDOUT;
	expect_error(-ENOTSUP, "cannot read the kernel");
	assert_int_equal(num_followed, 3);
}

static const struct target machine = {.kind = TARGET_SYSTEM};
static const pid_t pids[] = {5};
static const struct target some = {.kind = TARGET_PROCESSES, .ids = pids, .num_ids = 1};

static void be_allocator(void)
{
	get_probe()->kind = PROBE_ALLOCATOR;
	search.allocating = &some;
	num_mapped = 1;
}

static void functions_of_allocators_are_sites(void **state _unused_)
{
	const struct probe *probe = get_probe();

	be_allocator();
	num_mapped = 2;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(probe->fds.length, 2);
	/* What only frees is no allocation. */
	assert_int_equal(probe->sites.length, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct probe_site *site = &probe->sites.items[i];

		assert_int_equal(site->offset, 0x1000 * (i % 2 + 1));
		assert_int_equal(site->fd, probe->fds.items[i / 2]);
		assert_int_equal(site->return_config, 0);
		assert_int_equal(site->free_register, WIRE_NO_REGISTER);
		assert_int_equal(site->own_code.jump_register, 4);
		assert_int_equal(site->own_code.jump_limit, 5);
		assert_int_equal(site->own_code.pointer_register, WIRE_NO_REGISTER);
		assert_true(site->own_code.offsets[0] == (i % 2 ? (uint64_t)-0x1000 : 0));
	}
	events.events.items[0].is_live = true;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(probe->sites.length, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(probe->sites.items[i].free_register, 3);
		assert_int_equal(probe->sites.items[i].return_config, i % 3 == 2 ? 0 : 1);
	}
	configure_error = -ENOTSUP;
	assert_int_equal(locate_all(), -ENOTSUP);
}

static void without_allocators_there_is_nothing_to_probe(void **state _unused_)
{
	be_allocator();
	allocator_error = -ENOENT;
	expect_error(-EINVAL, "no program has malloc");
	num_unreadable = 1;
	expect_error(-EACCES, "not permitted to read the programs' files");
	allocator_error = -ENOMEM;
	assert_int_equal(locate_all(), -ENOMEM);
	allocator_error = 0;
	mapped_error = -EIO;
	assert_int_equal(locate_all(), -EIO);
}

static void programs_without_a_known_allocator_are_remembered(void **state _unused_)
{
	be_allocator();
	num_mapped = 2; /* the same file */
	allocator_error = -ENODATA;
	expect_error(-EINVAL, "no program has malloc");
	assert_int_equal(get_probe()->unknown.seen.length, 1);
	allocator_error = 0;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(events.events.items[0].num_too_large, 0);
}

static void allocators_with_too_many_functions_are_counted(void **state _unused_)
{
	be_allocator();
	num_mapped = 2;
	allocator_error = -E2BIG;
	expect_error(-EINVAL, "no program has malloc");
	assert_true(events.events.items[0].num_too_large > 0);
}

static void too_many_allocators_are_refused_or_left_out(void **state _unused_)
{
	be_allocator();
	num_mapped = MAX_ALLOCATORS + 2;
	expect_error(-EINVAL, "more than 64 files");
	num_mapped = MAX_ALLOCATORS;
	assert_int_equal(locate_all(), 0);
	search.allocating = &machine;
	num_mapped = MAX_ALLOCATORS;
	assert_int_equal(locate_all(), 0);
	/* Of one user: no more than is left for others. */
	assert_int_equal(get_probe()->fds.length, MAX_ALLOCATORS / 2);
	assert_int_equal(events.events.items[0].num_left_out, MAX_ALLOCATORS / 2);
}

/* Those that programs may start to use. */
static void libraries_of_the_machine_are_looked_at(void **state _unused_)
{
	be_allocator();
	put_file("/etc/ld.so.cache", 0);
	put_file("/lib/libc.so.6", 0);
	put_file("/lib/mimalloc", 0);
	put_file("/lib/ld-musl-x86_64.so.1", 0);
	assert_int_equal(locate_all(), 0);
	assert_string_equal(looked_at, "/lib/libc.so.6,/lib/mimalloc,/lib/ld-musl-x86_64.so.1,");
	cache_error = -ENOMEM;
	assert_int_equal(locate_all(), -ENOMEM);
	/* Nobody runs yet. */
	cache_error = 0;
	search.allocating = NULL;
	looked_at[0] = '\0';
	assert_int_equal(locate_all(), 0);
	assert_int_equal(get_probe()->fds.length, 3);
}

/* As a shell finds it; of later words those alone that are paths. */
static void programs_of_a_command_are_looked_at(void **state _unused_)
{
	static const char *const command[] = {"env", "x", "./y", "/z/none", NULL};
	char path[] = "PATH=/none:/bin:/more";
	char *before = getenv("PATH");
	char *kept = strdup(before ? before : "");

	be_allocator();
	search.allocating = NULL;
	search.command = (char *const *)(uintptr_t)command;
	put_file("/bin/env", 0);
	put_file("/more/env", 0);
	put_file("./y", 0);
	assert_int_equal(setenv("PATH", path + 5, 1), 0);
	assert_int_equal(locate_all(), 0);
	assert_string_equal(looked_at, "/bin/env,./y,");
	/* The last folder as well. */
	files[num_files - 3].path = "/other/env";
	looked_at[0] = '\0';
	assert_int_equal(locate_all(), 0);
	assert_string_equal(looked_at, "/more/env,./y,");
	assert_int_equal(unsetenv("PATH"), 0);
	looked_at[0] = '\0';
	assert_int_equal(locate_all(), 0);
	assert_string_equal(looked_at, "./y,");
	setenv("PATH", kept, 1);
	free(kept);
}

static void words_of_a_command_are_bounded(void **state _unused_)
{
	char *command[MAX_COMMAND_WORDS + 2] = {NULL};
	static char word[] = "./y";

	be_allocator();
	search.command = command;
	put_file("./y", 0);
	for (size_t i = 0; i < MAX_COMMAND_WORDS + 1; i++)
		command[i] = word;
	assert_int_equal(locate_all(), 0);
	assert_int_equal(strlen(looked_at), MAX_COMMAND_WORDS * strlen("./y,"));
}

/* As before a probe is taken away. No descriptor is left open, which the end of the program would show. */
static void all_processes_are_waited_for(void **state _unused_)
{
	_Atomic pid_t asked = -1;

	process_answers_wait(&asked);
	assert_int_equal(asked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_point_of_a_file_is_a_site),
		TEST(a_type_that_was_said_is_that_of_the_argument),
		TEST(returns_are_asked_for_as_such),
		TEST(a_stripped_file_has_its_names_elsewhere),
		TEST(a_file_that_cannot_be_opened_is_explained),
		TEST(errors_of_readers_are_clean),
		TEST(a_target_sees_files_of_its_own),
		TEST(a_library_is_in_the_cache),
		TEST(a_library_may_be_mapped),
		TEST(without_a_cache_libraries_are_those_we_have),
		TEST(a_kernel_may_have_no_probes),
		TEST(a_process_that_does_not_answer_is_named),
		TEST(all_processes_are_waited_for),
		TEST(functions_of_allocators_are_sites),
		TEST(without_allocators_there_is_nothing_to_probe),
		TEST(programs_without_a_known_allocator_are_remembered),
		TEST(allocators_with_too_many_functions_are_counted),
		TEST(too_many_allocators_are_refused_or_left_out),
		TEST(libraries_of_the_machine_are_looked_at),
		TEST(programs_of_a_command_are_looked_at),
		TEST(words_of_a_command_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
