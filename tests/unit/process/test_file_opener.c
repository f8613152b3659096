/*
 * Which of several paths leads to the file that was mapped. What is at each is the test's: a view has a file of an inode
 * and a build ID, or an error.
 */
#include "process/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int follow_of_test(struct slow_opener *opener, pid_t pid, const char *link,
		   struct foreign_file *ret);
int find_of_test(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		 int flags, struct foreign_file *ret);
int open_of_test(struct slow_opener *opener, pid_t pid, const struct foreign_file *file);
int peek_of_test(const char *path, uint32_t *ret_major, uint32_t *ret_minor, uint64_t *ret_inode);
unsigned long getauxval_of_test(unsigned long type);
int memfd_of_test(const char *name, unsigned int flags);
int write_of_test(int fd, const void *data, size_t size);

#include "base/file.h"

#define foreign_file_follow follow_of_test
#define foreign_file_find   find_of_test
#define foreign_file_open   open_of_test
#define foreign_file_peek   peek_of_test
#define getauxval           getauxval_of_test
#define memfd_create        memfd_of_test
#define file_write_fd       write_of_test
#include "process/file_opener.c"
#undef getauxval
#undef memfd_create
#undef file_write_fd

#include "failing_memory.h"
#include "fake_proc.h"
#include "unit.h"

#define PID        8
#define PARENT     7
#define INODE      500
#define DEVICE     3
#define KNOWN_FILE 42

/* A view of the file. */
struct view {
	int err; /* no file is there */
	uint64_t inode;
	const char *path;     /* of the file that is opened; NULL: /dev/null */
	const char *build_id; /* NULL: it has none */
	int open_err;
};

struct fixture {
	struct fake_proc proc;
	struct file_opener opener;
	struct file_identity identity;
	struct mapped_range range;
	struct opened_file opened;
};

static struct view views[NUM_SEARCH_ROOTS];
static enum search_root last_view; /* that was looked at */
static char
	story[256]; /* a letter for each view that was looked at, and o where its file was opened */
static uint64_t known_inode; /* of the file that is known; 0: none is */
static struct slow_opener *const helper = (struct slow_opener *)story; /* only handed on */

static void tell(char letter)
{
	size_t length = strlen(story);

	assert_true(length + 1 < sizeof(story));
	story[length] = letter;
	story[length + 1] = '\0';
}

static int look(enum search_root root, struct foreign_file *ret)
{
	const struct view *view = &views[root];

	last_view = root;
	tell("mpPo"[root]);
	if (view->err)
		return view->err;
	*ret = (struct foreign_file){
		.handle = open(view->path ? view->path : "/dev/null", O_PATH | O_CLOEXEC),
		.dev_major = DEVICE,
		.dev_minor = root,
		.inode = view->inode};
	assert_true(ret->handle >= 0);
	return 0;
}

int follow_of_test(struct slow_opener *opener, pid_t pid, const char *link,
		   struct foreign_file *ret)
{
	assert_ptr_equal(opener, helper);
	assert_int_equal(pid, PID);
	assert_non_null(strstr(link, "/8/map_files/1000-2000"));
	return look(MAP_FILES, ret);
}

int find_of_test(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		 int flags, struct foreign_file *ret)
{
	assert_ptr_equal(opener, helper);
	assert_int_equal(pid, PID);
	assert_string_equal(path, "/lib/a.so");
	assert_int_equal(flags, 0);
	if (string_equals(root, "/"))
		return look(OUR_ROOT, ret);
	return look(strstr(root, "/8/root") ? OWN_ROOT : PARENT_ROOT, ret);
}

int open_of_test(struct slow_opener *opener, pid_t pid, const struct foreign_file *file)
{
	assert_ptr_equal(opener, helper);
	assert_int_equal(pid, PID);
	assert_int_equal(file->dev_minor, last_view);
	tell('!');
	return views[last_view].open_err ? views[last_view].open_err
					 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* As in all views, its minor number is that of the view. */
int peek_of_test(const char *path, uint32_t *ret_major, uint32_t *ret_minor, uint64_t *ret_inode)
{
	assert_string_equal(path, "/lib/a.so");
	last_view = OUR_ROOT;
	tell('c');
	*ret_major = DEVICE;
	*ret_minor = OUR_ROOT;
	*ret_inode = views[OUR_ROOT].inode;
	return views[OUR_ROOT].err;
}

static int read_build_id(void *context _unused_, int fd, uint8_t *build_id, uint8_t *size)
{
	const char *text = views[last_view].build_id;

	assert_true(fd >= 0);
	*size = FILE_BUILD_ID_MAX_BYTES; /* no matter where it fails */
	if (!text)
		return -ENODATA;
	*size = (uint8_t)strlen(text);
	memcpy(build_id, text, *size);
	return 0;
}

static uint32_t find_known(const struct file_identity *identity, const struct opened_file *found,
			   const void *context)
{
	assert_ptr_equal(context, story);
	assert_string_equal(identity->path, "/lib/a.so");
	assert_int_equal(found->dev_major, DEVICE);
	assert_int_equal(found->dev_minor, last_view);
	return found->inode == known_inode ? KNOWN_FILE : FILE_NONE;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->proc = fake_proc_new();
	fake_proc_write(&fixture->proc, "8/comm", "");
	fixture->opener = (struct file_opener){.proc_root = fixture->proc.root,
					       .slow_opener = helper,
					       .reader = {.read = read_build_id},
					       .find_known = find_known,
					       .context = story};
	fixture->identity = (struct file_identity){.path = "/lib/a.so", .inode = INODE};
	fixture->range = (struct mapped_range){
		.pid = PID, .parent_pid = PARENT, .start = 0x1000, .end = 0x2000};
	for (size_t i = 0; i < NUM_SEARCH_ROOTS; i++)
		views[i] = (struct view){.err = -ENOENT};
	known_inode = 0;
	story[0] = '\0';
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_remove(&fixture->proc);
	free(fixture);
	return 0;
}

static void set_build_id(struct fixture *fixture, const char *build_id)
{
	fixture->identity.build_id_size = (uint8_t)strlen(build_id);
	memcpy(fixture->identity.build_id, build_id, strlen(build_id));
}

/* The search did these steps. */
static void open_file(struct fixture *fixture, const char *expected)
{
	story[0] = '\0';
	fixture->opened = (struct opened_file){.fd = 77};
	assert_int_equal(file_opener_open(&fixture->opener, &fixture->range, &fixture->identity,
					  &fixture->opened),
			 0);
	assert_string_equal(story, expected);
}

static void assert_opened(struct fixture *fixture, enum search_root view)
{
	assert_true(fixture->opened.fd >= 0);
	close(fixture->opened.fd);
	assert_int_equal(fixture->opened.known, FILE_NONE);
	assert_int_equal(fixture->opened.inode, views[view].inode);
	assert_int_equal(fixture->opened.dev_major, DEVICE);
	assert_int_equal(fixture->opened.dev_minor, view);
}

static void assert_none(const struct fixture *fixture, bool another_was_found)
{
	assert_int_equal(fixture->opened.fd, -1);
	assert_int_equal(fixture->opened.known, FILE_NONE);
	assert_int_equal(fixture->opened.another_was_found, another_was_found);
}

static void all_views_are_looked_at_the_surest_first(void **state)
{
	struct fixture *fixture = *state;
	static const char *const stories[] = {"m!", "mp!", "mpP!", "mpPo!"};

	open_file(fixture, "mpPo");
	assert_none(fixture, false);
	for (size_t view = NUM_SEARCH_ROOTS; view-- > 0;) {
		views[view] = (struct view){.inode = INODE};
		open_file(fixture, stories[view]);
		assert_opened(fixture, (enum search_root)view);
	}
}

static void without_a_parent_its_view_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	fixture->range.parent_pid = 0;
	open_file(fixture, "mpo");
	assert_none(fixture, false);
}

static void a_process_that_is_gone_is_not_asked_for(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_end(&fixture->proc, PID);
	for (size_t view = 0; view < NUM_SEARCH_ROOTS; view++)
		views[view] = (struct view){.inode = INODE};
	open_file(fixture, "P!");
	assert_opened(fixture, PARENT_ROOT);
}

static void only_its_own_view_may_be_wanted(void **state)
{
	struct fixture *fixture = *state;

	views[PARENT_ROOT] = views[OUR_ROOT] = (struct view){.inode = INODE};
	fixture->opener.has_trusted = true;
	open_file(fixture, "mp");
	assert_none(fixture, false);
	views[OWN_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "mp!");
	assert_opened(fixture, OWN_ROOT);
}

static void set_link(struct fixture *fixture, const char *path, const char *target)
{
	_cleanup_(text_release) struct text full = fake_proc_path(&fixture->proc, path);

	unlink(full.data);
	assert_int_equal(symlink(target, full.data), 0);
}

/* Set the root and the mount namespace of the process; ours are / and mnt:[1]. */
static void set_view(struct fixture *fixture, const char *root, const char *mounts)
{
	fake_proc_write(&fixture->proc, "8/ns/net", "");
	fake_proc_write(&fixture->proc, "self/ns/net", "");
	set_link(fixture, "self/ns/mnt", "mnt:[1]");
	set_link(fixture, "8/root", root);
	set_link(fixture, "8/ns/mnt", mounts);
}

/* A trusted file of ours is known, and the mapping has its build ID. */
static void know_trusted(struct fixture *fixture)
{
	fixture->opener.has_trusted = true;
	set_build_id(fixture, "mine");
	known_inode = INODE;
	views[OUR_ROOT] = (struct view){.inode = INODE};
}

static void a_known_file_at_our_path_is_taken_from_the_cache(void **state)
{
	struct fixture *fixture = *state;

	know_trusted(fixture);
	set_view(fixture, "/", "mnt:[1]");
	open_file(fixture, "c");
	assert_int_equal(fixture->opened.known, KNOWN_FILE);
	assert_int_equal(fixture->opened.fd, -1);
	/* Another file is there by now, or it is not in the cache. */
	views[OUR_ROOT].inode = INODE + 1;
	open_file(fixture, "cmp");
	views[OUR_ROOT].err = -EAGAIN;
	open_file(fixture, "cmp");
	views[OUR_ROOT].err = 0;
	/* Not known: it would have to be opened. */
	fixture->opener.has_trusted = false;
	open_file(fixture, "mpPo!");
	close(fixture->opened.fd);
}

static void our_path_says_nothing_of_another_view(void **state)
{
	struct fixture *fixture = *state;

	know_trusted(fixture);
	open_file(fixture, "mp");
	set_view(fixture, "/container", "mnt:[1]");
	open_file(fixture, "mp");
	set_view(fixture, "/", "mnt:[2]");
	open_file(fixture, "mp");
	set_view(fixture, "/", "mnt:[1]");
	fake_proc_end(&fixture->proc, PID);
	open_file(fixture, "");
}

static void a_file_of_another_inode_is_not_taken(void **state)
{
	struct fixture *fixture = *state;

	views[OWN_ROOT] = (struct view){.inode = INODE + 1};
	open_file(fixture, "mp!Po");
	assert_none(fixture, true);
	/* It has been replaced, and another view still has it. */
	views[OUR_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "mp!Po!");
	assert_opened(fixture, OUR_ROOT);
	assert_false(fixture->opened.another_was_found);
}

/* The kernel's link leads to the mapped file, whatever its number on an overlay. */
/* On overlays, maps may have another device and inode than stat. */
static void the_kernels_link_needs_no_inode_but_the_name(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "lib/a.so");

	fake_proc_write(&fixture->proc, "lib/a.so", "");
	fake_proc_write(&fixture->proc, "lib/b.so", "");
	views[MAP_FILES] = (struct view){.inode = INODE + 1, .path = path.data};
	open_file(fixture, "m!");
	assert_opened(fixture, MAP_FILES);
	fake_proc_delete(&fixture->proc, "lib/a.so");
	views[MAP_FILES].path = NULL;
	open_file(fixture, "m!pPo");
	assert_none(fixture, false);
}

static void the_kernels_link_to_another_inode_of_the_device_is_to_another_file(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "lib/a.so");

	fake_proc_write(&fixture->proc, "lib/a.so", "");
	fixture->identity.dev_major = DEVICE;
	fixture->identity.dev_minor = MAP_FILES;
	views[MAP_FILES] = (struct view){.inode = INODE + 1, .path = path.data};
	open_file(fixture, "m!pPo");
	assert_none(fixture, false);
}

/* Its name has a suffix then, as that of the mapping had. */
static void the_kernels_link_leads_to_a_file_that_was_deleted(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "lib/a.so");
	char link[32];
	int fd;

	fake_proc_write(&fixture->proc, "lib/a.so", "");
	fd = open(path.data, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	fake_proc_delete(&fixture->proc, "lib/a.so");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	views[MAP_FILES] = (struct view){.inode = INODE + 1, .path = link};
	open_file(fixture, "m!");
	assert_opened(fixture, MAP_FILES);
	close(fd);
}

static void without_an_inode_any_file_at_the_path_is_taken(void **state)
{
	struct fixture *fixture = *state;

	fixture->identity.inode = 0;
	views[OWN_ROOT] = (struct view){.inode = INODE + 1};
	open_file(fixture, "mp!");
	assert_opened(fixture, OWN_ROOT);
}

/* What was mapped there by now is no other file at its path. */
static void a_build_id_decides_before_the_inode(void **state)
{
	struct fixture *fixture = *state;

	set_build_id(fixture, "mine");
	views[MAP_FILES] = (struct view){.inode = INODE, .build_id = "next"};
	open_file(fixture, "m!pPo");
	assert_none(fixture, false);
	views[OWN_ROOT] = (struct view){.inode = INODE, .build_id = "mine2"};
	open_file(fixture, "m!p!Po");
	assert_none(fixture, true);
	views[OWN_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "m!p!Po");
	assert_none(fixture, true);
	views[PARENT_ROOT] = (struct view){.inode = INODE + 1, .build_id = "mine"};
	open_file(fixture, "m!p!P!");
	assert_opened(fixture, PARENT_ROOT);
	assert_int_equal(fixture->opened.build_id_size, 4);
	assert_memory_equal(fixture->opened.build_id, "mine", 4);
}

static void without_a_reader_of_build_ids_the_inode_decides(void **state)
{
	struct fixture *fixture = *state;

	set_build_id(fixture, "mine");
	fixture->opener.reader.read = NULL;
	views[OWN_ROOT] = (struct view){.inode = INODE + 1};
	views[OUR_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "mp!Po!");
	assert_opened(fixture, OUR_ROOT);
	assert_int_equal(fixture->opened.build_id_size, 0);
}

static void a_file_without_a_build_id_has_none(void **state)
{
	struct fixture *fixture = *state;

	views[OWN_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "mp!");
	assert_opened(fixture, OWN_ROOT);
	assert_int_equal(fixture->opened.build_id_size, 0);
}

static void a_known_file_is_not_opened(void **state)
{
	struct fixture *fixture = *state;

	known_inode = INODE;
	views[OWN_ROOT] = (struct view){.inode = INODE, .open_err = -EIO};
	open_file(fixture, "mp");
	assert_int_equal(fixture->opened.fd, -1);
	assert_int_equal(fixture->opened.known, KNOWN_FILE);
	/* Its build ID is known, too: the inode may differ. */
	set_build_id(fixture, "mine");
	known_inode = views[OWN_ROOT].inode = INODE + 1;
	open_file(fixture, "mp");
	assert_int_equal(fixture->opened.known, KNOWN_FILE);
}

static void a_known_file_of_another_inode_is_not_the_mapped_one(void **state)
{
	struct fixture *fixture = *state;

	known_inode = INODE + 1;
	views[OWN_ROOT] = (struct view){.inode = INODE + 1};
	open_file(fixture, "mp!Po");
	assert_none(fixture, true);
	views[OUR_ROOT] = (struct view){.inode = INODE};
	open_file(fixture, "mp!Po!");
	assert_opened(fixture, OUR_ROOT);
}

static void one_that_cannot_be_opened_is_no_other_file(void **state)
{
	struct fixture *fixture = *state;

	views[OWN_ROOT] = (struct view){.inode = INODE, .open_err = -EACCES};
	open_file(fixture, "mp!Po");
	assert_none(fixture, false);
}

/* The other views are on the same file system, most likely. */
static void after_a_file_system_that_did_not_answer_none_is_asked(void **state)
{
	struct fixture *fixture = *state;

	views[OUR_ROOT] = (struct view){.inode = INODE};
	views[OWN_ROOT] = (struct view){.err = -ETIMEDOUT};
	open_file(fixture, "mp");
	assert_none(fixture, false);
	views[OWN_ROOT] = (struct view){.inode = INODE, .open_err = -ETIMEDOUT};
	open_file(fixture, "mp!");
	assert_none(fixture, false);
}

static void short_memory_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	views[OUR_ROOT] = (struct view){.inode = INODE};
	for (int64_t num_before = 0;; num_before++) {
		int err;

		failing_memory_start(num_before);
		err = file_opener_open(&fixture->opener, &fixture->range, &fixture->identity,
				       &fixture->opened);
		if (!failing_memory_end_with(err))
			break;
	}
	assert_opened(fixture, OUR_ROOT);
	views[OWN_ROOT] = (struct view){.err = -ENOMEM};
	assert_int_equal(file_opener_open(&fixture->opener, &fixture->range, &fixture->identity,
					  &fixture->opened),
			 -ENOMEM);
}

/* ---- vdso ---- */

static char vdso[VDSO_MAX_BYTES + 1];
static const char *vdso_image = vdso; /* NULL: this machine has none */
static int memfd_error, write_error;

unsigned long getauxval_of_test(unsigned long type)
{
	assert_int_equal(type, AT_SYSINFO_EHDR);
	return (unsigned long)vdso_image;
}

int memfd_of_test(const char *name, unsigned int flags)
{
	errno = memfd_error;
	return memfd_error ? -1 : memfd_create(name, flags);
}

int write_of_test(int fd, const void *data, size_t size)
{
	return write_error ? write_error : file_write_fd(fd, data, size);
}

/* Sections and a segment that end there; the segment counts if it is loaded. */
static void make_vdso(size_t end_of_sections, size_t end_of_segment, uint32_t type)
{
	const ElfW(Ehdr) header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3},
				   .e_phoff = sizeof(header),
				   .e_phnum = 1,
				   .e_phentsize = sizeof(ElfW(Phdr)),
				   .e_shoff = end_of_sections - 3 * 64,
				   .e_shentsize = 64,
				   .e_shnum = 3};
	const ElfW(Phdr)
		segment = {.p_type = type, .p_offset = 100, .p_filesz = end_of_segment - 100};

	for (size_t i = 0; i < sizeof(vdso); i++)
		vdso[i] = (char)(i * 7);
	memcpy(vdso, &header, sizeof(header));
	memcpy(vdso + sizeof(header), &segment, sizeof(segment));
	vdso_image = vdso;
	memfd_error = write_error = 0;
}

static void assert_vdso(size_t size)
{
	char *copy = calloc(1, sizeof(vdso) + 1);
	struct stat status;
	int fd = -1;

	assert_int_equal(file_opener_open_vdso(&fd), 0);
	assert_int_equal(pread(fd, copy, sizeof(vdso) + 1, 0), size);
	assert_memory_equal(copy, vdso, size);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	free(copy);
}

static void a_vdso_is_as_long_as_what_it_describes(void **state _unused_)
{
	make_vdso(5000, 3000, PT_LOAD);
	assert_vdso(5000);
	make_vdso(3000, 5000, PT_LOAD);
	assert_vdso(5000);
	make_vdso(3000, 5000, PT_NOTE);
	assert_vdso(3000);
}

static void a_vdso_is_no_larger_than_its_limit(void **state _unused_)
{
	int fd = -1;

	make_vdso(256u << 10, 3000, PT_LOAD);
	assert_vdso(256u << 10);
	make_vdso((256u << 10) + 1, 3000, PT_LOAD);
	assert_int_equal(file_opener_open_vdso(&fd), -EFBIG);
	assert_int_equal(fd, -1);
}

static void without_a_vdso_there_is_nothing_to_open(void **state _unused_)
{
	int fd = -1;

	make_vdso(3000, 2000, PT_LOAD);
	vdso_image = NULL;
	assert_int_equal(file_opener_open_vdso(&fd), -ENOENT);
	vdso_image = vdso;
	vdso[3] = 'f';
	assert_int_equal(file_opener_open_vdso(&fd), -ENOENT);
	make_vdso(3000, 2000, PT_LOAD);
	memfd_error = EMFILE;
	assert_int_equal(file_opener_open_vdso(&fd), -EMFILE);
	memfd_error = 0;
	write_error = -ENOSPC;
	assert_int_equal(file_opener_open_vdso(&fd), -ENOSPC);
	assert_int_equal(fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_views_are_looked_at_the_surest_first),
		TEST(without_a_parent_its_view_is_left_out),
		TEST(a_process_that_is_gone_is_not_asked_for),
		TEST(only_its_own_view_may_be_wanted),
		TEST(a_known_file_at_our_path_is_taken_from_the_cache),
		TEST(our_path_says_nothing_of_another_view),
		TEST(a_file_of_another_inode_is_not_taken),
		TEST(the_kernels_link_needs_no_inode_but_the_name),
		TEST(the_kernels_link_to_another_inode_of_the_device_is_to_another_file),
		TEST(the_kernels_link_leads_to_a_file_that_was_deleted),
		TEST(without_an_inode_any_file_at_the_path_is_taken),
		TEST(a_build_id_decides_before_the_inode),
		TEST(without_a_reader_of_build_ids_the_inode_decides),
		TEST(a_file_without_a_build_id_has_none),
		TEST(a_known_file_is_not_opened),
		TEST(a_known_file_of_another_inode_is_not_the_mapped_one),
		TEST(one_that_cannot_be_opened_is_no_other_file),
		TEST(after_a_file_system_that_did_not_answer_none_is_asked),
		TEST(short_memory_is_an_error),
		cmocka_unit_test(a_vdso_is_as_long_as_what_it_describes),
		cmocka_unit_test(a_vdso_is_no_larger_than_its_limit),
		cmocka_unit_test(without_a_vdso_there_is_nothing_to_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
