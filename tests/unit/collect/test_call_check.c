#include "collect/stacks/call_check.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attributes.h"
#include "unit.h"

#define CALL_BYTES 9 /* that are read before a return address */

/* A file with a call that ends at 16, and nothing like it before 32. The second one is not open. */
static struct file_table *make_files(void)
{
	const struct file_identity identity = {.path = "/bin/x"};
	struct file_table *files = file_table_new("/nonexistent", NULL);
	uint8_t code[40] = {[11] = 0xe8};
	FILE *file = tmpfile();

	assert_true(files && file);
	assert_int_equal(fwrite(code, 1, sizeof(code), file), sizeof(code));
	assert_int_equal(fflush(file), 0);
	assert_int_equal(file_table_add_sought(files, &identity), 0);
	assert_int_equal(file_table_add_sought(files, &identity), 0);
	file_table_set_found(files, 0, dup(fileno(file)), false);
	fclose(file);
	return files;
}

static void each_return_address_is_checked_once(void **state _unused_)
{
	struct file_table *files = make_files();
	struct call_check *check = call_check_new(files);

	assert_non_null(check);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_check_add(check, 0, 16), 0);
		assert_int_equal(call_check_get_counts(check).checked, 1);
		assert_int_equal(call_check_get_counts(check).failed, 0);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_check_add(check, 0, 32), 0);
		assert_int_equal(call_check_get_counts(check).checked, 2);
		assert_int_equal(call_check_get_counts(check).failed, 1);
	}
	call_check_free(check);
	file_table_free(files);
}

static void where_no_whole_call_can_be_read_nothing_is_checked(void **state _unused_)
{
	struct file_table *files = make_files();
	struct call_check *check = call_check_new(files);

	assert_int_equal(call_check_add(check, 1, 16), 0); /* not open */
	assert_int_equal(call_check_add(check, 0, CALL_BYTES - 1), 0);
	assert_int_equal(call_check_add(check, 0, 41), 0); /* beyond the end */
	assert_int_equal(call_check_get_counts(check).checked, 0);
	assert_int_equal(call_check_add(check, 0, CALL_BYTES), 0);
	assert_int_equal(call_check_add(check, 0, 40), 0);
	assert_int_equal(call_check_get_counts(check).checked, 2);
	assert_int_equal(call_check_get_counts(check).failed, 2);
	call_check_free(check);
	file_table_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_return_address_is_checked_once),
		cmocka_unit_test(where_no_whole_call_can_be_read_nothing_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
