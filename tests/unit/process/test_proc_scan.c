#include "process/proc_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_proc.h"
#include "unit.h"

static void comm_parent_and_start_are_read(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct proc_entry entry;

	fake_proc_add(&proc,
		      (struct fake_process){
			      .pid = 812, .parent_pid = 7, .comm = "nginx", .start_ticks = 250});
	assert_int_equal(proc_entry_read(proc.root, 812, &entry), 0);

	assert_string_equal(entry.comm, "nginx");
	assert_int_equal(entry.parent_pid, 7);
	assert_int_equal(entry.start_ns, 250ull * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	assert_false(entry.is_zombie);
	fake_proc_remove(&proc);
}

static void parentheses_and_spaces_in_a_comm_do_no_harm(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct proc_entry entry;

	fake_proc_add(&proc,
		      (struct fake_process){.pid = 812, .parent_pid = 7, .comm = "a) Z 9 (b"});
	assert_int_equal(proc_entry_read(proc.root, 812, &entry), 0);

	assert_string_equal(entry.comm, "a) Z 9 (b");
	assert_int_equal(entry.parent_pid, 7);
	assert_false(entry.is_zombie);
	fake_proc_remove(&proc);
}

static void a_zombie_is_reported(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct proc_entry entry;

	fake_proc_add(&proc, (struct fake_process){.pid = 812, .comm = "a", .state = 'Z'});
	assert_int_equal(proc_entry_read(proc.root, 812, &entry), 0);
	assert_true(entry.is_zombie);
	fake_proc_remove(&proc);
}

static void a_process_that_is_gone_is_not_found(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct proc_entry entry;

	assert_int_equal(proc_entry_read(proc.root, 812, &entry), -ENOENT);
	fake_proc_write(&proc, "812/comm", "half\n");
	assert_int_equal(proc_entry_read(proc.root, 812, &entry), -ENOENT);
	fake_proc_remove(&proc);
}

static void a_truncated_stat_has_no_parent(_unused_ void **state)
{
	static const char *const texts[] = {"",         "812",       "812 (a)",
					    "812 (a) ", "812 (a) S", "812 (a) S "};
	struct fake_proc proc = fake_proc_new();

	fake_proc_write(&proc, "812/comm", "a\n");
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct proc_entry entry;

		fake_proc_write(&proc, "812/stat", texts[i]);
		assert_int_equal(proc_entry_read(proc.root, 812, &entry), 0);
		assert_int_equal(entry.parent_pid, 0);
		assert_int_equal(entry.start_ns, 0);
	}
	fake_proc_remove(&proc);
}

static void a_kernel_worker_has_its_name_without_its_work(_unused_ void **state)
{
	static const char *const comms[][2] = {
		{"kworker/0:1-events", "kworker/0:1"}, {"kworker/u8:2+flush-8:0", "kworker/u8:2"},
		{"kworker/1:0H", "kworker/1:0H"},      {"kworker/R-rcu_gp", "kworker/R-rcu_gp"},
		{"my-server:a-b", "my-server:a-b"},
	};
	struct fake_proc proc = fake_proc_new();

	for (size_t i = 0; i < ARRAY_LENGTH(comms); i++) {
		struct proc_entry entry;

		fake_proc_add(&proc, (struct fake_process){.pid = 2, .comm = comms[i][0]});
		assert_int_equal(proc_entry_read(proc.root, 2, &entry), 0);
		assert_string_equal(entry.comm, comms[i][1]);
	}
	fake_proc_remove(&proc);
}

static void only_executable_mappings_are_read(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct file_table *files = file_table_new(proc.root, NULL);
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	fake_proc_write(&proc, "812/maps",
			"1000-2000 r--p 00000000 fe:00 12 /no/such/a\n"
			"2000-3000 r-xp 00001000 fe:00 12 /no/such/a\n"
			"5000-6000 rwxp 00000000 00:00 0 \n");
	assert_int_equal(proc_mappings_read(proc.root, 812, 0, files, &list), 0);

	assert_int_equal(list.sorted.length, 2);
	assert_int_equal(list.sorted.items[0].file_offset, 0x1000);
	assert_string_equal(file_table_get(files, list.sorted.items[0].file)->path, "/no/such/a");
	assert_int_equal(list.sorted.items[1].file, FILE_NONE);
	file_table_free(files);
	fake_proc_remove(&proc);
}

static void a_process_lives_on_after_its_first_thread(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct file_table *files = file_table_new(proc.root, NULL);
	_cleanup_(mapping_list_release) struct mapping_list list = {0};
	struct proc_entry entry;

	fake_proc_write(&proc, "812/comm", "a\n");
	fake_proc_write(&proc, "812/stat",
			"812 (a) Z 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 2 0 250 0 0\n");
	fake_proc_write(&proc, "812/maps", "");
	fake_proc_write(&proc, "812/task/812/comm", "a\n");
	fake_proc_write(&proc, "812/task/815/comm", "a\n");
	fake_proc_write(&proc, "815/maps", "2000-3000 r-xp 00001000 fe:00 12 /no/such/a\n");
	assert_int_equal(proc_entry_read(proc.root, 812, &entry), 0);
	assert_int_equal(proc_mappings_read(proc.root, 812, 0, files, &list), 0);

	assert_false(entry.is_zombie);
	assert_int_equal(list.sorted.length, 1);
	file_table_free(files);
	fake_proc_remove(&proc);
}

static void what_comes_before_a_malformed_line_counts(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct file_table *files = file_table_new(proc.root, NULL);
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	fake_proc_write(&proc, "812/maps", "1000-2000 r-xp 0 0:0 0 \nrubbish\n");
	assert_int_equal(proc_mappings_read(proc.root, 812, 0, files, &list), -EINVAL);
	assert_int_equal(list.sorted.length, 1);
	file_table_free(files);
	fake_proc_remove(&proc);
}

struct seen {
	pid_t pids[8];
	size_t num;
	int answer;
};

static int see(pid_t pid, void *context)
{
	struct seen *seen = context;

	seen->pids[seen->num++] = pid;
	return seen->answer;
}

static void only_numbers_are_processes(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct seen seen = {0};

	fake_proc_write(&proc, "812/comm", "");
	fake_proc_write(&proc, "self/comm", "");
	fake_proc_write(&proc, "9a/comm", "");
	fake_proc_write(&proc, "0/comm", "");
	fake_proc_write(&proc, "99999999999/comm", "");
	fake_proc_write(&proc, "uptime", "");
	assert_int_equal(proc_for_each_pid(proc.root, see, &seen), 0);

	assert_int_equal(seen.num, 1);
	assert_int_equal(seen.pids[0], 812);
	fake_proc_remove(&proc);
}

static void the_visitor_can_stop(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct seen seen = {.answer = -ENOMEM};

	fake_proc_write(&proc, "1/comm", "");
	fake_proc_write(&proc, "2/comm", "");
	assert_int_equal(proc_for_each_pid(proc.root, see, &seen), -ENOMEM);
	assert_int_equal(seen.num, 1);
	fake_proc_remove(&proc);
}

static void a_missing_proc_folder_is_an_error(_unused_ void **state)
{
	assert_int_equal(proc_for_each_pid("/no/such/proc", see, NULL), -ENOENT);
}

static void the_real_user_and_the_words_of_the_command_are_read(_unused_ void **state)
{
	static const char words[] = "/opt/app\0--type=renderer\0\0";
	struct fake_proc proc = fake_proc_new();
	_cleanup_(text_release) struct text path = fake_proc_path(&proc, "812/cmdline");
	FILE *file = fopen(path.data, "we");
	struct proc_details details;

	assert_non_null(file);
	assert_int_equal(fwrite(words, 1, sizeof(words) - 1, file), sizeof(words) - 1);
	assert_int_equal(fclose(file), 0);
	fake_proc_write(&proc, "812/status", "Name:\tapp\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n");
	assert_int_equal(proc_details_read(proc.root, 812, NULL, &details), 0);
	assert_true(details.has_uid);
	assert_int_equal(details.uid, 1000);
	assert_string_equal(details.comm, "app");
	assert_string_equal(details.command_line.data, "/opt/app --type=renderer");
	proc_details_release(&details);
	fake_proc_remove(&proc);
}

static void a_command_line_that_is_too_long_is_truncated(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	struct text long_line = {0};
	struct proc_details details;

	for (size_t i = 0; i < 2 * COMMAND_LINE_MAX_BYTES; i++)
		text_append_char(&long_line, 'x');
	fake_proc_write(&proc, "812/cmdline", long_line.data);
	fake_proc_write(&proc, "812/status", "Name:\tapp\n");
	assert_int_equal(proc_details_read(proc.root, 812, NULL, &details), 0);
	assert_false(details.has_uid);
	assert_int_equal(details.command_line.length, COMMAND_LINE_MAX_BYTES);
	proc_details_release(&details);
	text_release(&long_line);
	fake_proc_remove(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_real_user_and_the_words_of_the_command_are_read),
		cmocka_unit_test(a_command_line_that_is_too_long_is_truncated),
		cmocka_unit_test(comm_parent_and_start_are_read),
		cmocka_unit_test(parentheses_and_spaces_in_a_comm_do_no_harm),
		cmocka_unit_test(a_zombie_is_reported),
		cmocka_unit_test(a_process_that_is_gone_is_not_found),
		cmocka_unit_test(a_truncated_stat_has_no_parent),
		cmocka_unit_test(a_kernel_worker_has_its_name_without_its_work),
		cmocka_unit_test(only_executable_mappings_are_read),
		cmocka_unit_test(a_process_lives_on_after_its_first_thread),
		cmocka_unit_test(what_comes_before_a_malformed_line_counts),
		cmocka_unit_test(only_numbers_are_processes),
		cmocka_unit_test(the_visitor_can_stop),
		cmocka_unit_test(a_missing_proc_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
