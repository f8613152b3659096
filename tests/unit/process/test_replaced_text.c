/* Text of a file that a program has replaced by a copy in anonymous memory: this program's, with a file that it writes. */
#include "process/replaced_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/fake_proc.h"
#include "unit.h"

#define PAGE      4096
#define NUM_PAGES 200 /* more than are compared */
#define SIZE      (NUM_PAGES * PAGE)

struct scene {
	struct fake_proc proc;
	struct file_table *files;
	struct process_table *processes;
	struct text path; /* of the file */
	uint8_t *memory;  /* a copy of it, executable as far as /proc says */
	uint64_t address; /* of that */
	uint32_t file;
	uint32_t looks;
};

/* All pages differ. It is an ELF file as far as its first bytes say. */
static uint8_t get_byte(size_t i)
{
	if (i < SELFMAG)
		return (uint8_t)ELFMAG[i];
	return (uint8_t)(i * 7 + i / PAGE * 31 + i / 251);
}

static void write_file(struct scene *scene)
{
	FILE *file;

	scene->path = fake_proc_path(&scene->proc, "program");
	file = fopen(scene->path.data, "we");
	assert_non_null(file);
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(fputc(get_byte(i), file), get_byte(i));
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct mapped_range range = {.pid = getpid()};
	struct file_identity identity = {0};

	assert_non_null(scene);
	scene->proc = fake_proc_new();
	scene->files = file_table_new(scene->proc.root, NULL);
	scene->processes = process_table_new(scene->proc.root, scene->files);
	write_file(scene);
	scene->memory =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(scene->memory != MAP_FAILED);
	for (size_t i = 0; i < SIZE; i++)
		scene->memory[i] = get_byte(i);
	scene->address = (uintptr_t)scene->memory;
	identity.path = scene->path.data;
	assert_int_equal(file_table_add(scene->files, &range, &identity, &scene->file), 0);
	assert_true(file_table_get(scene->files, scene->file)->fd >= 0);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	munmap(scene->memory, SIZE);
	process_table_free(scene->processes);
	file_table_free(scene->files);
	text_release(&scene->path);
	fake_proc_remove(&scene->proc);
	free(scene);
	return 0;
}

/* Pages of the memory, as pages of the file. */
static struct mapping get_pages(const struct scene *scene, size_t first, size_t count,
				uint64_t first_of_file)
{
	return (struct mapping){.start = scene->address + first * PAGE,
				.end = scene->address + (first + count) * PAGE,
				.file_offset = first_of_file * PAGE,
				.file = scene->file};
}

static bool is_copy(struct scene *scene, struct mapping mapping)
{
	return replaced_text_is_copy(scene->files, getpid(), &mapping, &scene->looks);
}

/* ---- The comparison ------------------------------------------------------------------------ */

static void memory_with_the_bytes_of_a_file_is_a_copy(void **state)
{
	struct scene *scene = *state;

	assert_true(is_copy(scene, get_pages(scene, 0, NUM_PAGES, 0)));
	assert_true(is_copy(scene, get_pages(scene, 3, 1, 3)));
	assert_true(is_copy(scene, get_pages(scene, 3, 64, 3)));
	assert_int_equal(scene->looks, 3);
}

static void one_page_that_differs_makes_it_another(void **state)
{
	struct scene *scene = *state;

	assert_false(is_copy(scene, get_pages(scene, 3, 2, 4)));
	scene->memory[(3 + 63) * PAGE + 7] ^= 1;
	assert_false(is_copy(scene, get_pages(scene, 3, 64, 3)));
	assert_true(is_copy(scene, get_pages(scene, 3, 63, 3)));
	scene->memory[(NUM_PAGES - 1) * PAGE] ^= 1;
	assert_false(is_copy(scene, get_pages(scene, 0, NUM_PAGES, 0)));
}

static void what_cannot_be_read_is_no_copy(void **state)
{
	struct scene *scene = *state;
	struct mapping mapping = get_pages(scene, 0, 4, 0);

	/* Neither behind the end of the file, nor memory that is gone, nor without a file. */
	assert_false(is_copy(scene, get_pages(scene, 0, 1, NUM_PAGES)));
	assert_int_equal(mprotect(scene->memory + 3 * PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(munmap(scene->memory + 2 * PAGE, 2 * PAGE), 0);
	assert_false(is_copy(scene, mapping));
	mapping.file = FILE_NONE;
	assert_false(is_copy(scene, mapping));
}

static void memory_of_one_byte_proves_nothing(void **state)
{
	struct scene *scene = *state;
	struct mapping mapping = get_pages(scene, 0, 2, 0);

	memset(scene->memory, 0, 2 * PAGE);
	assert_int_equal(truncate(scene->path.data, 0), 0);
	assert_int_equal(truncate(scene->path.data, SIZE), 0);
	assert_false(is_copy(scene, mapping));
	assert_false(replaced_text_find(scene->files, getpid(), &mapping, &mapping, &scene->looks));
}

static void there_is_an_end_to_looking(void **state)
{
	struct scene *scene = *state;

	scene->looks = REPLACED_TEXT_MAX_LOOKS - 1;
	assert_true(is_copy(scene, get_pages(scene, 0, 1, 0)));
	assert_false(is_copy(scene, get_pages(scene, 0, 1, 0)));
}

static void the_offset_is_found_by_a_mapping_beside(void **state)
{
	struct scene *scene = *state;

	/* Of a segment before, or behind, some pages further or nearer in the file. */
	for (int shift = -4; shift <= 4; shift++) {
		struct mapping before = get_pages(scene, 10, 10, (uint64_t)(10 + shift));
		struct mapping behind = get_pages(scene, 40, 10, (uint64_t)(40 + shift));
		struct mapping found = get_pages(scene, 20, 20, 0);

		found.file = FILE_NONE;
		assert_true(
			replaced_text_find(scene->files, getpid(), &before, &found, &scene->looks));
		assert_int_equal(found.file, scene->file);
		assert_int_equal(found.file_offset, 20 * PAGE);
		found.file = FILE_NONE;
		assert_true(
			replaced_text_find(scene->files, getpid(), &behind, &found, &scene->looks));
		assert_int_equal(found.file_offset, 20 * PAGE);
	}
}

static void too_far_from_a_mapping_beside_nothing_is_found(void **state)
{
	struct scene *scene = *state;
	struct mapping before = get_pages(scene, 10, 10, 15);
	struct mapping found = get_pages(scene, 20, 20, 0);

	found.file = FILE_NONE;
	assert_false(replaced_text_find(scene->files, getpid(), &before, &found, &scene->looks));
	assert_int_equal(found.file, FILE_NONE);
}

/* ---- Events -------------------------------------------------------------------------------- */

static const struct process *on_exec(struct scene *scene)
{
	struct process *process;
	bool is_in_exec;

	assert_int_equal(process_table_on_fork(scene->processes, 1, getpid(), 1), 0);
	assert_int_equal(process_table_on_comm(scene->processes, 2, getpid(), "x", true), 0);
	assert_int_equal(process_table_find(scene->processes, 3, getpid(), GENERATION_UNKNOWN,
					    false, &process, &is_in_exec),
			 0);
	return process;
}

static void on_mmap(struct scene *scene, uint64_t time_ns, struct mapping mapping)
{
	struct file_identity identity = {.path = "//anon"};

	assert_int_equal(
		process_table_on_mmap(scene->processes, time_ns, getpid(), &mapping, &identity), 0);
}

static struct mapping get_memory(const struct scene *scene, size_t first, size_t count)
{
	struct mapping mapping = get_pages(scene, first, count, 0);

	mapping.file = FILE_NONE;
	return mapping;
}

static void assert_page(const struct scene *scene, const struct process *process, size_t number,
			uint32_t file)
{
	uint64_t pc = scene->address + number * PAGE;
	const struct mapping *mapping = process_find_mapping(process, pc);

	assert_non_null(mapping);
	assert_int_equal(mapping->file, file);
	if (file != FILE_NONE)
		assert_int_equal(pc - mapping->start + mapping->file_offset, number * PAGE);
}

static void memory_in_the_place_of_text_is_the_file_if_it_has_its_bytes(void **state)
{
	struct scene *scene = *state;
	const struct process *process = on_exec(scene);

	on_mmap(scene, 4, get_pages(scene, 0, 20, 0));
	on_mmap(scene, 5, get_memory(scene, 4, 8));
	assert_page(scene, process, 3, scene->file);
	assert_page(scene, process, 4, scene->file);
	assert_page(scene, process, 11, scene->file);
	scene->memory[14 * PAGE] ^= 1;
	on_mmap(scene, 6, get_memory(scene, 12, 4));
	assert_page(scene, process, 11, scene->file);
	assert_page(scene, process, 12, FILE_NONE);
	assert_page(scene, process, 15, FILE_NONE);
	assert_page(scene, process, 16, scene->file);
}

/* A file with pages of the first one, as a memfd is, or one of hugetlbfs. */
static void write_copy(struct scene *scene, size_t first, size_t count, struct text *ret_path,
		       uint32_t *ret_file)
{
	const struct mapped_range range = {.pid = getpid()};
	struct file_identity identity = {0};
	FILE *file;

	*ret_path = fake_proc_path(&scene->proc, "copy");
	file = fopen(ret_path->data, "we");
	assert_non_null(file);
	for (size_t i = first * PAGE; i < (first + count) * PAGE; i++)
		assert_int_equal(fputc(get_byte(i), file), get_byte(i));
	assert_int_equal(fclose(file), 0);
	identity.path = ret_path->data;
	assert_int_equal(file_table_add(scene->files, &range, &identity, ret_file), 0);
	assert_true(file_table_get(scene->files, *ret_file)->fd >= 0);
}

static void a_file_in_the_place_of_text_is_the_text_if_it_has_its_bytes(void **state)
{
	struct scene *scene = *state;
	const struct process *process = on_exec(scene);
	struct text path = {0};
	struct mapping copy = get_memory(scene, 4, 8);

	on_mmap(scene, 4, get_pages(scene, 0, 20, 0));
	write_copy(scene, 4, 8, &path, &copy.file);
	on_mmap(scene, 5, copy);
	for (size_t page = 3; page < 13; page++)
		assert_page(scene, process, page, scene->file);
	/* It has other bytes, or is a program. */
	scene->memory[4 * PAGE + 1] ^= 1;
	on_mmap(scene, 6, copy);
	assert_int_equal(process_find_mapping(process, copy.start)->file, copy.file);
	scene->memory[4 * PAGE + 1] ^= 1;
	assert_false(replaced_text_may_be_in(scene->files, scene->file));
	assert_true(replaced_text_may_be_in(scene->files, copy.file));
	assert_true(replaced_text_may_be_in(scene->files, FILE_NONE));
	text_release(&path);
}

/* The memory is mapped first, filled then, and protected; in parts, maybe. */
static void what_the_memory_holds_later_counts(void **state)
{
	struct scene *scene = *state;
	const struct process *process = on_exec(scene);

	on_mmap(scene, 4, get_pages(scene, 0, 20, 0));
	scene->memory[4 * PAGE + 1] ^= 1;
	on_mmap(scene, 5, get_memory(scene, 4, 8));
	assert_page(scene, process, 4, FILE_NONE);
	scene->memory[4 * PAGE + 1] ^= 1;
	on_mmap(scene, 6, get_memory(scene, 4, 2));
	assert_page(scene, process, 4, scene->file);
	assert_page(scene, process, 6, FILE_NONE);
	on_mmap(scene, 7, get_memory(scene, 6, 6));
	assert_page(scene, process, 11, scene->file);
}

static void memory_elsewhere_is_no_file(void **state)
{
	struct scene *scene = *state;
	const struct process *process = on_exec(scene);

	on_mmap(scene, 4, get_pages(scene, 0, 4, 0));
	on_mmap(scene, 5, get_memory(scene, 4, 8));
	assert_page(scene, process, 4, FILE_NONE);
}

/* ---- A scan -------------------------------------------------------------------------------- */

static void add_line(const struct scene *scene, struct text *maps, size_t first, size_t count,
		     const char *permissions, uint64_t first_of_file, const char *path)
{
	struct stat status = {0};

	if (*path)
		assert_int_equal(stat(path, &status), 0);
	text_printf(maps, "%lx-%lx %s %08lx %02x:%02x %lu %s\n", scene->address + first * PAGE,
		    scene->address + (first + count) * PAGE, permissions, first_of_file * PAGE,
		    major(status.st_dev), minor(status.st_dev), status.st_ino, path);
}

static const struct process *scan(struct scene *scene, struct text *maps)
{
	struct process *process;
	bool is_in_exec;
	char name[64];

	snprintf(name, sizeof(name), "%d/maps", getpid());
	fake_proc_write(&scene->proc, name, maps->data);
	snprintf(name, sizeof(name), "%d/comm", getpid());
	fake_proc_write(&scene->proc, name, "x\n");
	snprintf(name, sizeof(name), "%d/stat", getpid());
	fake_proc_write(&scene->proc, name,
			"7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n");
	text_release(maps);
	assert_int_equal(process_table_scan_pid(scene->processes, getpid()), 0);
	assert_int_equal(process_table_find(scene->processes, UINT64_MAX, getpid(),
					    GENERATION_UNKNOWN, false, &process, &is_in_exec),
			 0);
	return process;
}

static void a_scan_finds_text_that_was_replaced_before(void **state)
{
	struct scene *scene = *state;
	const struct process *process;
	struct text maps = {0};

	add_line(scene, &maps, 0, 2, "r--p", 0, scene->path.data);
	add_line(scene, &maps, 2, 5, "r-xp", 0, "");
	add_line(scene, &maps, 7, 2, "r-xp", 7, scene->path.data);
	add_line(scene, &maps, 9, 2, "rwxp", 0, "");
	add_line(scene, &maps, 20, 5, "r-xp", 0, "");
	add_line(scene, &maps, 25, 5, "r--p", 25, scene->path.data);
	add_line(scene, &maps, 40, 5, "r-xp", 0, "");
	scene->memory[10 * PAGE] ^= 1;
	process = scan(scene, &maps);
	assert_page(scene, process, 2, scene->file);
	assert_page(scene, process, 6, scene->file);
	assert_page(scene, process, 7, scene->file);
	assert_page(scene, process, 9, FILE_NONE);
	assert_page(scene, process, 20, scene->file);
	assert_page(scene, process, 40, FILE_NONE);
}

static void a_scan_finds_text_that_was_replaced_by_a_file(void **state)
{
	struct scene *scene = *state;
	const struct process *process;
	struct text maps = {0};
	struct text path = {0};
	uint32_t file;

	write_copy(scene, 4, 30, &path, &file);
	add_line(scene, &maps, 0, 4, "r--p", 0, scene->path.data);
	add_line(scene, &maps, 4, 8, "r-xs", 0, path.data);
	add_line(scene, &maps, 12, 3, "r-xp", 8, path.data);
	add_line(scene, &maps, 15, 2, "r-xp", 15, scene->path.data);
	add_line(scene, &maps, 20, 5, "r-xp", 16, path.data);
	add_line(scene, &maps, 25, 5, "r--p", 25, scene->path.data);
	add_line(scene, &maps, 40, 5, "r-xp", 0, path.data);
	process = scan(scene, &maps);
	for (size_t page = 4; page < 17; page++)
		assert_page(scene, process, page, scene->file);
	assert_page(scene, process, 20, scene->file);
	assert_int_equal(process_find_mapping(process, scene->address + 40 * PAGE)->file, file);
	text_release(&path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_with_the_bytes_of_a_file_is_a_copy),
		TEST(one_page_that_differs_makes_it_another),
		TEST(what_cannot_be_read_is_no_copy),
		TEST(memory_of_one_byte_proves_nothing),
		TEST(there_is_an_end_to_looking),
		TEST(the_offset_is_found_by_a_mapping_beside),
		TEST(too_far_from_a_mapping_beside_nothing_is_found),
		TEST(memory_in_the_place_of_text_is_the_file_if_it_has_its_bytes),
		TEST(a_file_in_the_place_of_text_is_the_text_if_it_has_its_bytes),
		TEST(what_the_memory_holds_later_counts),
		TEST(memory_elsewhere_is_no_file),
		TEST(a_scan_finds_text_that_was_replaced_before),
		TEST(a_scan_finds_text_that_was_replaced_by_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
