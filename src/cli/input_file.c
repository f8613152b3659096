/*
 * An input is read into anonymous memory as a whole, then decompressed, because importers look at
 * bytes anywhere. It is memory of our own (mmap(), not malloc()) for two reasons: it grows by
 * mremap() without being copied, and what has been consumed can be given back page by page while
 * the profile grows.
 *
 * Inputs are untrusted. A gzip file of a few kilobytes may expand to gigabytes: decompression stops
 * when what came out is out of proportion to what went in so far. Names of files in a folder come
 * from the input as well: they may have no part "..", be no symbolic link themselves, and no FIFO
 * is waited for.
 */
#include "cli/input_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#define FIRST_BYTES (1u << 20) /* first allocation for an input of unknown size */
/* Memory is given back in steps of this. */
#define RELEASE_BYTES (4u << 20)
/*
 * The limit of decompressed bytes for the compressed bytes read so far: above any real profile, but
 * low enough to stop a decompression bomb early.
 */
#define DECOMPRESS_FREE_BYTES (48u << 20)
#define DECOMPRESS_RATIO      50
#define DECOMPRESS_STEP_BYTES (1u << 20)

/* Anonymous pages, not a mapping of the file: if that was truncated, we would get SIGBUS. */
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
	size_t released; /* bytes at the beginning whose memory was given back */
	int folder_fd;   /* -1: it is none */
	ARRAY(struct member) members;
	ARRAY(char *) paths; /* of the files below the folder, once they were asked for */
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
	(void)madvise(data, pages->mapped, MADV_HUGEPAGE); /* fewer faults; not vital */
	return 0;
}

/* Pipes say no size: their memory doubles. */
static int read_pages(int fd, struct pages *pages)
{
	struct stat status;
	size_t wanted = FIRST_BYTES;

	/* One byte more than the size, to see the end without growing. */
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

static bool is_gzip(const struct pages *pages)
{
	return pages->size >= 3 && pages->data[0] == 0x1f && pages->data[1] == 0x8b &&
	       pages->data[2] == 8;
}

/*
 * Inflate until the end of the input, or of this member of it. Output goes in steps of
 * DECOMPRESS_STEP_BYTES, so that the ratio is looked at often; zlib's counts have 32 bits.
 */
static int inflate_member(z_stream *stream, const struct pages *compressed, struct pages *ret)
{
	int state = Z_OK;

	while (state == Z_OK) {
		size_t taken = (size_t)(stream->next_in - compressed->data);
		size_t room;
		int err;

		if (ret->size / DECOMPRESS_RATIO > taken + DECOMPRESS_FREE_BYTES / DECOMPRESS_RATIO)
			return -EFBIG;
		if (ret->size == ret->mapped || !ret->data) {
			err = reserve_pages(ret, ret->mapped ? ret->mapped * 2 : FIRST_BYTES);
			if (err)
				return err;
		}
		stream->avail_in = compressed->size - taken > 1u << 30
					   ? 1u << 30
					   : (uInt)(compressed->size - taken);
		room = ret->mapped - ret->size;
		stream->avail_out =
			room > DECOMPRESS_STEP_BYTES ? DECOMPRESS_STEP_BYTES : (uInt)room;
		stream->next_out = ret->data + ret->size;
		state = inflate(stream, Z_NO_FLUSH);
		ret->size = (size_t)(stream->next_out - ret->data);
	}
	return state == Z_STREAM_END ? 0 : state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* A file may be several gzip files one after the other. */
static int inflate_pages(const struct pages *compressed, struct pages *ret, size_t *ret_offset)
{
	z_stream stream = {.next_in = compressed->data};
	int err;

	/* A window of 2^15 bytes, and 16 for gzip's header (zlib.h). */
	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		return -ENOMEM;
	for (;;) {
		const uint8_t *next;

		err = inflate_member(&stream, compressed, ret);
		next = stream.next_in;
		*ret_offset = (size_t)(next - compressed->data);
		/* Trailing bytes that are no gzip data are ignored, as gzip itself does. */
		if (err || compressed->size - *ret_offset < 3 || next[0] != 0x1f || next[1] != 0x8b)
			break;
		if (inflateReset(&stream) != Z_OK) {
			err = -ENOMEM;
			break;
		}
	}
	inflateEnd(&stream);
	return err;
}

static int decompress(struct pages *pages, const char *name, struct error *error)
{
	struct pages decompressed = {0};
	size_t offset = 0;
	int err = inflate_pages(pages, &decompressed, &offset);

	if (err == -EFBIG)
		err = error_set(error, -EBADMSG,
				"%s: at byte %zu: the compressed data expands to over %d times "
				"its size; decompress it with gunzip if that is right",
				name, offset, DECOMPRESS_RATIO);
	else if (err == -EBADMSG)
		error_set(error, err,
			  "%s: at byte %zu: the compressed data is damaged or truncated", name,
			  offset);
	else if (err)
		error_set(error, err, "%s: %s", name, strerror(-err));
	if (err) {
		release_pages(&decompressed);
		return err;
	}
	release_pages(pages);
	*pages = decompressed;
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
	return is_gzip(&file->pages) ? decompress(&file->pages, name, error) : 0;
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

/* ---- what a folder holds ---- */

/* Against listing the whole file system, if the user gives / by mistake. */
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
 * Bytes before the offset read as zero from now on: an importer says so only when it does not go
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
