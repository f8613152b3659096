/*
 * Replacements for the C library's calls to the outside world. There is no such world: a descriptor
 * is never valid, and a broken invariant stops the module. So the module imports nothing.
 *
 * All functions called by the library's own code must be here. The library keeps its versions of
 * all these functions in one object: if a single one is taken from there, the others are defined
 * twice.
 */
#include <assert.h>
#include <stdint.h>
#include <wasi/api.h>

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd)
{
	(void)fd;
	return __WASI_ERRNO_BADF;
}

/* Called beside close() by wasi-libc of 2024. */
__wasi_errno_t __wasi_fd_renumber(__wasi_fd_t fd, __wasi_fd_t to)
{
	(void)fd;
	(void)to;
	return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence,
			      __wasi_filesize_t *ret)
{
	(void)fd;
	(void)offset;
	(void)whence;
	(void)ret;
	return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *vectors, size_t count,
			       __wasi_size_t *ret)
{
	(void)fd;
	(void)vectors;
	(void)count;
	(void)ret;
	return __WASI_ERRNO_BADF;
}

void __assert_fail(const char *expression, const char *file, int line, const char *function)
{
	(void)expression;
	(void)file;
	(void)line;
	(void)function;
	__builtin_trap();
}
