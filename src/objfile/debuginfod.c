/* Asking debuginfod servers for debug files and programs, by libdwfl. */
#include "objfile/debug_file.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Address of the dummy module that libdwfl needs for a query. */
#define MODULE_START 0x10000
#define MODULE_END   0x20000

bool debuginfod_is_enabled(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

static Dwfl_Module *report(Dwfl *dwfl, const uint8_t *build_id, uint8_t build_id_size)
{
	Dwfl_Module *module =
		dwfl ? dwfl_report_module(dwfl, "wanted", MODULE_START, MODULE_END) : NULL;

	if (!module ||
	    dwfl_module_report_build_id(module, build_id, build_id_size, MODULE_START) != 0)
		return NULL;
	return module;
}

int debuginfod_find_program(const uint8_t *build_id, uint8_t build_id_size, int *ret)
{
	static const Dwfl_Callbacks callbacks = {0};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = report(dwfl, build_id, build_id_size);
	char *path = NULL;
	Elf *elf = NULL;
	int fd = -1;

	if (module)
		fd = dwfl_build_id_find_elf(module, NULL, "wanted", MODULE_START, &path, &elf);
	elf_end(elf);
	free(path);
	dwfl_end(dwfl);
	if (fd < 0)
		return -ENOENT;
	*ret = fd;
	return 0;
}

int debuginfod_find_debug_file(const uint8_t *build_id, uint8_t build_id_size, int *ret)
{
	static char nowhere[] = "";
	static char *debuginfo_path = nowhere; /* no local search: only servers are queried */
	static const Dwfl_Callbacks callbacks = {.debuginfo_path = &debuginfo_path};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = report(dwfl, build_id, build_id_size);
	char *path = NULL;
	int fd = -1;

	if (module)
		fd = dwfl_standard_find_debuginfo(module, NULL, "wanted", MODULE_START, NULL, NULL,
						  0, &path);
	free(path);
	dwfl_end(dwfl);
	if (fd < 0)
		return -ENOENT;
	*ret = fd;
	return 0;
}
