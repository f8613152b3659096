#include "base/child_messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/confinement.h"
#include "base/table_format.h"
#include "base/text.h"

/* Longer lines are printed in parts. */
#define LINE_BYTES 16384

/* Process-wide, like the level of log.h: children forked anywhere write here. */
static struct {
	int fds[2];
	pthread_mutex_t lock;
	size_t length; /* of the incomplete line */
	char line[LINE_BYTES];
} messages = {.fds = {-1, -1}, .lock = PTHREAD_MUTEX_INITIALIZER};

static void print_text(const char *data, size_t length, bool is_line)
{
	_cleanup_(text_release) struct text shown = {0};

	table_append_name(&shown, data, length, TABLE_UNLIMITED_WIDTH);
	if (is_line)
		text_append_char(&shown, '\n');
	if (!shown.failed)
		fwrite(shown.data, 1, shown.length, stderr);
}

/* Print all complete lines. Print an incomplete one if the buffer is full, or at the end. */
static void print_lines(bool is_end)
{
	size_t start = 0;
	const char *end;

	while ((end = memchr(messages.line + start, '\n', messages.length - start))) {
		size_t length = (size_t)(end - messages.line) - start;

		print_text(messages.line + start, length, true);
		start += length + 1;
	}
	if (messages.length > start && (is_end || messages.length - start == LINE_BYTES)) {
		print_text(messages.line + start, messages.length - start, is_end);
		start = messages.length;
	}
	messages.length -= start;
	memmove(messages.line, messages.line + start, messages.length);
}

static void read_messages(bool is_end)
{
	ssize_t got;

	pthread_mutex_lock(&messages.lock);
	flockfile(stderr);
	while ((got = read(messages.fds[0], messages.line + messages.length,
			   LINE_BYTES - messages.length)) > 0) {
		messages.length += (size_t)got;
		print_lines(false);
	}
	print_lines(is_end);
	funlockfile(stderr);
	pthread_mutex_unlock(&messages.lock);
}

static void *run_reader(_unused_ void *context)
{
	struct pollfd readable = {.fd = messages.fds[0], .events = POLLIN};

	/* This thread is older than the command, which keeps all rights. */
	(void)!confinement_keep_sampling_rights(false);
	for (;;)
		if (poll(&readable, 1, -1) > 0)
			read_messages(false);
	return NULL;
}

int child_messages_start(void)
{
	sigset_t all;
	sigset_t before;
	pthread_t thread;
	int err;

	if (messages.fds[0] >= 0)
		return 0;
	if (pipe2(messages.fds, O_CLOEXEC))
		return -errno;
	(void)fcntl(messages.fds[0], F_SETFL, O_NONBLOCK);
	/* Signals are handled by other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run_reader, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(messages.fds[0]);
		close(messages.fds[1]);
		messages.fds[0] = messages.fds[1] = -1;
		return -err;
	}
	pthread_detach(thread);
	return 0;
}

void child_messages_redirect(void)
{
	if (messages.fds[1] < 0)
		return;
	(void)dup2(messages.fds[1], STDERR_FILENO);
	close(messages.fds[0]);
	close(messages.fds[1]);
	messages.fds[0] = messages.fds[1] = -1;
}

void child_messages_print(void)
{
	if (messages.fds[0] >= 0)
		read_messages(true);
}
