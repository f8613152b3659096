/* What processes without rights say of ELF files is what we would have read ourselves. */
#include "collect/elf/elf_worker.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"
#include "unwind/table_cache.h"
#include "unwind/table_fixture.h"

#define SOMEBODY 4711

static struct elf_worker *start(void)
{
	struct elf_worker *worker;

	assert_int_equal(elf_worker_new(CONFINEMENT_DEFAULT_USER, false, &worker), 0);
	return worker;
}

/* The test itself, as a file of this owner. */
static struct elf_source_file open_own_program(uid_t owner)
{
	struct elf_source_file file = {.owner = owner, .path = "/test"};

	file.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(file.fd >= 0);
	return file;
}

static struct objfile *open_objfile(const struct elf_source_file *file)
{
	struct objfile *objfile;

	assert_int_equal(objfile_open(file->fd, file->path, NULL, &objfile, NULL), 0);
	return objfile;
}

/* Our children's pids; returns how many there are. */
static int list_children(pid_t *pids)
{
	_cleanup_(text_release) struct text children = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	assert_int_equal(file_read_at(AT_FDCWD, path, 4096, &children), 0);
	return sscanf(children.data ? children.data : "", "%d %d", &pids[0], &pids[1]);
}

static void kill_children(void)
{
	pid_t pids[2];
	int count = list_children(pids);

	assert_true(count > 0);
	for (int i = 0; i < count; i++)
		assert_int_equal(kill(pids[i], SIGKILL), 0);
}

static void a_file_is_identified(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	_cleanup_(objfile_unrefp) struct objfile *objfile = open_objfile(&file);
	struct elf_worker *worker = start();
	struct elf_identity identity;
	const uint8_t *build_id;
	uint8_t size;

	assert_int_equal(elf_worker_identify(worker, &file, &identity), 0);
	build_id = objfile_get_build_id(objfile, &size);
	assert_int_equal(identity.build_id_size, size);
	assert_memory_equal(identity.build_id, build_id, size);
	assert_int_equal(identity.num_segments, objfile_get_layout(objfile)->segments.length);
	for (uint32_t i = 0; i < identity.num_segments; i++) {
		const struct objfile_segment *segment =
			&objfile_get_layout(objfile)->segments.items[i];

		assert_true(identity.segments[i].file_offset == segment->file_offset);
		assert_true(identity.segments[i].file_size == segment->file_size);
		assert_true(identity.segments[i].elf_address == segment->elf_address);
		assert_true(identity.segments[i].memory_size == segment->memory_size);
		assert_int_equal(identity.segments[i].is_executable, segment->is_executable);
	}
	close(file.fd);
	elf_worker_free(worker);
}

static void a_table_is_what_we_would_have_built(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	_cleanup_(objfile_unrefp) struct objfile *objfile = open_objfile(&file);
	_cleanup_(unwind_table_freep) struct unwind_table *expected = NULL;
	_cleanup_(unwind_table_freep) struct unwind_table *table = NULL;
	struct elf_worker *worker = start();
	struct error error = {0};

	assert_int_equal(unwind_table_new(objfile, &expected, &error), 0);
	assert_int_equal(elf_worker_build_table(worker, &file, 0, &table, &error), 0);
	assert_int_equal(table->num_rows, expected->num_rows);
	assert_int_equal(table->num_rules, expected->num_rules);
	assert_int_equal(table->num_pages, expected->num_pages);
	assert_memory_equal(table->rows, expected->rows,
			    expected->num_rows * sizeof(*expected->rows));
	assert_memory_equal(table->rules, expected->rules,
			    expected->num_rules * sizeof(*expected->rules));
	assert_true(elf_worker_get_cost(worker).cpu_ns > 0);
	close(file.fd);
	elf_worker_free(worker);
}

static void a_table_has_the_hash_that_we_would_have_made(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	_cleanup_(objfile_unrefp) struct objfile *objfile = open_objfile(&file);
	struct elf_worker *worker = start();
	uint64_t expected;
	uint64_t hash;

	assert_int_equal(table_key_hash(objfile, &expected), 0);
	assert_int_equal(elf_worker_hash_table(worker, &file, &hash), 0);
	assert_true(hash == expected);
	close(file.fd);
	elf_worker_free(worker);
}

/* What has been added to the test's own ELF addresses. */
static int note_bias(struct dl_phdr_info *info, size_t size _unused_, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1; /* the program comes first */
}

static __attribute__((noinline)) uint64_t get_return_address(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void a_call_proves_what_it_proves_to_us(void **state _unused_)
{
	struct elf_source_file files[] = {open_own_program(0), open_own_program(0)};
	struct elf_worker *worker = start();
	uint64_t return_address = get_return_address();
	uint64_t callee = (uint64_t)(uintptr_t)get_return_address;
	uint64_t other = (uint64_t)(uintptr_t)a_file_is_identified;
	uint64_t bias;

	dl_iterate_phdr(note_bias, &bias);
	/* More files than are kept open, and the first one again. */
	for (uint32_t i = 0; i < 40; i++) {
		enum call_proof proof = CALL_UNPROVEN;

		files[i % 2].number = i % 20;
		assert_int_equal(elf_worker_prove_call(worker, &files[i % 2], return_address - bias,
						       callee - bias, &proof),
				 0);
		assert_int_equal(proof, CALL_PROVEN);
		assert_int_equal(elf_worker_prove_call(worker, &files[i % 2], return_address - bias,
						       other - bias, &proof),
				 0);
		assert_int_equal(proof, CALL_DISPROVEN);
	}
	close(files[0].fd);
	close(files[1].fd);
	elf_worker_free(worker);
}

static void what_is_no_elf_file_is_reported(void **state _unused_)
{
	struct elf_source_file file = {.fd = open_bytes("#!/bin/sh\n", 10), .path = "/script"};
	struct elf_worker *worker = start();
	struct elf_identity identity;
	struct unwind_table *table;
	struct error error = {0};

	assert_int_equal(elf_worker_identify(worker, &file, &identity), -ENOEXEC);
	assert_int_equal(elf_worker_build_table(worker, &file, 0, &table, &error), -ENOEXEC);
	assert_string_equal(error.message, "/script: at byte 0: expected an ELF header");
	close(file.fd);
	elf_worker_free(worker);
}

static void one_that_dies_is_replaced(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	struct elf_worker *worker = start();
	struct elf_identity identity;

	for (int i = 0; i < 5; i++) {
		kill_children();
		assert_int_equal(elf_worker_identify(worker, &file, &identity), -ECHILD);
		assert_int_equal(elf_worker_identify(worker, &file, &identity), 0);
	}
	close(file.fd);
	elf_worker_free(worker);
}

static void files_of_users_are_read_by_another_process(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	struct elf_source_file foreign = open_own_program(SOMEBODY);
	struct elf_worker *worker = start();
	struct elf_identity identity;
	pid_t pids[2];

	assert_int_equal(list_children(pids), 2);
	assert_int_equal(kill(pids[1], SIGKILL), 0);
	assert_int_equal(elf_worker_identify(worker, &foreign, &identity), -ECHILD);
	assert_int_equal(elf_worker_identify(worker, &file, &identity), 0);
	assert_int_equal(elf_worker_identify(worker, &foreign, &identity), 0);
	assert_int_equal(kill(pids[0], SIGKILL), 0);
	assert_int_equal(elf_worker_identify(worker, &foreign, &identity), 0);
	assert_int_equal(elf_worker_identify(worker, &file, &identity), -ECHILD);
	close(file.fd);
	close(foreign.fd);
	elf_worker_free(worker);
}

/* The higher niceness of both processes. */
static int get_niceness(bool is_awaited)
{
	struct elf_source_file file = open_own_program(SOMEBODY);
	struct elf_identity identity;
	struct elf_worker *worker;
	pid_t pids[2];
	int niceness[2];

	assert_int_equal(elf_worker_new(CONFINEMENT_DEFAULT_USER, is_awaited, &worker), 0);
	assert_int_equal(elf_worker_identify(worker, &file, &identity), 0);
	assert_int_equal(list_children(pids), 2);
	for (int i = 0; i < 2; i++)
		niceness[i] = getpriority(PRIO_PROCESS, (id_t)pids[i]);
	elf_worker_free(worker);
	close(file.fd);
	return niceness[0] > niceness[1] ? niceness[0] : niceness[1];
}

static void one_that_is_awaited_is_as_urgent_as_who_waits(void **state _unused_)
{
	if (setpriority(PRIO_PROCESS, 0, -3))
		skip();
	assert_int_equal(get_niceness(true), -3);
	assert_int_equal(get_niceness(false), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, 0), 0);
}

static void a_user_whose_files_end_processes_is_given_up(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	struct elf_source_file foreign = open_own_program(SOMEBODY);
	struct elf_source_file other = open_own_program(SOMEBODY + 1);
	struct elf_worker *worker = start();
	struct elf_identity identity;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(elf_worker_identify(worker, &foreign, &identity), 0);
		kill_children();
		assert_int_equal(elf_worker_identify(worker, &foreign, &identity), -ECHILD);
	}
	assert_int_equal(elf_worker_identify(worker, &foreign, &identity), -ETIMEDOUT);
	assert_int_equal(elf_worker_identify(worker, &other, &identity), 0);
	assert_int_equal(elf_worker_identify(worker, &file, &identity), -ECHILD); /* killed above */
	assert_int_equal(elf_worker_identify(worker, &file, &identity), 0);
	close(file.fd);
	close(foreign.fd);
	close(other.fd);
	elf_worker_free(worker);
}

static void a_cancelled_one_builds_nothing(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	struct elf_worker *worker = start();
	struct unwind_table *table;

	elf_worker_cancel(worker);
	assert_int_equal(elf_worker_build_table(worker, &file, 0, &table, NULL), -ECANCELED);
	close(file.fd);
	elf_worker_free(worker);
}

static void a_function_is_found_to_probe_it(void **state _unused_)
{
	struct elf_source_file file = open_own_program(0);
	struct elf_worker *worker = start();
	struct elf_probe_query query = {
		.path = "/test", .name = "main", .is_weighted = true, .argument = 2};
	_cleanup_(objfile_unrefp) struct objfile *objfile = open_objfile(&file);
	struct probe_point_list found = {0};
	struct error error = {0};
	uint64_t elf_address;
	struct symbol symbol;

	assert_int_equal(elf_worker_find_probe(worker, &file, -1, &query, &found, &error), 0);
	assert_int_equal(found.points.length, 1);
	assert_int_equal(
		objfile_get_elf_address(objfile, found.points.items[0].file_offset, &elf_address),
		0);
	assert_int_equal(objfile_find_symbol(objfile, elf_address, &symbol), 0);
	assert_string_equal(symbol.name, "main");
	assert_int_equal(symbol.start, elf_address);
	assert_int_equal(found.points.items[0].argument.source, ARGUMENT_REGISTER);
	strcpy(query.name, "a_function_is_found_to_prove_it");
	assert_int_equal(elf_worker_find_probe(worker, &file, -1, &query, &found, &error), -ENOENT);
	assert_non_null(strstr(error.message, "did you mean 'a_function_is_found_to_probe_it'"));
	probe_point_list_release(&found);
	close(file.fd);
	elf_worker_free(worker);
}

/* A file with a build ID, as a program without symbols and its debug file have both. */
static int open_with_build_id(const char *function)
{
	Elf64_Sym symbols[] = {{0},
			       {.st_name = 1,
				.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
				.st_shndx = 1,
				.st_value = TEXT + 0x10,
				.st_size = 8}};
	struct elf_writer writer = {0};
	char names[32] = "";

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .size = 0x100});
	elf_writer_add_build_id(&writer, "\1\2\3\4", 4);
	if (function) {
		snprintf(names + 1, sizeof(names) - 1, "%s", function);
		elf_writer_add_symbols(&writer, symbols, sizeof(symbols), names, sizeof(names));
	}
	return elf_writer_open(&writer);
}

static void names_that_were_stripped_are_found_in_the_debug_file(void **state _unused_)
{
	struct elf_source_file file = {.fd = open_with_build_id(NULL), .path = "/test"};
	struct elf_probe_query query = {.path = "/test", .name = "hidden"};
	struct elf_worker *worker = start();
	struct probe_point_list found = {0};
	struct error error = {0};
	int debug_fd = open_with_build_id("hidden");

	assert_int_equal(elf_worker_find_probe(worker, &file, -1, &query, &found, &error), -ENOENT);
	assert_non_null(strstr(error.message, "it has no symbol table"));
	assert_int_equal(elf_worker_find_probe(worker, &file, debug_fd, &query, &found, &error), 0);
	assert_int_equal(found.points.length, 1);
	probe_point_list_release(&found);
	close(debug_fd);
	close(file.fd);
	elf_worker_free(worker);
}

static void what_is_no_program_has_nothing_to_probe(void **state _unused_)
{
	struct elf_source_file file = {.fd = memfd_create("test", MFD_CLOEXEC), .path = "/test"};
	struct elf_probe_query query = {.path = "/test", .name = "main"};
	struct elf_worker *worker = start();
	struct probe_point_list found = {0};
	struct error error = {0};
	char library[PATH_MAX];

	assert_int_equal(write(file.fd, "text", 4), 4);
	assert_int_equal(elf_worker_find_probe(worker, &file, -1, &query, &found, &error),
			 -ENOEXEC);
	assert_non_null(strstr(error.message, "/test is not an ELF file"));
	assert_int_equal(elf_worker_find_library(worker, &file, "libc", library), -EINVAL);
	close(file.fd);
	elf_worker_free(worker);
}

static void an_answer_stays_in_its_bounds(void **state _unused_)
{
	struct elf_answer answer = {.kind = ELF_IDENTIFY, .identity = {.num_segments = 2}};
	size_t size = elf_answer_get_size(&answer);

	assert_true(elf_answer_is_valid(&answer, size, ELF_IDENTIFY));
	assert_false(elf_answer_is_valid(&answer, size - 1, ELF_IDENTIFY));
	assert_false(elf_answer_is_valid(&answer, size + 1, ELF_IDENTIFY));
	assert_false(elf_answer_is_valid(&answer, size, ELF_PROVE_CALL));
	answer.identity.build_id_size = BUILD_ID_SIZE_MAX + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_IDENTIFY));
	answer.identity.build_id_size = 0;
	answer.identity.num_segments = ELF_MAX_SEGMENTS + 1;
	assert_false(elf_answer_is_valid(&answer, sizeof(answer), ELF_IDENTIFY));

	answer.identity.num_segments = 2;
	answer.identity.has_runtime = 1;
	answer.identity.runtime.code = (struct v8_code_layout){
		.is_known = true, .exits = 4, .first_deopt = 7, .exit_bytes = 4};
	assert_true(elf_answer_is_valid(&answer, size, ELF_IDENTIFY));
	answer.identity.runtime.code.first_deopt = 6;
	assert_false(elf_answer_is_valid(&answer, size, ELF_IDENTIFY));
	answer.identity.runtime.code.is_known = false;
	assert_true(elf_answer_is_valid(&answer, size, ELF_IDENTIFY));

	answer = (struct elf_answer){.kind = ELF_PROVE_CALL, .proof = CALL_DISPROVEN};
	size = elf_answer_get_size(&answer);
	assert_true(elf_answer_is_valid(&answer, size, ELF_PROVE_CALL));
	answer.proof = CALL_DISPROVEN + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_PROVE_CALL));

	answer = (struct elf_answer){.kind = ELF_HASH_TABLE, .table_hash = UINT64_MAX};
	size = elf_answer_get_size(&answer);
	assert_true(elf_answer_is_valid(&answer, size, ELF_HASH_TABLE));
	assert_false(elf_answer_is_valid(&answer, size - 1, ELF_HASH_TABLE));
	assert_false(elf_answer_is_valid(&answer, size, ELF_PROVE_CALL));

	answer = (struct elf_answer){.kind = ELF_FIND_PROBE, .probe = {.num_points = 1}};
	size = elf_answer_get_size(&answer);
	assert_true(elf_answer_is_valid(&answer, size, ELF_FIND_PROBE));
	assert_false(elf_answer_is_valid(&answer, size - 1, ELF_FIND_PROBE));
	answer.probe.points[0].argument = (struct probe_argument){
		.source = ARGUMENT_REGISTER, .bytes = 8, .index = ARGUMENT_NO_REGISTER};
	assert_true(elf_answer_is_valid(&answer, size, ELF_FIND_PROBE));
	answer.probe.points[0].argument.base = ARGUMENT_MAX_REGISTER + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_PROBE));
	answer.probe.points[0].argument.base = 0;
	answer.probe.points[0].argument.bytes = 3;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_PROBE));
	answer.probe.num_points = PROBE_MAX_POINTS + 1;
	assert_false(elf_answer_is_valid(&answer, sizeof(answer), ELF_FIND_PROBE));
	answer.probe.num_points = 0;
	assert_false(elf_answer_is_valid(&answer, elf_answer_get_size(&answer), ELF_FIND_PROBE));

	answer = (struct elf_answer){.kind = ELF_FIND_ALLOCATOR, .allocator = {.num_functions = 1}};
	size = elf_answer_get_size(&answer);
	answer.allocator.functions[0].point.argument =
		(struct probe_argument){.source = ARGUMENT_PRODUCT, .bytes = 8, .index = 1};
	assert_true(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	assert_false(elf_answer_is_valid(&answer, size - 1, ELF_FIND_ALLOCATOR));
	answer.allocator.functions[0].jump_register = ARGUMENT_MAX_REGISTER + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	answer.allocator.functions[0].jump_register = ARGUMENT_NO_REGISTER;
	answer.allocator.functions[0].free_register = ARGUMENT_MAX_REGISTER + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	answer.allocator.functions[0].free_register = ARGUMENT_NO_REGISTER;
	answer.allocator.functions[0].pointer_register = ARGUMENT_MAX_REGISTER + 1;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	answer.allocator.functions[0].pointer_register = ARGUMENT_NO_REGISTER;
	assert_true(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	answer.allocator.functions[0].point.argument.index = ARGUMENT_NO_REGISTER;
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_ALLOCATOR));
	answer.allocator.num_functions = ALLOCATOR_MAX_FUNCTIONS + 1;
	assert_false(elf_answer_is_valid(&answer, sizeof(answer), ELF_FIND_ALLOCATOR));
	answer.allocator.num_functions = 0;
	assert_false(
		elf_answer_is_valid(&answer, elf_answer_get_size(&answer), ELF_FIND_ALLOCATOR));

	answer = (struct elf_answer){.kind = ELF_FIND_LIBRARY};
	size = elf_answer_get_size(&answer);
	assert_true(elf_answer_is_valid(&answer, size, ELF_FIND_LIBRARY));
	memset(answer.library, 'x', sizeof(answer.library));
	assert_false(elf_answer_is_valid(&answer, size, ELF_FIND_LIBRARY));

	answer = (struct elf_answer){.kind = ELF_BUILD_TABLE, .err = 1};
	assert_false(elf_answer_is_valid(&answer, elf_answer_get_size(&answer), ELF_BUILD_TABLE));
	answer.err = -EINVAL;
	memset(answer.message, 'x', sizeof(answer.message));
	assert_true(elf_answer_is_valid(&answer, elf_answer_get_size(&answer), ELF_BUILD_TABLE));
	assert_int_equal(strlen(answer.message), sizeof(answer.message) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_identified),
		cmocka_unit_test(a_table_is_what_we_would_have_built),
		cmocka_unit_test(a_table_has_the_hash_that_we_would_have_made),
		cmocka_unit_test(a_call_proves_what_it_proves_to_us),
		cmocka_unit_test(what_is_no_elf_file_is_reported),
		cmocka_unit_test(one_that_dies_is_replaced),
		cmocka_unit_test(files_of_users_are_read_by_another_process),
		cmocka_unit_test(one_that_is_awaited_is_as_urgent_as_who_waits),
		cmocka_unit_test(a_user_whose_files_end_processes_is_given_up),
		cmocka_unit_test(a_cancelled_one_builds_nothing),
		cmocka_unit_test(a_function_is_found_to_probe_it),
		cmocka_unit_test(names_that_were_stripped_are_found_in_the_debug_file),
		cmocka_unit_test(what_is_no_program_has_nothing_to_probe),
		cmocka_unit_test(an_answer_stays_in_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
