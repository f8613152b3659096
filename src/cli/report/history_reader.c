/*
 * The row could be made from the profile that was just written. Instead it is made from the file,
 * by the history's own code. Only this makes it identical to the last byte, whatever a format drops
 * or reorders. A capture takes some milliseconds to read.
 *
 * The file contains names of other users' programs. So a process reads it that has rights to that
 * file only. Its answer is a text that nobody parses before the history does. It prints nothing, as
 * warnings are for the user who lists the captures.
 */
#include "cli/report/history_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/confinement.h"
#include "base/log.h"
#include "cli/report/history_index.h"

#define MEMORY_BYTES (1ull << 30)
#define CPU_S        20
/* Wall-clock time: on a busy machine the lowest priority gets little. */
#define LIMIT_MS 60000

struct history_file_reader {
	const char *path;
	int64_t time_s;
	uid_t user;
};

/* ---- in the process ---- */

static void be_silent(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		close(STDERR_FILENO);
}

static int make_text(const struct history_file_reader *reader, int fd, struct text *ret)
{
	struct history_row row;
	bool is_final = false;
	int err = history_row_read(&row, reader->path, reader->time_s, &fd, &is_final);

	if (!err && (!is_final || !history_row_append_text(&row, ret)))
		err = -EINVAL;
	history_row_release(&row);
	return err;
}

static void run(int socket, void *context)
{
	const struct history_file_reader *reader = context;
	struct confinement confinement = {.name = "stackwide-read",
					  .user = reader->user,
					  .memory_bytes = MEMORY_BYTES,
					  .cpu_s = CPU_S};
	_cleanup_(text_release) struct text text = {0};
	int fds[WORKER_MAX_FDS];
	char request = 0;

	if (worker_receive(socket, &request, sizeof(request), fds) <= 0 || fds[0] < 0)
		return;
	be_silent();
	if (!(confinement_enter(&confinement) & CONFINED_CAPABILITIES))
		return;
	if (!make_text(reader, fds[0], &text))
		(void)!worker_send(socket, &(struct iovec){text.data, text.length}, 1, NULL, 0);
}

/* ---- ours ---- */

/* Its answer, with a NUL at the end. Returns 0 or negative errno. */
static int ask(struct worker *worker, int fd, char *ret, size_t size)
{
	struct pollfd answer = {.fd = worker->fd, .events = POLLIN};
	char request = 0;
	int fds[WORKER_MAX_FDS];
	ssize_t got;
	int err = worker_send(worker->fd, &(struct iovec){&request, sizeof(request)}, 1, &fd, 1);

	if (err)
		return err;
	if (poll(&answer, 1, LIMIT_MS) <= 0)
		return -ETIMEDOUT;
	got = worker_receive(worker->fd, ret, size - 1, fds);
	if (got <= 0)
		return got ? (int)got : -ENODATA;
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) /* unexpected: close it */
		cleanup_closep(&fds[i]);
	ret[got] = '\0';
	return 0;
}

static int read_text(struct history_file_reader *reader, const struct archive_file *file, char *ret,
		     size_t size)
{
	struct worker worker = WORKER_NONE;
	_cleanup_close_ int fd = archive_file_reopen(file);
	struct rusage usage;
	int err;

	if (fd < 0)
		return fd;
	err = worker_start(&worker, run, reader);
	if (err)
		return err;
	err = ask(&worker, fd, ret, size);
	worker_stop(&worker, &usage);
	return err;
}

static int index_capture(const struct archive *archive, const char *path,
			 const struct archive_file *file, uid_t user)
{
	struct archive_capture capture;
	struct history_file_reader reader = {.path = path, .user = user};
	/* A truncated text is one byte too long for the index. */
	_cleanup_free_ char *text = malloc(ARCHIVE_INDEX_MAX_TEXT + 2);
	int err = text ? archive_file_describe(file, &capture) : -ENOMEM;

	if (err)
		return err;
	reader.time_s = capture.time_s;
	err = read_text(&reader, file, text, ARCHIVE_INDEX_MAX_TEXT + 2);
	return err ? err : history_index_write(archive, &capture, text);
}

void history_reader_index(const struct archive *archive, const char *dir,
			  const struct archive_file *file, uid_t user)
{
	_cleanup_(text_release) struct text path = {0};
	int err;

	text_printf(&path, "%s/%s", dir, archive_file_get_name(file));
	err = path.failed ? -ENOMEM : index_capture(archive, path.data, file, user);
	if (err)
		log_debug("the archive's index lacks the capture: %s", strerror(-err));
}
