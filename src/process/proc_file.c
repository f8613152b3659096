#include "process/proc_file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"

int proc_file_read(const char *proc_root, pid_t pid, const char *name, size_t limit_bytes,
		   struct text *ret)
{
	_cleanup_(text_release) struct text path = {0};
	int err;

	text_printf(&path, "%s/%d/%s", proc_root, pid, name);
	if (path.failed)
		return -ENOMEM;
	err = file_read_at(AT_FDCWD, path.data, limit_bytes, ret);
	/* The process ended between open and read. */
	return err == -ESRCH ? -ENOENT : err;
}
