/*
 * A file has one number but may be named in two ways: a scan of /proc knows its device and inode,
 * an event its build ID. Both lead to the number: a build ID that was read from the opened file
 * is indexed like one that an event brought, and the other way round with the inode. Device and
 * inode are kept apart from the files, because one file may have several: every container
 * sees it on an overlayfs of its own.
 */
#include "process/file_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "process/file_opener.h"

#define DELETED_SUFFIX " (deleted)"
#define MEMFD_PREFIX   "/memfd:"
#define SYSV_PREFIX    "/SYSV"
#define RESERVED_FDS   256 /* for everything else that the program opens */
#define OPEN_FILES_MIN 64
#define FOUR_GIB       (1ull << 32)

struct inode_alias {
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint32_t file;
};

struct file_table {
	char *proc_root;
	file_build_id_reader read_build_id;
	ARRAY(struct mapped_file) files;
	ARRAY(struct inode_alias) aliases;
	struct hash_index by_build_id; /* and path, to files */
	struct hash_index by_inode;    /* and device and path, to aliases */
	size_t max_open;
	size_t num_open;
	uint64_t num_unopened;
};

static size_t open_files_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < RESERVED_FDS + OPEN_FILES_MIN)
		return OPEN_FILES_MIN;
	return limit.rlim_cur - RESERVED_FDS;
}

struct file_table *file_table_new(const char *proc_root, file_build_id_reader read_build_id)
{
	struct file_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->proc_root = strdup(proc_root);
	table->read_build_id = read_build_id;
	table->max_open = open_files_limit();
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
	array_release(&table->aliases);
	hash_index_release(&table->by_build_id);
	hash_index_release(&table->by_inode);
	free(table->proc_root);
	free(table);
}

static uint64_t build_id_hash(const struct file_identity *identity)
{
	return hash_mix(hash_bytes(identity->build_id, identity->build_id_size),
			hash_bytes(identity->path, strlen(identity->path)));
}

static bool has_build_id(const void *owner, uint32_t item, const void *key)
{
	const struct file_table *table = owner;
	const struct mapped_file *file = &table->files.items[item];
	const struct file_identity *identity = key;

	return file->build_id_size == identity->build_id_size &&
	       memcmp(file->build_id, identity->build_id, identity->build_id_size) == 0 &&
	       string_equals(file->path, identity->path);
}

static uint64_t inode_hash(const struct file_identity *identity)
{
	uint64_t device = (uint64_t)identity->dev_major << 32 | identity->dev_minor;
	uint64_t hash = hash_mix(hash_mix(0, identity->inode), device);

	return hash_mix(hash, hash_bytes(identity->path, strlen(identity->path)));
}

static bool has_inode(const void *owner, uint32_t item, const void *key)
{
	const struct file_table *table = owner;
	const struct inode_alias *alias = &table->aliases.items[item];
	const struct file_identity *identity = key;

	return alias->inode == identity->inode && alias->dev_major == identity->dev_major &&
	       alias->dev_minor == identity->dev_minor &&
	       string_equals(table->files.items[alias->file].path, identity->path);
}

static uint32_t find_by_build_id(const struct file_table *table,
				 const struct file_identity *identity)
{
	if (!identity->build_id_size)
		return FILE_NONE;
	return hash_index_find(&table->by_build_id, build_id_hash(identity), has_build_id, table,
			       identity);
}

static uint32_t find_by_inode(const struct file_table *table, const struct file_identity *identity)
{
	uint32_t alias =
		hash_index_find(&table->by_inode, inode_hash(identity), has_inode, table, identity);

	return alias == HASH_INDEX_NONE ? FILE_NONE : table->aliases.items[alias].file;
}

static int index_build_id(struct file_table *table, const struct file_identity *identity,
			  uint32_t file)
{
	if (!identity->build_id_size || find_by_build_id(table, identity) != FILE_NONE)
		return 0;
	return hash_index_add(&table->by_build_id, build_id_hash(identity), file);
}

static int index_inode(struct file_table *table, const struct file_identity *identity,
		       uint32_t file)
{
	struct inode_alias *alias;

	if (find_by_inode(table, identity) != FILE_NONE)
		return 0;
	alias = array_add(&table->aliases);
	if (!alias)
		return -ENOMEM;
	*alias = (struct inode_alias){
		.dev_major = identity->dev_major,
		.dev_minor = identity->dev_minor,
		.inode = identity->inode,
		.file = file,
	};
	return hash_index_add(&table->by_inode, inode_hash(identity),
			      (uint32_t)(table->aliases.length - 1));
}

/* A new file that is not open. */
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
	*ret = (uint32_t)(table->files.length - 1);
	return 0;
}

/* What the open file says of itself fills the gaps of what its mapping said. */
static void complete_identity(struct file_identity *identity, const struct opened_file *opened)
{
	if (!identity->build_id_size) {
		memcpy(identity->build_id, opened->build_id, opened->build_id_size);
		identity->build_id_size = opened->build_id_size;
	}
	if (!identity->inode) {
		identity->dev_major = opened->dev_major;
		identity->dev_minor = opened->dev_minor;
		identity->inode = opened->inode;
	}
}

/* Take what the identity knows and the file does not. */
static void complete_file(struct mapped_file *file, const struct file_identity *identity)
{
	if (!file->build_id_size) {
		memcpy(file->build_id, identity->build_id, identity->build_id_size);
		file->build_id_size = identity->build_id_size;
	}
	if (!file->inode) {
		file->dev_major = identity->dev_major;
		file->dev_minor = identity->dev_minor;
		file->inode = identity->inode;
	}
}

/* Takes ownership of the descriptor; closes it when the file has one already. */
static void keep_open_file(struct file_table *table, struct mapped_file *file,
			   const struct opened_file *opened)
{
	if (file->fd >= 0) {
		if (opened->fd >= 0)
			close(opened->fd);
		return;
	}
	if (opened->fd < 0) {
		file->build_id_differs |= opened->another_was_found;
		return;
	}
	file->fd = opened->fd;
	file->build_id_differs = false;
	table->num_open++;
}

/*
 * Enter what was found out about a mapping's file.
 *
 * file        its number when it is known already, or FILE_NONE
 * identity    as the mapping says
 * opened      its descriptor is owned by the table from here on
 */
static int add_opened(struct file_table *table, uint32_t file, const struct file_identity *identity,
		      const struct opened_file *opened, uint32_t *ret)
{
	_cleanup_close_ int fd = opened->fd; /* until the table has it */
	struct file_identity full = *identity;
	int err;

	if (opened->fd >= 0)
		complete_identity(&full, opened);
	if (file == FILE_NONE)
		file = find_by_build_id(table, &full);
	if (file == FILE_NONE) {
		err = add_file(table, full.path, &file);
		if (err)
			return err;
	}
	keep_open_file(table, &table->files.items[file], opened);
	fd = -1;
	complete_file(&table->files.items[file], &full);

	err = index_build_id(table, &full, file);
	if (err)
		return err;
	if (full.inode) {
		err = index_inode(table, &full, file);
		if (err)
			return err;
	}
	/* Without any number the path alone must do. */
	if (!identity->inode && !identity->build_id_size) {
		err = index_inode(table, identity, file);
		if (err)
			return err;
	}
	*ret = file;
	return 0;
}

/* A 32-bit process has a vdso of its own, of which we have no copy. */
static int add_vdso(struct file_table *table, uint64_t end, uint32_t *ret)
{
	bool is_ours = sizeof(void *) == 4 || end > FOUR_GIB;
	struct file_identity identity = {.path = is_ours ? "[vdso]" : "[vdso32]"};
	struct opened_file opened = {.fd = -1};
	uint32_t file = find_by_inode(table, &identity);

	if (file != FILE_NONE) {
		*ret = file;
		return 0;
	}
	if (is_ours && file_opener_open_vdso(&opened.fd))
		opened.fd = -1;
	if (opened.fd >= 0 && table->read_build_id &&
	    table->read_build_id(opened.fd, opened.build_id, &opened.build_id_size))
		opened.build_id_size = 0;
	return add_opened(table, FILE_NONE, &identity, &opened, ret);
}

/* The prefix and the eight digits of its key. */
static bool is_sysv_memory(const char *path)
{
	const char *key = path + strlen(SYSV_PREFIX);

	return string_starts_with(path, SYSV_PREFIX) && strlen(key) == 8 &&
	       strspn(key, "0123456789abcdef") == 8;
}

/* Anonymous shared memory and huge pages have files inside the kernel, at paths that are not. */
static bool is_memory(const char *path)
{
	return path[0] != '/' || string_equals(path, "//anon") ||
	       string_equals(path, "/dev/zero") || string_equals(path, "/anon_hugepage") ||
	       is_sysv_memory(path);
}

/* A copy of the path without the suffix; NULL when out of memory. */
static char *copy_path(const char *path)
{
	size_t length = strlen(path);

	if (string_ends_with(path, DELETED_SUFFIX))
		length -= strlen(DELETED_SUFFIX);
	return strndup(path, length);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* As file_table_add(), for an identity whose path and build ID are cleaned up. */
static int add_file_at_path(struct file_table *table, pid_t pid, pid_t parent_pid, uint64_t start,
			    uint64_t end, const struct file_identity *identity, uint32_t *ret)
{
	struct opened_file opened = {.fd = -1};
	bool is_full = table->num_open >= table->max_open;
	uint32_t file = identity->build_id_size ? find_by_build_id(table, identity)
						: find_by_inode(table, identity);

	if (file != FILE_NONE && (is_full || table->files.items[file].fd >= 0)) {
		*ret = file;
		return 0;
	}
	if (is_full)
		table->num_unopened++;
	else if (file_opener_open(table->proc_root, table->read_build_id, pid, parent_pid, start,
				  end, identity, &opened))
		return -ENOMEM;
	if (opened.fd < 0 && string_starts_with(identity->path, MEMFD_PREFIX)) {
		*ret = FILE_NONE;
		return 0;
	}
	return add_opened(table, file, identity, &opened, ret);
}

int file_table_add(struct file_table *table, pid_t pid, pid_t parent_pid, uint64_t start,
		   uint64_t end, const struct file_identity *identity, uint32_t *ret)
{
	_cleanup_free_ char *path = copy_path(identity->path);
	struct file_identity clean = *identity;

	if (!path)
		return -ENOMEM;
	assert(clean.build_id_size <= FILE_BUILD_ID_MAX_BYTES);
	clean.path = path;
	if (is_zero(clean.build_id, clean.build_id_size))
		clean.build_id_size = 0;

	if (string_equals(path, "[vdso]"))
		return add_vdso(table, end, ret);
	if (is_memory(path)) {
		*ret = FILE_NONE;
		return 0;
	}
	return add_file_at_path(table, pid, parent_pid, start, end, &clean, ret);
}

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
	if (fd >= 0 && table->num_open >= table->max_open) {
		table->num_unopened++;
		close(fd);
		return;
	}
	found->fd = fd;
	table->num_open += fd >= 0;
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

uint64_t file_table_get_unopened_count(const struct file_table *table)
{
	return table->num_unopened;
}
