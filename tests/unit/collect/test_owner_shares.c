/* Users share a limited room, so that none uses up the room of others. */
#include "collect/events/owner_shares.h"

#include "base/file.h"
#include "failing_memory.h"
#include "unit.h"

#define USER_A 20001
#define USER_B 20002
#define ROOM   64

static struct owner_shares shares;

static int set_up(void **state _unused_)
{
	shares = (struct owner_shares){.room = ROOM, .room_of_users = ROOM, .is_shared = true};
	return 0;
}

static int tear_down(void **state _unused_)
{
	owner_shares_release(&shares);
	return 0;
}

/* Parts for a user until there is no room. Returns their number. */
static size_t take_all(uid_t owner)
{
	size_t count = 0;

	while (owner_shares_take(&shares, owner, 1) > 0)
		count++;
	return count;
}

static void a_user_takes_no_more_than_is_left(void **state _unused_)
{
	assert_int_equal(take_all(USER_A), ROOM / 2);
	assert_int_equal(owner_shares_take(&shares, USER_A, 1), 0);
	assert_int_equal(take_all(USER_B), ROOM / 4);
	assert_int_equal(take_all(0), ROOM / 4); /* root's are trusted */
	assert_int_equal(owner_shares_take(&shares, 0, 1), 0);
	assert_int_equal(owner_shares_take(&shares, USER_B, 1), 0);
}

static void without_other_users_there_is_one_limit(void **state _unused_)
{
	shares.is_shared = false;
	assert_int_equal(take_all(USER_A), ROOM);
	assert_int_equal(shares.shares.length, 0);
}

/* A user may have thousands of user ids. */
static void many_users_leave_room_for_root(void **state _unused_)
{
	size_t taken = 0;

	shares.room_of_users = ROOM * 3 / 4;
	for (uid_t user = USER_A; user < USER_A + 1000; user++)
		taken += take_all(user);
	assert_int_equal(taken, ROOM * 3 / 4);
	assert_int_equal(take_all(0), ROOM / 4);
}

static void users_leave_what_root_has_taken(void **state _unused_)
{
	shares.room_of_users = ROOM * 3 / 4;
	assert_int_equal(owner_shares_take(&shares, 0, ROOM - 8), 1);
	assert_int_equal(take_all(USER_A), 4);
	assert_int_equal(take_all(USER_B), 2);
}

static void an_amount_is_taken_whole_or_not_at_all(void **state _unused_)
{
	assert_int_equal(owner_shares_take(&shares, USER_A, ROOM + 1), 0);
	assert_int_equal(owner_shares_take(&shares, USER_A, ROOM), 1);
	assert_int_equal(shares.taken, ROOM);
	assert_int_equal(owner_shares_take(&shares, 0, 1), 0);
	assert_int_equal(owner_shares_take(&shares, 0, SIZE_MAX), 0);
}

static void an_unknown_owner_is_a_user(void **state _unused_)
{
	assert_int_equal(take_all(FILE_OWNER_UNKNOWN), ROOM / 2);
}

static void short_memory_is_an_error(void **state _unused_)
{
	failing_memory_start(0);
	assert_int_equal(owner_shares_take(&shares, USER_A, 1), -ENOMEM);
	assert_true(failing_memory_end());
	assert_int_equal(shares.taken, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_user_takes_no_more_than_is_left),
		TEST(without_other_users_there_is_one_limit),
		TEST(many_users_leave_room_for_root),
		TEST(users_leave_what_root_has_taken),
		TEST(an_amount_is_taken_whole_or_not_at_all),
		TEST(an_unknown_owner_is_a_user),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
