#include "process/proc_scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/script_name.h"
#include "process/proc_file.h"
#include "process/proc_maps.h"
#include "process/replaced_text.h"
#include "process/slow_opener.h"

#define SMALL_FILE_MAX_BYTES (64u << 10)
/* The kernel's own limit of a command's arguments. */
#define CMDLINE_MAX_BYTES (4u << 20)

/* Fields of /proc/PID/stat, counted from the one after the comm, which is the third. */
#define STAT_PARENT_PID  1
#define STAT_FLAGS       6
#define STAT_NUM_THREADS 17
#define STAT_START_TIME  19

/*
 * /proc shows more than the comm of kernel workers: "kworker/0:1-events", "kworker/u8:2+flush".
 * Samples and events have the comm without the work.
 */
static void strip_worker_description(char *comm)
{
	char *colon = string_starts_with(comm, "kworker/") ? strchr(comm, ':') : NULL;

	if (colon)
		colon[strcspn(colon, "-+")] = '\0';
}

static int read_comm(const char *proc_root, pid_t pid, struct proc_entry *entry)
{
	_cleanup_(text_release) struct text text = {0};
	int err = proc_file_read(proc_root, pid, "comm", SMALL_FILE_MAX_BYTES, &text);

	if (err)
		return err;
	if (text.length && text.data[text.length - 1] == '\n')
		text_truncate(&text, text.length - 1);
	snprintf(entry->comm, sizeof(entry->comm), "%s", text.data ? text.data : "");
	strip_worker_description(entry->comm);
	return 0;
}

/* Times in /proc are in clock ticks; sysconf() returns their number per second. */
static uint64_t ticks_to_ns(uint64_t ticks)
{
	uint64_t ns_per_tick = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t time_ns;

	return __builtin_mul_overflow(ticks, ns_per_tick, &time_ns) ? 0 : time_ns;
}

/* In the flags. Source: Linux include/linux/sched.h. */
#define PF_KTHREAD 0x00200000

/* The comm is in parentheses and may contain parentheses: the last one ends it. */
static void read_stat_fields(const char *text, struct proc_entry *entry)
{
	const char *at = strrchr(text, ')');

	if (!at)
		return;
	at++;
	for (int field = 0; *at && field <= STAT_START_TIME; field++) {
		at += strspn(at, " ");
		if (field == 0)
			/* The state: Z a zombie, X dead (proc_pid_stat(5)). */
			entry->is_zombie = *at == 'Z' || *at == 'X';
		else if (field == STAT_NUM_THREADS)
			/* The first thread has ended, but others go on. */
			entry->is_zombie &= strtoul(at, NULL, 10) <= 1;
		else if (field == STAT_FLAGS)
			entry->is_kernel_thread = strtoul(at, NULL, 10) & PF_KTHREAD;
		else if (field == STAT_PARENT_PID)
			entry->parent_pid = (uint32_t)strtoul(at, NULL, 10);
		else if (field == STAT_START_TIME)
			entry->start_ns = ticks_to_ns(strtoull(at, NULL, 10));
		at += strcspn(at, " ");
	}
}

int proc_entry_read(const char *proc_root, pid_t pid, struct proc_entry *ret)
{
	_cleanup_(text_release) struct text stat = {0};
	struct proc_entry entry = {0};
	int err = read_comm(proc_root, pid, &entry);

	if (err)
		return err;
	err = proc_file_read(proc_root, pid, "stat", SMALL_FILE_MAX_BYTES, &stat);
	if (err)
		return err;
	if (stat.data)
		read_stat_fields(stat.data, &entry);
	*ret = entry;
	return 0;
}

/* The first line is "Name:", a tab and the comm. */
static void read_name(const struct text *status, struct proc_details *ret)
{
	const char *name = status->length ? strchr(status->data, '\t') : NULL;

	if (name)
		snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)strcspn(name + 1, "\n"),
			 name + 1);
	strip_worker_description(ret->comm);
}

/* Read "Uid:" and four tab-separated numbers; the first is the real one. */
static void read_uid(const struct text *status, struct proc_details *ret)
{
	const char *line = status->length ? strstr(status->data, "\nUid:\t") : NULL;

	if (!line)
		return;
	ret->uid = (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10);
	ret->has_uid = true;
}

/* Every word ends in NUL; a process that sets its title may append blanks. */
static void join_words(struct text *command_line)
{
	size_t length = command_line->length;

	if (length > COMMAND_LINE_MAX_BYTES)
		length = COMMAND_LINE_MAX_BYTES;
	for (size_t i = 0; i < length; i++)
		if (!command_line->data[i])
			command_line->data[i] = ' ';
	while (length && command_line->data[length - 1] == ' ')
		length--;
	text_truncate(command_line, length);
}

/*
 * The words are read first: if the comm afterwards is still that of a program, they are of no later
 * program.
 */
int proc_details_read(const char *proc_root, pid_t pid, struct slow_opener *opener,
		      struct proc_details *ret)
{
	_cleanup_(text_release) struct text status = {0};
	_cleanup_(proc_details_release) struct proc_details details = {0};
	int err = proc_file_read_slow(opener, proc_root, pid, "cmdline", CMDLINE_MAX_BYTES,
				      &details.command_line);

	if (err == -ENOMEM)
		return err;
	err = proc_file_read(proc_root, pid, "status", SMALL_FILE_MAX_BYTES, &status);
	if (err)
		return err;
	read_name(&status, &details);
	read_uid(&status, &details);
	if (details.command_line.length)
		script_name_append(details.comm, details.command_line.data,
				   details.command_line.length, &details.script);
	if (details.script.failed)
		return -ENOMEM;
	join_words(&details.command_line);
	*ret = details;
	details = (struct proc_details){0};
	return 0;
}

void proc_details_release(struct proc_details *details)
{
	text_release(&details->command_line);
	text_release(&details->script);
}

struct mappings_reader {
	pid_t pid;
	pid_t parent_pid;
	struct file_table *files;
	struct mapping_list *list;
	/* Mappings that end where the next line may start: */
	struct proc_mapping file_line; /* the last line of a file */
	struct mapping memory;         /* may contain a copy of a file's text */
	uint64_t reached;              /* the end of the last line */
	bool has_file_line;
	bool has_memory;
	uint32_t num_looks; /* replaced_text.h */
};

static int add_file_of(struct mappings_reader *reader, const struct proc_mapping *line,
		       uint32_t *ret)
{
	const struct file_identity identity = {
		.path = line->path,
		.dev_major = line->dev_major,
		.dev_minor = line->dev_minor,
		.inode = line->inode,
	};
	const struct mapped_range range = {
		.pid = reader->pid,
		.parent_pid = reader->parent_pid,
		.start = line->start,
		.end = line->end,
	};

	return file_table_add(reader->files, &range, &identity, ret);
}

/*
 * Whether memory is a copy of a file's text: the file of a neighbouring line, code or not. Returns
 * 0 or -ENOMEM.
 */
static int compare_memory(struct mappings_reader *reader, const struct proc_mapping *line,
			  struct mapping *memory, bool *ret_is_copy)
{
	struct mapping beside = {
		.start = line->start, .end = line->end, .file_offset = line->file_offset};
	int err;

	*ret_is_copy = false;
	if (reader->num_looks >= REPLACED_TEXT_MAX_LOOKS)
		return 0;
	err = add_file_of(reader, line, &beside.file);
	if (err)
		return err;
	if (beside.file != FILE_NONE)
		*ret_is_copy = replaced_text_find(reader->files, reader->pid, &beside, memory,
						  &reader->num_looks);
	return 0;
}

/* The line may reveal the content of the memory before it. */
static int look_back(struct mappings_reader *reader, const struct proc_mapping *line)
{
	bool is_changed;
	bool is_copy;
	int err;

	if (line->start != reader->reached)
		reader->has_file_line = reader->has_memory = false;
	reader->reached = line->end;
	if (!line->inode || !reader->has_memory)
		return 0;
	reader->has_memory = false;
	err = compare_memory(reader, line, &reader->memory, &is_copy);
	if (err || !is_copy)
		return err;
	return mapping_list_add(reader->list, &reader->memory, &is_changed);
}

static void note_file_line(struct mappings_reader *reader, const struct proc_mapping *line)
{
	struct proc_mapping *noted = &reader->file_line;

	if (!line->inode)
		return;
	/* Copy only the used part of the path: there may be many lines. */
	memcpy(noted, line, offsetof(struct proc_mapping, path));
	memcpy(noted->path, line->path, strlen(line->path) + 1);
	reader->has_file_line = true;
}

static int add_code(struct mappings_reader *reader, const struct proc_mapping *line,
		    bool *ret_may_be_copy)
{
	struct mapping new = {.start = line->start, .end = line->end};
	bool is_changed;
	bool is_copy = false;
	int err = add_file_of(reader, line, &new.file);

	if (err)
		return err;
	if (new.file != FILE_NONE)
		new.file_offset = line->file_offset;
	*ret_may_be_copy = replaced_text_may_be_in(reader->files, new.file);
	if (*ret_may_be_copy) {
		if (reader->has_file_line)
			err = compare_memory(reader, &reader->file_line, &new, &is_copy);
		if (err)
			return err;
		reader->has_memory = !is_copy;
		reader->memory = new;
	}
	return mapping_list_add(reader->list, &new, &is_changed);
}

/* Data is not code: mappings that are not executable are skipped, and with them most files. */
static int add_mapping(const struct proc_mapping *mapping, void *context)
{
	struct mappings_reader *reader = context;
	bool may_be_copy = false;
	int err = look_back(reader, mapping);

	if (err)
		return err;
	if (mapping->is_executable) {
		err = add_code(reader, mapping, &may_be_copy);
		if (err)
			return err;
	}
	if (!may_be_copy)
		note_file_line(reader, mapping);
	return 0;
}

/* Returns the pid in a folder's name, or 0. */
static pid_t pid_of_name(const char *name)
{
	char *end;
	unsigned long pid;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	pid = strtoul(name, &end, 10);
	return *end == '\0' && pid <= INT_MAX ? (pid_t)pid : 0;
}

/*
 * /proc/PID shows the memory of the process's first thread, which has none if only that thread has
 * ended. Other threads are not listed, but exist: /proc/TID.
 *
 * text     gets the maps of the first thread that has some; stays empty if none has any
 * ret_tid  that thread
 */
static int read_maps_of_threads(struct slow_opener *opener, const char *proc_root, pid_t pid,
				struct text *text, pid_t *ret_tid)
{
	_cleanup_(text_release) struct text path = {0};
	const struct dirent *entry;
	DIR *folder;
	int err = 0;

	text_printf(&path, "%s/%d/task", proc_root, pid);
	if (path.failed)
		return -ENOMEM;
	folder = opendir(path.data);
	while (folder && !err && !text->length && (entry = readdir(folder))) {
		pid_t tid = pid_of_name(entry->d_name);

		if (!tid || tid == pid)
			continue;
		err = proc_file_read_slow(opener, proc_root, tid, "maps", PROC_MAPS_MAX_BYTES,
					  text);
		if (err == -ENOENT) /* it ended */
			err = 0;
		*ret_tid = tid;
	}
	if (folder)
		closedir(folder);
	return err;
}

int proc_mappings_read(const char *proc_root, pid_t pid, pid_t parent_pid, struct file_table *files,
		       struct mapping_list *list)
{
	_cleanup_(text_release) struct text text = {0};
	struct mappings_reader reader = {
		.pid = pid,
		.parent_pid = parent_pid,
		.files = files,
		.list = list,
	};
	struct slow_opener *opener = file_table_get_opener(files);
	struct error error = {0};
	int err = proc_file_read_slow(opener, proc_root, pid, "maps", PROC_MAPS_MAX_BYTES, &text);

	if (!err && !text.length)
		err = read_maps_of_threads(opener, proc_root, pid, &text, &reader.pid);
	if (err)
		return err;
	err = proc_maps_for_each(text.data, text.length, add_mapping, &reader, &error);
	if (err == -EINVAL)
		log_debug("%s/%d/maps: %s, skipping the rest", proc_root, pid, error.message);
	return err;
}

int proc_for_each_pid(const char *proc_root, int (*visit)(pid_t pid, void *context), void *context)
{
	DIR *folder = opendir(proc_root);
	const struct dirent *entry;
	int err = 0;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder)) != NULL) {
		pid_t pid = pid_of_name(entry->d_name);

		if (!pid)
			continue;
		err = visit(pid, context);
		if (err)
			break;
	}
	closedir(folder);
	return err;
}
