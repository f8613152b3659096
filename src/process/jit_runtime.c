#include "process/jit_runtime.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"
#include "process/proc_file.h"

#define OPTIONS_MAX_BYTES (4u << 20)
#define JAVA_OPTION_ON    "-XX:+PreserveFramePointer"
#define JAVA_OPTION_OFF   "-XX:-PreserveFramePointer"

/*
 * V8 and .NET always keep them; Java depends on its options. A program may include .NET: from .NET
 * 7 on, its compiled code is mapped from memory with this name.
 */
static const char *const keepers[] = {
	"node", "nodejs", "libnode.so",    "libv8.so",           "chrome", "chromium", "electron",
	"deno", "d8",     "libcoreclr.so", "memfd:doublemapper",
};
#define JAVA "libjvm.so"

/* libnode.so also matches libnode.so.108. */
static bool is_named(const char *path, const char *name)
{
	const char *base = path_basename(path);
	size_t length = strlen(name);

	return string_starts_with(base, name) && (!base[length] || base[length] == '.');
}

/* The last of these options counts. */
static void take_option(const char *option, size_t length, bool *is_on)
{
	if (length == strlen(JAVA_OPTION_ON) && memcmp(option, JAVA_OPTION_ON, length) == 0)
		*is_on = true;
	if (length == strlen(JAVA_OPTION_OFF) && memcmp(option, JAVA_OPTION_OFF, length) == 0)
		*is_on = false;
}

/* Options with blanks between them; environment: strings with their NULs. */
static void take_variable(const struct text *environment, const char *name, bool *is_on)
{
	static const char blanks[] = " \t\n\r";

	for (size_t at = 0; at < environment->length; at += strlen(environment->data + at) + 1) {
		const char *value = environment->data + at;

		if (!string_starts_with(value, name) || value[strlen(name)] != '=')
			continue;
		value += strlen(name) + 1;
		for (size_t length; *value; value += length) {
			value += strspn(value, blanks);
			length = strcspn(value, blanks);
			take_option(value, length, is_on);
		}
	}
}

/* Options of the launcher whose value is the next word. */
static bool takes_value(const char *option)
{
	static const char *const options[] = {
		"-cp",           "-classpath",
		"--class-path",  "-p",
		"--module-path", "--upgrade-module-path",
		"--add-modules", "--limit-modules",
		"--add-exports", "--add-opens",
		"--add-reads",   "--patch-module",
		"--source",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(options); i++)
		if (string_equals(option, options[i]))
			return true;
	return false;
}

/* Words behind the class belong to the program; launchers other than java have different words. */
static void take_command(const struct text *command, bool *is_on)
{
	size_t at = 0;

	if (!command->length || !string_equals(path_basename(command->data), "java"))
		return;
	at = strlen(command->data) + 1;
	while (at < command->length && command->data[at] == '-') {
		const char *option = command->data + at;

		if (string_equals(option, "-jar") || string_equals(option, "-m") ||
		    string_equals(option, "--module"))
			return;
		take_option(option, strlen(option), is_on);
		at += strlen(option) + 1;
		if (takes_value(option) && at < command->length)
			at += strlen(command->data + at) + 1;
	}
}

/* Read a file from the process's memory, which may be in a file of a file system that hangs. */
static int read_memory(struct slow_opener *opener, const char *proc_root, pid_t pid,
		       const char *name, struct text *ret)
{
	return proc_file_read_slow(opener, proc_root, pid, name, OPTIONS_MAX_BYTES, ret);
}

/* Options in HotSpot's order of applying them. Returns 0 or an error of reading. */
static int read_java_options(struct slow_opener *opener, const char *proc_root, pid_t pid,
			     bool *ret_keeps)
{
	_cleanup_(text_release) struct text command = {0};
	_cleanup_(text_release) struct text environment = {0};
	int err = read_memory(opener, proc_root, pid, "cmdline", &command);

	if (err)
		return err;
	err = read_memory(opener, proc_root, pid, "environ", &environment);
	if (err)
		return err;
	*ret_keeps = false;
	take_variable(&environment, "JAVA_TOOL_OPTIONS", ret_keeps);
	take_variable(&environment, "JDK_JAVA_OPTIONS", ret_keeps);
	take_command(&command, ret_keeps);
	take_variable(&environment, "_JAVA_OPTIONS", ret_keeps);
	return 0;
}

int jit_runtime_keeps_frame_pointers(const char *proc_root, pid_t pid,
				     const struct file_table *files,
				     const struct mapping_list *mappings, bool *ret)
{
	bool is_known = false;

	*ret = false;
	array_for_each (&mappings->sorted, mapping) {
		const char *path;

		if (mapping->file == FILE_NONE)
			continue;
		path = file_table_get(files, mapping->file)->path;
		if (is_named(path, JAVA)) {
			bool keeps = false;
			int err = read_java_options(file_table_get_opener(files), proc_root, pid,
						    &keeps);

			if (err || !keeps)
				return err == -ETIMEDOUT ? err : 0;
			is_known = true;
		}
		for (size_t i = 0; i < ARRAY_LENGTH(keepers); i++)
			is_known |= is_named(path, keepers[i]);
	}
	*ret = is_known;
	return 0;
}

bool jit_runtime_has_trampolines(const struct file_table *files,
				 const struct mapping_list *mappings)
{
	array_for_each (&mappings->sorted, mapping) {
		const char *path;

		if (mapping->file == FILE_NONE)
			continue;
		path = file_table_get(files, mapping->file)->path;
		if (is_named(path, "python3") || is_named(path, "libpython3"))
			return true;
	}
	return false;
}

bool jit_runtime_is_memory(const struct file_table *files, const struct mapping *mapping)
{
	const struct mapped_file *file = file_table_get(files, mapping->file);
	char magic[SELFMAG];

	if (file->fd < 0 || file->build_id_size)
		return false;
	return pread(file->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
	       memcmp(magic, ELFMAG, SELFMAG) != 0;
}
