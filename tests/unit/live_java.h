/*
 * A Java that runs a program of a test, and HotSpot in it.
 */
#ifndef LIVE_JAVA_H
#define LIVE_JAVA_H

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "process/process_memory.h"
#include "runtime/hotspot.h"
#include "unit.h"

struct live_java_region {
	uint64_t start;
	uint64_t end;
	bool is_executable;
};

struct live_java {
	pid_t pid;
	int stdin_fd;
	FILE *output;
	struct process_memory process;
	struct hotspot_build build;
	uint64_t bias;
	unsigned int num_reads; /* by live_java_read() */
	size_t num_bytes;
	struct hotspot_layout layout; /* for the test */
	ARRAY(struct live_java_region) regions;
};

/* arguments: the program first, NULL last. */
static inline void live_java_start(struct live_java *live, const char *const *arguments)
{
	int input[2];
	int output[2];

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	live->pid = fork();
	assert_true(live->pid >= 0);
	if (!live->pid) {
		if (dup2(input[0], 0) < 0 || dup2(output[1], 1) < 0)
			_exit(127);
		execv(arguments[0], (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	live->process.pid = live->pid;
	live->stdin_fd = input[1];
	live->output = fdopen(output[0], "r");
	assert_non_null(live->output);
}

static inline void live_java_stop(struct live_java *live)
{
	int status;

	close(live->stdin_fd);
	fclose(live->output);
	kill(live->pid, SIGKILL);
	assert_int_equal(waitpid(live->pid, &status, 0), live->pid);
	array_release(&live->regions);
}

static inline bool live_java_look_into(struct live_java *live, const char *path,
				       const struct objfile_mapping *mapping)
{
	struct runtime_build build;
	struct objfile *objfile;
	bool is_there;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return false;
	err = objfile_open(fd, path, NULL, &objfile, NULL);
	close(fd);
	if (err)
		return false;
	is_there = !runtime_find(objfile, &build) && build.runtime == WIRE_RUNTIME_HOTSPOT;
	if (is_there) {
		live->build = build.hotspot;
		assert_int_equal(objfile_get_bias(objfile, mapping, &live->bias), 0);
	}
	objfile_unref(objfile);
	return is_there;
}

/* Read what is mapped. Returns whether HotSpot is in one of the files. */
static inline bool live_java_find(struct live_java *live)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", live->pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (getline(&line, &size, maps) > 0) {
		struct objfile_mapping mapping;
		struct live_java_region *region;
		char permissions[5];
		int name = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
			   &mapping.start, &mapping.end, permissions, &mapping.file_offset,
			   &name) < 4)
			continue;
		region = array_add(&live->regions);
		assert_non_null(region);
		*region = (struct live_java_region){mapping.start, mapping.end,
						    permissions[2] == 'x'};
		line[strcspn(line, "\n")] = '\0';
		if (!is_found && region->is_executable && name && line[name] == '/')
			is_found = live_java_look_into(live, line + name, &mapping);
	}
	free(line);
	fclose(maps);
	return is_found;
}

/* As a reader of a struct hotspot_memory, of which the live_java is the context. */
static inline int live_java_read(void *context, uint64_t address, void *ret, size_t size)
{
	struct live_java *live = context;

	live->num_reads++;
	live->num_bytes += size;
	return process_memory_read(&live->process, address, ret, size);
}

#endif
