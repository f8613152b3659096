/* Which code of an input is named, and whether its kernel is the running one. What the kernel says is the test's. */
#include <stdio.h>

static FILE *open_of_test(const char *path, const char *mode);

#define fopen open_of_test
#define uname uname_of_test
#include "cli/files/input_code.c"
#undef fopen

/* clang-format off */
#include "unit.h"
/* clang-format on */

static const char *kallsyms; /* NULL: it cannot be opened */
static const uint8_t *notes;
static size_t notes_size;

static FILE *open_of_test(const char *path, const char *mode)
{
	bool is_list = string_equals(path, "/proc/kallsyms");
	FILE *file;

	assert_string_equal(mode, "re");
	if (!is_list)
		assert_string_equal(path, "/sys/kernel/notes");
	if (is_list && !kallsyms)
		return NULL;
	file = tmpfile();
	assert_non_null(file);
	if (is_list)
		fputs(kallsyms, file);
	else
		fwrite(notes, 1, notes_size, file);
	rewind(file);
	return file;
}

int uname_of_test(struct utsname *ret)
{
	*ret = (struct utsname){.release = "6.1.0"};
	return 0;
}

#define LIST                                    \
	"ffffffff80000000 D first_of_all\n"     \
	"ffffffff81000000 T _text_but_longer\n" \
	"ffffffff82000000 T _stext\n"           \
	"ffffffff83000000 T _text\n"

/* A note of GNU's, of 4 bytes: 1 2 3 4. */
static const uint8_t build_id_note[] = {4, 0, 0,   0,   4,   0, 0, 0, 3, 0,
					0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4};

static int set_up(void **state _unused_)
{
	kallsyms = LIST;
	notes = build_id_note;
	notes_size = sizeof(build_id_note);
	return 0;
}

static void the_kernel_is_the_running_one_at_its_address(void **state _unused_)
{
	struct import_kernel kernel = {.text = 0xffffffff82000000, .release = "6.1.0"};

	assert_true(is_running_kernel(&kernel));
	/* The first of both symbols decides. */
	kernel.text = 0xffffffff83000000;
	assert_false(is_running_kernel(&kernel));
	kernel.text = 0xffffffff81000000;
	assert_false(is_running_kernel(&kernel));
	kernel.text = 0xffffffff82000001;
	assert_false(is_running_kernel(&kernel));
}

static void hidden_addresses_are_nobodys(void **state _unused_)
{
	struct import_kernel kernel = {.text = 0, .release = "6.1.0"};

	kallsyms = "0000000000000000 T _stext\n";
	assert_false(is_running_kernel(&kernel));
	kernel.text = 0xffffffff82000000;
	assert_false(is_running_kernel(&kernel));
	kallsyms = NULL;
	assert_false(is_running_kernel(&kernel));
	kallsyms = "";
	assert_false(is_running_kernel(&kernel));
}

static void another_build_at_the_same_address_is_another_kernel(void **state _unused_)
{
	struct import_kernel kernel = {
		.text = 0xffffffff82000000, .build_id = {1, 2, 3, 4}, .build_id_size = 4};

	assert_true(is_running_kernel(&kernel)); /* whatever its release */
	kernel.build_id[3] = 5;
	assert_false(is_running_kernel(&kernel));
	kernel.build_id[3] = 4;
	kernel.build_id_size = 3;
	assert_false(is_running_kernel(&kernel));
	kernel.build_id_size = 4;
	notes_size = 0;
	assert_false(is_running_kernel(&kernel));
	/* Of a pipe, the release has to do. */
	kernel.build_id_size = 0;
	assert_false(is_running_kernel(&kernel));
	strcpy(kernel.release, "6.1.0");
	assert_true(is_running_kernel(&kernel));
	strcpy(kernel.release, "6.1.0-rc1");
	assert_false(is_running_kernel(&kernel));
}

/* ---- files ---- */

static struct profile *profile;
static unsigned int num_warnings;

static void warn(void *context _unused_, const char *line)
{
	assert_non_null(strstr(line, "recorded on another kernel"));
	num_warnings++;
}

static uint32_t add_module(const char *path)
{
	struct module module = {0};
	uint32_t id;

	assert_int_equal(profile_add_string(profile, path, &module.path), 0);
	assert_int_equal(profile_add_module(profile, &module, &id), 0);
	return id;
}

static void add_location(enum location_space space, uint32_t owner, uint64_t address)
{
	uint32_t id;

	assert_int_equal(profile_add_location(profile, space, owner, address, &id), 0);
}

static void code_without_names_is_counted_and_its_files_sought(void **state _unused_)
{
	struct import import = {.name = "x", .warn = warn, .context = &num_warnings};
	struct frame frame = {0};
	struct input_code *code;
	uint32_t location, unused, used;
	bool has_kernel, has_any;

	profile = import.profile = profile_new();
	unused = add_module("/no/such/library.so");
	used = add_module("/no/such/program");
	assert_int_equal(profile_add_string(profile, "named", &frame.name), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	code = input_code_new(&import, NULL, 0);
	assert_non_null(code);
	assert_int_equal(find_files(code, &has_kernel, &has_any), 0);
	assert_false(has_any);
	assert_false(has_kernel);
	assert_int_equal(import.counts.unnamed_code, 0);
	assert_int_equal(input_code_name(code, NULL, NULL), 0);
	add_location(LOCATION_FILE, used, 0x10);
	add_location(LOCATION_FILE, used, 0x20);
	assert_int_equal(find_files(code, &has_kernel, &has_any), 0);
	assert_true(has_any);
	assert_false(has_kernel);
	assert_int_equal(import.counts.unnamed_code, 2);
	assert_false(code->is_sought.items[unused]);
	assert_true(code->is_sought.items[used]);
	assert_true(file_table_get(code->files, used)->fd < 0);
	/* A module that comes later is in the table as well. */
	used = add_module("/no/such/late.so");
	import.counts.unnamed_code = 0;
	add_location(LOCATION_FILE, used, 0x10);
	add_location(LOCATION_KERNEL, 0, 0xffffffff82000010);
	kallsyms = NULL;
	assert_int_equal(input_code_name(code, NULL, NULL), 0);
	assert_int_equal(import.counts.unnamed_code, 4);
	assert_int_equal(num_warnings, 1);
	assert_true(code->is_sought.items[used]);
	for (uint32_t i = 0; i < profile_count_locations(profile); i++)
		assert_true(profile_get_location(profile, i)->num_frames > 0);
	input_code_free(code);
	input_code_free(NULL);
	profile_free(profile);
}

static void the_users_folders_come_first(void **state _unused_)
{
	static const char *const folders[] = {"/a", "/b"};
	char *roots = join_roots(folders, 2);

	assert_string_equal(roots, "/a:/b:/usr/lib/debug");
	free(roots);
	roots = join_roots(NULL, 0);
	assert_string_equal(roots, "/usr/lib/debug");
	free(roots);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_kernel_is_the_running_one_at_its_address),
		TEST(hidden_addresses_are_nobodys),
		TEST(another_build_at_the_same_address_is_another_kernel),
		TEST(code_without_names_is_counted_and_its_files_sought),
		TEST(the_users_folders_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
