#include "collect/events/mapped_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/processes/target_threads.h"
#include "process/code_owner.h"
#include "process/foreign_file.h"
#include "process/proc_maps.h"

void mapped_files_release(struct mapped_files *files)
{
	array_release(&files->seen);
}

static const char *get_proc_root(const struct mapped_files *files)
{
	return files->proc_root ? files->proc_root : "/proc";
}

static bool is_before(const struct mapped_file_id *first, const struct mapped_file_id *second)
{
	if (first->dev != second->dev)
		return first->dev < second->dev;
	if (first->inode != second->inode)
		return first->inode < second->inode;
	if (first->num_bytes != second->num_bytes)
		return first->num_bytes < second->num_bytes;
	if (first->modified.tv_sec != second->modified.tv_sec)
		return first->modified.tv_sec < second->modified.tv_sec;
	return first->modified.tv_nsec < second->modified.tv_nsec;
}

bool mapped_files_have(const struct mapped_files *files, const struct mapped_file_id *id)
{
	size_t index = array_count_front(&files->seen, seen, is_before(seen, id));

	return index < files->seen.length && !is_before(id, &files->seen.items[index]);
}

/* Returns 1 if it is new, 0 if it is not or there are too many, or -ENOMEM. */
static int remember(struct mapped_files *files, const struct mapped_file_id *id)
{
	size_t index = array_count_front(&files->seen, seen, is_before(seen, id));
	struct mapped_file_id *added;

	if (index < files->seen.length && !is_before(id, &files->seen.items[index]))
		return 0;
	if (files->seen.length == MAX_MAPPED_FILES) {
		files->num_left_out++;
		return 0;
	}
	added = array_insert(&files->seen, index);
	if (!added)
		return -ENOMEM;
	*added = *id;
	return 1;
}

int mapped_files_remember(struct mapped_files *files, int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	return remember(files, &(struct mapped_file_id){
				       .dev = status.st_dev,
				       .inode = status.st_ino,
				       .num_bytes = (uint64_t)status.st_size,
				       .modified = status.st_mtim,
			       });
}

int mapped_files_add(struct mapped_files *files, int fd, const char *path)
{
	int err = mapped_files_remember(files, fd);

	if (err > 0)
		return files->handle(fd, path, files->context);
	close(fd);
	return err;
}

/* Whether to open a file that may not answer: only for root's own processes, as the kernel would wait for it, too. */
static bool may_be_waited_for(const struct mapped_files *files, pid_t pid)
{
	struct code_owner owner;

	return !files->opener || (!code_owner_read(get_proc_root(files), pid, &owner) &&
				  owner.uid == 0 && owner.real_uid == 0);
}

/*
 * Open a file by its mapping, which also works for deleted files. Without permission for that, by
 * its path in the process's root, where a deleted file may have been replaced by another one.
 */
static int open_mapped(const struct mapped_files *files, pid_t pid,
		       const struct proc_mapping *mapping)
{
	const char *proc_root = get_proc_root(files);
	struct foreign_file found;
	char name[PATH_MAX];
	int fd;
	int err;

	snprintf(name, sizeof(name), "%s/%d/map_files/%" PRIx64 "-%" PRIx64, proc_root, pid,
		 mapping->start, mapping->end);
	err = foreign_file_follow(files->opener, pid, name, &found);
	if (err && err != -ETIMEDOUT && !mapping->is_deleted) {
		snprintf(name, sizeof(name), "%s/%d/root", proc_root, pid);
		err = foreign_file_find(files->opener, pid, name, mapping->path, O_NOFOLLOW,
					&found);
	}
	if (err)
		return err;
	fd = !found.may_hang || may_be_waited_for(files, pid) ? file_open_found(found.handle)
							      : -EREMOTE;
	close(found.handle);
	return fd;
}

struct process_search {
	struct mapped_files *files;
	pid_t pid;
	int err; /* error of handling a file */
};

static int look_at_mapping(const struct proc_mapping *mapping, void *context)
{
	struct process_search *search = context;
	int fd;

	if (!mapping->is_executable || mapping->path[0] != '/')
		return 0;
	fd = open_mapped(search->files, search->pid, mapping);
	if (fd < 0) {
		search->files->num_unreadable++;
		return 0;
	}
	search->err = mapped_files_add(search->files, fd, mapping->path);
	return search->err;
}

/* An ended process, or one whose mappings are hidden from us, is not a failure. */
static int look_at_process(struct mapped_files *files, pid_t pid)
{
	struct process_search search = {.files = files, .pid = pid};
	int err =
		proc_maps_read(files->opener, get_proc_root(files), pid, look_at_mapping, &search);

	files->num_unreadable += err == -ETIMEDOUT;
	return err == -ENOMEM ? err : search.err;
}

static int look_at_all(struct mapped_files *files)
{
	DIR *folder = opendir(get_proc_root(files));
	struct dirent *entry;
	int err = 0;

	if (!folder)
		return -errno;
	while (!err && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = look_at_process(files, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(folder);
	return err;
}

int mapped_files_find(struct mapped_files *files, const struct target *target)
{
	_cleanup_(target_threads_release) struct target_threads threads = {0};
	struct target searched = *target;
	int err;

	if (target->kind != TARGET_PROCESSES && target->kind != TARGET_THREADS)
		return look_at_all(files);
	searched.may_be_gone = true; /* missing processes are reported when they are recorded */
	err = target_threads_list(&threads, &searched, NULL);
	if (err)
		return err;
	if (target->kind == TARGET_THREADS) {
		for (size_t i = 0; i < target->num_ids && !err; i++)
			err = look_at_process(files, target->ids[i]);
		return err;
	}
	if (!target->leaves_children_out) {
		err = target_threads_add_descendants(&threads);
		if (err)
			return err;
	}
	for (size_t i = 0; i < threads.pids.length && !err; i++)
		err = look_at_process(files, threads.pids.items[i].id);
	return err;
}
