/*
 * An input is read into anonymous memory as a whole, then decompressed, because importers look at
 * bytes anywhere. It is memory of our own (mmap(), not malloc()) for two reasons: it grows by
 * mremap() without being copied, and consumed pages can be given back while the profile grows.
 *
 * Text in UTF-16 is converted to UTF-8 here, so importers never see it.
 *
 * Inputs are untrusted. A compressed file of a few kilobytes may expand to gigabytes: decompression
 * stops when the output is out of proportion to the input so far. Names of files in a folder are
 * part of the input, too: they may have no part "..", be no symbolic link themselves, and no FIFO
 * is waited for.
 */
#include "cli/files/input_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/utf16.h"
#include "formats/compression.h"

#define FIRST_BYTES (1u << 20) /* first allocation for an input of unknown size */
/* Memory is given back in steps of this. */
#define RELEASE_BYTES (4u << 20)
/*
 * The limit of decompressed bytes for the compressed bytes read so far: above any real profile, but
 * low enough to stop a decompression bomb early. Consider perf script's text of one program with 26
 * frames a stack. It is 48 times as large as by gzip -9, 53 by lz4 -9, 145 by bzip2, 286 by xz;
 * deeper stacks repeat more. Zeros reach 1030, 255, a million, 7000 with these, and 30000 by zstd.
 */
#define DECOMPRESS_FREE_BYTES (48u << 20)
#define DECOMPRESS_STEP_BYTES (1u << 20)
#define MAX_LAYERS            3

/* Anonymous pages, not a mapping of the file: if the file was truncated, we would get SIGBUS. */
struct pages {
	uint8_t *data; /* NULL: none */
	size_t size;   /* bytes in use */
	size_t mapped; /* bytes of memory */
};

struct member {
	char *path;
	struct pages pages;
};

struct input_file {
	struct pages pages;
	size_t released; /* bytes at the start whose memory was given back */
	int folder_fd;   /* -1: not a folder */
	ARRAY(struct member) members;
	ARRAY(char *) paths; /* of the files below the folder, after the first request */
};

static void release_pages(struct pages *pages)
{
	if (pages->data)
		munmap(pages->data, pages->mapped);
	*pages = (struct pages){0};
}

/* Room for `wanted` bytes. */
static int reserve_pages(struct pages *pages, size_t wanted)
{
	size_t mapped = (wanted + 4095) & ~(size_t)4095;
	void *data;

	if (pages->data && mapped <= pages->mapped)
		return 0;
	if (mapped < wanted)
		return -ENOMEM;
	if (!pages->data)
		data = mmap(NULL, mapped ? mapped : 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		data = mremap(pages->data, pages->mapped, mapped, MREMAP_MAYMOVE);
	if (data == MAP_FAILED)
		return -ENOMEM;
	pages->data = data;
	pages->mapped = mapped ? mapped : 4096;
	(void)madvise(data, pages->mapped, MADV_HUGEPAGE); /* for fewer faults; optional */
	return 0;
}

/* Pipes report no size: their memory doubles. */
static int read_pages(int fd, struct pages *pages)
{
	struct stat status;
	size_t wanted = FIRST_BYTES;

	/* Read one more byte than the size, to see the end without growing. */
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0)
		wanted = (size_t)status.st_size + 1;
	for (;;) {
		ssize_t got;
		int err = reserve_pages(pages, wanted);

		if (err)
			return err;
		got = read(fd, pages->data + pages->size, pages->mapped - pages->size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		pages->size += (size_t)got;
		if (pages->size == pages->mapped)
			wanted = pages->mapped * 2;
	}
}

static size_t get_max_ratio(enum compression compression)
{
	switch (compression) {
	case COMPRESSION_NONE:
		break;
	case COMPRESSION_GZIP:
		return 110;
	case COMPRESSION_LZ4:
		return 128;
	case COMPRESSION_ZSTD:
	case COMPRESSION_XZ:
	case COMPRESSION_BZIP2:
		return 400;
	}
	return 1;
}

static int explain(int err, enum compression compression, const char *name, size_t offset,
		   struct error *error)
{
	const char *program = compression_get_name(compression);

	switch (err) {
	case -EBADMSG:
		return error_set(error, -EBADMSG, "%s: at byte %zu: the %s data is damaged", name,
				 offset, program);
	case -ENODATA:
		return error_set(error, -EBADMSG, "%s: at byte %zu: the %s data is truncated", name,
				 offset, program);
	case -EFBIG:
		return error_set(error, -EBADMSG,
				 "%s: at byte %zu: the %s data expands to over %zu times its size; "
				 "if that is right, decompress it first: %s -dc",
				 name, offset, program, get_max_ratio(compression), program);
	case -E2BIG:
		return error_set(error, -EBADMSG,
				 "%s: at byte %zu: decompressing the %s data takes over %d MB of "
				 "memory; decompress it first: %s -dc",
				 name, offset, program, DECOMPRESSOR_MAX_MB, program);
	case -ENOTSUP:
		return error_set(
			error, -EBADMSG,
			"%s: at byte %zu: unsupported variant of %s; decompress it first: %s "
			"-dc",
			name, offset, program, program);
	default:
		return error_set(error, err, "%s: %s", name, strerror(-err));
	}
}

/*
 * Decompress all of it. Output grows in steps of DECOMPRESS_STEP_BYTES, so that the ratio is
 * checked often.
 *
 * max_bytes  limit of the output, in addition to the ratio
 */
static int decompress_frames(struct decompressor *decompressor, struct bytes *compressed,
			     size_t ratio, size_t max_bytes, struct pages *ret)
{
	int result = 0;

	while (!result) {
		size_t allowed = compressed->offset * ratio + DECOMPRESS_FREE_BYTES;
		size_t got;
		size_t room;
		int err;

		if (ret->size > allowed || ret->size > max_bytes)
			return -EFBIG;
		if (ret->size == ret->mapped || !ret->data) {
			err = reserve_pages(ret, ret->mapped ? ret->mapped * 2 : FIRST_BYTES);
			if (err)
				return err;
		}
		room = ret->mapped - ret->size;
		if (room > DECOMPRESS_STEP_BYTES)
			room = DECOMPRESS_STEP_BYTES;
		result = decompressor_read(decompressor, compressed, ret->data + ret->size, room,
					   &got);
		ret->size += got;
	}
	return result < 0 ? result : 0;
}

/* Zeros are padding, as on a tape. */
static void warn_of_trailing_bytes(const struct bytes *compressed, enum compression compression,
				   const char *name)
{
	size_t left = bytes_left(compressed);

	if (!bytes_are_zero(compressed->data + compressed->offset, left))
		log_warning("%s: at byte %zu: %zu bytes after the %s data are ignored", name,
			    compressed->offset, left, compression_get_name(compression));
}

static int decompress(struct pages *pages, enum compression compression, size_t max_bytes,
		      const char *name, struct error *error)
{
	_cleanup_(decompressor_freep) struct decompressor *decompressor = NULL;
	struct bytes compressed = bytes_of(pages->data, pages->size);
	struct pages decompressed = {0};
	int err = decompressor_new(compression, &decompressor);

	if (!err)
		err = decompress_frames(decompressor, &compressed, get_max_ratio(compression),
					max_bytes, &decompressed);
	if (err) {
		release_pages(&decompressed);
		return explain(err, compression, name, compressed.offset, error);
	}
	warn_of_trailing_bytes(&compressed, compression, name);
	release_pages(pages);
	*pages = decompressed;
	return 0;
}

/* Several layers, as .pb.gz.zst: together they have the same limit as one. */
static int decompress_layers(struct pages *pages, const char *name, struct error *error)
{
	size_t ratio = get_max_ratio(compression_detect(pages->data, pages->size));
	size_t max_bytes = pages->size * ratio + DECOMPRESS_FREE_BYTES;

	for (int i = 0; i < MAX_LAYERS; i++) {
		enum compression compression = compression_detect(pages->data, pages->size);
		int err;

		if (compression == COMPRESSION_NONE)
			return 0;
		err = decompress(pages, compression, max_bytes, name, error);
		if (err)
			return err;
	}
	return 0;
}

/* Windows PowerShell writes UTF-16 with a byte order mark, whatever the program printed. */
static int decode_utf16(struct pages *pages, const char *name, struct error *error)
{
	struct pages decoded = {0};
	bool is_big_endian;
	int err;

	if (!utf16_has_mark(pages->data, pages->size, &is_big_endian))
		return 0;
	err = reserve_pages(&decoded, utf16_get_max_utf8_bytes(pages->size));
	if (err)
		return error_set(error, err, "%s: %s", name, strerror(-err));
	decoded.size = utf16_to_utf8(pages->data, pages->size, is_big_endian, decoded.data);
	release_pages(pages);
	*pages = decoded;
	return 0;
}

/* A folder is kept open. */
static int load(struct input_file *file, int fd, const char *name, struct error *error)
{
	int err = read_pages(fd, &file->pages);

	if (err == -EISDIR && fd != STDIN_FILENO) {
		release_pages(&file->pages);
		file->folder_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return file->folder_fd < 0 ? error_set(error, -errno, "cannot open '%s': %s", name,
						       strerror(errno))
					   : 0;
	}
	if (err)
		return error_set(error, err, "cannot read '%s': %s", name, strerror(-err));
	err = decompress_layers(&file->pages, name, error);
	return err ? err : decode_utf16(&file->pages, name, error);
}

int input_file_open_fd(int fd, const char *path, struct input_file **ret, struct error *error)
{
	struct input_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return error_set(error, -ENOMEM, "out of memory");
	file->folder_fd = -1;
	err = load(file, fd, path, error);
	if (err) {
		input_file_free(file);
		return err;
	}
	*ret = file;
	return 0;
}

int input_file_open(const char *path, struct input_file **ret, struct error *error)
{
	_cleanup_close_ int opened = -1;

	if (string_equals(path, "-"))
		return input_file_open_fd(STDIN_FILENO, "standard input", ret, error);
	opened = open(path, O_RDONLY | O_CLOEXEC);
	if (opened < 0)
		return error_set(error, -errno, "cannot open '%s': %s", path, strerror(errno));
	return input_file_open_fd(opened, path, ret, error);
}

void input_file_free(struct input_file *file)
{
	if (!file)
		return;
	array_for_each (&file->members, member) {
		free(member->path);
		release_pages(&member->pages);
	}
	array_release(&file->members);
	array_for_each (&file->paths, path)
		free(*path);
	array_release(&file->paths);
	release_pages(&file->pages);
	if (file->folder_fd >= 0)
		close(file->folder_fd);
	free(file);
}

const uint8_t *input_file_get_data(const struct input_file *file)
{
	return file->pages.data;
}

size_t input_file_get_size(const struct input_file *file)
{
	return file->pages.size;
}

bool input_file_is_folder(const struct input_file *file)
{
	return file->folder_fd >= 0;
}

/* The input names the files, and it is untrusted: no "../". */
static bool leads_out(const char *path)
{
	if (path[0] == '/' || !path[0])
		return true;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (string_equals(part, "..") || string_starts_with(part, "../"))
			return true;
	}
	return false;
}

/* Takes the pages, which live as long as the file. */
static int add_member(struct input_file *file, const char *path, struct pages *pages)
{
	struct member *added = array_add(&file->members);
	char *copy = added ? strdup(path) : NULL;

	if (!copy) {
		if (added)
			file->members.length--;
		return -ENOMEM;
	}
	*added = (struct member){copy, *pages};
	return 0;
}

int input_file_open_member(struct input_file *file, const char *path, const uint8_t **ret_data,
			   size_t *ret_size)
{
	_cleanup_close_ int fd = -1;
	struct pages pages = {0};
	int err;

	if (file->folder_fd < 0 || leads_out(path))
		return -EINVAL;
	array_for_each (&file->members, member) {
		if (string_equals(member->path, path)) {
			*ret_data = member->pages.data;
			*ret_size = member->pages.size;
			return 0;
		}
	}
	fd = file_open_regular(file->folder_fd, path, O_NOFOLLOW, NULL);
	if (fd < 0)
		return fd;
	err = read_pages(fd, &pages);
	if (err)
		goto err;
	err = add_member(file, path, &pages);
	if (err)
		goto err;
	*ret_data = pages.data;
	*ret_size = pages.size;
	return 0;
err:
	release_pages(&pages);
	return err;
}

/* ---- files of a folder ---- */

/* Avoids listing the whole file system, if the user gives / by mistake. */
#define MAX_FOLDER_DEPTH 4
#define MAX_PATHS        65536

static int list_folder(struct input_file *file, int folder_fd, const char *prefix,
		       unsigned int depth);

static int add_path(struct input_file *file, const char *path)
{
	char **added = array_add(&file->paths);

	if (!added)
		return -ENOMEM;
	*added = strdup(path);
	if (*added)
		return 0;
	file->paths.length--;
	return -ENOMEM;
}

static int list_entry(struct input_file *file, int folder_fd, const char *prefix, const char *name,
		      unsigned int depth)
{
	_cleanup_(text_release) struct text path = {0};
	struct stat status;
	int fd;

	text_append_string(&path, prefix);
	text_append_string(&path, name);
	if (path.failed)
		return -ENOMEM;
	if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return 0; /* it went away */
	if (S_ISREG(status.st_mode))
		return add_path(file, path.data);
	if (!S_ISDIR(status.st_mode) || depth >= MAX_FOLDER_DEPTH)
		return 0;
	text_append_char(&path, '/');
	if (path.failed)
		return -ENOMEM;
	fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : list_folder(file, fd, path.data, depth + 1);
}

/* Closes the descriptor. */
static int list_folder(struct input_file *file, int folder_fd, const char *prefix,
		       unsigned int depth)
{
	DIR *folder = fdopendir(folder_fd);
	struct dirent *entry;
	int err = 0;

	if (!folder) {
		close(folder_fd);
		return -ENOMEM;
	}
	while (file->paths.length < MAX_PATHS && (entry = readdir(folder))) {
		if (string_equals(entry->d_name, ".") || string_equals(entry->d_name, ".."))
			continue;
		err = list_entry(file, folder_fd, prefix, entry->d_name, depth);
		if (err)
			break;
	}
	closedir(folder);
	return err;
}

int input_file_list_members(struct input_file *file, const char *const **ret_members,
			    size_t *ret_num)
{
	int err = 0;

	if (file->folder_fd >= 0 && !file->paths.length) {
		int fd = openat(file->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		err = fd < 0 ? 0 : list_folder(file, fd, "", 1);
	}
	*ret_members = (const char *const *)file->paths.items;
	*ret_num = file->paths.length;
	return err;
}

/*
 * Bytes before the offset read as zero from now on: an importer calls this only if it does not go
 * back.
 */
void input_file_advance(struct input_file *file, size_t offset)
{
	size_t end = offset & ~(size_t)(RELEASE_BYTES - 1);

	if (!file->pages.data || end <= file->released || end > file->pages.mapped)
		return;
	(void)madvise(file->pages.data + file->released, end - file->released, MADV_DONTNEED);
	file->released = end;
}
