#include "collect/events/process_answers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/target.h"

/* An answer takes some microseconds, and longer on a busy machine. */
#define SLOW_NS (100 * NS_PER_MS)

#define MAX_LINK_BYTES 64

/* Looking up a range in map_files takes the lock of the memory map, and reads nothing. */
static void name_range(pid_t pid, char ret[MAX_LINK_BYTES])
{
	snprintf(ret, MAX_LINK_BYTES, "/proc/%d/map_files/0-1000", pid);
}

static int check(struct slow_opener *opener, pid_t pid, struct error *error)
{
	struct target_state state;
	char link[MAX_LINK_BYTES];
	int handle;
	int err = target_read_state(pid, &state);

	if (err == -ENOMEM)
		return err;
	if (err || state.has_ended || state.is_kernel_thread)
		return 0;
	name_range(pid, link);
	handle = slow_opener_follow(opener, pid, link);
	if (handle >= 0)
		close(handle);
	if (handle != -ETIMEDOUT)
		return 0;
	text_mask_controls(state.comm);
	return error_set(error, -EBUSY,
			 "process %d (%s) did not answer in time: if it keeps its memory map "
			 "locked, a probe would hang, and block all forks; try again, end the "
			 "process, or record without probes of programs",
			 pid, state.comm);
}

int process_answers_check(struct slow_opener *opener, struct error *error)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int err = 0;

	if (!folder)
		return 0;
	while (!err && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = check(opener, (pid_t)strtol(entry->d_name, NULL, 10), error);
	closedir(folder);
	return err;
}

/* Returns whether one of them was slow. */
static bool wait_for_each(DIR *folder, _Atomic pid_t *asked)
{
	const struct dirent *entry;
	bool was_slow = false;

	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		uint64_t start_ns = clock_now_ns();
		char link[MAX_LINK_BYTES];
		int handle;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		*asked = pid;
		name_range(pid, link);
		handle = open(link, O_PATH | O_CLOEXEC);
		if (handle >= 0)
			close(handle);
		was_slow |= clock_now_ns() - start_ns > SLOW_NS;
	}
	return was_slow;
}

void process_answers_wait(_Atomic pid_t *asked)
{
	DIR *folder = opendir("/proc");

	/* Another one may have locked its map meanwhile. */
	while (folder && wait_for_each(folder, asked))
		rewinddir(folder);
	*asked = 0;
	if (folder)
		closedir(folder);
}
