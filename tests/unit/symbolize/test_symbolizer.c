#include "test_folder.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objfile/elf_writer.h"
#include "symbolize/symbolizer.h"

#define PID 77

/* A folder that plays /proc, and what is recorded in it. */
struct scene {
	char folder[TEST_PATH_BYTES];
	struct file_table *files;
	struct process_table *processes;
	struct profile *profile;
	struct symbolizer *symbolizer;
	uid_t owner;    /* of programs that are added; 0: nobody in particular */
	uint64_t entry; /* of programs that are added: where they start; 0: nowhere */
};

/* Where the process maps a file. */
static const struct mapped_range text_range = {.pid = PID, .start = 0x1000, .end = 0x2000};

static int fake_build_id(void *context _unused_, int fd, uint8_t *build_id, uint8_t *size)
{
	(void)fd;
	memcpy(build_id, "\x12\x34", 2);
	*size = 2;
	return 0;
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void scene_write(const struct scene *scene, const char *name, const char *text)
{
	char path[TEST_PATH_BYTES + 128];

	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	write_file(path, text, strlen(text));
}

static void scene_make_folder(const struct scene *scene, const char *name)
{
	char path[TEST_PATH_BYTES + 128];

	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct symbolizer_opts opts = {.proc_root = scene->folder, .debug_root = scene->folder};

	assert_non_null(scene);
	test_folder_make(scene->folder);
	scene->files =
		file_table_new(scene->folder, &(struct file_build_id_reader){fake_build_id, NULL});
	scene->processes = process_table_new(scene->folder, scene->files);
	scene->profile = profile_new();
	scene->symbolizer = symbolizer_new(scene->files, scene->processes, &opts);
	assert_non_null(scene->symbolizer);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;
	char command[TEST_PATH_BYTES + 128];

	symbolizer_free(scene->symbolizer);
	profile_free(scene->profile);
	process_table_free(scene->processes);
	file_table_free(scene->files);
	snprintf(command, sizeof(command), "rm -rf %s", scene->folder);
	assert_int_equal(system(command), 0);
	free(scene);
	return 0;
}

static uint32_t add_location(struct scene *scene, enum location_space space, uint32_t owner,
			     uint64_t address)
{
	uint32_t id;

	assert_int_equal(profile_add_location(scene->profile, space, owner, address, &id), 0);
	return id;
}

static void name_all(struct scene *scene)
{
	assert_int_equal(symbolizer_name_profile(scene->symbolizer, scene->profile), 0);
}

static const struct frame *get_frame(const struct scene *scene, uint32_t id)
{
	const struct location *location = profile_get_location(scene->profile, id);

	assert_true(location->num_frames >= 1);
	return profile_get_frame(scene->profile, location->first_frame);
}

static void assert_frame(const struct scene *scene, uint32_t id, const char *name,
			 const char *module, enum unnamed_reason reason)
{
	const struct frame *frame = get_frame(scene, id);

	assert_string_equal(profile_get_string(scene->profile, frame->name), name);
	assert_string_equal(profile_get_string(scene->profile, frame->module), module);
	assert_int_equal(profile_get_location(scene->profile, id)->unnamed_reason, reason);
}

/* Write an ELF file with at most one function, and add it to the file table. */
static uint32_t add_program_of_size(struct scene *scene, const char *name, const char *function,
				    uint64_t size, uint64_t *ret_offset)
{
	Elf64_Sym symbols[2] = {{0},
				{.st_name = 1,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				 .st_shndx = 1,
				 .st_value = 0x1000,
				 .st_size = size}};
	char path[TEST_PATH_BYTES + 128];
	char names[64] = "";
	struct file_identity identity = {
		.path = path, .build_id = {0x12, 0x34}, .build_id_size = 2};
	struct elf_writer writer = {.entry = scene->entry};
	struct text bytes;
	uint32_t file;

	snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = 0x1000,
						     .size = 0x100});
	if (function) {
		strcpy(names + 1, function);
		elf_writer_add(&writer, (struct elf_section){.name = ".strtab",
							     .type = SHT_STRTAB,
							     .data = names,
							     .size = sizeof(names)});
		elf_writer_add(&writer, (struct elf_section){.name = ".symtab",
							     .type = SHT_SYMTAB,
							     .data = symbols,
							     .size = sizeof(symbols),
							     .link = 2,
							     .entry_size = sizeof(symbols[0])});
	}
	bytes = elf_writer_write(&writer);
	write_file(path, bytes.data, bytes.length);
	text_release(&bytes);
	if (scene->owner)
		assert_int_equal(chown(path, scene->owner, scene->owner), 0);
	assert_int_equal(file_table_add(scene->files, &text_range, &identity, &file), 0);
	*ret_offset = writer.offsets[0];
	return file;
}

static uint32_t add_program(struct scene *scene, const char *name, const char *function,
			    uint64_t *ret_offset)
{
	return add_program_of_size(scene, name, function, 0x40, ret_offset);
}

static void a_name_from_a_symbol_without_size_is_marked(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t sizeless = add_program_of_size(scene, "sizeless", "label", 0, &offset);
	uint32_t location = add_location(scene, LOCATION_FILE, sizeless, offset + 4);

	name_all(scene);
	assert_frame(scene, location, "label", "sizeless", UNNAMED_NOT);
	assert_true(profile_get_location(scene->profile, location)->is_sizeless);
}

static void an_address_in_a_function_gets_its_name_and_no_neighbour_does(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t file = add_program(scene, "program", "_Z4workiPv", &offset);
	uint32_t inside = add_location(scene, LOCATION_FILE, file, offset + 0x3f);
	uint32_t outside = add_location(scene, LOCATION_FILE, file, offset + 0x40);
	uint32_t headers = add_location(scene, LOCATION_FILE, file, 3);

	name_all(scene);
	assert_frame(scene, inside, "work", "program", UNNAMED_NOT);
	assert_false(profile_get_location(scene->profile, inside)->is_sizeless);
	assert_true(profile_get_location(scene->profile, inside)->has_elf_address);
	assert_int_equal(profile_get_location(scene->profile, inside)->elf_address, 0x103f);
	assert_string_equal(profile_get_string(scene->profile, get_frame(scene, inside)->full_name),
			    "work(int, void*)");
	assert_int_equal(get_frame(scene, inside)->kind, FRAME_USER);
	assert_frame(scene, outside, "[program]", "program", UNNAMED_NO_SYMBOL);
	assert_frame(scene, headers, "[program]", "program", UNNAMED_NO_SYMBOL);
}

static void an_elf_address_needs_no_file_offset(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t file = add_program(scene, "program", "_Z4workiPv", &offset);
	uint32_t inside = add_location(scene, LOCATION_ELF, file, 0x1000 + 0x3f);
	uint32_t outside = add_location(scene, LOCATION_ELF, file, 3);

	assert_int_not_equal(offset, 0x1000);
	name_all(scene);
	assert_frame(scene, inside, "work", "program", UNNAMED_NOT);
	assert_frame(scene, outside, "[program]", "program", UNNAMED_NO_SYMBOL);
	assert_false(symbolizer_is_outermost(scene->symbolizer, scene->profile, inside));
}

static void an_address_may_count_from_where_the_file_starts(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t file = add_program(scene, "program", "work", &offset);
	uint32_t location = add_location(scene, LOCATION_ELF, file, offset + 0x3f);

	name_all(scene);
	assert_frame(scene, location, "work", "program", UNNAMED_NOT);
}

static void of_files_with_one_build_id_the_one_with_symbols_names_all(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint64_t stripped_offset;
	uint32_t stripped = add_program(scene, "stripped", NULL, &stripped_offset);
	uint32_t whole = add_program(scene, "whole", "work", &offset);
	uint32_t location = add_location(scene, LOCATION_FILE, stripped, offset + 4);

	assert_int_not_equal(stripped, whole);
	name_all(scene);
	assert_frame(scene, location, "work", "stripped", UNNAMED_NOT);
}

static void of_files_with_one_build_id_and_two_owners_each_names_its_own(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t stripped;
	uint32_t location;
	uint32_t forged;

	if (geteuid() != 0)
		skip();
	stripped = add_program(scene, "stripped", NULL, &offset);
	location = add_location(scene, LOCATION_FILE, stripped, offset + 4);
	scene->owner = 65534;
	forged = add_program(scene, "forged", "evil", &offset);
	forged = add_location(scene, LOCATION_FILE, forged, offset + 4);

	name_all(scene);
	assert_frame(scene, location, "[stripped]", "stripped", UNNAMED_NO_SYMBOL);
	assert_frame(scene, forged, "evil", "forged", UNNAMED_NOT);
}

static void a_file_that_cannot_be_opened_says_so(void **state)
{
	struct scene *scene = *state;
	struct file_identity identity = {.path = "/nonexistent/libx.so"};
	uint32_t file;
	uint32_t location;

	assert_int_equal(file_table_add(scene->files, &text_range, &identity, &file), 0);
	location = add_location(scene, LOCATION_FILE, file, 0x1234);
	name_all(scene);
	assert_frame(scene, location, "[libx.so]", "libx.so", UNNAMED_NO_FILE);
}

/* Its inode is the same; the symbols in it are of no code that ran. */
static void an_overwritten_file_gives_no_names(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t file = add_program(scene, "program", "work", &offset);
	uint32_t location = add_location(scene, LOCATION_FILE, file, offset + 4);
	char path[TEST_PATH_BYTES + 128];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/program", scene->folder);
	stream = fopen(path, "ae");
	assert_non_null(stream);
	fputs("more", stream);
	assert_int_equal(fclose(stream), 0);
	name_all(scene);
	assert_frame(scene, location, "[program]", "program", UNNAMED_BUILD_ID_DIFFERS);
	assert_false(symbolizer_is_outermost(scene->symbolizer, scene->profile, location));
}

static void a_file_that_is_not_elf_has_no_symbols(void **state)
{
	struct scene *scene = *state;
	struct file_identity identity = {0};
	char path[TEST_PATH_BYTES + 128];
	uint32_t file;
	uint32_t location;

	scene_write(scene, "jitted", "not ELF at all");
	snprintf(path, sizeof(path), "%s/jitted", scene->folder);
	identity.path = path;
	assert_int_equal(file_table_add(scene->files, &text_range, &identity, &file), 0);
	location = add_location(scene, LOCATION_FILE, file, 4);
	name_all(scene);
	assert_frame(scene, location, "[jitted]", "jitted", UNNAMED_NO_SYMBOL);
	assert_false(symbolizer_is_outermost(scene->symbolizer, scene->profile, location));
}

static void kernel_addresses_are_named_by_kallsyms_and_events(void **state)
{
	struct scene *scene = *state;
	uint32_t read = add_location(scene, LOCATION_KERNEL, 0, 0xffffffff81000010);
	uint32_t bpf = add_location(scene, LOCATION_KERNEL, 0, 0xffffffffc1000010);
	uint32_t module = add_location(scene, LOCATION_KERNEL, 0, 0xffffffffc0000010);
	uint32_t other = add_location(scene, LOCATION_KERNEL, 0, 0xffffffffd0000010);

	scene_write(scene, "kallsyms",
		    "ffffffff81000000 T _stext\nffffffff81000000 t vfs_read.isra.0\n"
		    "ffffffff82000000 T _etext\n");
	scene_write(scene, "modules", "mod 16384 0 - Live 0xffffffffc0000000\n");
	assert_int_equal(symbolizer_add_kernel_symbol(scene->symbolizer, 0xffffffffc1000000, 64,
						      "bpf_prog_x"),
			 0);
	name_all(scene);
	assert_frame(scene, read, "vfs_read", "[kernel]", UNNAMED_NOT);
	assert_int_equal(get_frame(scene, read)->kind, FRAME_KERNEL);
	assert_frame(scene, bpf, "bpf_prog_x", "[bpf]", UNNAMED_NOT);
	assert_frame(scene, module, "mod+0x10", "mod", UNNAMED_NOT);
	assert_frame(scene, other, "[kernel]", "[kernel]", UNNAMED_NO_SYMBOL);
	assert_false(symbolizer_is_kernel_restricted(scene->symbolizer));
}

static void a_restricted_kernel_is_noticed(void **state)
{
	struct scene *scene = *state;
	uint32_t location = add_location(scene, LOCATION_KERNEL, 0, 0xffffffff81000010);

	scene_write(scene, "kallsyms", "0000000000000000 T _stext\n");
	name_all(scene);
	assert_frame(scene, location, "[kernel]", "[kernel]", UNNAMED_NO_SYMBOL);
	assert_true(symbolizer_is_kernel_restricted(scene->symbolizer));
}

/* One process that maps anonymous memory at [0x10000, 0x20000). */
static const struct process *add_process(struct scene *scene)
{
	struct file_identity anonymous = {.path = "//anon"};
	struct mapping mapping = {.start = 0x10000, .end = 0x20000, .file = FILE_NONE};
	struct process *process;
	bool is_in_exec;

	assert_int_equal(process_table_on_comm(scene->processes, 1, PID, "java", true), 0);
	assert_int_equal(process_table_on_mmap(scene->processes, 2, PID, &mapping, &anonymous), 0);
	assert_int_equal(process_table_find(scene->processes, 3, PID, GENERATION_UNKNOWN, false,
					    &process, &is_in_exec),
			 0);
	return process;
}

static void code_without_file_is_named_by_the_perf_map(void **state)
{
	struct scene *scene = *state;
	const struct process *process = add_process(scene);
	uint32_t compiled;
	uint32_t anonymous;
	uint32_t unmapped;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t%u\t%u\t%u\t%u\n", getuid(), geteuid(), geteuid(),
		 geteuid());
	scene_make_folder(scene, "77");
	scene_write(scene, "77/status", status);
	scene_make_folder(scene, "77/root");
	scene_make_folder(scene, "77/root/tmp");
	scene_write(scene, "77/root/tmp/perf-77.map", "10000 100 LFoo;::bar\n");
	assert_int_equal(process_table_follow_code(scene->processes, 4, process->id), 0);
	compiled = add_location(scene, LOCATION_PROCESS, process->id, 0x10080);
	anonymous = add_location(scene, LOCATION_PROCESS, process->id, 0x10100);
	unmapped = add_location(scene, LOCATION_PROCESS, process->id, 0x90000);
	name_all(scene);
	assert_frame(scene, compiled, "LFoo:::bar", "[jit]", UNNAMED_NOT);
	assert_int_equal(get_frame(scene, compiled)->kind, FRAME_JIT);
	assert_frame(scene, anonymous, "[anon]", "[anon]", UNNAMED_NO_SYMBOL);
	assert_frame(scene, unmapped, "[unknown]", "[unknown]", UNNAMED_NO_MAPPING);
}

/* As .NET does: the memory has a name. */
static void code_in_a_file_that_is_not_elf_is_named_by_the_perf_map(void **state)
{
	struct scene *scene = *state;
	const struct process *process = add_process(scene);
	struct mapping mapping = {.start = 0x30000, .end = 0x40000, .file = FILE_NONE};
	struct file_identity identity = {0};
	char path[TEST_PATH_BYTES + 128];
	uint32_t compiled;
	uint32_t unnamed;
	char status[64];

	scene_write(scene, "memfd:jitted", "not ELF at all");
	snprintf(path, sizeof(path), "%s/memfd:jitted", scene->folder);
	identity.path = path;
	assert_int_equal(process_table_on_mmap(scene->processes, 4, PID, &mapping, &identity), 0);
	snprintf(status, sizeof(status), "Uid:\t%u\t%u\t%u\t%u\n", getuid(), geteuid(), geteuid(),
		 geteuid());
	scene_make_folder(scene, "77");
	scene_write(scene, "77/status", status);
	scene_make_folder(scene, "77/root");
	scene_make_folder(scene, "77/root/tmp");
	scene_write(scene, "77/root/tmp/perf-77.map", "30000 100 compiled\n");
	assert_int_equal(process_table_follow_code(scene->processes, 5, process->id), 0);
	compiled = add_location(scene, LOCATION_PROCESS, process->id, 0x30080);
	unnamed = add_location(scene, LOCATION_PROCESS, process->id, 0x30100);
	name_all(scene);
	assert_frame(scene, compiled, "compiled", "[jit]", UNNAMED_NOT);
	assert_frame(scene, unnamed, "[memfd:jitted]", "memfd:jitted", UNNAMED_NO_SYMBOL);
}

static bool is_outermost(struct scene *scene, uint32_t file, uint64_t elf_address)
{
	uint32_t id = add_location(scene, LOCATION_ELF, file, elf_address);

	return symbolizer_is_outermost(scene->symbolizer, scene->profile, id);
}

/* As of a _start that is written by hand. */
static void undescribed_code_at_the_entry_point_is_outermost(void **state)
{
	struct scene *scene = *state;
	uint64_t offset;
	uint32_t program;

	scene->entry = 0x1020;
	program = add_program(scene, "program", NULL, &offset);
	assert_true(is_outermost(scene, program, 0x1020));
	assert_true(is_outermost(scene, program, 0x1028));
	assert_false(is_outermost(scene, program, 0x101f));
	assert_false(is_outermost(scene, program, 0x10c0));
}

static void owners_that_do_not_exist_are_unknown(void **state)
{
	struct scene *scene = *state;
	uint32_t file = add_location(scene, LOCATION_FILE, 99, 0x10);
	uint32_t process = add_location(scene, LOCATION_PROCESS, 99, 0x10);

	name_all(scene);
	assert_frame(scene, file, "[unknown]", "[unknown]", UNNAMED_NO_FILE);
	assert_frame(scene, process, "[unknown]", "[unknown]", UNNAMED_NO_MAPPING);
}

static void locations_that_have_frames_keep_them(void **state)
{
	struct scene *scene = *state;
	uint32_t location = add_location(scene, LOCATION_KERNEL, 0, 0xffffffff81000010);
	struct frame frame = {0};

	assert_int_equal(profile_add_string(scene->profile, "imported", &frame.name), 0);
	assert_int_equal(profile_set_frames(scene->profile, location, &frame, 1, UNNAMED_NOT), 0);
	name_all(scene);
	assert_frame(scene, location, "imported", "", UNNAMED_NOT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_address_in_a_function_gets_its_name_and_no_neighbour_does),
		TEST(an_elf_address_needs_no_file_offset),
		TEST(an_address_may_count_from_where_the_file_starts),
		TEST(of_files_with_one_build_id_the_one_with_symbols_names_all),
		TEST(of_files_with_one_build_id_and_two_owners_each_names_its_own),
		TEST(a_file_that_cannot_be_opened_says_so),
		TEST(a_name_from_a_symbol_without_size_is_marked),
		TEST(an_overwritten_file_gives_no_names),
		TEST(a_file_that_is_not_elf_has_no_symbols),
		TEST(kernel_addresses_are_named_by_kallsyms_and_events),
		TEST(a_restricted_kernel_is_noticed),
		TEST(code_without_file_is_named_by_the_perf_map),
		TEST(code_in_a_file_that_is_not_elf_is_named_by_the_perf_map),
		TEST(undescribed_code_at_the_entry_point_is_outermost),
		TEST(owners_that_do_not_exist_are_unknown),
		TEST(locations_that_have_frames_keep_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
