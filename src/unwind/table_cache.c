/*
 * A table takes seconds to build for a large program and depends only on its file. So tables are
 * kept on disk, named by build ID and version. A file is a header, then rules, pages and rows as in
 * memory, in native byte order: the same machine writes and reads it.
 *
 * A recorder runs as root and walks all stacks of the machine by these tables. So it rejects a
 * folder or file that others may write to, does not follow symbolic links, and checks every index
 * in a table (unwind_table_is_valid()). The checksum is against disk errors and incomplete writes,
 * not against an attacker.
 *
 * Files are written by rename, so several recorders may share a folder without a lock. Above the
 * size limit, the least recently used files are removed; using a file sets its mtime, because many
 * file systems are mounted without atime.
 */
#include "unwind/table_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "base/text.h"

#define SUFFIX         ".unwind"
#define NAME_SIZE      (2 * BUILD_ID_SIZE_MAX + 32)
#define FILE_MAX_BYTES (1ull << 30)

static const char magic[8] = {'s', 'w', 'u', 'n', 'w', 'i', 'n', 'd'};

struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint32_t build_id_size;
	uint32_t num_pages;
	uint32_t num_rows;
	uint32_t num_rules;
	uint32_t padding;
	uint64_t first_page;
	struct unwind_statistics statistics;
	uint64_t checksum; /* of all other bytes of the file */
};
_Static_assert(sizeof(struct cache_header) == 64 + sizeof(struct unwind_statistics) + 8,
	       "no hidden padding, which would be written uninitialized");

struct table_cache {
	char *folder;
	int folder_fd;
	uint64_t limit_bytes;
	_Atomic uint64_t size_bytes; /* of all files, as far as known */
};

/* A file of the cache in a listing. */
struct cache_file {
	char name[NAME_SIZE];
	uint64_t size_bytes;
	struct timespec used;
};

static bool is_ours(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static int make_name(const uint8_t *build_id, uint8_t build_id_size, char *ret)
{
	if (!build_id_size || build_id_size > BUILD_ID_SIZE_MAX)
		return -EINVAL;
	for (uint8_t i = 0; i < build_id_size; i++, ret += 2)
		snprintf(ret, 3, "%02x", build_id[i]);
	snprintf(ret, NAME_SIZE - 2u * build_id_size, ".%d" SUFFIX, TABLE_CACHE_VERSION);
	return 0;
}

/* Whether a file of ours has such a name: hex digits, a version, the suffix. */
static bool is_cache_name(const char *name)
{
	size_t num_hex = strspn(name, "0123456789abcdef");
	size_t num_digits;

	if (!num_hex || num_hex % 2 || num_hex > 2ul * BUILD_ID_SIZE_MAX || name[num_hex] != '.')
		return false;
	name += num_hex + 1;
	num_digits = strspn(name, "0123456789");
	return num_digits && num_digits < 10 && string_equals(name + num_digits, SUFFIX);
}

struct cache_listing {
	ARRAY(struct cache_file) files;
	uint64_t size_bytes;
};

static int note_file(const struct table_cache *cache, const char *name,
		     struct cache_listing *listing)
{
	struct cache_file *file;
	struct stat status;

	if (!is_cache_name(name) || fstatat(cache->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode))
		return 0;
	file = array_add(&listing->files);
	if (!file)
		return -ENOMEM;
	memcpy(file->name, name, strlen(name) + 1);
	file->size_bytes = (uint64_t)status.st_size;
	file->used = status.st_mtim;
	listing->size_bytes += file->size_bytes;
	return 0;
}

static void cache_listing_release(struct cache_listing *listing)
{
	array_release(&listing->files);
}

static void closedirp(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* The caller releases the listing, also after a failure. */
static int list_files(const struct table_cache *cache, struct cache_listing *listing)
{
	int fd = openat(cache->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!folder) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((entry = readdir(folder))) {
		int err = note_file(cache, entry->d_name, listing);

		if (err)
			return err;
	}
	return 0;
}

static int compare_use(const void *a, const void *b)
{
	const struct cache_file *left = a;
	const struct cache_file *right = b;

	if (left->used.tv_sec != right->used.tv_sec)
		return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
	if (left->used.tv_nsec != right->used.tv_nsec)
		return left->used.tv_nsec < right->used.tv_nsec ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Remove the least recently used files until the limit is kept. */
static int trim(struct table_cache *cache)
{
	_cleanup_(cache_listing_release) struct cache_listing listing = {0};
	int err = list_files(cache, &listing);

	if (err)
		return err;
	if (listing.files.length)
		qsort(listing.files.items, listing.files.length, sizeof(*listing.files.items),
		      compare_use);
	array_for_each (&listing.files, file) {
		if (listing.size_bytes <= cache->limit_bytes)
			break;
		/* It fails if another process has removed the file, which is fine. */
		(void)unlinkat(cache->folder_fd, file->name, 0);
		listing.size_bytes -= file->size_bytes;
	}
	atomic_store(&cache->size_bytes, listing.size_bytes);
	return 0;
}

static int open_folder(struct table_cache *cache, struct error *error)
{
	const char *folder = cache->folder;
	struct stat status;

	if (mkdir(folder, 0700) && errno != EEXIST)
		return error_set(error, -errno, "cannot make '%s': %s", folder, strerror(errno));
	cache->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cache->folder_fd < 0) {
		int err = errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;

		return error_set(error, err, "%s: expected a directory: %s", folder,
				 strerror(errno));
	}
	if (fstat(cache->folder_fd, &status) || !is_ours(&status))
		return error_set(error, -EPERM, "%s: writable by others; not used", folder);
	return 0;
}

int table_cache_open(const char *folder, uint64_t limit_bytes, struct table_cache **ret,
		     struct error *error)
{
	_cleanup_(table_cache_freep) struct table_cache *cache = calloc(1, sizeof(*cache));
	int err;

	if (!cache)
		return error_set(error, -ENOMEM, "%s: out of memory", folder);
	cache->folder_fd = -1;
	cache->limit_bytes = limit_bytes;
	cache->folder = strdup(folder);
	if (!cache->folder)
		return error_set(error, -ENOMEM, "%s: out of memory", folder);
	err = open_folder(cache, error);
	if (err)
		return err;
	err = trim(cache);
	if (err)
		return error_set(error, err, "%s: %s", folder, strerror(-err));
	*ret = return_ptr(cache);
	return 0;
}

void table_cache_free(struct table_cache *cache)
{
	if (!cache)
		return;
	if (cache->folder_fd >= 0)
		close(cache->folder_fd);
	free(cache->folder);
	free(cache);
}

/* The checksum of a file covers its header, with 0 in place of the checksum, and the rest. */
static uint64_t start_checksum(struct cache_header header)
{
	header.checksum = 0;
	return hash_bytes(&header, sizeof(header));
}

static uint64_t add_to_checksum(uint64_t checksum, const void *data, size_t size)
{
	return size ? hash_mix(checksum, hash_bytes(data, size)) : checksum;
}

static uint64_t get_checksum(const struct cache_header *header, const struct unwind_table *table)
{
	uint64_t checksum = start_checksum(*header);

	checksum =
		add_to_checksum(checksum, table->rules, table->num_rules * sizeof(*table->rules));
	checksum =
		add_to_checksum(checksum, table->pages, table->num_pages * sizeof(*table->pages));
	return add_to_checksum(checksum, table->rows, table->num_rows * sizeof(*table->rows));
}

/* A copy of the next bytes. Returns false if there are fewer, or no memory. */
static bool copy_array(struct bytes *bytes, size_t num_items, size_t item_size, void *ret_items)
{
	const void *source = bytes_take(bytes, num_items * item_size);
	void *items = source ? malloc(num_items ? num_items * item_size : 1) : NULL;

	if (!items)
		return false;
	memcpy(items, source, num_items * item_size);
	memcpy(ret_items, &items, sizeof(items));
	return true;
}

static bool is_header_of(const struct cache_header *header, const uint8_t *build_id,
			 uint8_t build_id_size)
{
	return memcmp(header->magic, magic, sizeof(magic)) == 0 &&
	       header->version == TABLE_CACHE_VERSION && header->header_bytes == sizeof(*header) &&
	       header->build_id_size == build_id_size &&
	       (!build_id_size || memcmp(header->build_id, build_id, build_id_size) == 0);
}

/* The table in these bytes; NULL if malformed. */
static struct unwind_table *parse(struct bytes *bytes, const uint8_t *build_id,
				  uint8_t build_id_size)
{
	_cleanup_(unwind_table_freep) struct unwind_table *table = calloc(1, sizeof(*table));
	const void *start = bytes_take(bytes, sizeof(struct cache_header));
	struct cache_header header;

	if (!table || !start)
		return NULL;
	memcpy(&header, start, sizeof(header));
	if (!is_header_of(&header, build_id, build_id_size))
		return NULL;
	table->first_page = header.first_page;
	table->num_pages = header.num_pages;
	table->num_rows = header.num_rows;
	table->num_rules = header.num_rules;
	table->statistics = header.statistics;
	if (!copy_array(bytes, table->num_rules, sizeof(*table->rules), &table->rules) ||
	    !copy_array(bytes, table->num_pages, sizeof(*table->pages), &table->pages) ||
	    !copy_array(bytes, table->num_rows, sizeof(*table->rows), &table->rows) ||
	    bytes_left(bytes) || header.checksum != get_checksum(&header, table) ||
	    !unwind_table_is_valid(table))
		return NULL;
	return return_ptr(table);
}

static int open_file(const struct table_cache *cache, const char *name, int *ret)
{
	int fd = openat(cache->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || !is_ours(&status)) {
		close(fd);
		return -EPERM;
	}
	*ret = fd;
	return 0;
}

static int read_file(const struct table_cache *cache, const char *name, int *ret_fd,
		     struct text *content)
{
	int err = open_file(cache, name, ret_fd);

	return err ? err : file_read_fd(*ret_fd, FILE_MAX_BYTES, content);
}

int table_cache_load(const struct table_cache *cache, const uint8_t *build_id,
		     uint8_t build_id_size, struct unwind_table **ret, struct error *error)
{
	_cleanup_(text_release) struct text content = {0};
	_cleanup_close_ int fd = -1;
	struct unwind_table *table;
	char name[NAME_SIZE];
	int err;

	if (make_name(build_id, build_id_size, name))
		return error_set(error, -ENOENT, "%s: no build ID to look for", cache->folder);
	err = read_file(cache, name, &fd, &content);
	if (err)
		return error_set(error, err, "%s/%s: %s", cache->folder, name, strerror(-err));
	if (!content.length)
		return error_set(error, -EINVAL, "%s/%s: empty", cache->folder, name);
	struct bytes bytes = bytes_of(content.data, content.length);

	table = parse(&bytes, build_id, build_id_size);
	if (!table)
		return error_set(error, -EINVAL, "%s/%s: at byte %zu: incomplete unwind table",
				 cache->folder, name, bytes.offset);
	/* Mark it as used; a failure only means that it is removed sooner. */
	(void)futimens(fd, NULL);
	*ret = table;
	return 0;
}

typedef int (*byte_writer)(void *context, const void *data, size_t size);

static int write_table(byte_writer write, void *context, const struct cache_header *header,
		       const struct unwind_table *table)
{
	int err = write(context, header, sizeof(*header));

	if (err)
		return err;
	err = write(context, table->rules, table->num_rules * sizeof(*table->rules));
	if (err)
		return err;
	err = write(context, table->pages, table->num_pages * sizeof(*table->pages));
	if (err)
		return err;
	return write(context, table->rows, table->num_rows * sizeof(*table->rows));
}

static int write_to_output(void *context, const void *data, size_t size)
{
	return output_file_write(context, data, size);
}

static struct cache_header make_header(const struct unwind_table *table, const uint8_t *build_id,
				       uint8_t build_id_size)
{
	struct cache_header header = {
		.version = TABLE_CACHE_VERSION,
		.header_bytes = sizeof(header),
		.build_id_size = build_id_size,
		.num_pages = table->num_pages,
		.num_rows = table->num_rows,
		.num_rules = table->num_rules,
		.first_page = table->first_page,
		.statistics = table->statistics,
	};

	memcpy(header.magic, magic, sizeof(magic));
	if (build_id_size)
		memcpy(header.build_id, build_id, build_id_size);
	header.checksum = get_checksum(&header, table);
	return header;
}

static void close_output(struct output_file **file)
{
	output_file_free(*file);
}

static int write_file(const struct table_cache *cache, const char *name,
		      const struct cache_header *header, const struct unwind_table *table,
		      struct error *error)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(close_output) struct output_file *file = NULL;
	int err;

	if (asprintf(&path, "%s/%s", cache->folder, name) < 0) {
		path = NULL;
		return error_set(error, -ENOMEM, "%s: out of memory", name);
	}
	err = output_file_open(path, OUTPUT_MODE_PRIVATE, &file, error);
	if (err)
		return err;
	err = write_table(write_to_output, file, header, table);
	if (err)
		return error_set(error, err, "%s: %s", path, strerror(-err));
	return output_file_commit(file, error);
}

/* Whether the name is free, or taken by an older file of ours. */
static bool is_place_ours(const struct table_cache *cache, const char *name)
{
	struct stat status;

	if (fstatat(cache->folder_fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT;
	return S_ISREG(status.st_mode) && is_ours(&status);
}

int table_cache_store(struct table_cache *cache, const uint8_t *build_id, uint8_t build_id_size,
		      const struct unwind_table *table, struct error *error)
{
	struct cache_header header;
	uint64_t size_bytes = sizeof(header) + unwind_table_get_size_bytes(table);
	char name[NAME_SIZE];
	int err;

	if (make_name(build_id, build_id_size, name))
		return error_set(error, -EINVAL, "%s: no build ID to store it by", cache->folder);
	if (size_bytes > cache->limit_bytes || size_bytes > FILE_MAX_BYTES)
		return error_set(error, -EFBIG, "%s/%s: larger than the cache", cache->folder,
				 name);
	if (!is_place_ours(cache, name))
		return error_set(error, -EPERM, "%s/%s: not our file", cache->folder, name);
	header = make_header(table, build_id, build_id_size);
	err = write_file(cache, name, &header, table, error);
	if (err)
		return err;
	if (atomic_fetch_add(&cache->size_bytes, size_bytes) + size_bytes <= cache->limit_bytes)
		return 0;
	err = trim(cache);
	return err ? error_set(error, err, "%s: %s", cache->folder, strerror(-err)) : 0;
}

/* ---- from process to process ---- */

static int write_to_fd(void *context, const void *data, size_t size)
{
	return file_write_fd(*(int *)context, data, size);
}

int table_image_write(int fd, const struct unwind_table *table)
{
	struct cache_header header = make_header(table, NULL, 0);

	return write_table(write_to_fd, &fd, &header, table);
}

int table_image_read(int fd, struct unwind_table **ret)
{
	_cleanup_(text_release) struct text content = {0};
	struct bytes bytes;
	int err;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	err = file_read_fd(fd, FILE_MAX_BYTES, &content);
	if (err)
		return err;
	bytes = bytes_of(content.data, content.length);
	*ret = content.length ? parse(&bytes, NULL, 0) : NULL;
	return *ret ? 0 : -EINVAL;
}
