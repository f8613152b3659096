#include "process/file_opener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "process/foreign_file.h"

/* Limit for a vdso; present ones have 4 to 16 KiB. */
#define VDSO_MAX_BYTES (256u << 10)
#define DELETED_SUFFIX " (deleted)"

/*
 * Whether the last part of the kernel's path of the open file is that of the mapped path. The parts
 * before it depend on the root of the reader.
 */
static bool has_name_of(int handle, const char *mapped_path)
{
	char path[PATH_MAX];
	const char *name;
	const char *mapped_name = strrchr(mapped_path, '/');

	if (!mapped_name || file_read_path(handle, path, sizeof(path)))
		return false;
	if (string_ends_with(path, DELETED_SUFFIX))
		path[strlen(path) - strlen(DELETED_SUFFIX)] = '\0';
	name = strrchr(path, '/');
	return name && string_equals(name, mapped_name);
}

/*
 * Whether the kernel's link to a mapping may lead to the mapped file though its inode differs:
 * where the devices differ between maps and stat, so may the inodes, and the name decides. On the
 * same device it is another file, mapped there later.
 */
static bool may_have_another_inode(const struct foreign_file *found,
				   const struct file_identity *identity)
{
	if (found->dev_major == identity->dev_major && found->dev_minor == identity->dev_minor)
		return false;
	return has_name_of(found->handle, identity->path);
}

/*
 * If the mapping has a build ID, it decides: a file without a build ID is then another file.
 * Otherwise the inode decides, but not the device, because those of btrfs and overlayfs differ
 * between maps and stat.
 */
static bool is_match(const struct opened_file *opened, const struct file_identity *identity,
		     bool can_read_build_id, bool is_right_inode)
{
	if (identity->build_id_size && can_read_build_id)
		return identity->build_id_size == opened->build_id_size &&
		       memcmp(identity->build_id, opened->build_id, opened->build_id_size) == 0;
	return is_right_inode;
}

/*
 * Whether the content was written after it was mapped: then the process has mapped another one. A
 * build ID from the kernel decides that better. Memory in files that are not ELF is written at any
 * time.
 */
static bool is_too_new(const struct mapped_range *range, const struct file_identity *identity,
		       const struct file_version *version)
{
	return !identity->build_id_size && range->time_ns &&
	       file_version_is_newer(version, range->time_ns);
}

/* Describe the content of the open file. Returns 0 or negative errno. */
static int note_content(const struct foreign_file *found, struct opened_file *opened)
{
	char magic[SELFMAG];
	struct stat status;

	if (fstat(opened->fd, &status))
		return -errno;
	opened->is_copy = status.st_ino != found->inode ||
			  major(status.st_dev) != found->dev_major ||
			  minor(status.st_dev) != found->dev_minor;
	opened->is_elf = pread(opened->fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
			 memcmp(magic, ELFMAG, SELFMAG) == 0;
	return opened->is_copy ? 0 : file_version_read(opened->fd, &opened->version);
}

/* Read the build ID. Returns 0, or -ETXTBSY if the file was written meanwhile. */
static int identify(const struct file_opener *opener, struct opened_file *opened)
{
	struct file_version version;

	if (!opener->reader.read || opener->reader.read(opener->reader.context, opened->fd,
							opened->build_id, &opened->build_id_size))
		opened->build_id_size = 0;
	assert(opened->build_id_size <= FILE_BUILD_ID_MAX_BYTES);
	if (!opened->is_elf || opened->is_copy)
		return 0;
	return file_version_read(opened->fd, &version) ||
			       !file_version_looks_same(&version, &opened->version)
		       ? -ETXTBSY
		       : 0;
}

/*
 * Returns 0 if the found file is the mapped one; -ESTALE if it is another one, -ETXTBSY if it has
 * another content, or another negative errno.
 */
static int check_opened(const struct file_opener *opener, const struct mapped_range *range,
			const struct file_identity *identity, const struct foreign_file *found,
			bool is_right_inode, struct opened_file *opened)
{
	int err = note_content(found, opened);

	if (err)
		return err;
	err = identify(opener, opened);
	if (err)
		return err;
	if (!is_match(opened, identity, opener->reader.read != NULL, is_right_inode))
		return -ESTALE;
	return opened->is_elf && is_too_new(range, identity, &opened->version) ? -ETXTBSY : 0;
}

/* Returns likewise. */
static int try_found(const struct file_opener *opener, const struct mapped_range *range,
		     const struct foreign_file *found, const struct file_identity *identity,
		     bool is_map_files, struct opened_file *ret)
{
	struct opened_file opened = {.fd = -1,
				     .dev_major = found->dev_major,
				     .dev_minor = found->dev_minor,
				     .inode = found->inode,
				     .version = found->version};
	bool is_right_inode = !identity->inode || identity->inode == opened.inode ||
			      (is_map_files && may_have_another_inode(found, identity));
	int err;

	opened.known = opener->find_known(identity, &opened, opener->context);
	if (opened.known != FILE_NONE && (identity->build_id_size || is_right_inode) &&
	    !is_too_new(range, identity, &opened.version)) {
		*ret = opened;
		return 0;
	}
	opened.known = FILE_NONE;
	opened.fd = foreign_file_open(opener->slow_opener, range->pid, found);
	if (opened.fd < 0)
		return opened.fd;
	err = check_opened(opener, range, identity, found, is_right_inode, &opened);
	if (err) {
		close(opened.fd);
		return err;
	}
	*ret = opened;
	return 0;
}

/*
 * Places to search for the file of a mapping, the most reliable first: the kernel's own link to it,
 * which needs a capability; the path as the process sees it, or its parent if the process is gone;
 * the path as we see it.
 */
enum search_root { MAP_FILES, OWN_ROOT, PARENT_ROOT, OUR_ROOT, NUM_SEARCH_ROOTS };

static int find_at(const struct file_opener *opener, enum search_root root,
		   const struct mapped_range *range, const char *path, struct foreign_file *ret)
{
	_cleanup_(text_release) struct text root_path = {0};

	if (root == MAP_FILES)
		text_printf(&root_path, "%s/%d/map_files/%" PRIx64 "-%" PRIx64, opener->proc_root,
			    range->pid, range->start, range->end);
	else if (root == OUR_ROOT)
		text_append_string(&root_path, "/");
	else
		text_printf(&root_path, "%s/%d/root", opener->proc_root,
			    root == PARENT_ROOT ? range->parent_pid : range->pid);
	if (root_path.failed)
		return -ENOMEM;
	return root == MAP_FILES
		       ? foreign_file_follow(opener->slow_opener, range->pid, root_path.data, ret)
		       : foreign_file_find(opener->slow_opener, range->pid, root_path.data, path, 0,
					   ret);
}

/* A check without the opener, for processes that have ended. */
static bool is_there(const struct file_opener *opener, pid_t pid)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%d", opener->proc_root, pid);

	return length >= (int)sizeof(path) || faccessat(AT_FDCWD, path, F_OK, 0) == 0;
}

static bool read_link(const struct file_opener *opener, const char *process, const char *name,
		      char *ret, size_t size)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s/%s", opener->proc_root, process, name);
	ssize_t got = length < (int)sizeof(path) ? readlink(path, ret, size - 1) : -1;

	if (got < 0)
		return false;
	ret[got] = '\0';
	return true;
}

/*
 * Whether the process sees the same file at a path as we do: it has our mount namespace and our
 * root. The kernel answers without asking a file system or locking the process's memory. A process
 * that had another root when it mapped the file deceives us about itself alone.
 */
static bool has_our_view(const struct file_opener *opener, pid_t pid)
{
	char process[16];
	char ours[64];
	char theirs[64];

	snprintf(process, sizeof(process), "%d", pid);
	return read_link(opener, process, "root", theirs, sizeof(theirs)) &&
	       string_equals(theirs, "/") &&
	       read_link(opener, process, "ns/mnt", theirs, sizeof(theirs)) &&
	       read_link(opener, "self", "ns/mnt", ours, sizeof(ours)) &&
	       string_equals(theirs, ours);
}

/*
 * Most mappings are of files that are known, in processes with our view, such as the libraries of
 * every command of a build. Then the mapped path leads to the known file, and nobody is asked.
 */
static bool is_known_here(const struct file_opener *opener, const struct mapped_range *range,
			  const struct file_identity *identity, struct opened_file *ret)
{
	struct opened_file found = {.fd = -1};

	if (!opener->has_trusted || !has_our_view(opener, range->pid) ||
	    foreign_file_peek(identity->path, &found.dev_major, &found.dev_minor, &found.inode))
		return false;
	found.known = opener->find_known(identity, &found, opener->context);
	if (found.known == FILE_NONE)
		return false;
	*ret = found;
	return true;
}

int file_opener_open(const struct file_opener *opener, const struct mapped_range *range,
		     const struct file_identity *identity, struct opened_file *ret)
{
	bool is_gone = !is_there(opener, range->pid);
	bool another_was_found = false;
	enum search_root end_root = opener->has_trusted ? PARENT_ROOT : NUM_SEARCH_ROOTS;

	if (!is_gone && is_known_here(opener, range, identity, ret))
		return 0;
	for (enum search_root root = MAP_FILES; root < end_root; root++) {
		struct foreign_file found;
		int err;

		if (root == PARENT_ROOT && !range->parent_pid)
			continue;
		if (is_gone && (root == MAP_FILES || root == OWN_ROOT))
			continue;
		err = find_at(opener, root, range, identity->path, &found);
		if (err == -ENOMEM)
			return err;
		if (!err) {
			err = try_found(opener, range, &found, identity, root == MAP_FILES, ret);
			close(found.handle);
		}
		if (!err)
			return 0;
		/* The other paths are likely on the same file system. */
		if (err == -ETIMEDOUT)
			break;
		if (err == -ETXTBSY || (err == -ESTALE && root != MAP_FILES))
			another_was_found = true;
	}
	*ret = (struct opened_file){
		.fd = -1, .known = FILE_NONE, .another_was_found = another_was_found};
	return 0;
}

/*
 * The auxiliary vector has the address but not the size. The kernel maps the whole image, including
 * the section headers at its end.
 */
static size_t vdso_size(const char *image)
{
	ElfW(Ehdr) header;
	size_t size;

	memcpy(&header, image, sizeof(header));
	size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	for (size_t i = 0; i < header.e_phnum; i++) {
		ElfW(Phdr) segment;

		memcpy(&segment, image + header.e_phoff + i * header.e_phentsize, sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > size)
			size = segment.p_offset + segment.p_filesz;
	}
	return size;
}

int file_opener_open_vdso(int *ret)
{
	_cleanup_close_ int fd = -1;
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	int err;

	if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
		return -ENOENT;
	if (vdso_size(image) > VDSO_MAX_BYTES)
		return -EFBIG;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	/* A memfd starts with mode 0777, which would let others write it. */
	if (fd < 0 || fchmod(fd, 0600))
		return -errno;
	err = file_write_fd(fd, image, vdso_size(image));
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return 0;
}
