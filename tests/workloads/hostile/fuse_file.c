/*
 * A FUSE file system with one file, "program", which is said to be root's:
 * fuse_file FOLDER CONTENT [SECONDS [DELAY_MS]]. It is mounted on the folder, as fusermount does it for a user;
 * CONTENT is the path of what the file holds; what is said of the file holds for so many seconds (60); whoever
 * reads it waits for the delay (0). Ends when it is unmounted. While it is stopped (SIGSTOP), it does not answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILE_NODE     2
#define REQUEST_BYTES (128u << 10)

static int device;
static int content;
static uint64_t content_bytes;
static uint64_t valid_s = 60;
static struct timespec delay;

static void reply(const struct fuse_in_header *request, int error, const void *data, size_t size)
{
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
					 .error = error,
					 .unique = request->unique};
	struct iovec parts[2] = {{.iov_base = &header, .iov_len = sizeof(header)},
				 {.iov_base = (void *)(uintptr_t)data, .iov_len = size}};

	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		perror("fuse_file");
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct fuse_attr attributes = {.ino = node, .nlink = 1, .blksize = 4096};

	attributes.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
	attributes.size = node == FILE_NODE ? content_bytes : 0;
	return attributes;
}

static void look_up(const struct fuse_in_header *request, const char *name)
{
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE, .attr_valid = valid_s, .entry_valid = valid_s};

	entry.attr = attributes_of(FILE_NODE);
	reply(request, strcmp(name, "program") ? -ENOENT : 0, &entry,
	      strcmp(name, "program") ? 0 : sizeof(entry));
}

static void read_content(const struct fuse_in_header *request, const struct fuse_read_in *wanted)
{
	static char data[REQUEST_BYTES];
	size_t size = wanted->size < sizeof(data) ? wanted->size : sizeof(data);
	ssize_t got = pread(content, data, size, (off_t)wanted->offset);

	nanosleep(&delay, NULL);
	reply(request, got < 0 ? -EIO : 0, data, got < 0 ? 0 : (size_t)got);
}

static void answer(const struct fuse_in_header *request)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 65536,
				     .max_write = 65536};
	struct fuse_statfs_out system = {.st = {.bsize = 4096, .namelen = 255}};
	struct fuse_attr_out attributes = {.attr_valid = valid_s};
	struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};

	switch (request->opcode) {
	case FUSE_INIT:
		reply(request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(request, (const char *)(request + 1));
		break;
	case FUSE_GETATTR:
		attributes.attr = attributes_of(request->nodeid);
		reply(request, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_content(request, (const struct fuse_read_in *)(request + 1));
		break;
	case FUSE_STATFS:
		reply(request, 0, &system, sizeof(system));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(request, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	/* Room for the largest request, aligned as its header. */
	static uint64_t request[(REQUEST_BYTES + 4096) / sizeof(uint64_t)];
	struct stat status;
	char options[128];

	if (argc < 3)
		return 2;
	if (argc > 3)
		valid_s = (uint64_t)atoi(argv[3]);
	if (argc > 4)
		delay.tv_nsec = atol(argv[4]) * 1000000;
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	content = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (device < 0 || content < 0 || fstat(content, &status))
		return 77;
	content_bytes = (uint64_t)status.st_size;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=65534,group_id=65534,allow_other", device);
	if (mount("fuse_file", argv[1], "fuse", MS_NODEV, options))
		return 77;
	for (;;) {
		ssize_t got = read(device, request, sizeof(request));

		if (got < 0 && errno == ENODEV)
			return 0;
		if (got < 0 && errno != EINTR && errno != ENOENT)
			return 1;
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer((const struct fuse_in_header *)(const void *)request);
	}
}
