#include "process/file_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "failing_memory.h"
#include "fake_proc.h"
#include "unit.h"

#define START 0x1000
#define END   0x2000
#define USER  65534

/* Test files carry their build ID as text: "ID" and four bytes. */
static int read_test_build_id(void *context _unused_, int fd, uint8_t *build_id, uint8_t *size)
{
	char text[6];

	if (pread(fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) || memcmp(text, "ID", 2) != 0)
		return -ENODATA;
	memcpy(build_id, text + 2, 4);
	*size = 4;
	return 0;
}

/* ELF files have it behind their magic. */
static int read_elf_build_id(void *context _unused_, int fd, uint8_t *build_id, uint8_t *size)
{
	*size = 4;
	return pread(fd, build_id, 4, 4) == 4 ? 0 : -ENODATA;
}

struct fixture {
	struct fake_proc proc;
	struct file_table *files;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->proc = fake_proc_new();
	fixture->files = file_table_new(fixture->proc.root,
					&(struct file_build_id_reader){read_test_build_id, NULL});
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	file_table_free(fixture->files);
	fake_proc_remove(&fixture->proc);
	free(fixture);
	return 0;
}

static struct file_identity identity_of(const char *path, const char *build_id, uint64_t inode)
{
	struct file_identity identity = {.path = path, .inode = inode};

	if (build_id) {
		memcpy(identity.build_id, build_id, strlen(build_id));
		identity.build_id_size = (uint8_t)strlen(build_id);
	}
	return identity;
}

static uint32_t add(struct fixture *fixture, pid_t pid, pid_t parent_pid,
		    struct file_identity identity)
{
	struct mapped_range range = {
		.pid = pid, .parent_pid = parent_pid, .start = START, .end = END};
	uint32_t file;

	assert_int_equal(file_table_add(fixture->files, &range, &identity, &file), 0);
	return file;
}

static uint32_t add_at_end(struct fixture *fixture, const char *path, uint64_t end)
{
	struct mapped_range range = {.pid = 1, .start = end - 0x1000, .end = end};
	struct file_identity identity = {.path = path};
	uint32_t file;

	assert_int_equal(file_table_add(fixture->files, &range, &identity, &file), 0);
	return file;
}

static void assert_content(struct fixture *fixture, uint32_t file, const char *content)
{
	char text[32] = "";
	int fd = file_table_get(fixture->files, file)->fd;

	assert_true(fd >= 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	assert_string_equal(text, content);
}

static void assert_not_open(struct fixture *fixture, uint32_t file, bool build_id_differs)
{
	const struct mapped_file *found = file_table_get(fixture->files, file);

	assert_int_equal(found->fd, -1);
	assert_int_equal(found->build_id_differs, build_id_differs);
}

/* What a listener is told. */
struct told {
	unsigned int count;
	struct opened_mapping last;
	pid_t pid;
	char path[64];
	char content[32];
};

static void note_opened(const struct opened_mapping *mapping, void *context)
{
	struct told *told = context;

	told->count++;
	told->last = *mapping;
	told->pid = mapping->range->pid;
	snprintf(told->path, sizeof(told->path), "%s", mapping->path);
	memset(told->content, 0, sizeof(told->content));
	assert_true(pread(mapping->fd, told->content, sizeof(told->content) - 1, 0) > 0);
}

static uint64_t num_lost;

static uint64_t count_lost(dev_t device _unused_, ino_t inode, void *context)
{
	const struct told *told = context;

	return inode == told->last.inode ? num_lost : 0;
}

static void a_file_that_the_listener_has_lost_is_told_again(void **state)
{
	struct fixture *fixture = *state;
	struct told told = {0};

	num_lost = 0;
	file_table_set_listener(fixture->files,
				&(struct opened_listener){note_opened, count_lost, &told});
	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDsame 1");
	(void)add(fixture, 8, 0, identity_of("/lib/a.so", "same", 1));
	assert_false(told.last.is_again);
	(void)add(fixture, 8, 0, identity_of("/lib/a.so", "same", 1));
	assert_int_equal(told.count, 1);
	for (unsigned int i = 2; i < 4; i++) {
		num_lost++;
		(void)add(fixture, 8, 0, identity_of("/lib/a.so", "same", 1));
		(void)add(fixture, 8, 0, identity_of("/lib/a.so", "same", 1));
		assert_int_equal(told.count, i);
		assert_true(told.last.is_again);
		assert_int_equal(told.last.version.num_bytes, 8);
	}
	/* Another content, which is told since then. */
	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDdiff 2");
	(void)add(fixture, 8, 0, identity_of("/lib/a.so", "diff", 1));
	assert_int_equal(told.count, 4);
	(void)add(fixture, 8, 0, identity_of("/lib/a.so", "diff", 1));
	assert_int_equal(told.count, 4);
}

static void files_that_were_gone_at_once_are_counted(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(file_table_count_unseen(fixture->files), 0);
	(void)add(fixture, 8, 0, identity_of("/lib/gone.so", "gone", 0));
	(void)add(fixture, 8, 0, identity_of("/lib/gone.so", "gone", 0));
	(void)add(fixture, 8, 0, identity_of("/lib/there.so", "same", 0));
	assert_int_equal(file_table_count_unseen(fixture->files), 2);
	fake_proc_write(&fixture->proc, "9/root/lib/there.so", "IDsame 1");
	(void)add(fixture, 9, 0, identity_of("/lib/there.so", "same", 0));
	assert_int_equal(file_table_count_unseen(fixture->files), 1);
}

/* Of containers of one image: the table has the file already, and does not keep the copy. */
static void each_opened_file_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct told told = {0};
	uint32_t first;

	file_table_set_listener(fixture->files,
				&(struct opened_listener){note_opened, NULL, &told});
	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDsame 1");
	fake_proc_write(&fixture->proc, "9/root/lib/a.so", "IDsame 2");
	first = add(fixture, 8, 0, identity_of("/lib/a.so", "same", 1));
	assert_int_equal(told.count, 1);
	assert_string_equal(told.path, "/lib/a.so");
	assert_string_equal(told.content, "IDsame 1");
	assert_int_equal(told.pid, 8);
	assert_false(told.last.is_copy);
	assert_int_equal(told.last.version.num_bytes, 8);
	assert_int_equal(add(fixture, 9, 0, identity_of("/lib/a.so", "same", 2)), first);
	assert_int_equal(told.count, 2);
	assert_string_equal(told.content, "IDsame 2");
	/* A file that is known by its inode is not opened again. */
	(void)add(fixture, 9, 0, identity_of("/lib/a.so", "same", 2));
	assert_int_equal(told.count, 2);
	(void)add(fixture, 9, 0, identity_of("/lib/none.so", NULL, 3));
	assert_int_equal(told.count, 2);
}

static void the_mapped_range_comes_before_the_path(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "mapped/a.so", "IDmine");
	fake_proc_link(&fixture->proc, "8/map_files/1000-2000", "mapped/a.so");
	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDelse");
	file = add(fixture, 8, 0, identity_of("/lib/a.so", NULL, 99));

	assert_content(fixture, file, "IDmine");
	assert_memory_equal(file_table_get(fixture->files, file)->build_id, "mine", 4);
}

static void a_deleted_file_keeps_its_bytes(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "mapped/a.so", "IDmine");
	fake_proc_link(&fixture->proc, "8/map_files/1000-2000", "mapped/a.so");
	file = add(fixture, 8, 0, identity_of("/lib/a.so (deleted)", "mine", 0));
	fake_proc_delete(&fixture->proc, "mapped/a.so");

	assert_content(fixture, file, "IDmine");
	assert_string_equal(file_table_get(fixture->files, file)->path, "/lib/a.so");
}

static void a_mapped_range_that_holds_another_file_now_is_refused(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "mapped", "IDnext");
	fake_proc_link(&fixture->proc, "8/map_files/1000-2000", "mapped");
	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");

	assert_content(fixture, add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0)), "IDmine");
}

static void a_path_is_that_of_the_process_not_ours(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text ours = fake_proc_path(&fixture->proc, "lib/a.so");
	_cleanup_(text_release) struct text theirs = {0};

	text_printf(&theirs, "8/root%s", ours.data);
	fake_proc_write(&fixture->proc, "lib/a.so", "ours");
	fake_proc_write(&fixture->proc, theirs.data, "theirs");

	assert_content(fixture, add(fixture, 8, 0, identity_of(ours.data, NULL, 0)), "theirs");
}

static void an_ended_process_is_seen_through_its_parent(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "7/root/lib/a.so", "IDmine");
	assert_content(fixture, add(fixture, 8, 7, identity_of("/lib/a.so", "mine", 0)), "IDmine");
}

static void our_own_view_comes_last(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "lib/a.so");

	fake_proc_write(&fixture->proc, "lib/a.so", "IDmine");
	assert_content(fixture, add(fixture, 8, 7, identity_of(path.data, "mine", 0)), "IDmine");
}

static void a_file_replaced_at_its_path_is_refused(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDnew!");
	assert_not_open(fixture, add(fixture, 8, 0, identity_of("/lib/a.so", "old!", 0)), true);
}

static void a_file_without_build_id_is_not_one_that_had_one(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "a script");
	assert_not_open(fixture, add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0)), true);
}

static void a_file_refused_in_one_view_is_found_in_the_next(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDelse");
	fake_proc_write(&fixture->proc, "7/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 7, identity_of("/lib/a.so", "mine", 0));

	assert_content(fixture, file, "IDmine");
	assert_false(file_table_get(fixture->files, file)->build_id_differs);
}

static void an_inode_decides_where_no_build_id_is_known(void **state)
{
	struct fixture *fixture = *state;
	uint64_t inode;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "bytes");
	inode = fake_proc_get_inode(&fixture->proc, "8/root/lib/a.so");

	assert_not_open(fixture, add(fixture, 8, 0, identity_of("/lib/a.so", NULL, inode + 1)),
			true);
	/* The device is another one, as on btrfs and overlayfs. */
	assert_content(fixture, add(fixture, 8, 0, identity_of("/lib/a.so", NULL, inode)), "bytes");
}

static void a_missing_file_is_no_failure(void **state)
{
	struct fixture *fixture = *state;

	assert_not_open(fixture, add(fixture, 8, 7, identity_of("/no/such/lib", "mine", 5)), false);
}

static void a_missing_file_is_looked_for_again(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file = add(fixture, 8, 0, identity_of("/no/such/lib", "mine", 0));

	fake_proc_write(&fixture->proc, "9/root/no/such/lib", "IDmine");
	assert_int_equal(add(fixture, 9, 0, identity_of("/no/such/lib", "mine", 0)), file);
	assert_content(fixture, file, "IDmine");
}

static void only_regular_files_are_opened(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text fifo = fake_proc_path(&fixture->proc, "8/root/f/fifo");

	assert_int_equal(mkfifo(fifo.data, 0600), 0);
	assert_not_open(fixture, add(fixture, 8, 0, identity_of("/f/fifo", NULL, 0)), false);
	assert_not_open(fixture, add(fixture, 8, 0, identity_of("/f", NULL, 0)), false);
}

static void a_file_is_known_again_by_build_id_and_path(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file = add(fixture, 8, 0, identity_of("/no/a", "id_1", 0));

	assert_int_equal(add(fixture, 9, 0, identity_of("/no/a", "id_1", 0)), file);
	assert_int_not_equal(add(fixture, 9, 0, identity_of("/no/a", "id_2", 0)), file);
	assert_int_not_equal(add(fixture, 9, 0, identity_of("/no/b", "id_1", 0)), file);
	assert_int_equal(file_table_get_count(fixture->files), 3);
}

static void a_file_is_known_again_by_inode_and_path(void **state)
{
	struct fixture *fixture = *state;
	struct file_identity other_device = identity_of("/no/a", NULL, 5);
	uint32_t file = add(fixture, 8, 0, identity_of("/no/a", NULL, 5));

	other_device.dev_minor = 3;
	assert_int_equal(add(fixture, 9, 0, identity_of("/no/a", NULL, 5)), file);
	assert_int_not_equal(add(fixture, 9, 0, identity_of("/no/a", NULL, 6)), file);
	assert_int_not_equal(add(fixture, 9, 0, identity_of("/no/b", NULL, 5)), file);
	assert_int_not_equal(add(fixture, 9, 0, other_device), file);
}

static void a_file_without_any_number_is_known_by_its_path(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0, identity_of("/lib/a.so", NULL, 0));
	assert_int_equal(add(fixture, 8, 0, identity_of("/lib/a.so", NULL, 0)), file);
}

static void a_scanned_file_is_known_again_by_an_event(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0,
		   identity_of("/lib/a.so", NULL,
			       fake_proc_get_inode(&fixture->proc, "8/root/lib/a.so")));
	assert_int_equal(add(fixture, 9, 0, identity_of("/lib/a.so", "mine", 0)), file);
}

static void a_file_of_an_event_is_known_again_by_a_scan(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path =
		fake_proc_path(&fixture->proc, "8/root/lib/a.so");
	struct file_identity scanned = {.path = "/lib/a.so"};
	struct stat status;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	assert_int_equal(stat(path.data, &status), 0);
	scanned.inode = status.st_ino;
	scanned.dev_major = major(status.st_dev);
	scanned.dev_minor = minor(status.st_dev);

	assert_int_equal(add(fixture, 9, 0, scanned), file);
	assert_int_equal(file_table_get(fixture->files, file)->inode, status.st_ino);
}

static void containers_with_their_own_devices_share_a_file(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	fake_proc_write(&fixture->proc, "9/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0,
		   identity_of("/lib/a.so", NULL,
			       fake_proc_get_inode(&fixture->proc, "8/root/lib/a.so")));

	for (int time = 0; time < 2; time++)
		assert_int_equal(
			add(fixture, 9, 0,
			    identity_of("/lib/a.so", NULL,
					fake_proc_get_inode(&fixture->proc, "9/root/lib/a.so"))),
			file);
	assert_int_equal(file_table_get_count(fixture->files), 1);
}

static void give_to(struct fixture *fixture, const char *path, uid_t user)
{
	_cleanup_(text_release) struct text full = fake_proc_path(&fixture->proc, path);

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(full.data, user, user), 0);
}

static void a_users_file_with_the_build_id_of_roots_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t forged;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine forged");
	give_to(fixture, "8/root/lib/a.so", USER);
	fake_proc_write(&fixture->proc, "9/root/lib/a.so", "IDmine");
	forged = add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	file = add(fixture, 9, 0, identity_of("/lib/a.so", "mine", 0));

	assert_content(fixture, file, "IDmine");
	assert_content(fixture, forged, "IDmine forged");
	assert_int_equal(add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0)), forged);
	assert_int_equal(file_table_get(fixture->files, forged)->owner, USER);
}

static void a_scan_does_not_take_a_users_file_for_roots(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine forged");
	give_to(fixture, "8/root/lib/a.so", USER);
	fake_proc_write(&fixture->proc, "9/root/lib/a.so", "IDmine");
	add(fixture, 8, 0,
	    identity_of("/lib/a.so", NULL, fake_proc_get_inode(&fixture->proc, "8/root/lib/a.so")));

	assert_content(fixture,
		       add(fixture, 9, 0,
			   identity_of("/lib/a.so", NULL,
				       fake_proc_get_inode(&fixture->proc, "9/root/lib/a.so"))),
		       "IDmine");
}

static void files_of_one_user_share_a_build_id(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	for (int pid = 8; pid <= 9; pid++) {
		const char *path = pid == 8 ? "8/root/lib/a.so" : "9/root/lib/a.so";

		fake_proc_write(&fixture->proc, path, "IDmine");
		give_to(fixture, path, USER);
	}
	file = add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	assert_int_equal(add(fixture, 9, 0, identity_of("/lib/a.so", "mine", 0)), file);
}

static void a_mapping_that_cannot_be_looked_at_is_of_roots_file_or_of_none(void **state)
{
	struct fixture *fixture = *state;
	uint32_t unknown;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine forged");
	give_to(fixture, "8/root/lib/a.so", USER);
	add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	unknown = add(fixture, 7, 0, identity_of("/lib/a.so", "mine", 0));
	assert_not_open(fixture, unknown, false);

	/* A user's file that is found afterwards does not become the unknown one. */
	fake_proc_write(&fixture->proc, "6/root/lib/a.so", "IDmine");
	give_to(fixture, "6/root/lib/a.so", USER + 1);
	add(fixture, 6, 0, identity_of("/lib/a.so", "mine", 0));
	assert_not_open(fixture, unknown, false);

	fake_proc_write(&fixture->proc, "9/root/lib/a.so", "IDmine");
	file = add(fixture, 9, 0, identity_of("/lib/a.so", "mine", 0));
	assert_content(fixture, file, "IDmine");
	assert_int_equal(add(fixture, 7, 0, identity_of("/lib/a.so", "mine", 0)), file);
}

static void files_that_others_may_write_are_known_by_inode_alone(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	for (int pid = 8; pid <= 9; pid++) {
		const char *name = pid == 8 ? "8/root/lib/a.so" : "9/root/lib/a.so";
		_cleanup_(text_release) struct text path = {0};

		fake_proc_write(&fixture->proc, name, "IDmine");
		path = fake_proc_path(&fixture->proc, name);
		assert_int_equal(chmod(path.data, 0666), 0);
	}
	file = add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	assert_int_not_equal(add(fixture, 9, 0, identity_of("/lib/a.so", "mine", 0)), file);
	assert_int_equal(add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0)), file);
}

static void a_file_rewritten_in_its_place_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "");
	fake_proc_append(&fixture->proc, "8/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0, identity_of("/lib/a.so", "mine", 0));
	{
		_cleanup_(text_release) struct text path =
			fake_proc_path(&fixture->proc, "8/root/lib/a.so");

		assert_int_equal(truncate(path.data, 0), 0);
	}
	fake_proc_append(&fixture->proc, "8/root/lib/a.so", "IDnext");
	assert_int_not_equal(add(fixture, 8, 0, identity_of("/lib/a.so", "next", 0)), file);
}

static void a_build_id_of_zeros_is_none(void **state)
{
	struct fixture *fixture = *state;
	struct file_identity zeros = {.path = "/lib/a.so", .build_id_size = 20};
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	file = add(fixture, 8, 0, zeros);
	assert_content(fixture, file, "IDmine");
	assert_int_equal(file_table_get(fixture->files, file)->build_id_size, 4);
}

static void names_of_memory_are_no_files(void **state)
{
	static const char *const paths[] = {
		"",
		"//anon",
		"[heap]",
		"[stack]",
		"[vsyscall]",
		"[uprobes]",
		"[anon:jit code]",
		"/dev/zero (deleted)",
		"/SYSV00000000 (deleted)",
		"/SYSV1a2b3c4d",
		"/anon_hugepage (deleted)",
		"anon_inode:[perf_event]",
		"/memfd:gone (deleted)",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
		if (add(fixture, 8, 0, identity_of(paths[i], NULL, 77)) != FILE_NONE)
			fail_msg("was taken for a file: %s", paths[i]);
	assert_int_equal(file_table_get_count(fixture->files), 0);
}

static void names_like_those_of_memory_are_files(void **state)
{
	static const char *const paths[] = {"/SYSVinit", "/dev/zero.so", "//toolong",
					    "/SYSV000000000", "/anon_hugepage.so"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
		assert_int_equal(add(fixture, 8, 0, identity_of(paths[i], NULL, 77)), i);
}

static void a_memfd_is_a_file_while_it_can_be_opened(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "memfd:code", "IDmine");
	fake_proc_link(&fixture->proc, "8/map_files/1000-2000", "memfd:code");
	file = add(fixture, 8, 0, identity_of("/memfd:code (deleted)", NULL, 5));

	assert_content(fixture, file, "IDmine");
	assert_string_equal(file_table_get(fixture->files, file)->path, "/memfd:code");
}

static void the_vdso_is_one_file_for_all_processes(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file = add_at_end(fixture, "[vdso]", 0x7fff00002000);
	const struct mapped_file *vdso = file_table_get(fixture->files, file);
	char magic[4];

	assert_int_equal(add_at_end(fixture, "[vdso]", 0x7ffe00009000), file);
	assert_string_equal(vdso->path, "[vdso]");
	/* valgrind hides it from its programs. */
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_int_equal(pread(vdso->fd, magic, 4, 0), 4);
	assert_memory_equal(magic, "\177ELF", 4);
	assert_true(lseek(vdso->fd, 0, SEEK_END) > 1000);
}

static void the_vdso_of_a_32_bit_process_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file = add_at_end(fixture, "[vdso]", 0xf7f02000);

	if (sizeof(void *) == 4)
		skip();
	assert_string_equal(file_table_get(fixture->files, file)->path, "[vdso32]");
	assert_not_open(fixture, file, false);
	assert_int_not_equal(add_at_end(fixture, "[vdso]", 0x7fff00002000), file);
}

/* A table that may keep 64 files open. */
static void limit_open_files(struct fixture *fixture)
{
	struct rlimit before;
	struct rlimit low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = (struct rlimit){.rlim_cur = 256, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	file_table_free(fixture->files);
	fixture->files = file_table_new(fixture->proc.root,
					&(struct file_build_id_reader){read_test_build_id, NULL});
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* The process maps so many files of its own; returns how many of them were opened. */
static int open_many(struct fixture *fixture, pid_t pid, const char *uids, int count)
{
	int num_opened = 0;
	char path[64];

	snprintf(path, sizeof(path), "%d/status", pid);
	if (uids)
		fake_proc_write(&fixture->proc, path, uids);
	for (int i = 0; i < count; i++) {
		int prefix = snprintf(path, sizeof(path), "%d/root", pid);
		uint32_t file;

		snprintf(path + prefix, sizeof(path) - (size_t)prefix, "/lib/%d-%d.so", pid, i);
		fake_proc_write(&fixture->proc, path, "bytes");
		file = add(fixture, pid, 0, identity_of(path + prefix, NULL, 0));
		num_opened += file_table_get(fixture->files, file)->fd >= 0;
	}
	return num_opened;
}

static void no_more_files_are_opened_than_the_limit_allows(void **state)
{
	struct fixture *fixture = *state;

	limit_open_files(fixture);
	assert_int_equal(open_many(fixture, 8, "Name:\tx\nUid:\t0\t0\t0\t0\n", 70), 64);
	/* Seen again, the file counts no second time. */
	add(fixture, 8, 0, identity_of("/lib/8-69.so", NULL, 0));
	assert_int_equal(file_table_get_count(fixture->files), 70);
	assert_true(file_table_get(fixture->files, 63)->fd >= 0);
	assert_int_equal(file_table_get(fixture->files, 64)->fd, -1);
	assert_int_equal(file_table_get_unopened_count(fixture->files), 6);
}

/* Of a recording that is read. */
static void files_that_were_found_beyond_the_limit_are_closed(void **state)
{
	struct fixture *fixture = *state;
	const struct file_identity identity = {.path = "/bin/x"};
	int last = -1;

	limit_open_files(fixture);
	for (uint32_t i = 0; i < 66; i++) {
		last = dup(0);
		assert_int_equal(file_table_add_sought(fixture->files, &identity), 0);
		file_table_set_found(fixture->files, i, last, i == 65);
	}
	assert_true(file_table_get(fixture->files, 63)->fd >= 0);
	assert_int_equal(file_table_get(fixture->files, 64)->fd, -1);
	assert_int_equal(file_table_get_unopened_count(fixture->files), 2);
	assert_true(file_table_get(fixture->files, 65)->build_id_differs);
	assert_int_equal(fcntl(last, F_GETFD), -1);
	/* What was not found needs no room. */
	assert_int_equal(file_table_add_sought(fixture->files, &identity), 0);
	file_table_set_found(fixture->files, 66, -1, false);
	assert_int_equal(file_table_get_unopened_count(fixture->files), 2);
}

static void a_user_gets_no_more_open_files_than_are_left(void **state)
{
	struct fixture *fixture = *state;

	limit_open_files(fixture);
	/* A quarter of 64, and half of the rest. */
	assert_int_equal(open_many(fixture, 8, "Uid:\t0\t1000\t0\t0\n", 70), 16 + 24);
	assert_int_equal(open_many(fixture, 9, "Uid:\t1000\t1000\t1000\t1000\n", 10), 0);
	assert_int_equal(open_many(fixture, 10, "Uid:\t1001\t1001\t1001\t1001\n", 10), 10);
	assert_int_equal(open_many(fixture, 11, NULL, 10), 7);
	assert_int_equal(open_many(fixture, 12, NULL, 10), 0);
	assert_int_equal(open_many(fixture, 13, "Uid:\t0\t0\t0\t0\n", 10), 7);
	assert_int_equal(file_table_get_unopened_count(fixture->files), 30 + 10 + 3 + 10 + 3);
}

/* A file with a path of 4,000 bytes, which is gone: its number */
static uint32_t add_long(struct fixture *fixture, pid_t pid, uint32_t number)
{
	char path[4000];

	memset(path, 'd', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	snprintf(path, 32, "/%d/%u/", pid, number);
	path[strlen(path)] = 'd';
	return add(fixture, pid, 0, identity_of(path, NULL, 1000 + number));
}

/* The process has mapped so many of these. Returns how many of them have a number of their own. */
static uint32_t keep_many(struct fixture *fixture, pid_t pid, const char *uids, uint32_t count)
{
	uint32_t before = file_table_get_count(fixture->files);
	char path[32];

	snprintf(path, sizeof(path), "%d/status", pid);
	fake_proc_write(&fixture->proc, path, uids);
	for (uint32_t i = 0; i < count; i++)
		(void)add_long(fixture, pid, i);
	return file_table_get_count(fixture->files) - before;
}

/* Files that are mapped once and deleted, without end. */
static void what_is_known_of_files_is_bounded_by_user(void **state)
{
	struct fixture *fixture = *state;
	uint32_t kept = keep_many(fixture, 8, "Uid:\t1000\t1000\t1000\t1000\n", 30000);

	/* Of 96 MiB a quarter, and half of the rest. */
	assert_in_range(kept * 4256ull, 58u << 20, 62u << 20);
	assert_int_equal(file_table_get_unopened_count(fixture->files), 30000 - kept + 1);
	assert_int_equal(keep_many(fixture, 9, "Uid:\t1000\t1000\t1000\t1000\n", 10), 0);
	assert_string_equal(file_table_get(fixture->files, add_long(fixture, 9, 20))->path,
			    "[too many files]");
	/* Others have their names, and root always. */
	assert_int_equal(keep_many(fixture, 10, "Uid:\t1001\t1001\t1001\t1001\n", 1000), 1000);
	assert_int_equal(keep_many(fixture, 11, "Uid:\t0\t0\t0\t0\n", 1000), 1000);
	/* What was there before is known again. */
	assert_int_equal(add_long(fixture, 9, 20), add_long(fixture, 8, 40000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_file_that_is_sought_has_its_place_before_it_is_found(void **state)
{
	struct fixture *fixture = *state;
	struct file_identity identity = identity_of("/gone/program", "AAAA", 0);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(file_table_add_sought(fixture->files, &identity), 0);
	assert_int_equal(file_table_add_sought(fixture->files, &identity), 0);
	assert_int_equal(file_table_get_count(fixture->files), 2);
	assert_int_equal(file_table_get(fixture->files, 1)->fd, -1);
	file_table_set_found(fixture->files, 1, fd, false);
	assert_int_equal(file_table_get(fixture->files, 1)->fd, fd);
	assert_string_equal(file_table_get(fixture->files, 1)->path, "/gone/program");
	assert_memory_equal(file_table_get(fixture->files, 1)->build_id, "AAAA", 4);
	assert_int_equal(file_table_get(fixture->files, 0)->fd, -1);
	file_table_set_found(fixture->files, 0, -1, true);
	assert_true(file_table_get(fixture->files, 0)->build_id_differs);
}

static int add_short(struct fixture *fixture, const char *path, const char *build_id,
		     uint64_t inode, uint32_t *ret)
{
	uint64_t start = string_equals(path, "[vdso]") ? 1ull << 40 : START;
	struct mapped_range range = {
		.pid = 8, .parent_pid = 7, .start = start, .end = start + END - START};
	struct file_identity identity = identity_of(path, build_id, inode);

	return file_table_add(fixture->files, &range, &identity, ret);
}

/* A file that is open and known again elsewhere, one that is gone, the vdso, one that is sought. */
static int add_each_kind(struct fixture *fixture, uint32_t ret[static 4])
{
	struct file_identity sought = identity_of("/gone/program", "AAAA", 0);
	int err = add_short(fixture, "/lib/a.so", "mine", 0, &ret[0]);
	uint32_t again;

	err = err ? err : add_short(fixture, "/lib/a.so", "mine", 0, &again);
	if (!err)
		assert_int_equal(again, ret[0]);
	err = err ? err : add_short(fixture, "/lib/b.so", NULL, 0, &ret[1]);
	err = err ? err : add_short(fixture, "/no/c.so", NULL, 99, &ret[2]);
	err = err ? err : add_short(fixture, "[vdso]", NULL, 0, &ret[3]);
	return err ? err : file_table_add_sought(fixture->files, &sought);
}

static void short_memory_is_no_missing_file(void **state)
{
	const struct fixture *fixture = *state;
	bool has_failed = true;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "IDmine");
	fake_proc_write(&fixture->proc, "8/root/lib/b.so", "IDelse");
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct fixture fresh = {.proc = fixture->proc};
		uint32_t files[4];
		int err;

		failing_memory_start(num_before);
		fresh.files = file_table_new(
			fresh.proc.root, &(struct file_build_id_reader){read_test_build_id, NULL});
		err = fresh.files ? add_each_kind(&fresh, files) : -ENOMEM;
		has_failed = failing_memory_end_with(err);
		if (fresh.files) {
			assert_int_equal(add_each_kind(&fresh, files), 0);
			assert_content(&fresh, files[0], "IDmine");
			assert_content(&fresh, files[1], "IDelse");
			assert_not_open(&fresh, files[2], false);
			assert_string_equal(file_table_get(fresh.files, files[2])->path,
					    "/no/c.so");
			assert_string_equal(file_table_get(fresh.files, files[3])->path, "[vdso]");
			assert_true(file_table_get(fresh.files, files[3])->fd >= 0);
		}
		file_table_free(fresh.files);
	}
}

#define OLD_ELF "\177ELFold"

/* Only process 8 sees the file. time_ns  0: found by a scan */
static uint32_t map_at(struct fixture *fixture, pid_t pid, uint64_t time_ns)
{
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");
	struct mapped_range range = {.pid = pid, .start = START, .end = END, .time_ns = time_ns};
	struct file_identity identity = {.path = "/a.so"};
	struct stat status;
	uint32_t file;

	assert_int_equal(stat(path.data, &status), 0);
	identity.inode = status.st_ino;
	identity.dev_major = major(status.st_dev);
	identity.dev_minor = minor(status.st_dev);
	assert_int_equal(file_table_add(fixture->files, &range, &identity, &file), 0);
	return file;
}

static bool is_unchanged(const struct fixture *fixture, uint32_t file)
{
	return mapped_file_is_unchanged(file_table_get(fixture->files, file));
}

static void each_content_of_an_inode_is_a_file(void **state)
{
	struct fixture *fixture = *state;
	uint32_t old;
	uint32_t new;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	old = map_at(fixture, 8, 0);
	assert_int_equal(map_at(fixture, 8, 0), old);
	assert_true(is_unchanged(fixture, old));
	fake_proc_append(&fixture->proc, "8/root/a.so", " and new");
	assert_false(is_unchanged(fixture, old));
	new = map_at(fixture, 8, 0);
	assert_int_not_equal(new, old);
	assert_int_equal(map_at(fixture, 8, 0), new);
	assert_true(is_unchanged(fixture, new));
	assert_false(is_unchanged(fixture, old));
}

static void a_modification_time_alone_is_another_content(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000, .tv_nsec = 1}};
	uint32_t old;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	old = map_at(fixture, 8, 0);
	assert_int_equal(utimensat(AT_FDCWD, path.data, times, 0), 0);
	assert_false(is_unchanged(fixture, old));
	assert_int_not_equal(map_at(fixture, 8, 0), old);
}

static void links_and_permissions_leave_the_content(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");
	_cleanup_(text_release) struct text other = fake_proc_path(&fixture->proc, "other");
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	assert_true(file_table_watch(fixture->files) >= 0);
	file = map_at(fixture, 8, 0);
	assert_int_equal(link(path.data, other.data), 0);
	assert_int_equal(chmod(path.data, 0755), 0);
	assert_int_equal(unlink(other.data), 0);
	assert_true(is_unchanged(fixture, file));
	assert_int_equal(map_at(fixture, 8, clock_now_ns()), file);
}

/* A JIT compiler's file is written while it is mapped. */
static void memory_in_a_file_is_one_file(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", "JiTD");
	file = map_at(fixture, 8, clock_now_ns() - NS_PER_SECOND);
	assert_true(file_table_get(fixture->files, file)->fd >= 0);
	fake_proc_append(&fixture->proc, "8/root/a.so", " grows");
	assert_int_equal(map_at(fixture, 8, clock_now_ns() - NS_PER_SECOND), file);
}

static void a_content_newer_than_its_mapping_is_refused(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before_ns = clock_now_ns() - 10 * NS_PER_SECOND;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	assert_not_open(fixture, map_at(fixture, 8, before_ns), true);
	file = map_at(fixture, 8, clock_now_ns());
	assert_content(fixture, file, OLD_ELF);
	/* Although the file is open by now. */
	assert_not_open(fixture, map_at(fixture, 8, before_ns), true);
	assert_int_equal(map_at(fixture, 8, clock_now_ns()), file);
}

/* Anybody can set such a time. */
static void a_modification_time_in_the_future_proves_nothing(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1ll << 33}};

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	assert_int_equal(utimensat(AT_FDCWD, path.data, times, 0), 0);
	assert_content(fixture, map_at(fixture, 8, clock_now_ns()), OLD_ELF);
}

static void a_content_that_was_not_seen_is_no_later_one(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before_ns = clock_now_ns() - 10 * NS_PER_SECOND;
	uint32_t gone;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	gone = map_at(fixture, 9, before_ns);
	assert_not_open(fixture, gone, false);
	file = map_at(fixture, 8, clock_now_ns());
	assert_int_not_equal(file, gone);
	assert_content(fixture, file, OLD_ELF);
	assert_not_open(fixture, gone, false);
}

static void a_content_that_was_not_seen_may_be_an_earlier_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	file = map_at(fixture, 9, clock_now_ns());
	assert_not_open(fixture, file, false);
	assert_int_equal(map_at(fixture, 8, clock_now_ns()), file);
	assert_content(fixture, file, OLD_ELF);
}

static uint32_t find_written(struct fixture *fixture, const struct written_file *written)
{
	const struct mapped_range range = {
		.pid = 8, .start = START, .end = END, .time_ns = written->time_ns};
	uint32_t file;

	assert_int_equal(file_table_find_written(fixture->files, written, &range, &file), 0);
	return file;
}

static void overwrite(const struct fixture *fixture, const char *content)
{
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");
	_cleanup_close_ int fd = open(path.data, O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

static void a_mapped_file_that_is_overwritten_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	struct written_file written = {0};
	uint64_t now_ns = clock_now_ns();
	struct told told = {0};
	uint32_t unknown;
	uint32_t old;
	uint32_t new;

	fake_proc_write(&fixture->proc, "8/root/a.so", OLD_ELF);
	old = map_at(fixture, 8, 0);
	assert_false(file_table_take_written(fixture->files, now_ns, &written));
	assert_true(file_table_watch(fixture->files) >= 0);
	assert_false(file_table_take_written(fixture->files, now_ns, &written));
	fake_proc_append(&fixture->proc, "8/root/a.so", " and new");
	assert_true(file_table_take_written(fixture->files, now_ns + 7, &written));
	assert_true(written.time_ns >= now_ns && written.time_ns <= now_ns + 7);
	assert_int_equal(written.file, old);
	assert_false(written.is_complete);
	unknown = find_written(fixture, &written);
	assert_not_open(fixture, unknown, true);
	/* Writing goes on. */
	now_ns += FILE_WRITE_PAUSE_NS;
	fake_proc_append(&fixture->proc, "8/root/a.so", "er");
	assert_false(file_table_take_written(fixture->files, now_ns, &written));
	now_ns += FILE_WRITE_PAUSE_NS;
	assert_false(file_table_take_written(fixture->files, now_ns - 1, &written));
	assert_true(file_table_take_written(fixture->files, now_ns, &written));
	assert_int_equal(written.time_ns, now_ns);
	assert_true(written.is_complete);
	file_table_set_listener(fixture->files,
				&(struct opened_listener){note_opened, NULL, &told});
	new = find_written(fixture, &written);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.pid, 8);
	assert_content(fixture, new, OLD_ELF " and newer");
	assert_true(is_unchanged(fixture, new));
	assert_false(is_unchanged(fixture, old));
	assert_int_equal(map_at(fixture, 8, 0), new);
	assert_int_equal(find_written(fixture, &written), new);
	assert_false(file_table_take_written(fixture->files, now_ns, &written));
	/* It is no ELF file any more. */
	overwrite(fixture, "text");
	assert_true(file_table_take_written(fixture->files, now_ns, &written));
	assert_int_equal(find_written(fixture, &written), unknown);
	now_ns += FILE_WRITE_PAUSE_NS;
	assert_true(file_table_take_written(fixture->files, now_ns, &written));
	assert_true(written.is_complete);
	assert_int_equal(find_written(fixture, &written), unknown);
}

static struct file_version get_version(const struct fixture *fixture, uint32_t file)
{
	struct file_version version;

	assert_int_equal(file_version_read(file_table_get(fixture->files, file)->fd, &version), 0);
	return version;
}

static bool has_present_version(const struct fixture *fixture, uint32_t file)
{
	const struct file_version version = get_version(fixture, file);

	return mapped_file_has_version(file_table_get(fixture->files, file), &version);
}

/* Write as many bytes, and set the modification time back. */
static void overwrite_with_old_time(const struct fixture *fixture, uint32_t file,
				    const char *content)
{
	const struct timespec modified = get_version(fixture, file).modified;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "8/root/a.so");

	overwrite(fixture, content);
	assert_int_equal(
		utimensat(AT_FDCWD, path.data, (const struct timespec[]){modified, modified}, 0),
		0);
	assert_true(file_version_looks_same(&file_table_get(fixture->files, file)->version,
					    &(struct file_version){
						    .num_bytes = strlen(content),
						    .modified = modified,
					    }));
}

static void a_file_that_is_overwritten_with_its_old_time_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	struct written_file written = {0};
	uint64_t now_ns = clock_now_ns();
	uint32_t old;
	uint32_t new;

	fake_proc_write(&fixture->proc, "8/root/a.so", "\177ELFold");
	old = map_at(fixture, 8, 0);
	assert_true(file_table_watch(fixture->files) >= 0);
	overwrite_with_old_time(fixture, old, "\177ELFnew");
	assert_true(file_table_take_written(fixture->files, now_ns, &written));
	assert_false(is_unchanged(fixture, old));
	now_ns += FILE_WRITE_PAUSE_NS;
	assert_true(file_table_take_written(fixture->files, now_ns, &written));
	new = find_written(fixture, &written);
	assert_int_not_equal(new, old);
	assert_int_equal(map_at(fixture, 8, 0), new);
	assert_false(has_present_version(fixture, old));
	assert_true(has_present_version(fixture, new));
}

/* A pause longer than a timer interrupt, as the kernel takes times from there. */
static void wait_for_another_time(void)
{
	assert_int_equal(nanosleep(&(struct timespec){.tv_nsec = 20 * NS_PER_MS}, NULL), 0);
}

static void an_old_time_proves_nothing_without_a_watch(void **state)
{
	struct fixture *fixture = *state;
	uint32_t old;
	uint32_t new;

	fake_proc_write(&fixture->proc, "8/root/a.so", "\177ELFold");
	old = map_at(fixture, 8, 0);
	assert_true(has_present_version(fixture, old));
	wait_for_another_time();
	overwrite_with_old_time(fixture, old, "\177ELFnew");
	new = map_at(fixture, 8, 0);
	assert_int_not_equal(new, old);
	assert_false(has_present_version(fixture, old));
	assert_true(has_present_version(fixture, new));
	/* The watch came too late for the old one. */
	assert_true(file_table_watch(fixture->files) >= 0);
	file_table_settle(fixture->files);
	assert_false(has_present_version(fixture, old));
	assert_true(has_present_version(fixture, new));
}

static void a_file_that_is_renamed_is_the_same_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t file;

	fake_proc_write(&fixture->proc, "8/root/a.so", "\177ELFold");
	file = map_at(fixture, 8, 0);
	assert_true(file_table_watch(fixture->files) >= 0);
	wait_for_another_time();
	assert_int_equal(fchmod(file_table_get(fixture->files, file)->fd, 0700), 0);
	assert_int_equal(map_at(fixture, 8, 0), file);
	file_table_settle(fixture->files);
	assert_true(has_present_version(fixture, file));
	/* Settling sees what is written, too. */
	overwrite_with_old_time(fixture, file, "\177ELFnew");
	file_table_settle(fixture->files);
	assert_false(has_present_version(fixture, file));
}

/* Here files are watched from the start. */
static void a_content_that_is_back_is_the_same_file(void **state)
{
	struct fixture *fixture = *state;
	struct written_file written = {0};
	uint64_t now_ns = clock_now_ns();
	const char *contents[] = {"\177ELFmine", "\177ELFelse", "\177ELFmine"};
	uint32_t files[ARRAY_LENGTH(contents)];

	file_table_free(fixture->files);
	fixture->files = file_table_new(fixture->proc.root,
					&(struct file_build_id_reader){read_elf_build_id, NULL});
	assert_true(file_table_watch(fixture->files) >= 0);
	fake_proc_write(&fixture->proc, "8/root/a.so", contents[0]);
	files[0] = map_at(fixture, 8, 0);
	for (size_t i = 1; i < ARRAY_LENGTH(contents); i++) {
		overwrite(fixture, contents[i]);
		assert_true(file_table_take_written(fixture->files, now_ns, &written));
		now_ns += FILE_WRITE_PAUSE_NS;
		assert_true(file_table_take_written(fixture->files, now_ns, &written));
		files[i] = find_written(fixture, &written);
	}
	assert_int_not_equal(files[1], files[0]);
	assert_int_equal(files[2], files[0]);
	assert_true(is_unchanged(fixture, files[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_opened_file_is_told),
		TEST(a_file_that_the_listener_has_lost_is_told_again),
		TEST(files_that_were_gone_at_once_are_counted),
		TEST(the_mapped_range_comes_before_the_path),
		TEST(a_deleted_file_keeps_its_bytes),
		TEST(a_mapped_range_that_holds_another_file_now_is_refused),
		TEST(a_path_is_that_of_the_process_not_ours),
		TEST(an_ended_process_is_seen_through_its_parent),
		TEST(our_own_view_comes_last),
		TEST(a_file_replaced_at_its_path_is_refused),
		TEST(a_file_without_build_id_is_not_one_that_had_one),
		TEST(a_file_refused_in_one_view_is_found_in_the_next),
		TEST(an_inode_decides_where_no_build_id_is_known),
		TEST(a_missing_file_is_no_failure),
		TEST(short_memory_is_no_missing_file),
		TEST(a_file_that_is_sought_has_its_place_before_it_is_found),
		TEST(a_missing_file_is_looked_for_again),
		TEST(only_regular_files_are_opened),
		TEST(a_file_is_known_again_by_build_id_and_path),
		TEST(a_file_is_known_again_by_inode_and_path),
		TEST(a_file_without_any_number_is_known_by_its_path),
		TEST(a_scanned_file_is_known_again_by_an_event),
		TEST(a_file_of_an_event_is_known_again_by_a_scan),
		TEST(containers_with_their_own_devices_share_a_file),
		TEST(a_users_file_with_the_build_id_of_roots_is_another_one),
		TEST(a_scan_does_not_take_a_users_file_for_roots),
		TEST(files_of_one_user_share_a_build_id),
		TEST(a_mapping_that_cannot_be_looked_at_is_of_roots_file_or_of_none),
		TEST(files_that_others_may_write_are_known_by_inode_alone),
		TEST(a_file_rewritten_in_its_place_is_another_one),
		TEST(a_build_id_of_zeros_is_none),
		TEST(names_of_memory_are_no_files),
		TEST(names_like_those_of_memory_are_files),
		TEST(a_memfd_is_a_file_while_it_can_be_opened),
		TEST(the_vdso_is_one_file_for_all_processes),
		TEST(the_vdso_of_a_32_bit_process_is_another_one),
		TEST(no_more_files_are_opened_than_the_limit_allows),
		TEST(files_that_were_found_beyond_the_limit_are_closed),
		TEST(a_user_gets_no_more_open_files_than_are_left),
		TEST(what_is_known_of_files_is_bounded_by_user),
		TEST(each_content_of_an_inode_is_a_file),
		TEST(a_modification_time_alone_is_another_content),
		TEST(links_and_permissions_leave_the_content),
		TEST(memory_in_a_file_is_one_file),
		TEST(a_content_newer_than_its_mapping_is_refused),
		TEST(a_modification_time_in_the_future_proves_nothing),
		TEST(a_content_that_was_not_seen_is_no_later_one),
		TEST(a_content_that_was_not_seen_may_be_an_earlier_one),
		TEST(a_mapped_file_that_is_overwritten_is_noticed),
		TEST(a_file_that_is_overwritten_with_its_old_time_is_another_one),
		TEST(an_old_time_proves_nothing_without_a_watch),
		TEST(a_file_that_is_renamed_is_the_same_one),
		TEST(a_content_that_is_back_is_the_same_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
