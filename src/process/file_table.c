/*
 * A file has one number but two identities: a scan of /proc reports its device and inode, a mapping
 * event its build ID. There is an index for each.
 *
 * Both are claims. Two files with the same path and build ID are one file only if one user owns
 * both, and the owner is known only for an open file. The device and inode that the kernel reports
 * for a mapping are not always those of the file (btrfs, overlayfs). They are also reused for
 * another file system when theirs is gone. They are reliable only while a file with them is open
 * here, and only while its content stays the same. The file's version tells that (file_version.h),
 * unless the build ID does. Files that are not ELF are memory of their process: nothing is read of
 * them here, and they are one file however often they are written.
 *
 * Containers of one image have each file on a device of their own. To recognize it without reading
 * its build ID, its device and inode are kept as an alias, if the file is root's or ours. If an
 * alias has become wrong, another file gets the names of root's or ours, never the reverse.
 */
#include "process/file_table.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/text.h"
#include "process/code_owner.h"
#include "process/file_opener.h"
#include "process/slow_opener.h"

#define DELETED_SUFFIX " (deleted)"
#define MEMFD_PREFIX   "/memfd:"
#define SYSV_PREFIX    "/SYSV"
#define RESERVED_FDS   256 /* for all other files and events of the program */
#define OPEN_FILES_MIN 64
#define FOUR_GIB       (1ull << 32)
/* Memory for paths and records of all files, bytes: a program can map and delete files without end. */
#define MAX_KEPT_BYTES  (96u << 20)
#define FILE_BYTES      256
#define MAX_SETTLING_NS NS_PER_SECOND /* somebody may write without end */
/* Path of all files beyond this limit. */
#define OVERFLOW_PATH "[too many files]"

/* An inode that is watched. */
struct watched_inode {
	int watch;           /* of inotify */
	uint32_t file;       /* open, the first one with this inode */
	uint64_t written_ns; /* when writing was noticed last */
	bool is_being_written;
	bool is_noted; /* that has been taken */
};

/* Another device and inode of a file that is already known. */
struct file_alias {
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint32_t file;
	struct file_version version;
};

/* Number of open files mapped by a user's processes. */
struct user_files {
	uid_t user;
	size_t num_open;
	size_t kept_bytes;
};
INTERN_TABLE(user_files_table, struct user_files, user);

struct file_table {
	char *proc_root;
	struct file_build_id_reader reader;
	struct slow_opener *slow_opener; /* NULL: not started */
	struct opened_listener listener; /* no function: no listener */
	ARRAY(struct mapped_file) files;
	ARRAY(struct file_alias) aliases;
	struct hash_index by_build_id; /* and path, to files */
	struct hash_index by_inode;    /* and device and path, to files */
	struct hash_index by_alias;    /* likewise, to aliases */
	struct user_files_table users;
	size_t max_open;
	size_t num_open;
	uint64_t num_unopened;
	size_t kept_bytes;
	bool has_overflow_file;
	uint32_t overflow_file;
	int watch_fd;                        /* -1: nothing is watched */
	ARRAY(struct watched_inode) watched; /* by watch */
	size_t num_being_written;
	uint64_t looked_ns; /* when the events of the watches were read before the last time */
};

/*
 * Each file stays open as long as the table lives: its path may lead elsewhere, or nowhere, a
 * moment later.
 */
static size_t open_files_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < RESERVED_FDS + OPEN_FILES_MIN)
		return OPEN_FILES_MIN;
	return limit.rlim_cur - RESERVED_FDS;
}

static bool is_full(const struct file_table *table)
{
	return table->num_open >= table->max_open;
}

/*
 * The user of a process; processes that are gone already share one. NULL: root, who has no limits,
 * or out of memory.
 */
static struct user_files *find_user(struct file_table *table, pid_t pid)
{
	struct code_owner process;
	struct user_files wanted;
	uint32_t number;

	if (code_owner_read(table->proc_root, pid, &process))
		process.uid = FILE_OWNER_UNKNOWN;
	wanted = (struct user_files){.user = process.uid};
	if (process.uid == 0 || user_files_table_intern(&table->users, &wanted, &number))
		return NULL;
	return &table->users.items[number];
}

/* Reserve memory for the record of a file. Returns whether the user had room left. */
static bool take_room(struct file_table *table, pid_t pid, const char *path)
{
	size_t bytes = strlen(path) + FILE_BYTES;
	struct user_files *user =
		table->kept_bytes < MAX_KEPT_BYTES / 4 ? NULL : find_user(table, pid);

	if (user && user->kept_bytes + bytes > MAX_KEPT_BYTES - table->kept_bytes)
		return false;
	if (user)
		user->kept_bytes += bytes;
	table->kept_bytes += table->kept_bytes < MAX_KEPT_BYTES ? bytes : 0;
	return true;
}

/*
 * A user may open at most as many files as are left, so that some remain for the next user. The
 * file's owner does not matter: anybody can map the system's files.
 *
 * Returns whether one more is too many; else counts it. If memory is short, nobody is refused.
 */
static bool is_share_used_up(struct file_table *table, pid_t pid)
{
	struct user_files *user;

	if (is_full(table))
		return true;
	/* Until a quarter is used, there is no limit. */
	if (table->num_open < table->max_open / 4)
		return false;
	user = find_user(table, pid);
	if (!user)
		return false;
	if (user->num_open >= table->max_open - table->num_open)
		return true;
	user->num_open++;
	return false;
}

struct file_table *file_table_new(const char *proc_root, const struct file_build_id_reader *reader)
{
	struct file_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->proc_root = strdup(proc_root);
	if (reader)
		table->reader = *reader;
	table->max_open = open_files_limit();
	table->watch_fd = -1;
	if (!table->proc_root) {
		file_table_free(table);
		return NULL;
	}
	return table;
}

void file_table_free(struct file_table *table)
{
	if (!table)
		return;
	array_for_each (&table->files, file) {
		cleanup_closep(&file->fd);
		free(file->path);
	}
	array_release(&table->files);
	hash_index_release(&table->by_build_id);
	hash_index_release(&table->by_inode);
	hash_index_release(&table->by_alias);
	user_files_table_release(&table->users);
	array_release(&table->aliases);
	cleanup_closep(&table->watch_fd);
	array_release(&table->watched);
	slow_opener_free(table->slow_opener);
	free(table->proc_root);
	free(table);
}

int file_table_start_opener(struct file_table *table)
{
	return table->slow_opener ? 0 : slow_opener_new(&table->slow_opener);
}

struct slow_opener *file_table_get_opener(const struct file_table *table)
{
	return table->slow_opener;
}

void file_table_set_listener(struct file_table *table, const struct opened_listener *listener)
{
	table->listener = *listener;
}

static uint64_t build_id_hash(const struct file_identity *identity)
{
	return hash_mix(hash_bytes(identity->build_id, identity->build_id_size),
			hash_bytes(identity->path, strlen(identity->path)));
}

static bool is_same_build_id(const struct mapped_file *file, const uint8_t *build_id, uint8_t size)
{
	return file->build_id_size == size && memcmp(file->build_id, build_id, size) == 0;
}

struct build_id_key {
	const struct file_identity *identity;
	uid_t owner; /* FILE_OWNER_UNKNOWN: for a file that is not open */
};

/* The path counts, too: copies of one file are files of their own. */
static bool has_build_id(const void *table_items, uint32_t item, const void *key)
{
	const struct file_table *table = table_items;
	const struct mapped_file *file = &table->files.items[item];
	const struct build_id_key *wanted = key;

	return is_same_build_id(file, wanted->identity->build_id,
				wanted->identity->build_id_size) &&
	       (wanted->owner == FILE_OWNER_UNKNOWN ? file->fd < 0
						    : file->owner == wanted->owner) &&
	       string_equals(file->path, wanted->identity->path);
}

static uint64_t inode_hash(const struct file_identity *identity)
{
	uint64_t device = (uint64_t)identity->dev_major << 32 | identity->dev_minor;
	uint64_t hash = hash_mix(hash_mix(0, identity->inode), device);

	return hash_mix(hash, hash_bytes(identity->path, strlen(identity->path)));
}

struct inode_key {
	const struct file_identity *identity;
	bool is_open;
	bool has_build_id; /* the identity's build ID must match, too */
	/* The version must match, if the identity has no build ID; NULL: it need not. */
	const struct file_version *version;
	bool is_memory; /* not ELF: another such file matches in any version */
};

/* Without a watch, only an equal ctime proves that it is the same. */
static bool has_version(const struct mapped_file *file, const struct file_version *known,
			const struct file_version *version)
{
	return !file->was_overwritten &&
	       (file->is_watched || !file->is_elf ? file_version_looks_same(known, version)
						  : file_version_is_same(known, version));
}

static bool has_content(const struct mapped_file *file, const struct file_version *version,
			const struct inode_key *wanted)
{
	const struct file_identity *identity = wanted->identity;

	if (wanted->has_build_id &&
	    !is_same_build_id(file, identity->build_id, identity->build_id_size))
		return false;
	if (identity->build_id_size || !wanted->version || (wanted->is_memory && !file->is_elf))
		return true;
	return has_version(file, version, wanted->version);
}

static bool has_inode(const void *table_items, uint32_t item, const void *key)
{
	const struct file_table *table = table_items;
	const struct mapped_file *file = &table->files.items[item];
	const struct inode_key *wanted = key;
	const struct file_identity *identity = wanted->identity;

	return file->inode == identity->inode && file->dev_major == identity->dev_major &&
	       file->dev_minor == identity->dev_minor && (file->fd >= 0) == wanted->is_open &&
	       has_content(file, &file->version, wanted) &&
	       string_equals(file->path, identity->path);
}

static bool has_alias(const void *table_items, uint32_t item, const void *key)
{
	const struct file_table *table = table_items;
	const struct file_alias *alias = &table->aliases.items[item];
	const struct mapped_file *file = &table->files.items[alias->file];
	const struct inode_key *wanted = key;
	const struct file_identity *identity = wanted->identity;

	return alias->inode == identity->inode && alias->dev_major == identity->dev_major &&
	       alias->dev_minor == identity->dev_minor &&
	       has_content(file, &alias->version, wanted) &&
	       string_equals(file->path, identity->path);
}

/* owner  FILE_OWNER_UNKNOWN: find the file with this build ID that could not be opened */
static uint32_t find_by_build_id(const struct file_table *table,
				 const struct file_identity *identity, uid_t owner)
{
	struct build_id_key key = {.identity = identity, .owner = owner};

	if (!identity->build_id_size)
		return FILE_NONE;
	return hash_index_find(&table->by_build_id, build_id_hash(identity), has_build_id, table,
			       &key);
}

static uint32_t find_by_inode(const struct file_table *table, const struct inode_key *key)
{
	return hash_index_find(&table->by_inode, inode_hash(key->identity), has_inode, table, key);
}

static uint32_t find_alias(const struct file_table *table, const struct inode_key *key)
{
	return hash_index_find(&table->by_alias, inode_hash(key->identity), has_alias, table, key);
}

static int add_alias(struct file_table *table, const struct file_identity *identity,
		     const struct file_version *version, uint32_t file)
{
	struct file_alias *alias = array_add(&table->aliases);

	if (!alias)
		return -ENOMEM;
	*alias = (struct file_alias){
		.dev_major = identity->dev_major,
		.dev_minor = identity->dev_minor,
		.inode = identity->inode,
		.file = file,
		.version = *version,
	};
	return hash_index_add(&table->by_alias, inode_hash(identity),
			      (uint32_t)(table->aliases.length - 1));
}

static void set_identity(struct mapped_file *file, const struct file_identity *identity)
{
	memcpy(file->build_id, identity->build_id, identity->build_id_size);
	file->build_id_size = identity->build_id_size;
	file->dev_major = identity->dev_major;
	file->dev_minor = identity->dev_minor;
	file->inode = identity->inode;
}

/* Add a file to the indexes under its present identity. */
static int index_file(struct file_table *table, uint32_t number)
{
	const struct mapped_file *file = &table->files.items[number];
	struct file_identity identity = {
		.path = file->path,
		.build_id_size = file->build_id_size,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.inode = file->inode,
	};
	int err;

	memcpy(identity.build_id, file->build_id, file->build_id_size);
	/* A file whose owner is unknown is found by device and inode only. */
	if (identity.build_id_size && (file->fd < 0 || file->owner != FILE_OWNER_UNKNOWN) &&
	    find_by_build_id(table, &identity, file->owner) == FILE_NONE) {
		err = hash_index_add(&table->by_build_id, build_id_hash(&identity), number);
		if (err)
			return err;
	}
	if (find_by_inode(table, &(struct inode_key){.identity = &identity,
						     .is_open = file->fd >= 0,
						     .has_build_id = true,
						     .version = file->fd >= 0 ? &file->version
									      : NULL}) != FILE_NONE)
		return 0;
	return hash_index_add(&table->by_inode, inode_hash(&identity), number);
}

/* Add a new file that is not open. */
static int add_file(struct file_table *table, const char *path, uint32_t *ret)
{
	struct mapped_file *file = array_add(&table->files);

	if (!file)
		return -ENOMEM;
	file->path = strdup(path);
	if (!file->path) {
		table->files.length--;
		return -ENOMEM;
	}
	file->fd = -1;
	file->owner = FILE_OWNER_UNKNOWN;
	*ret = (uint32_t)(table->files.length - 1);
	return 0;
}

static uint64_t count_lost(const struct file_table *table, const struct mapped_file *file)
{
	const struct opened_listener *listener = &table->listener;

	return listener->count_lost && file->fd >= 0
		       ? listener->count_lost(makedev(file->dev_major, file->dev_minor),
					      file->inode, listener->context)
		       : 0;
}

/* Without a watch, overwriting the file is noticed when it is read. */
static int watch_file(struct file_table *table, uint32_t number)
{
	struct mapped_file *file = &table->files.items[number];
	struct watched_inode *added;
	struct file_version version;
	char path[32];
	size_t place;
	int watch;

	if (table->watch_fd < 0 || file->fd < 0 || !file->is_elf || file->is_copy)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	watch = inotify_add_watch(table->watch_fd, path, IN_MODIFY);
	if (watch < 0) {
		log_debug("%s: cannot watch it: %s", file->path, strerror(errno));
		return 0;
	}
	/* Not if it has changed before that. */
	file->is_watched = !file_version_read(file->fd, &version) &&
			   file_version_is_same(&version, &file->version);
	place = array_count_front(&table->watched, item, item->watch < watch);
	if (place < table->watched.length && table->watched.items[place].watch == watch)
		return 0;
	added = array_insert(&table->watched, place);
	if (!added)
		return -ENOMEM;
	*added = (struct watched_inode){.watch = watch, .file = number};
	return 0;
}

int file_table_watch(struct file_table *table)
{
	if (table->watch_fd >= 0)
		return table->watch_fd;
	table->looked_ns = clock_now_ns();
	table->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (table->watch_fd < 0)
		return -errno;
	for (uint32_t i = 0; i < table->files.length; i++)
		if (watch_file(table, i))
			return -ENOMEM;
	return table->watch_fd;
}

/*
 * The file has been opened: from now on its identity is that of the open file. Takes ownership of
 * the descriptor.
 *
 * identity  from get_full_identity()
 */
static int set_open(struct file_table *table, uint32_t number, const struct file_identity *identity,
		    const struct opened_file *opened, uid_t owner)
{
	struct mapped_file *file = &table->files.items[number];

	file->fd = opened->fd;
	file->owner = owner;
	file->build_id_differs = false;
	file->is_copy = opened->is_copy;
	file->is_elf = opened->is_elf;
	file->was_overwritten = false;
	file->version = opened->version;
	set_identity(file, identity);
	file->num_lost = count_lost(table, file);
	table->num_open++;
	return watch_file(table, number) ? -ENOMEM : index_file(table, number);
}

/* The kernel's data about a mapping, replaced by that of the open file where known. */
static struct file_identity get_full_identity(const struct file_identity *identity,
					      const struct opened_file *opened)
{
	struct file_identity full = *identity;

	full.dev_major = opened->dev_major;
	full.dev_minor = opened->dev_minor;
	full.inode = opened->inode;
	if (opened->build_id_size) {
		memcpy(full.build_id, opened->build_id, opened->build_id_size);
		full.build_id_size = opened->build_id_size;
	}
	return full;
}

/* A file that could not be opened before, under either identity that the kernel gives. */
static uint32_t find_unopened(const struct file_table *table, const struct file_identity *identity)
{
	if (identity->build_id_size)
		return find_by_build_id(table, identity, FILE_OWNER_UNKNOWN);
	return find_by_inode(table, &(struct inode_key){.identity = identity});
}

/*
 * Such a file, if it is certain that it had the content of the opened file when it was mapped first.
 */
static uint32_t find_same_unopened(const struct file_table *table,
				   const struct file_identity *identity,
				   const struct opened_file *opened)
{
	uint32_t number = find_unopened(table, identity);
	const struct mapped_file *file;

	if (number == FILE_NONE || identity->build_id_size || !opened->is_elf)
		return number;
	file = &table->files.items[number];
	return file->build_id_differs || file_version_is_newer(&opened->version, file->first_ns)
		       ? FILE_NONE
		       : number;
}

/* Root's or our file with this path and build ID, which nobody else can have forged. */
static uint32_t find_trusted(const struct file_table *table, const struct file_identity *identity)
{
	uint32_t file = find_by_build_id(table, identity, 0);

	return file == FILE_NONE ? find_by_build_id(table, identity, geteuid()) : file;
}

static int get_overflow_file(struct file_table *table, uint32_t *ret)
{
	int err = table->has_overflow_file ? 0
					   : add_file(table, OVERFLOW_PATH, &table->overflow_file);

	if (err)
		return err;
	table->has_overflow_file = true;
	table->num_unopened++;
	*ret = table->overflow_file;
	return 0;
}

/* The mapping's file cannot be opened; only the kernel's data about it is known. */
static int add_unopened(struct file_table *table, const struct mapped_range *range,
			const struct file_identity *identity, bool is_limited,
			bool another_was_found, uint32_t *ret)
{
	uint32_t number = find_trusted(table, identity);
	int err;

	if (number != FILE_NONE) {
		*ret = number;
		return 0;
	}
	number = find_unopened(table, identity);
	if (number == FILE_NONE) {
		if (!take_room(table, range->pid, identity->path))
			return get_overflow_file(table, ret);
		err = add_file(table, identity->path, &number);
		if (err)
			return err;
		set_identity(&table->files.items[number], identity);
		table->files.items[number].first_ns =
			range->time_ns ? range->time_ns : clock_now_ns();
		err = index_file(table, number);
		if (err)
			return err;
		table->num_unopened += is_limited;
	}
	table->files.items[number].build_id_differs |= another_was_found;
	*ret = number;
	return 0;
}

/* A known file with the inode and content of the opened one. */
static uint32_t find_opened(struct file_table *table, const struct file_identity *full,
			    const struct opened_file *opened)
{
	const struct inode_key key = {.identity = full,
				      .is_open = true,
				      .has_build_id = true,
				      .version = &opened->version,
				      .is_memory = !opened->is_elf};
	uint32_t number = find_by_inode(table, &key);
	uint32_t alias = number == FILE_NONE ? find_alias(table, &key) : HASH_INDEX_NONE;

	/* The same content may have been written again. */
	if (number != FILE_NONE) {
		table->files.items[number].version = opened->version;
		table->files.items[number].was_overwritten = false;
	}
	if (alias == HASH_INDEX_NONE)
		return number;
	table->aliases.items[alias].version = opened->version;
	return table->aliases.items[alias].file;
}

/* Not a file with another content by now. */
static uint32_t find_by_owner(const struct file_table *table, const struct file_identity *full,
			      uid_t owner)
{
	uint32_t number =
		owner == FILE_OWNER_UNKNOWN ? FILE_NONE : find_by_build_id(table, full, owner);

	return number == FILE_NONE || mapped_file_is_unchanged(&table->files.items[number])
		       ? number
		       : FILE_NONE;
}

static void tell_listener(const struct file_table *table, const struct mapped_range *range,
			  const struct file_identity *full, const struct opened_file *opened,
			  uid_t owner)
{
	if (table->listener.on_opened)
		table->listener.on_opened(
			&(struct opened_mapping){
				.path = full->path,
				.fd = opened->fd,
				.dev_major = full->dev_major,
				.dev_minor = full->dev_minor,
				.inode = full->inode,
				.owner = owner,
				.is_copy = opened->is_copy,
				.is_elf = opened->is_elf,
				.version = opened->version,
				.range = range,
			},
			table->listener.context);
}

/*
 * A file was opened. It replaces an entry that could not be opened before only if the file is
 * root's or ours: it is not known which mappings that entry represents.
 */
static int add_opened(struct file_table *table, const struct mapped_range *range,
		      const struct file_identity *identity, const struct opened_file *opened,
		      uint32_t *ret)
{
	_cleanup_close_ int fd = opened->fd; /* until the table has it */
	struct file_identity full = get_full_identity(identity, opened);
	uint32_t unopened;
	uid_t owner;
	int err;

	*ret = find_opened(table, &full, opened);
	if (*ret != FILE_NONE)
		return 0;
	owner = file_owner_get(fd);
	tell_listener(table, range, &full, opened, owner);
	*ret = find_by_owner(table, &full, owner);
	if (*ret != FILE_NONE)
		return file_owner_is_trusted(owner)
			       ? add_alias(table, &full, &opened->version, *ret)
			       : 0;
	if (is_share_used_up(table, range->pid))
		return add_unopened(table, range, identity, true, false, ret);
	unopened = find_same_unopened(table, identity, opened);
	if (file_owner_is_trusted(owner))
		*ret = unopened;
	else if (unopened != FILE_NONE)
		table->files.items[unopened].was_opened_later = true;
	if (*ret == FILE_NONE) {
		if (!take_room(table, range->pid, identity->path))
			return get_overflow_file(table, ret);
		err = add_file(table, identity->path, ret);
		if (err)
			return err;
	}
	err = set_open(table, *ret, &full, opened, owner);
	fd = -1;
	return err;
}

/*
 * A 32-bit process has a vdso of its own, of a kind that we have no copy of. A vdso has no device,
 * inode or path; its name replaces these in the index.
 */
static int add_vdso(struct file_table *table, uint64_t end, uint32_t *ret)
{
	bool is_ours = sizeof(void *) == 4 || end > FOUR_GIB;
	struct file_identity identity = {.path = is_ours ? "[vdso]" : "[vdso32]"};
	struct opened_file opened = {.fd = -1, .is_copy = true, .is_elf = true};
	const struct mapped_range range = {.end = end};
	uint32_t file =
		find_by_inode(table, &(struct inode_key){.identity = &identity, .is_open = true});

	if (file != FILE_NONE) {
		*ret = file;
		return 0;
	}
	if (!is_ours || file_opener_open_vdso(&opened.fd))
		return add_unopened(table, &range, &identity, false, false, ret);
	if (table->reader.read && table->reader.read(table->reader.context, opened.fd,
						     opened.build_id, &opened.build_id_size))
		opened.build_id_size = 0;
	return add_opened(table, &range, &identity, &opened, ret);
}

/* "/SYSV00000000": System V shared memory, with the eight digits of its key. */
static bool is_sysv_memory(const char *path)
{
	const char *key = path + strlen(SYSV_PREFIX);

	return string_starts_with(path, SYSV_PREFIX) && strlen(key) == 8 &&
	       strspn(key, "0123456789abcdef") == 8;
}

/* Names that the kernel gives to memory without a file in any file system. */
static bool is_memory(const char *path)
{
	return path[0] != '/' || string_equals(path, "//anon") ||
	       string_equals(path, "/dev/zero") || string_equals(path, "/anon_hugepage") ||
	       is_sysv_memory(path);
}

/* A copy of the path without the suffix, or NULL when out of memory. */
static char *copy_path(const char *path)
{
	size_t length = strlen(path);

	if (string_ends_with(path, DELETED_SUFFIX))
		length -= strlen(DELETED_SUFFIX);
	return strndup(path, length);
}

/* See struct file_opener. A file that was rewritten in place has another build ID by now. */
static uint32_t find_known(const struct file_identity *identity, const struct opened_file *found,
			   const void *context)
{
	const struct file_table *table = context;
	struct file_identity full = get_full_identity(identity, found);
	const struct inode_key key = {.identity = &full,
				      .is_open = true,
				      .has_build_id = identity->build_id_size > 0,
				      .version = &found->version};
	uint32_t file = find_by_inode(table, &key);
	uint32_t alias;

	if (file != FILE_NONE)
		return file;
	alias = find_alias(table, &key);
	return alias == HASH_INDEX_NONE ? FILE_NONE : table->aliases.items[alias].file;
}

/*
 * The open file with the device and inode that the kernel reports, in its present content.
 * A copy proves nothing about its original.
 */
static uint32_t find_by_reported_inode(const struct file_table *table,
				       const struct mapped_range *range,
				       const struct file_identity *identity)
{
	struct inode_key key = {.identity = identity, .is_open = true};
	uint32_t number = find_by_inode(table, &key);
	struct file_version version;
	const struct mapped_file *file;

	if (number == FILE_NONE)
		return FILE_NONE;
	file = &table->files.items[number];
	if (file->is_copy || file_version_read(file->fd, &version))
		return FILE_NONE;
	if (!has_version(file, &file->version, &version)) {
		key.version = &version;
		number = find_by_inode(table, &key);
		if (number == FILE_NONE)
			return FILE_NONE;
		file = &table->files.items[number];
	}
	return file->is_elf && range->time_ns && file_version_is_newer(&version, range->time_ns)
		       ? FILE_NONE
		       : number;
}

/* As file_table_add(), for an identity with cleaned-up path and build ID. */
static int add_file_at_path(struct file_table *table, const struct mapped_range *range,
			    const struct file_identity *identity, uint32_t *ret)
{
	struct file_opener opener = {
		.proc_root = table->proc_root,
		.slow_opener = table->slow_opener,
		.reader = table->reader,
		.find_known = find_known,
		.context = table,
		.has_trusted = find_trusted(table, identity) != FILE_NONE,
	};
	struct opened_file opened;
	int err;

	if (identity->inode && !identity->build_id_size) {
		*ret = find_by_reported_inode(table, range, identity);
		if (*ret != FILE_NONE)
			return 0;
	}
	/*
	 * A file that could not be opened is tried again with each new mapping of it: another
	 * process may see it.
	 */
	err = file_opener_open(&opener, range, identity, &opened);
	if (err)
		return err;
	*ret = opened.known;
	if (opened.known != FILE_NONE)
		return 0;
	if (opened.fd >= 0)
		return add_opened(table, range, identity, &opened, ret);
	/* A memfd that nobody can open is memory without a file. */
	if (string_starts_with(identity->path, MEMFD_PREFIX)) {
		*ret = FILE_NONE;
		return 0;
	}
	return add_unopened(table, range, identity, false, opened.another_was_found, ret);
}

/* A known file was mapped. */
static void tell_again(const struct file_table *table, const struct mapped_range *range,
		       struct mapped_file *file)
{
	uint64_t num_lost = count_lost(table, file);
	struct opened_mapping mapping = {
		.path = file->path,
		.fd = file->fd,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.inode = file->inode,
		.owner = file->owner,
		.is_copy = file->is_copy,
		.is_elf = file->is_elf,
		.is_again = true,
		.range = range,
	};

	if (num_lost == file->num_lost || file_version_read(file->fd, &mapping.version))
		return;
	file->num_lost = num_lost;
	table->listener.on_opened(&mapping, table->listener.context);
}

int file_table_add(struct file_table *table, const struct mapped_range *range,
		   const struct file_identity *identity, uint32_t *ret)
{
	_cleanup_free_ char *path = copy_path(identity->path);
	struct file_identity clean = *identity;
	int err;

	if (!path)
		return -ENOMEM;
	assert(clean.build_id_size <= FILE_BUILD_ID_MAX_BYTES);
	clean.path = path;
	if (bytes_are_zero(clean.build_id, clean.build_id_size))
		clean.build_id_size = 0;

	if (string_equals(path, "[vdso]"))
		return add_vdso(table, range->end, ret);
	if (is_memory(path)) {
		*ret = FILE_NONE;
		return 0;
	}
	err = add_file_at_path(table, range, &clean, ret);
	if (!err && *ret != FILE_NONE)
		tell_again(table, range, &table->files.items[*ret]);
	return err;
}

/* For files of a recording, whose numbers are the caller's: no index, each call adds one. */
int file_table_add_sought(struct file_table *table, const struct file_identity *identity)
{
	struct mapped_file *file;
	uint32_t number;
	int err = add_file(table, identity->path, &number);

	if (err)
		return err;
	file = &table->files.items[number];
	memcpy(file->build_id, identity->build_id, identity->build_id_size);
	file->build_id_size = identity->build_id_size;
	return 0;
}

void file_table_set_found(struct file_table *table, uint32_t file, int fd, bool build_id_differs)
{
	struct mapped_file *found = &table->files.items[file];

	assert(file < table->files.length && found->fd < 0);
	found->build_id_differs = build_id_differs;
	if (fd >= 0 && is_full(table)) {
		table->num_unopened++;
		close(fd);
		return;
	}
	found->fd = fd;
	found->is_elf = true;
	if (fd >= 0 && file_version_read(fd, &found->version))
		found->version = (struct file_version){0}; /* no file is unchanged then */
	found->owner = fd >= 0 ? file_owner_get(fd) : FILE_OWNER_UNKNOWN;
	table->num_open += fd >= 0;
}

/*
 * Files with the inode have lost their contents.
 *
 * present  the version of the one that is there; NULL: all have
 */
static void set_overwritten(struct file_table *table, const struct mapped_file *written,
			    const struct file_version *present)
{
	array_for_each (&table->files, file)
		if (file->is_watched && file->inode == written->inode &&
		    file->dev_major == written->dev_major &&
		    file->dev_minor == written->dev_minor &&
		    (!present || !file_version_is_same(&file->version, present)))
			file->was_overwritten = true;
}

static void note_written(struct file_table *table, struct watched_inode *inode, uint64_t now_ns)
{
	inode->written_ns = now_ns;
	if (inode->is_being_written)
		return;
	set_overwritten(table, &table->files.items[inode->file], NULL);
	inode->is_being_written = true;
	inode->is_noted = false;
	table->num_being_written++;
}

/* Events were lost. */
static void note_all_changed(struct file_table *table, uint64_t now_ns)
{
	array_for_each (&table->watched, inode) {
		const struct mapped_file *file = &table->files.items[inode->file];
		struct file_version version;

		if (file_version_read(file->fd, &version) ||
		    !mapped_file_has_version(file, &version))
			note_written(table, inode, now_ns);
	}
}

static void note_event(struct file_table *table, const struct inotify_event *event, uint64_t now_ns)
{
	size_t place = array_count_front(&table->watched, item, item->watch < event->wd);

	if (event->mask & IN_Q_OVERFLOW)
		note_all_changed(table, now_ns);
	else if (place < table->watched.length && table->watched.items[place].watch == event->wd)
		note_written(table, &table->watched.items[place], now_ns);
}

/*
 * Events without a name: the files are watched, not their directories. Returns whether there were
 * any.
 */
static bool read_watches(struct file_table *table, uint64_t now_ns)
{
	struct inotify_event events[256];
	ssize_t got = read(table->watch_fd, events, sizeof(events));

	for (ssize_t i = 0; i < got / (ssize_t)sizeof(*events); i++)
		note_event(table, &events[i], now_ns);
	return got > 0;
}

/* Times first: a file that is written after that has a later one, and one before it has an event. */
void file_table_settle(struct file_table *table)
{
	uint64_t end_ns = clock_now_ns() + MAX_SETTLING_NS;
	struct file_version version;

	if (table->watch_fd < 0)
		return;
	array_for_each (&table->files, file)
		if (file->is_watched && !file->was_overwritten &&
		    !file_version_read(file->fd, &version) &&
		    file_version_looks_same(&version, &file->version))
			file->version = version;
	while (read_watches(table, clock_now_ns()) && clock_now_ns() < end_ns)
		continue;
}

/* Read the present content. Returns whether it is an ELF file, and was not written meanwhile. */
static bool examine(const struct file_table *table, struct opened_file *opened)
{
	char magic[SELFMAG];
	struct file_version version;

	if (file_version_read(opened->fd, &opened->version) ||
	    pread(opened->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0)
		return false;
	if (!table->reader.read || table->reader.read(table->reader.context, opened->fd,
						      opened->build_id, &opened->build_id_size))
		opened->build_id_size = 0;
	return !file_version_read(opened->fd, &version) &&
	       file_version_looks_same(&version, &opened->version);
}

/* Each content has a descriptor of its own: readers know it by that. */
static int find_present_content(struct file_table *table, uint32_t number,
				const struct mapped_range *range,
				const struct file_identity *identity, uint32_t *ret)
{
	const struct mapped_file *file = &table->files.items[number];
	struct opened_file opened = {
		.fd = is_full(table) ? -1 : fcntl(file->fd, F_DUPFD_CLOEXEC, 0),
		.known = FILE_NONE,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.inode = file->inode,
		.is_elf = true,
	};

	if (opened.fd >= 0 && examine(table, &opened))
		return add_opened(table, range, identity, &opened, ret);
	cleanup_closep(&opened.fd);
	return add_unopened(table, range, identity, false, true, ret);
}

int file_table_find_written(struct file_table *table, const struct written_file *written,
			    const struct mapped_range *range, uint32_t *ret)
{
	const struct mapped_file *file = &table->files.items[written->file];
	_cleanup_free_ char *path = strdup(file->path);
	const struct file_identity identity = {
		.path = path,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.inode = file->inode,
	};

	if (!path)
		return -ENOMEM;
	return written->is_complete
		       ? find_present_content(table, written->file, range, &identity, ret)
		       : add_unopened(table, range, &identity, false, true, ret);
}

/* The time of its latest change. The kernel has it early by a timer interrupt at most. */
static uint64_t get_change_ns(const struct file_table *table, uint32_t file, uint64_t now_ns)
{
	struct file_version version;
	uint64_t change_ns;

	if (file_version_read(table->files.items[file].fd, &version))
		return table->looked_ns;
	change_ns = clock_from_calendar_ns(&version.changed);
	if (change_ns < table->looked_ns)
		return table->looked_ns;
	return change_ns < now_ns ? change_ns : now_ns;
}

static bool take_written(struct file_table *table, struct watched_inode *inode, uint64_t now_ns,
			 struct written_file *ret)
{
	const struct mapped_file *file;
	struct file_version version;

	*ret = (struct written_file){.time_ns = now_ns, .file = inode->file, .is_complete = true};
	if (!inode->is_noted) {
		inode->is_noted = true;
		ret->time_ns = get_change_ns(table, inode->file, now_ns);
		ret->is_complete = false;
		return true;
	}
	if (now_ns - inode->written_ns < FILE_WRITE_PAUSE_NS)
		return false;
	/* Others may have been opened meanwhile. */
	file = &table->files.items[inode->file];
	if (!file_version_read(file->fd, &version))
		set_overwritten(table, file, &version);
	inode->is_being_written = false;
	table->num_being_written--;
	return true;
}

bool file_table_take_written(struct file_table *table, uint64_t now_ns, struct written_file *ret)
{
	if (table->watch_fd < 0)
		return false;
	read_watches(table, now_ns);
	for (size_t i = 0; i < table->watched.length && table->num_being_written; i++) {
		struct watched_inode *inode = &table->watched.items[i];

		if (inode->is_being_written && take_written(table, inode, now_ns, ret))
			return true;
	}
	table->looked_ns = now_ns;
	return false;
}

bool mapped_file_is_unchanged(const struct mapped_file *file)
{
	struct file_version version;

	return file->is_copy || (!file->was_overwritten && !file_version_read(file->fd, &version) &&
				 file_version_looks_same(&version, &file->version));
}

bool mapped_file_has_version(const struct mapped_file *file, const struct file_version *version)
{
	return file->is_copy ||
	       (!file->was_overwritten && file_version_is_same(version, &file->version));
}

const struct mapped_file *file_table_get(const struct file_table *table, uint32_t file)
{
	assert(file < table->files.length);
	return &table->files.items[file];
}

uint32_t file_table_get_count(const struct file_table *table)
{
	return (uint32_t)table->files.length;
}

uint64_t file_table_count_unseen(const struct file_table *table)
{
	uint64_t count = 0;

	array_for_each (&table->files, file)
		count += file->fd < 0 && file->path[0] == '/' && !file->was_opened_later;
	return count;
}

uint64_t file_table_get_unopened_count(const struct file_table *table)
{
	return table->num_unopened;
}
