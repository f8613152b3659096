/* proc_file_read_slow(): separate from proc_file.c, which the opener itself uses. */
#include <errno.h>

#include "process/proc_file.h"
#include "process/slow_opener.h"

int proc_file_read_slow(struct slow_opener *opener, const char *proc_root, pid_t pid,
			const char *name, size_t limit_bytes, struct text *ret)
{
	_cleanup_(text_release) struct text path = {0};
	int err;

	text_printf(&path, "%s/%d/%s", proc_root, pid, name);
	if (path.failed)
		return -ENOMEM;
	err = slow_opener_read(opener, pid, path.data, limit_bytes, ret);
	/* The process ended between open and read. */
	return err == -ESRCH ? -ENOENT : err;
}
