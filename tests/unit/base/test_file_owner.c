#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/file.h"
#include "unit.h"

static uid_t owner_with_mode(mode_t mode, uid_t user, gid_t group)
{
	_cleanup_close_ int fd = file_open_anonymous(file_get_temporary_folder(), NULL);

	assert_int_equal(fchown(fd, user, group), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	return file_owner_get(fd);
}

static void a_file_is_of_whom_alone_may_write_it(_unused_ void **state)
{
	assert_int_equal(owner_with_mode(0755, geteuid(), getegid()), geteuid());
	assert_int_equal(owner_with_mode(0757, geteuid(), getegid()), FILE_OWNER_UNKNOWN);
}

static void a_group_of_ones_own_is_nobody_else_but_roots_is(_unused_ void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(owner_with_mode(0664, 1234, 1234), 1234);
	assert_int_equal(owner_with_mode(0664, 1234, 100), FILE_OWNER_UNKNOWN);
	assert_int_equal(owner_with_mode(0664, 0, 0), FILE_OWNER_UNKNOWN);
}

static void nobody_knows_the_owner_of_what_is_no_file(_unused_ void **state)
{
	assert_int_equal(file_owner_get(-1), FILE_OWNER_UNKNOWN);
	assert_false(file_owner_is_same(FILE_OWNER_UNKNOWN, FILE_OWNER_UNKNOWN));
	assert_false(file_owner_is_trusted(FILE_OWNER_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_of_whom_alone_may_write_it),
		cmocka_unit_test(a_group_of_ones_own_is_nobody_else_but_roots_is),
		cmocka_unit_test(nobody_knows_the_owner_of_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
