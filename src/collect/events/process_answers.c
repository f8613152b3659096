#include "collect/events/process_answers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "collect/target.h"

/* Looking up a range in map_files takes the lock of the memory map, and reads nothing. */
static int check(struct slow_opener *opener, pid_t pid, struct error *error)
{
	struct target_state state;
	char link[64];
	int handle;
	int err = target_read_state(pid, &state);

	if (err == -ENOMEM)
		return err;
	if (err || state.has_ended || state.is_kernel_thread)
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/map_files/0-1000", pid);
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
