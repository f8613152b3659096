/*
 * A process that keeps its memory map locked: locked_map FOLDER UID. A FUSE file system is mounted on FOLDER, as
 * fusermount does it for a user, with one file, "file", whose reads are never answered. A process of user UID reads the
 * file by the page cache, and another one maps it where the kernel must wait for that read, with its map locked for
 * writing. Whoever reads /proc/PID/cmdline or map_files of it then waits, too. The pid of that child is printed when
 * it is about to. All ends with this process, which is the server, and ends after two minutes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "fuse_server.h"

#define FILE_BYTES (1u << 20)
#define PAGE_BYTES 4096
#define PAUSE_US   300000

static volatile unsigned long spins;

static uint32_t get_open_flags(uint32_t flags)
{
	return flags & O_DIRECT ? FOPEN_DIRECT_IO : 0;
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
static void lock_map(const struct fuse_server *server, const char *path)
{
	pthread_t thread;
	int own_fd = open("/var/tmp", O_TMPFILE | O_RDWR, 0755);
	int read_fd, mapped_fd;
	char byte;

	close(server->device);
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
		become(server->user);
		_exit(read(read_fd, &byte, 1) < 0);
	}
	become(server->user);
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
	struct fuse_server server = {.file_name = "file",
				     .file_bytes = FILE_BYTES,
				     .valid_s = 999,
				     .get_open_flags = get_open_flags};
	char path[4096];
	int mounted;

	if (argc != 3)
		return 2;
	/* A recorder that hangs may keep all others from starting a process that would end it. */
	alarm(120);
	server.user = (uid_t)strtoul(argv[2], NULL, 10);
	mounted = fuse_server_mount(&server, argv[1]);
	if (mounted)
		return mounted;
	snprintf(path, sizeof(path), "%s/file", argv[1]);
	if (!fork())
		lock_map(&server, path);
	return fuse_server_run(&server);
}
