/*
 * Folders of a test's own, below the runner's TMPDIR: nothing is written beside it.
 */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

/* Room for a path below TMPDIR. */
#define TEST_PATH_BYTES 256

static inline const char *test_parent_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder ? folder : "/tmp";
}

/* Make an empty folder; its path goes to ret, which has TEST_PATH_BYTES. The caller removes it. */
static inline void test_folder_make(char *ret)
{
	snprintf(ret, TEST_PATH_BYTES, "%s/stackwide-test-XXXXXX", test_parent_folder());
	assert_non_null(mkdtemp(ret));
}

#endif
