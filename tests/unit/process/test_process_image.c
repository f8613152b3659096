/*
 * One process image: what it inherits, shares and forgets, which mappings an exec claims, which a reading of /proc
 * replaces. What /proc says, and which memory holds a copy of a file's text, is the test's.
 */
#include "base/clock.h"
#include "process/proc_scan.h"
#include "process/replaced_text.h"

int read_mappings_of_test(const char *proc_root, pid_t pid, pid_t parent_pid,
			  struct file_table *files, struct mapping_list *list);
bool is_copy_of_test(const struct file_table *files, pid_t pid, const struct mapping *mapping,
		     uint32_t *looks);
uint64_t now_of_test(void);

#define proc_mappings_read    read_mappings_of_test
#define replaced_text_is_copy is_copy_of_test
#define clock_now_ns          now_of_test
#include "process/process_image.c"

#include <fcntl.h>

#include "failing_memory.h"
#include "process/perf_map.h"
#include "unit.h"

#define PID    8
#define PARENT 7
#define NOW    1000

/* What /proc has of mappings, until there is an error. */
static struct mapping_list scanned;
static int scan_error;
static pid_t scanned_parent;
static unsigned int num_scans;

int read_mappings_of_test(const char *proc_root, pid_t pid, pid_t parent_pid,
			  struct file_table *files _unused_, struct mapping_list *list)
{
	assert_string_equal(proc_root, "/proc");
	assert_int_equal(pid, PID);
	scanned_parent = parent_pid;
	num_scans++;
	array_for_each (&scanned.sorted, mapping) {
		bool is_changed;

		if (mapping_list_add(list, mapping, &is_changed))
			return -ENOMEM;
	}
	return scan_error;
}

static uint64_t copy_start, copy_end; /* memory in it holds a copy of what was mapped */
static unsigned int num_looks;

bool is_copy_of_test(const struct file_table *files _unused_, pid_t pid,
		     const struct mapping *mapping, uint32_t *looks)
{
	assert_int_equal(pid, PID);
	num_looks++;
	++*looks;
	return mapping->start >= copy_start && mapping->end <= copy_end;
}

uint64_t now_of_test(void)
{
	return NOW;
}

static struct process_image *image;

static int set_up(void **state _unused_)
{
	scan_error = 0;
	num_scans = num_looks = 0;
	copy_start = copy_end = 0;
	image = process_image_new(3, PID, 50);
	assert_non_null(image);
	return 0;
}

static int tear_down(void **state _unused_)
{
	process_image_free(image);
	mapping_list_release(&scanned);
	return 0;
}

static struct mapping make_mapping(uint64_t start, uint64_t end, uint32_t file)
{
	return (struct mapping){.start = start,
				.end = end,
				.file = file,
				.file_offset = file == FILE_NONE ? 0 : start};
}

static void map(uint64_t time_ns, uint64_t start, uint64_t end, uint32_t file)
{
	const struct mapping mapping = make_mapping(start, end, file);

	assert_int_equal(process_image_map(image, time_ns, &mapping), 0);
}

static void map_memory(uint64_t time_ns, uint64_t start, uint64_t end)
{
	const struct mapping mapping = make_mapping(start, end, FILE_NONE);

	assert_int_equal(process_image_map_memory(image, time_ns, &mapping, NULL), 0);
}

static void add_scanned(uint64_t start, uint64_t end, uint32_t file)
{
	const struct mapping mapping = make_mapping(start, end, file);
	bool is_changed;

	assert_int_equal(mapping_list_add(&scanned, &mapping, &is_changed), 0);
}

/* "1-2:3 4-5:m": of each mapping start, end and file, in pages; m: memory. */
static void assert_mappings(const struct process_image *of, const char *expected)
{
	char text[256] = "";

	array_for_each (&process_image_get_code(of)->mappings.sorted, mapping) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%d-%d:", length ? " " : "",
			 (int)mapping->start, (int)mapping->end);
		length = strlen(text);
		if (mapping->file == FILE_NONE)
			snprintf(text + length, sizeof(text) - length, "m");
		else
			snprintf(text + length, sizeof(text) - length, "%d", (int)mapping->file);
		if (mapping->file != FILE_NONE)
			assert_int_equal(mapping->file_offset, mapping->start);
	}
	assert_string_equal(text, expected);
}

static void a_new_image_has_nothing(void **state _unused_)
{
	assert_int_equal(image->process.id, 3);
	assert_int_equal(image->process.pid, PID);
	assert_int_equal(image->process.start_ns, 50);
	assert_true(image->process.generation == GENERATION_UNKNOWN);
	assert_null(image->code);
	assert_mappings(image, "");
	assert_int_equal(process_image_get_code(image)->jit.perf_map_fd, -1);
	assert_int_equal(process_image_get_code(image)->jit.jitdump_fd, -1);
	assert_string_equal(process_get_script(&image->process), "");
	process_image_free(NULL);
}

static void what_was_forgotten_can_be_known_anew(void **state _unused_)
{
	map(1, 1, 2, 1);
	map_memory(2, 1, 2);
	add_scanned(4, 5, 4);
	assert_int_equal(process_image_read_moved(image, "/proc", NULL), 0);
	image->code->jit.perf_map = perf_map_new();
	image->code->jit.perf_map_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	process_image_forget_code(image);
	assert_mappings(image, "");
	process_image_forget_code(image);
	map(3, 6, 7, 1);
	assert_mappings(image, "6-7:1");
	assert_int_equal(image->code->jit.perf_map_fd, -1);
}

static void a_comm_has_fifteen_bytes(void **state _unused_)
{
	process_image_set_comm(image, "0123456789abcdef");
	assert_string_equal(image->process.comm, "0123456789abcde");
	process_image_set_comm(image, "sh");
	assert_string_equal(image->process.comm, "sh");
}

static void words_and_script_stay_when_the_other_changes(void **state _unused_)
{
	const char *words;

	assert_int_equal(process_image_set_script(image, "main.py"), 0);
	assert_string_equal(image->process.command_line, "");
	assert_int_equal(process_image_set_command_line(image, "python main.py"), 0);
	assert_string_equal(image->process.command_line, "python main.py");
	assert_string_equal(process_get_script(&image->process), "main.py");
	assert_int_equal(process_image_set_script(image, "other.py"), 0);
	assert_string_equal(image->process.command_line, "python main.py");
	assert_string_equal(process_get_script(&image->process), "other.py");
	/* What is the same is not copied again. */
	words = image->process.command_line;
	assert_int_equal(process_image_set_script(image, "other.py"), 0);
	assert_int_equal(process_image_set_command_line(image, "python main.py"), 0);
	assert_ptr_equal(image->process.command_line, words);
	assert_int_equal(process_image_set_script(image, ""), 0);
	assert_string_equal(process_get_script(&image->process), "");
}

static struct process_image *fork_image(void)
{
	struct process_image *child = process_image_new(4, PID + 1, 60);

	assert_non_null(child);
	assert_int_equal(process_image_inherit(child, image), 0);
	return child;
}

static void a_child_has_what_its_parent_had(void **state _unused_)
{
	struct process_image *child;

	process_image_set_comm(image, "game");
	image->process.generation = 12;
	image->process.was_scanned = true;
	image->process.has_uid = true;
	image->process.uid = 1000;
	image->process.parent_pid = PARENT;
	assert_int_equal(process_image_set_command_line(image, "game --fast"), 0);
	map(1, 1, 2, 1);
	child = fork_image();
	assert_string_equal(child->process.comm, "game");
	assert_int_equal(child->process.parent_pid, PID);
	assert_int_equal(child->process.pid, PID + 1);
	assert_int_equal(child->process.generation, 12);
	assert_true(child->process.was_scanned);
	assert_true(child->process.has_uid);
	assert_int_equal(child->process.uid, 1000);
	assert_ptr_equal(child->process.command_line, image->process.command_line);
	assert_mappings(child, "1-2:1");
	/* Each goes on by itself. */
	map(2, 3, 4, 1);
	assert_mappings(child, "1-2:1");
	assert_int_equal(process_image_set_command_line(child, "child"), 0);
	assert_string_equal(image->process.command_line, "game --fast");
	process_image_free(child);
	assert_mappings(image, "1-2:1 3-4:1");
}

static void a_command_line_lives_as_long_as_somebody_has_it(void **state _unused_)
{
	struct process_image *child;
	struct process_image *other;

	child = fork_image();
	assert_null(child->process.command_line); /* nobody has one yet */
	process_image_free(child);
	assert_int_equal(process_image_set_command_line(image, "game --fast"), 0);
	child = fork_image();
	other = fork_image();
	assert_null(child->code); /* of one without code */
	process_image_free(child);
	assert_int_equal(process_image_set_command_line(image, "title"), 0);
	assert_string_equal(other->process.command_line, "game --fast");
	process_image_free(other);
	assert_string_equal(image->process.command_line, "title");
}

static void mappings_that_change_nothing_are_no_new_version(void **state _unused_)
{
	map(1, 1, 4, 1);
	assert_int_equal(image->process.mappings_version, 1);
	map(2, 2, 3, 1);
	assert_int_equal(image->process.mappings_version, 1);
	map(3, 2, 3, 2);
	assert_int_equal(image->process.mappings_version, 2);
	assert_mappings(image, "1-2:1 2-3:2 3-4:1");
}

static void refresh(struct proc_entry entry, uint64_t as_of_ns)
{
	assert_int_equal(process_image_refresh(image, "/proc", NULL, &entry, as_of_ns), 0);
}

static const struct proc_entry entry_of_game = {
	.comm = "game", .parent_pid = PARENT, .start_ns = 40};

static uint32_t get_age_at(const struct process_image *of, uint64_t address)
{
	return mapping_list_find(&process_image_get_code(of)->mappings, address)->since;
}

static void a_mapping_knows_since_when_no_other_code_was_there(void **state _unused_)
{
	struct process_image *child;

	map(1, 1, 4, 1);
	map(2, 5, 6, 2);
	assert_int_equal(get_age_at(image, 1), 1);
	assert_int_equal(get_age_at(image, 5), 1); /* nothing was there before */
	map(4, 2, 3, 3);
	assert_int_equal(get_age_at(image, 1), 1);
	assert_int_equal(get_age_at(image, 2), 3);
	assert_int_equal(get_age_at(image, 3), 1);
	map(5, 2, 3, 3);
	map_memory(6, 3, 4);
	map_memory(7, 3, 5);
	assert_int_equal(get_age_at(image, 2), 3);
	assert_int_equal(get_age_at(image, 4), 4); /* more of the same */
	/* A child goes on where its parent was. */
	child = fork_image();
	assert_int_equal(child->process.mappings_version, 5);
	assert_int_equal(get_age_at(child, 2), 3);
	assert_int_equal(child->code->base_version, 1);
	process_image_free(child);
	/* A scan may have dropped code from anywhere. */
	add_scanned(1, 2, 1);
	add_scanned(2, 3, 4);
	refresh(entry_of_game, 60);
	assert_int_equal(image->process.mappings_version, 6);
	assert_int_equal(get_age_at(image, 1), 1);
	assert_int_equal(get_age_at(image, 2), 6);
	map(70, 3, 4, 1);
	assert_int_equal(get_age_at(image, 3), 6);
}

static void the_last_replacement_of_code_by_a_file_is_known(void **state _unused_)
{
	const struct process *process = &image->process;

	assert_int_equal(process_get_replacing_version(process), 0);
	map(1, 1, 4, 1);
	map(2, 1, 6, 1); /* more of the same */
	map(3, 8, 9, FILE_NONE);
	map(4, 3, 4, FILE_NONE);
	assert_int_equal(process_get_replacing_version(process), 0);
	map(5, 2, 4, 2);
	assert_int_equal(process_get_replacing_version(process), 5);
	map(6, 12, 14, 3);
	assert_int_equal(process_get_replacing_version(process), 5);
}

static void kept_mappings_are_those_of_their_time(void **state _unused_)
{
	struct process *process = &image->process;
	struct kept_mappings kept;

	map(1, 1, 4, 1);
	assert_int_equal(process_keep_mappings(process, &kept), 0);
	map(2, 1, 4, 2);
	process_swap_mappings(process, &kept);
	assert_mappings(image, "1-4:1");
	assert_int_equal(process->mappings_version, 1);
	assert_true(image->is_set_back);
	process_swap_mappings(process, &kept);
	assert_mappings(image, "1-4:2");
	assert_int_equal(process->mappings_version, 2);
	assert_false(image->is_set_back);
	kept_mappings_release(&kept);
	/* An image that has none yet. */
	process_image_forget_code(image);
	assert_int_equal(process_keep_mappings(process, &kept), 0);
	map(3, 5, 6, 3);
	process_swap_mappings(process, &kept);
	assert_mappings(image, "");
	process_swap_mappings(process, &kept);
	assert_mappings(image, "5-6:3");
	kept_mappings_release(&kept);
}

/* The kernel reports the new program's mappings at the time of the exec, perhaps before it. */
static void an_exec_takes_the_mappings_of_its_time_along(void **state _unused_)
{
	struct process_image *next = process_image_new(4, PID, 20);

	map(10, 1, 2, 1);
	map(20, 5, 6, 2);
	map(20, 7, 8, 3);
	assert_int_equal(process_image_take_latest(next, image, 19), 0);
	assert_mappings(next, "");
	assert_int_equal(process_image_take_latest(next, image, 20), 0);
	assert_mappings(next, "5-6:2 7-8:3");
	assert_int_equal(next->process.mappings_version, 2);
	/* From an image without code. */
	process_image_forget_code(image);
	assert_int_equal(process_image_take_latest(next, image, 20), 0);
	assert_mappings(next, "5-6:2 7-8:3");
	process_image_free(next);
}

static void memory_replaces_a_file_unless_it_holds_its_text(void **state _unused_)
{
	map(1, 10, 20, 1);
	map_memory(2, 14, 16);
	assert_mappings(image, "10-14:1 14-16:m 16-20:1");
	/* Of the whole of it, by now. */
	copy_start = 10;
	copy_end = 20;
	map_memory(3, 10, 20);
	assert_mappings(image, "10-14:1 14-16:1 16-20:1");
}

/* A copy of a part: the rest of the memory is memory. */
static void a_copy_may_be_a_part_of_the_memory(void **state _unused_)
{
	copy_start = 10;
	copy_end = 20;
	map(1, 10, 20, 1);
	map_memory(2, 10, 25);
	assert_mappings(image, "10-20:1 20-25:m");
	map_memory(3, 5, 20);
	assert_mappings(image, "5-10:m 10-20:1 20-25:m");
	/* All of the memory: the file is where it was, with no memory around it. */
	map_memory(4, 12, 15);
	assert_mappings(image, "5-10:m 10-20:1 20-25:m");
	assert_int_equal(image->code->latest.sorted.length, 1);
	assert_int_equal(image->code->latest.sorted.items[0].file, 1);
	assert_int_equal(image->code->latest.sorted.items[0].file_offset, 12);
}

/* Two files side by side; the memory has a copy of one. */
static void only_what_the_memory_covers_is_compared(void **state _unused_)
{
	map(1, 10, 20, 1);
	map(1, 20, 30, 2);
	map(1, 40, 50, FILE_NONE);
	copy_start = 20;
	copy_end = 30;
	map_memory(2, 20, 30);
	assert_int_equal(num_looks, 1);
	assert_mappings(image, "10-20:1 20-30:2 40-50:m");
	map_memory(3, 30, 50);
	map_memory(4, 5, 10);
	assert_int_equal(num_looks, 1);
	assert_mappings(image, "5-10:m 10-20:1 20-30:2 30-50:m");
	assert_int_equal(image->code->num_looks, 1);
}

/* A copy over memory that has replaced the file earlier. */
static void a_file_is_remembered_where_memory_replaced_it(void **state _unused_)
{
	map(1, 10, 20, 1);
	map_memory(2, 10, 20);
	assert_mappings(image, "10-20:m");
	copy_start = 10;
	copy_end = 20;
	map_memory(3, 12, 18);
	assert_mappings(image, "10-12:m 12-18:1 18-20:m");
}

static void read_moved(void)
{
	assert_int_equal(process_image_read_moved(image, "/proc", NULL), 0);
}

static bool take_moved(uint64_t time_ns)
{
	bool is_changed = true;

	assert_int_equal(process_image_take_moved(image, time_ns, &is_changed), 0);
	return is_changed;
}

static void moved_mappings_fill_gaps_from_the_time_they_were_read(void **state _unused_)
{
	assert_false(take_moved(NOW));
	image->process.parent_pid = PARENT;
	map(1, 10, 20, 1);
	add_scanned(15, 25, 2);
	add_scanned(30, 40, 3);
	read_moved();
	assert_int_equal(scanned_parent, PARENT);
	assert_false(take_moved(NOW - 1));
	assert_mappings(image, "10-20:1");
	assert_true(take_moved(NOW));
	/* What is known stays: a copy may have taken its place. */
	assert_mappings(image, "10-20:1 30-40:3");
	/* Once: an event may have told of something else since. */
	map(NOW + 1, 30, 40, 4);
	process_image_forget_code(image);
	map(NOW + 2, 50, 60, 1);
	assert_false(take_moved(NOW + 3));
	assert_mappings(image, "50-60:1");
}

static void moved_mappings_are_taken_once(void **state _unused_)
{
	map(1, 10, 20, 1);
	add_scanned(30, 40, 3);
	read_moved();
	assert_true(take_moved(NOW));
	image->code->mappings.sorted.length = 1; /* somebody has unmapped it */
	assert_false(take_moved(NOW + 1));
	assert_mappings(image, "10-20:1");
	/* Read again, with nothing left of the last time. */
	mapping_list_release(&scanned);
	add_scanned(50, 60, 5);
	read_moved();
	assert_true(take_moved(NOW));
	assert_mappings(image, "10-20:1 50-60:5");
	read_moved();
	assert_false(take_moved(NOW));
}

/* Without maps nothing is known, not even that nothing was moved. */
static void maps_that_cannot_be_read_move_nothing(void **state _unused_)
{
	map(1, 10, 20, 1);
	add_scanned(30, 40, 3);
	scan_error = -EACCES;
	read_moved();
	assert_int_equal(image->code->moved_ns, 0);
	assert_false(take_moved(NOW));
	assert_mappings(image, "10-20:1");
	/* A malformed line ends them early. */
	scan_error = -EINVAL;
	read_moved();
	assert_true(take_moved(NOW));
	assert_mappings(image, "10-20:1 30-40:3");
	scan_error = -ENOMEM;
	assert_int_equal(process_image_read_moved(image, "/proc", NULL), -ENOMEM);
}

static void a_scan_replaces_what_was_known(void **state _unused_)
{
	map(1, 10, 20, 1);
	add_scanned(10, 15, 1);
	add_scanned(30, 40, 3);
	refresh(entry_of_game, 900);
	assert_mappings(image, "10-15:1 30-40:3");
	assert_int_equal(image->process.mappings_version, 2);
	assert_string_equal(image->process.comm, "game");
	assert_int_equal(image->process.parent_pid, PARENT);
	assert_int_equal(scanned_parent, PARENT);
	assert_int_equal(image->proc_start_ns, 40);
	assert_int_equal(image->process.as_of_ns, 900);
	assert_true(image->process.was_scanned);
	assert_true(image->was_mapped_in_scan);
	assert_false(image->process.is_exited);
	/* The same again. */
	refresh(entry_of_game, 950);
	assert_int_equal(image->process.mappings_version, 2);
	assert_int_equal(image->process.as_of_ns, 950);
}

static void a_process_that_ends_keeps_what_was_known(void **state _unused_)
{
	struct proc_entry zombie = entry_of_game;

	zombie.is_zombie = true;
	map(1, 10, 20, 1);
	refresh(zombie, 900);
	assert_mappings(image, "10-20:1");
	assert_true(image->process.is_exited);
	assert_false(image->was_mapped_in_scan);
	/* It does not come back. */
	refresh(entry_of_game, 950);
	assert_true(image->process.is_exited);
}

static void a_malformed_line_adds_what_came_before_it(void **state _unused_)
{
	map(1, 10, 20, 1);
	add_scanned(30, 40, 3);
	scan_error = -EINVAL;
	refresh(entry_of_game, 900);
	assert_mappings(image, "10-20:1 30-40:3");
	assert_true(image->process.was_scanned);
	assert_int_equal(image->process.as_of_ns, 900);
}

/* Older events are all that there is: they must not be ignored. */
static void maps_that_cannot_be_read_leave_events_valid(void **state _unused_)
{
	map(1, 10, 20, 1);
	add_scanned(30, 40, 3);
	scan_error = -EACCES;
	refresh(entry_of_game, 900);
	assert_mappings(image, "10-20:1");
	assert_int_equal(image->process.as_of_ns, 0);
	assert_false(image->process.was_scanned);
	assert_string_equal(image->process.comm, "game");
	assert_int_equal(image->proc_start_ns, 40);
}

static void a_kernel_thread_has_no_maps_to_read(void **state _unused_)
{
	struct proc_entry worker = entry_of_game;

	worker.is_kernel_thread = true;
	scan_error = -EACCES;
	refresh(worker, 900);
	assert_int_equal(num_scans, 0);
	assert_true(image->process.was_scanned);
	assert_int_equal(image->process.as_of_ns, 900);
}

static void short_memory_of_a_scan_is_an_error(void **state _unused_)
{
	scan_error = -ENOMEM;
	assert_int_equal(process_image_refresh(image, "/proc", NULL, &entry_of_game, 900), -ENOMEM);
	assert_string_equal(image->process.comm, "");
	assert_int_equal(image->proc_start_ns, 0);
}

static int map_at(struct process_image *of, uint64_t time_ns, uint64_t start, uint32_t file)
{
	const struct mapping mapping = make_mapping(start, start + 10, file);

	return process_image_map(of, time_ns, &mapping);
}

static int set_words(struct process_image *of)
{
	int err = process_image_set_command_line(of, "game");

	return err ? err : process_image_set_script(of, "main.py");
}

static int map_all(struct process_image *of)
{
	const struct mapping memory = make_mapping(5, 35, FILE_NONE);
	int err = map_at(of, 5, 10, 1);

	if (err)
		return err;
	err = map_at(of, 5, 20, 2);
	return err ? err : process_image_map_memory(of, 6, &memory, NULL);
}

static int look_for_moved(struct process_image *of)
{
	bool is_changed;
	int err = process_image_read_moved(of, "/proc", NULL);

	return err ? err : process_image_take_moved(of, NOW, &is_changed);
}

/* Each step with a child that has no code yet. */
static int start_child(struct process_image *child, struct process_image *parent)
{
	const struct mapping memory = make_mapping(5, 35, FILE_NONE);
	int err = process_image_inherit(child, parent);

	if (err)
		return err;
	process_image_forget_code(child);
	err = process_image_take_latest(child, parent, 6);
	if (err)
		return err;
	process_image_forget_code(child);
	err = map_at(child, 7, 20, 1);
	if (err)
		return err;
	process_image_forget_code(child);
	err = look_for_moved(child);
	if (err)
		return err;
	process_image_forget_code(child);
	err = process_image_map_memory(child, 8, &memory, NULL);
	if (err)
		return err;
	process_image_forget_code(child);
	return process_image_refresh(child, "/proc", NULL, &entry_of_game, 900);
}

static int live_with_child(struct process_image *made, struct process_image *child)
{
	int err = set_words(made);

	if (err)
		return err;
	err = map_all(made);
	if (err)
		return err;
	err = look_for_moved(made);
	return err ? err : start_child(child, made);
}

static int live(void *context _unused_)
{
	struct process_image *made = process_image_new(1, PID, 1);
	struct process_image *child = process_image_new(2, PID, 6);
	int err = made && child ? live_with_child(made, child) : -ENOMEM;

	process_image_free(child);
	process_image_free(made);
	return err;
}

static void short_memory_is_an_error_of_each_step(void **state _unused_)
{
	for (uint64_t i = 0; i < 50; i++) /* more than there is room for at first */
		add_scanned(100 + 20 * i, 110 + 20 * i, 3);
	copy_start = 10;
	copy_end = 30;
	failing_memory_try_all(live, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_image_has_nothing),
		TEST(what_was_forgotten_can_be_known_anew),
		TEST(a_comm_has_fifteen_bytes),
		TEST(words_and_script_stay_when_the_other_changes),
		TEST(a_child_has_what_its_parent_had),
		TEST(a_command_line_lives_as_long_as_somebody_has_it),
		TEST(mappings_that_change_nothing_are_no_new_version),
		TEST(a_mapping_knows_since_when_no_other_code_was_there),
		TEST(the_last_replacement_of_code_by_a_file_is_known),
		TEST(kept_mappings_are_those_of_their_time),
		TEST(an_exec_takes_the_mappings_of_its_time_along),
		TEST(memory_replaces_a_file_unless_it_holds_its_text),
		TEST(a_copy_may_be_a_part_of_the_memory),
		TEST(only_what_the_memory_covers_is_compared),
		TEST(a_file_is_remembered_where_memory_replaced_it),
		TEST(moved_mappings_fill_gaps_from_the_time_they_were_read),
		TEST(moved_mappings_are_taken_once),
		TEST(maps_that_cannot_be_read_move_nothing),
		TEST(a_scan_replaces_what_was_known),
		TEST(a_process_that_ends_keeps_what_was_known),
		TEST(a_malformed_line_adds_what_came_before_it),
		TEST(maps_that_cannot_be_read_leave_events_valid),
		TEST(a_kernel_thread_has_no_maps_to_read),
		TEST(short_memory_of_a_scan_is_an_error),
		TEST(short_memory_is_an_error_of_each_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
