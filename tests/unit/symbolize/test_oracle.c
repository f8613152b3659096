/*
 * Names, inlined calls and lines, compared with what binutils' addr2line and llvm-symbolizer say
 * about programs that gcc, clang and rustc make here and now.
 *
 * addr2line of binutils 2.40 does not see calls whose ranges are in DW_FORM_rnglistx, and names an
 * innermost inlined call after the function around it where it has no linkage name. So it is not
 * asked about clang's DWARF 5 and about C++.
 */
#include "objfile/objfile.h"
#include "test_folder.h"
#include "unit.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "objfile/demangle.h"
#include "symbolize/symbolizer.h"

#define ADDRESSES_MAX 6000

#define ADDR2LINE       "addr2line -a -f -i -C"
#define LLVM_SYMBOLIZER "llvm-symbolizer --output-style=GNU -a -f -i --no-demangle"

/* One line of the answer about an address: innermost first. */
struct answer {
	char *name;
	char *file; /* base name; "??" when unknown */
	uint32_t line;
};

struct question {
	uint64_t elf_address;
	uint32_t location;
	size_t first_answer;
	size_t num_answers;
};

/* A function of the symbol table. */
struct function {
	uint64_t start;
	uint64_t end;
	char *name; /* full, demangled */
};

struct bench {
	char folder[TEST_PATH_BYTES];
	char sources[512];
};

struct comparison {
	ARRAY(struct question) questions;
	ARRAY(struct answer) answers;
	ARRAY(struct function) functions;
	struct demangler *demangler;
	char program[TEST_PATH_BYTES + 128]; /* path of the file that is symbolized */
	char oracle[TEST_PATH_BYTES + 128];  /* path of the file that addr2line reads */
	struct file_table *files;
	struct process_table *processes;
	struct profile *profile;
	struct symbolizer *symbolizer;
	size_t num_mismatches;
	size_t num_inlined;
	size_t num_lines;
};

static bool _printf_(2, 3) run(const struct bench *bench, const char *format, ...)
{
	struct text command = {0};
	char body[2048];
	va_list arguments;
	int status;

	va_start(arguments, format);
	vsnprintf(body, sizeof(body), format, arguments);
	va_end(arguments);
	text_printf(&command, "cd %s && { %s; } >>log 2>&1", bench->folder, body);
	status = system(command.data);
	text_release(&command);
	return status == 0;
}

/* The first word of `tool` is the program. */
static void require(const struct bench *bench, const char *tool)
{
	int length = (int)strcspn(tool, " ");

	if (run(bench, "command -v %.*s", length, tool))
		return;
	print_message("needs %.*s\n", length, tool);
	skip();
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	char file[] = __FILE__;
	char *here = realpath(dirname(file), NULL);

	assert_non_null(bench);
	assert_non_null(here);
	snprintf(bench->sources, sizeof(bench->sources), "%s/workload", here);
	free(here);
	test_folder_make(bench->folder);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	(void)run(bench, "rm -rf %s", bench->folder); /* a folder that stays does no harm */
	free(bench);
	return 0;
}

static Elf *open_elf(const char *path, int *ret_fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*ret_fd >= 0);
	elf = elf_begin(*ret_fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	return elf;
}

static uint64_t get_file_offset(Elf *elf, uint64_t elf_address)
{
	size_t num_segments;
	GElf_Phdr segment;

	assert_int_equal(elf_getphdrnum(elf, &num_segments), 0);
	for (size_t i = 0; i < num_segments; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &segment));
		if (segment.p_type == PT_LOAD && elf_address >= segment.p_vaddr &&
		    elf_address - segment.p_vaddr < segment.p_filesz)
			return elf_address - segment.p_vaddr + segment.p_offset;
	}
	return UINT64_MAX;
}

static void ask(struct comparison *comparison, Elf *elf, uint64_t elf_address)
{
	uint64_t offset = get_file_offset(elf, elf_address);
	struct question *question;

	if (offset == UINT64_MAX || comparison->questions.length >= ADDRESSES_MAX)
		return;
	question = array_add(&comparison->questions);
	assert_non_null(question);
	question->elf_address = elf_address;
	assert_int_equal(profile_add_location(comparison->profile, LOCATION_FILE, 0, offset,
					      &question->location),
			 0);
}

static char *demangle(struct comparison *comparison, const char *name)
{
	struct demangled_name demangled;

	assert_int_equal(demangler_get(comparison->demangler, name, &demangled), 0);
	return strdup(demangled.full_name);
}

static void add_function(struct comparison *comparison, const GElf_Sym *symbol, const char *name)
{
	struct function *function = array_add(&comparison->functions);

	assert_non_null(function);
	assert_non_null(name);
	*function = (struct function){
		.start = symbol->st_value,
		.end = symbol->st_value + symbol->st_size,
		.name = demangle(comparison, name),
	};
}

/* Several addresses in every function of the symbol table. */
static void ask_about_all_functions(struct comparison *comparison)
{
	int fd;
	Elf *elf = open_elf(comparison->oracle, &fd);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		GElf_Sym symbol;

		assert_non_null(gelf_getshdr(scn, &header));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(scn, NULL), i, &symbol); i++) {
			int type = GELF_ST_TYPE(symbol.st_info);

			if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !symbol.st_size)
				continue;
			add_function(comparison, &symbol,
				     elf_strptr(elf, header.sh_link, symbol.st_name));
			for (uint64_t part = 0; part < 12; part++)
				ask(comparison, elf, symbol.st_value + symbol.st_size * part / 12);
		}
	}
	elf_end(elf);
	close(fd);
	assert_true(comparison->questions.length > 20);
}

static void read_answer(struct comparison *comparison, char *name, char *location)
{
	struct answer *answer = array_add(&comparison->answers);
	char *colon = strrchr(location, ':');

	assert_non_null(answer);
	assert_non_null(colon);
	*colon = '\0';
	answer->name = demangle(comparison, name);
	answer->file = strdup(path_basename(location));
	answer->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static char *read_line(FILE *file, char **buffer, size_t *size)
{
	ssize_t length = getline(buffer, size, file);

	if (length <= 0)
		return NULL;
	(*buffer)[length - 1] = '\0';
	return *buffer;
}

/* The option -a prints the address before the pairs of lines that belong to it. */
static void hear_oracle(struct bench *bench, struct comparison *comparison, const char *tool)
{
	char path[TEST_PATH_BYTES + 128];
	char command[1024];
	char *buffers[2] = {NULL, NULL};
	size_t sizes[2] = {0, 0};
	struct question *question = comparison->questions.items - 1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/addresses", bench->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	array_for_each (&comparison->questions, asked)
		fprintf(file, "0x%lx\n", (unsigned long)asked->elf_address);
	fclose(file);
	snprintf(command, sizeof(command), "%s -e %s <%s", tool, comparison->oracle, path);
	file = popen(command, "re");
	assert_non_null(file);
	while (read_line(file, &buffers[0], &sizes[0])) {
		if (string_starts_with(buffers[0], "0x")) {
			question++;
			question->first_answer = comparison->answers.length;
			continue;
		}
		assert_non_null(read_line(file, &buffers[1], &sizes[1]));
		read_answer(comparison, buffers[0], buffers[1]);
		question->num_answers++;
	}
	assert_int_equal(pclose(file), 0);
	assert_ptr_equal(question + 1, comparison->questions.items + comparison->questions.length);
	free(buffers[0]);
	free(buffers[1]);
}

/* Cut what distinguishes parts and copies of a function: debug information does not know it. */
static void strip_clone(char *name)
{
	static const char *const marks[] = {" [clone",     ".cold",  ".part.",
					    ".constprop.", ".isra.", ".llvm."};

	for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
		char *mark = strstr(name, marks[i]);

		if (mark)
			*mark = '\0';
	}
}

/*
 * A function itself is named by the symbol table here and by debug information there, which knows
 * one of several names for the same code, and is less precise for lambdas ("operator()").
 */
static bool function_is_known_as(struct comparison *comparison, uint64_t elf_address,
				 const char *ours, const char *theirs)
{
	if (strstr(ours, theirs))
		return true;
	array_for_each (&comparison->functions, function) {
		if (elf_address >= function->start && elf_address < function->end &&
		    string_starts_with(function->name, theirs))
			return true;
	}
	return false;
}

static bool names_agree(struct comparison *comparison, uint64_t elf_address,
			const struct frame *frame, const char *theirs)
{
	char *plain = strdup(profile_get_string(comparison->profile, frame->full_name));
	char *other = strdup(theirs);
	bool agree;

	strip_clone(plain);
	strip_clone(other);
	agree = string_equals(plain, other);
	if (!frame->is_inlined && !agree)
		agree = function_is_known_as(comparison, elf_address, plain, other);
	free(plain);
	free(other);
	return agree;
}

static bool frame_agrees(struct comparison *comparison, uint64_t elf_address,
			 const struct frame *frame, const struct answer *answer)
{
	const struct profile *profile = comparison->profile;
	const char *file = path_basename(profile_get_string(profile, frame->file));

	if (!names_agree(comparison, elf_address, frame, answer->name))
		return false;
	/* Without debug information, addr2line gives the object file that the linker noted. */
	if (frame->file == STRING_EMPTY)
		return answer->line == 0;
	comparison->num_lines++;
	return string_equals(file, answer->file) && frame->line == answer->line;
}

static void print_difference(struct comparison *comparison, const struct question *question)
{
	const struct profile *profile = comparison->profile;
	const struct location *location = profile_get_location(profile, question->location);

	print_message("%s 0x%lx\n", comparison->program, (unsigned long)question->elf_address);
	for (uint32_t i = 0; i < location->num_frames; i++) {
		const struct frame *frame = profile_get_frame(profile, location->first_frame + i);

		print_message("   ours   %s %s:%u\n", profile_get_string(profile, frame->full_name),
			      path_basename(profile_get_string(profile, frame->file)), frame->line);
	}
	for (size_t i = 0; i < question->num_answers; i++) {
		const struct answer *answer =
			&comparison->answers.items[question->first_answer + i];

		print_message("   theirs %s %s:%u\n", answer->name, answer->file, answer->line);
	}
}

static void compare(struct comparison *comparison)
{
	array_for_each (&comparison->questions, question) {
		const struct location *location =
			profile_get_location(comparison->profile, question->location);
		bool agrees = location->num_frames == question->num_answers;

		for (uint32_t i = 0; i < location->num_frames && agrees; i++) {
			const struct frame *frame =
				profile_get_frame(comparison->profile, location->first_frame + i);

			assert_int_equal(frame->is_inlined, i + 1 < location->num_frames);
			comparison->num_inlined += frame->is_inlined;
			agrees = frame_agrees(
				comparison, question->elf_address, frame,
				&comparison->answers.items[question->first_answer + i]);
		}
		if (!agrees && comparison->num_mismatches++ < 12)
			print_difference(comparison, question);
	}
	print_message("%s: %zu addresses, %zu inlined calls, %zu lines, %zu differences\n",
		      comparison->program, comparison->questions.length, comparison->num_inlined,
		      comparison->num_lines, comparison->num_mismatches);
}

static void comparison_release(struct comparison *comparison)
{
	array_for_each (&comparison->answers, answer) {
		free(answer->name);
		free(answer->file);
	}
	array_for_each (&comparison->functions, function)
		free(function->name);
	array_release(&comparison->functions);
	array_release(&comparison->answers);
	demangler_free(comparison->demangler);
	array_release(&comparison->questions);
	symbolizer_free(comparison->symbolizer);
	profile_free(comparison->profile);
	process_table_free(comparison->processes);
	file_table_free(comparison->files);
}

static int read_build_id(void *context _unused_, int fd, uint8_t *build_id, uint8_t *size)
{
	return build_id_read_fd(fd, build_id, size);
}

/* Symbolize `program` and compare with what the tool says about `oracle`. */
static struct comparison compare_files(struct bench *bench, const char *program, const char *oracle,
				       const char *tool)
{
	struct comparison comparison = {0};
	struct file_identity identity = {.path = comparison.program};
	struct mapped_range range = {.pid = 1, .start = 0x1000, .end = 0x2000};
	struct symbolizer_opts opts = {.debug_root = bench->folder, .proc_root = bench->folder};
	uint32_t file;

	snprintf(comparison.program, sizeof(comparison.program), "%s/%s", bench->folder, program);
	snprintf(comparison.oracle, sizeof(comparison.oracle), "%s/%s", bench->folder, oracle);
	comparison.demangler = demangler_new();
	comparison.files =
		file_table_new(bench->folder, &(struct file_build_id_reader){read_build_id, NULL});
	assert_non_null(comparison.files);
	comparison.processes = process_table_new(bench->folder, comparison.files);
	comparison.profile = profile_new();
	assert_int_equal(file_table_add(comparison.files, &range, &identity, &file), 0);
	assert_int_equal(file, 0);
	comparison.symbolizer = symbolizer_new(comparison.files, comparison.processes, &opts);
	assert_non_null(comparison.symbolizer);
	ask_about_all_functions(&comparison);
	hear_oracle(bench, &comparison, tool);
	assert_int_equal(symbolizer_name_profile(comparison.symbolizer, comparison.profile), 0);
	compare(&comparison);
	comparison_release(&comparison);
	return comparison;
}

static void assert_agreement(struct bench *bench, const char *program, const char *oracle,
			     const char *tool)
{
	struct comparison comparison;

	require(bench, tool);
	comparison = compare_files(bench, program, oracle, tool);

	assert_int_equal(comparison.num_mismatches, 0);
	assert_true(comparison.num_inlined > 0);
	assert_true(comparison.num_lines > 0);
}

static void c_program_of_gcc_agrees_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	assert_true(run(bench, "gcc -O2 -g -o gcc-c %s/inlined_calls.c", bench->sources));
	assert_agreement(bench, "gcc-c", "gcc-c", ADDR2LINE);
}

static void c_program_of_gcc_in_dwarf_4_agrees_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	assert_true(run(bench, "gcc -O3 -g -gdwarf-4 -no-pie -o gcc-4 %s/inlined_calls.c",
			bench->sources));
	assert_agreement(bench, "gcc-4", "gcc-4", ADDR2LINE);
}

static void c_program_of_clang_agrees_with_llvm_symbolizer(void **state)
{
	struct bench *bench = *state;

	require(bench, "clang");
	assert_true(run(bench, "clang -O2 -g -o clang-c %s/inlined_calls.c", bench->sources));
	assert_agreement(bench, "clang-c", "clang-c", LLVM_SYMBOLIZER);
}

static void cxx_program_of_gcc_agrees_with_llvm_symbolizer(void **state)
{
	struct bench *bench = *state;

	require(bench, "g++");
	assert_true(run(bench, "g++ -O2 -g -o gcc-cxx %s/templates.cc", bench->sources));
	assert_agreement(bench, "gcc-cxx", "gcc-cxx", LLVM_SYMBOLIZER);
}

static void cxx_program_of_clang_agrees_with_llvm_symbolizer(void **state)
{
	struct bench *bench = *state;

	require(bench, "clang++");
	assert_true(run(bench, "clang++ -O2 -g -o clang-cxx %s/templates.cc", bench->sources));
	assert_agreement(bench, "clang-cxx", "clang-cxx", LLVM_SYMBOLIZER);
}

static void rust_program_agrees_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "rustc");
	assert_true(run(bench, "rustc -O -g -o rust %s/traits.rs", bench->sources));
	assert_agreement(bench, "rust", "rust", ADDR2LINE);
}

static void rust_program_with_new_names_agrees_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "rustc");
	assert_true(run(bench, "rustc -O -g -C symbol-mangling-version=v0 -o rust-v0 %s/traits.rs",
			bench->sources));
	assert_agreement(bench, "rust-v0", "rust-v0", ADDR2LINE);
}

static void static_program_agrees_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	assert_true(run(bench,
			"gcc -O2 -g -static -c -o static.o %s/inlined_calls.c && "
			"gcc -static -o static static.o",
			bench->sources));
	assert_agreement(bench, "static", "static", ADDR2LINE);
}

static void compressed_debug_sections_agree_with_addr2line(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	assert_true(run(bench, "gcc -O2 -g -gz=zlib -o packed %s/inlined_calls.c", bench->sources));
	assert_agreement(bench, "packed", "packed", ADDR2LINE);
}

static void debug_file_is_found_by_build_id(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	require(bench, "objcopy");
	assert_true(
		run(bench,
		    "gcc -O2 -g -Wl,--build-id=0xabcdef0123456789 -o whole %s/inlined_calls.c && "
		    "mkdir -p .build-id/ab && "
		    "objcopy --only-keep-debug whole .build-id/ab/cdef0123456789.debug && "
		    "strip -o stripped whole",
		    bench->sources));
	assert_agreement(bench, "stripped", "whole", ADDR2LINE);
}

static void debug_file_is_found_by_link(void **state)
{
	struct bench *bench = *state;

	require(bench, "gcc");
	require(bench, "objcopy");
	assert_true(run(bench,
			"gcc -O2 -g -Wl,--build-id=none -o linkwhole %s/inlined_calls.c && "
			"mkdir -p .debug && "
			"objcopy --only-keep-debug linkwhole .debug/linked.debug && "
			"strip -o linked linkwhole && "
			"objcopy --add-gnu-debuglink=.debug/linked.debug linked",
			bench->sources));
	assert_agreement(bench, "linked", "linkwhole", ADDR2LINE);
}

/* Three units whose functions alternate, each with more lines than are kept while another is read. */
static void make_many_lines(struct bench *bench)
{
	require(bench, "gcc");
	require(bench, "objcopy");
	assert_true(run(bench,
			"for unit in '1 4 -DHAS_MAIN' '2 5' '3 6'; do set -- $unit; "
			"gcc -O2 -g -ffunction-sections -DFIRST=f$1 -DSECOND=f$2 $3 -c "
			"-o unit$1.o %s/many_lines.c || exit 1; done; "
			"gcc -Wl,--sort-section=name -o many-lines unit1.o unit2.o unit3.o",
			bench->sources));
}

static void units_are_read_one_after_the_other(void **state)
{
	struct bench *bench = *state;

	make_many_lines(bench);
	assert_agreement(bench, "many-lines", "many-lines", ADDR2LINE);
}

static void compressed_units_are_read_one_after_the_other(void **state)
{
	struct bench *bench = *state;

	make_many_lines(bench);
	assert_true(run(bench, "objcopy --compress-debug-sections=zlib many-lines packed-lines"));
	assert_agreement(bench, "packed-lines", "many-lines", ADDR2LINE);
}

static void units_that_older_compilers_compressed_are_kept(void **state)
{
	struct bench *bench = *state;

	make_many_lines(bench);
	if (!run(bench, "objcopy --compress-debug-sections=zlib-gnu many-lines old-lines")) {
		print_message("objcopy cannot compress as older compilers did\n");
		skip();
	}
	assert_agreement(bench, "old-lines", "many-lines", ADDR2LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_program_of_gcc_agrees_with_addr2line),
		cmocka_unit_test(c_program_of_gcc_in_dwarf_4_agrees_with_addr2line),
		cmocka_unit_test(c_program_of_clang_agrees_with_llvm_symbolizer),
		cmocka_unit_test(cxx_program_of_gcc_agrees_with_llvm_symbolizer),
		cmocka_unit_test(cxx_program_of_clang_agrees_with_llvm_symbolizer),
		cmocka_unit_test(rust_program_agrees_with_addr2line),
		cmocka_unit_test(rust_program_with_new_names_agrees_with_addr2line),
		cmocka_unit_test(static_program_agrees_with_addr2line),
		cmocka_unit_test(compressed_debug_sections_agree_with_addr2line),
		cmocka_unit_test(debug_file_is_found_by_build_id),
		cmocka_unit_test(debug_file_is_found_by_link),
		cmocka_unit_test(units_are_read_one_after_the_other),
		cmocka_unit_test(compressed_units_are_read_one_after_the_other),
		cmocka_unit_test(units_that_older_compilers_compressed_are_kept),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
