/* Which call is to prove a step by frame pointer: in the caller's file, at the addresses of that. Files are the test's. */
#define process_find_mapping    find_mapping_of_test
#define file_table_get          get_file
#define elf_files_get_layout    get_layout
#define elf_files_prove_call    prove
#define objfile_layout_get_bias get_bias_of_test
#include "collect/stacks/fp_step_check.c"

#include "base/array.h"
#include "base/attributes.h"
#include "unit.h"

enum { PROGRAM = 3, LIBRARY };

static const struct mapping mappings[] = {
	{.start = 0x10000, .end = 0x20000, .file = PROGRAM},
	{.start = 0x20000, .end = 0x30000, .file = PROGRAM, .file_offset = 0x8000},
	{.start = 0x30000, .end = 0x40000, .file = LIBRARY},
	{.start = 0x40000, .end = 0x50000, .file = FILE_NONE},
};
static int layout_error, bias_error, prove_error;
static unsigned int num_asked;
static uint64_t asked_return, asked_callee;
static uint32_t asked_file;
static enum call_proof proof;

const struct mapping *find_mapping_of_test(const struct process *process _unused_, uint64_t pc)
{
	for (size_t i = 0; i < ARRAY_LENGTH(mappings); i++)
		if (pc >= mappings[i].start && pc < mappings[i].end)
			return &mappings[i];
	return NULL;
}

const struct mapped_file *get_file(const struct file_table *table _unused_, uint32_t file)
{
	static char path[] = "/some/file";
	static const struct mapped_file found = {.path = path};

	assert_true(file != FILE_NONE);
	return &found;
}

int get_layout(const struct elf_files *files _unused_, const struct mapped_file *mapped,
	       const struct objfile_layout **ret)
{
	assert_non_null(mapped);
	*ret = NULL;
	return layout_error;
}

/* Each mapping has its own. The one that has an error is where the callee is. */
int get_bias_of_test(const struct objfile_layout *layout _unused_,
		     const struct objfile_mapping *mapping, uint64_t *ret)
{
	*ret = mapping->start - mapping->file_offset;
	assert_int_equal(mapping->end - mapping->start, 0x10000);
	return bias_error == (int)mapping->start ? -ENOENT : 0;
}

int prove(struct elf_files *files _unused_, uint32_t number, const struct mapped_file *mapped,
	  uint64_t return_address, uint64_t callee, enum call_proof *ret)
{
	assert_non_null(mapped);
	num_asked++;
	asked_file = number;
	asked_return = return_address;
	asked_callee = callee;
	*ret = proof;
	return prove_error;
}

static struct fp_step_check *check;

static int set_up(void **state _unused_)
{
	layout_error = bias_error = prove_error = 0;
	num_asked = 0;
	proof = CALL_PROVEN;
	check = fp_step_check_new(NULL, NULL);
	assert_non_null(check);
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int tear_down(void **state _unused_)
{
	fp_step_check_free(check);
	return 0;
}

static enum call_proof step(uint64_t callee_pc, uint64_t return_address)
{
	enum call_proof ret = CALL_DISPROVEN;

	assert_int_equal(fp_step_check_step(check, NULL, callee_pc, return_address, &ret),
			 prove_error);
	return ret;
}

static void a_call_within_a_file_leads_to_an_address_of_it(void **state _unused_)
{
	assert_int_equal(step(0x10100, 0x10200), CALL_PROVEN);
	assert_int_equal(asked_file, PROGRAM);
	assert_int_equal(asked_return, 0x200);
	assert_int_equal(asked_callee, 0x100);
	/* Another mapping of the same file. */
	step(0x20100, 0x10200);
	assert_int_equal(asked_return, 0x200);
	assert_int_equal(asked_callee, 0x8100);
	/* A call may be the last instruction of a mapping. */
	step(0x10100, 0x20000);
	assert_int_equal(asked_return, 0x10000);
}

static void a_call_to_another_file_leads_elsewhere(void **state _unused_)
{
	static const uint64_t callees[] = {0x30100, 0x40100, 0x90000};

	for (size_t i = 0; i < ARRAY_LENGTH(callees); i++) {
		assert_int_equal(step(callees[i], 0x10200), CALL_PROVEN);
		assert_true(asked_callee == OBJFILE_ELSEWHERE);
	}
}

static void code_in_no_file_proves_nothing(void **state _unused_)
{
	static const uint64_t callers[] = {0x40200, 0x90000, 0x10000};

	for (size_t i = 0; i < ARRAY_LENGTH(callers); i++)
		assert_int_equal(step(0x10100, callers[i]), CALL_UNPROVEN);
	layout_error = -ENOEXEC;
	assert_int_equal(step(0x10100, 0x10200), CALL_UNPROVEN);
	layout_error = 0;
	bias_error = 0x10000;
	assert_int_equal(step(0x20100, 0x10200), CALL_UNPROVEN);
	bias_error = 0x20000;
	assert_int_equal(step(0x20100, 0x10200), CALL_UNPROVEN);
	assert_int_equal(num_asked, 0);
}

static void answers_and_errors_are_passed_on(void **state _unused_)
{
	proof = CALL_DISPROVEN;
	assert_int_equal(step(0x10100, 0x10200), CALL_DISPROVEN);
	prove_error = -ENOMEM;
	step(0x10100, 0x10200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_within_a_file_leads_to_an_address_of_it),
		TEST(a_call_to_another_file_leads_elsewhere),
		TEST(code_in_no_file_proves_nothing),
		TEST(answers_and_errors_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
