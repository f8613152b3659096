/* A kernel file system that is mounted in no folder: only the holder of its descriptor sees it. */
#ifndef COLLECT_KERNEL_PRIVATE_MOUNT_H
#define COLLECT_KERNEL_PRIVATE_MOUNT_H

#include "base/attributes.h"

/*
 * Mount a file system of this type, read-only. Returns the descriptor of its root folder, which the
 * caller closes, or negative errno: -EPERM without CAP_SYS_ADMIN, -ENODEV if the kernel has no such
 * type.
 *
 * Source: fsopen(2), Linux 5.2.
 */
_must_check_ int private_mount_open(const char *type);

#endif
