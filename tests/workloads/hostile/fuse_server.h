/*
 * A FUSE file system with one file, for programs that answer its requests themselves. It is mounted as fusermount
 * does it for a user. Of one thread: there is one file system in a process.
 */
#ifndef FUSE_SERVER_H
#define FUSE_SERVER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FUSE_SERVER_NODE 2
/* Of the largest request or answer. */
#define FUSE_SERVER_BYTES (256u << 10)

struct fuse_server {
	const char *file_name;
	uint64_t file_bytes;
	uint64_t valid_s; /* what is said of the file holds for so long */
	uid_t user;       /* who has mounted it */
	bool is_private;  /* nobody else may read it, not even root */
	/* Flags of FUSE for an open file (FOPEN_…), by those of open(2). */
	uint32_t (*get_open_flags)(uint32_t flags);
	/* Returns how much was read, or -1 for an error. NULL: reads are never answered. */
	ssize_t (*read)(void *data, size_t size, uint64_t offset);
	int device;
};

/* Returns 0, or 77 where FUSE is not permitted. */
static int fuse_server_mount(struct fuse_server *server, const char *folder)
{
	char options[128];

	server->device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (server->device < 0)
		return 77;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s",
		 server->device, server->user, server->user,
		 server->is_private ? "" : ",allow_other");
	return mount("fuse_server", folder, "fuse", MS_NODEV, options) ? 77 : 0;
}

static void fuse_server_reply(const struct fuse_server *server,
			      const struct fuse_in_header *request, int error, const void *data,
			      size_t size)
{
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
					 .error = error,
					 .unique = request->unique};
	struct iovec parts[2] = {{.iov_base = &header, .iov_len = sizeof(header)},
				 {.iov_base = (void *)(uintptr_t)data, .iov_len = size}};

	if (writev(server->device, parts, 2) < 0 && errno != ENOENT)
		perror("fuse_server");
}

static struct fuse_attr fuse_server_attributes(const struct fuse_server *server, uint64_t node)
{
	bool is_file = node == FUSE_SERVER_NODE;
	struct fuse_attr attributes = {.ino = node, .nlink = 1, .blksize = 4096};

	attributes.mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755;
	attributes.size = is_file ? server->file_bytes : 0;
	return attributes;
}

static void fuse_server_look_up(const struct fuse_server *server,
				const struct fuse_in_header *request, const char *name)
{
	struct fuse_entry_out entry = {.nodeid = FUSE_SERVER_NODE,
				       .attr_valid = server->valid_s,
				       .entry_valid = server->valid_s};
	bool is_file = strcmp(name, server->file_name) == 0;

	entry.attr = fuse_server_attributes(server, FUSE_SERVER_NODE);
	fuse_server_reply(server, request, is_file ? 0 : -ENOENT, &entry,
			  is_file ? sizeof(entry) : 0);
}

static void fuse_server_read(const struct fuse_server *server, const struct fuse_in_header *request,
			     const struct fuse_read_in *wanted)
{
	static char data[FUSE_SERVER_BYTES];
	size_t size = wanted->size < sizeof(data) ? wanted->size : sizeof(data);
	ssize_t got;

	if (!server->read)
		return;
	got = server->read(data, size, wanted->offset);
	fuse_server_reply(server, request, got < 0 ? -EIO : 0, data, got < 0 ? 0 : (size_t)got);
}

static void fuse_server_answer(const struct fuse_server *server,
			       const struct fuse_in_header *request)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 65536,
				     .max_write = 65536};
	struct fuse_statfs_out system = {.st = {.bsize = 4096, .namelen = 255}};
	struct fuse_attr_out attributes = {.attr_valid = server->valid_s};
	const struct fuse_open_in *opening = (const struct fuse_open_in *)(request + 1);
	struct fuse_open_out opened = {0};

	switch (request->opcode) {
	case FUSE_INIT:
		fuse_server_reply(server, request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_server_look_up(server, request, (const char *)(request + 1));
		break;
	case FUSE_GETATTR:
		attributes.attr = fuse_server_attributes(server, request->nodeid);
		fuse_server_reply(server, request, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		opened.open_flags = server->get_open_flags(opening->flags);
		fuse_server_reply(server, request, 0, &opened, sizeof(opened));
		break;
	case FUSE_OPENDIR:
		fuse_server_reply(server, request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		fuse_server_read(server, request, (const struct fuse_read_in *)(request + 1));
		break;
	case FUSE_STATFS:
		fuse_server_reply(server, request, 0, &system, sizeof(system));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		fuse_server_reply(server, request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_server_reply(server, request, -ENOSYS, NULL, 0);
	}
}

/* Answer requests until it is unmounted. Returns an exit status. */
static int fuse_server_run(const struct fuse_server *server)
{
	/* Aligned as a request's header. */
	static uint64_t request[FUSE_SERVER_BYTES / sizeof(uint64_t)];

	for (;;) {
		ssize_t got = read(server->device, request, sizeof(request));

		if (got < 0 && errno == ENODEV)
			return 0;
		if (got < 0 && errno != EINTR && errno != ENOENT)
			return 1;
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			fuse_server_answer(server,
					   (const struct fuse_in_header *)(const void *)request);
	}
}

#endif
