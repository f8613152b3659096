/*
 * A process that keeps its memory map locked: locked_map FOLDER UID. A FUSE file system is mounted on FOLDER, as
 * fusermount does it for a user, with one file, "file", whose reads are never answered. A process of user UID reads the
 * file by the page cache, and another one maps it where the kernel must wait for that read, with its map locked for
 * writing. Whoever reads /proc/PID/cmdline or map_files of it then waits, too. The pid of that child is printed when
 * it is about to. All ends with this process, which is the server.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE     2
#define FILE_BYTES    (1u << 20)
#define REQUEST_BYTES (256u << 10)
#define PAGE_BYTES    4096
#define PAUSE_US      300000

static int device;
static volatile unsigned long spins;

static void reply(const struct fuse_in_header *request, int error, const void *data, size_t size)
{
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
					 .error = error,
					 .unique = request->unique};
	struct iovec parts[2] = {{.iov_base = &header, .iov_len = sizeof(header)},
				 {.iov_base = (void *)(uintptr_t)data, .iov_len = size}};

	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		perror("locked_map");
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct fuse_attr attributes = {.ino = node, .nlink = 1, .blksize = PAGE_BYTES};

	attributes.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
	attributes.size = node == FILE_NODE ? FILE_BYTES : 0;
	return attributes;
}

static void answer(const struct fuse_in_header *request)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 65536,
				     .max_write = 65536};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr_valid = 999, .entry_valid = 999};
	struct fuse_attr_out attributes = {.attr_valid = 999};
	const struct fuse_open_in *opening = (const struct fuse_open_in *)(request + 1);
	struct fuse_open_out opened = {0};

	switch (request->opcode) {
	case FUSE_INIT:
		reply(request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		entry.attr = attributes_of(FILE_NODE);
		reply(request, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		attributes.attr = attributes_of(request->nodeid);
		reply(request, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		opened.open_flags = opening->flags & O_DIRECT ? FOPEN_DIRECT_IO : 0;
		reply(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_OPENDIR:
		reply(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(request, 0, NULL, 0);
		break;
	case FUSE_READ: /* never */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(request, -ENOSYS, NULL, 0);
	}
}

static int serve(void)
{
	/* Aligned as a request. */
	static uint64_t request[REQUEST_BYTES / sizeof(uint64_t)];

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

/* So that the process is seen on a CPU. */
static void *spin(void *context)
{
	for (;;)
		spins++;
	return context;
}

static void become(uid_t user)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (setresgid(user, user, user) || setresuid(user, user, user))
		_exit(77);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/*
 * Both files are open before one is read: to open a file drops its pages, which waits for a page that is being read. Nobody
 * but the server holds the device then, so that all ends with it.
 */
static void lock_map(const char *path, uid_t user)
{
	pthread_t thread;
	int own_fd = open("/var/tmp", O_TMPFILE | O_RDWR, 0755);
	int read_fd, mapped_fd;
	char byte;

	close(device);
	/* Code that no other process maps, so that a recorder looks at it here. */
	if (own_fd < 0 || ftruncate(own_fd, PAGE_BYTES) ||
	    mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, own_fd, 0) == MAP_FAILED) {
		perror("/var/tmp");
		_exit(1);
	}
	/* That user may not come to the path. */
	read_fd = open(path, O_RDONLY);
	mapped_fd = open(path, O_RDONLY | O_DIRECT);
	if (read_fd < 0 || mapped_fd < 0)
		_exit(1);
	if (!fork()) {
		become(user);
		_exit(read(read_fd, &byte, 1) < 0);
	}
	become(user);
	if (pthread_create(&thread, NULL, spin, NULL))
		_exit(1);
	usleep(PAUSE_US); /* the other one is reading by then */
	printf("%d\n", getpid());
	fflush(stdout);
	mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, mapped_fd, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	char options[128];
	char path[4096];
	uid_t user;

	if (argc != 3)
		return 2;
	user = (uid_t)strtoul(argv[2], NULL, 10);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return 77;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device, user, user);
	if (mount("locked_map", argv[1], "fuse", MS_NODEV | MS_NOSUID, options))
		return 77;
	snprintf(path, sizeof(path), "%s/file", argv[1]);
	if (!fork())
		lock_map(path, user);
	return serve();
}
