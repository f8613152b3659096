/*
 * What every unit test includes: cmocka needs these headers before its own, in this order.
 *
 * A test program fails if it leaves descriptors open or a child that nobody has waited for: a close() or a kill() that
 * is missing shows nowhere else. The leak checker finds memory that is not freed (LEAK_CHECK in the Makefile). Some code
 * opens descriptors for the life of the process: its tests define UNIT_KEPT_DESCRIPTORS before they include this.
 */
#ifndef UNIT_H
#define UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UNIT_KEPT_DESCRIPTORS
#define UNIT_KEPT_DESCRIPTORS 0
#endif

static pid_t unit_pid; /* children of the test may exit, too */
static unsigned int unit_num_descriptors;

static inline unsigned int unit_count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	if (!folder)
		return 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

__attribute__((constructor)) static inline void unit_start(void)
{
	unit_pid = getpid();
	unit_num_descriptors = unit_count_descriptors();
}

__attribute__((destructor)) static inline void unit_end(void)
{
	unsigned int num_open;
	pid_t child;

	if (getpid() != unit_pid)
		return;
	num_open = unit_count_descriptors();
	child = waitpid(-1, NULL, WNOHANG);
	if (num_open <= unit_num_descriptors + UNIT_KEPT_DESCRIPTORS && child < 0)
		return;
	if (child >= 0)
		fprintf(stderr, "a child was left behind\n");
	else
		fprintf(stderr, "%u descriptors were left open\n", num_open - unit_num_descriptors);
	_exit(1);
}

#endif
