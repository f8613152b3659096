#include "collect/kernel/private_mount.h"

#include <errno.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library has no functions for these before glibc 2.36. */
int private_mount_open(const char *type)
{
	const unsigned int attributes =
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int mounted;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	mounted = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
	return mounted < 0 ? -errno : mounted;
}
