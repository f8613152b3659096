/*
 * ELF files: headers, symbols and call-frame information may hold anything.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objfile/function_search.h"
#include "objfile/objfile.h"
#include "objfile/usdt.h"
#include "require.h"
#include "runtime/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct objfile *objfile, uint64_t elf_address)
{
	struct frame_info *frame_info;
	struct symbol symbol;
	uint64_t start;

	enum call_proof proof;

	require(objfile_prove_call(objfile, elf_address, elf_address + 1, &proof) == 0);
	require(proof <= CALL_DISPROVEN);
	if (objfile_find_symbol(objfile, elf_address, &symbol) == 0) {
		require(symbol.name[0] != '\0');
		require(symbol.start <= elf_address);
	}
	require(objfile_get_frame_info(objfile, &frame_info) == 0);
	if (frame_info_find_function(frame_info, elf_address, &start) == 0)
		require(start <= elf_address);
	if (objfile_find_function(objfile, elf_address, &start) == 0)
		require(start <= elf_address);
	(void)frame_info_is_outermost(frame_info, elf_address);
}

/* What can be probed, there or not, is found in its bounds. */
static void search(struct objfile *objfile)
{
	static const char *const names[] = {"main", "f", "no such function", "ns::f(int)"};
	struct probe_point_list found = {0};
	struct error error = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct function_query query = {.name = names[i], .offset = i};

		if (function_search(objfile, &query, &found, &error))
			require(error.message[0] != '\0');
	}
	(void)!usdt_find(objfile, "provider", "name", 1, &found, NULL);
	require(found.points.length <= PROBE_MAX_POINTS);
	probe_point_list_release(&found);
}

static void check_python(const struct runtime_build *build)
{
	const struct wire_python_layout *layout = &build->layout.python;

	require((build->support == SUPPORT_KNOWN) == (layout->minor != 0));
	if (build->support != SUPPORT_KNOWN)
		return;
	require(build->num_eval_parts > 0 && layout->minor == build->minor);
	require(layout->frame_bytes % 8 == 0 && layout->code_bytes % 8 == 0);
	require(layout->code_start % 8 == 0);
	require(layout->frame_bytes <= WIRE_PYTHON_OBJECT_BYTES &&
		layout->code_start + layout->code_bytes <= WIRE_PYTHON_OBJECT_BYTES);
}

static void check_v8(const struct runtime_build *build)
{
	const struct wire_v8_layout *layout = &build->layout.v8;

	require((build->support == SUPPORT_KNOWN) == (layout->major != 0));
	if (build->support != SUPPORT_KNOWN)
		return;
	require(layout->major == build->major && layout->minor == build->minor);
	require(layout->shared_bytes % 8 == 0 && layout->shared_bytes <= WIRE_V8_OBJECT_BYTES);
	require(layout->shared_name <= layout->shared_bytes - 8 &&
		layout->shared_script <= layout->shared_bytes - 8 &&
		layout->shared_literal <= layout->shared_bytes - 4);
	require(layout->scope_num_locals < layout->scope_locals &&
		layout->scope_locals <= WIRE_V8_OBJECT_BYTES);
}

/* A known interpreter has all that its walk needs. */
static void find_runtime(struct objfile *objfile)
{
	struct runtime_build build;

	if (runtime_find(objfile, &build))
		return;
	require(runtime_build_is_valid(&build));
	for (unsigned int i = 0; i < build.num_eval_parts; i++)
		require(build.eval_parts[i].start <= build.eval_parts[i].end);
	for (unsigned int i = 0; i < build.num_pushes; i++)
		require(build.pushes[i].start < build.pushes[i].end);
	if (build.runtime == WIRE_RUNTIME_PYTHON)
		check_python(&build);
	if (build.runtime == WIRE_RUNTIME_V8)
		check_v8(&build);
	if (build.runtime == WIRE_RUNTIME_HOTSPOT)
		require(build.hotspot.structs && build.hotspot.types &&
			build.hotspot.int_constants);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct objfile *objfile;
	struct error error;
	uint64_t elf_address;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (objfile_open(fd, "/fuzz/file", NULL, &objfile, &error) == 0) {
		look_up(objfile, objfile_get_entry(objfile));
		look_up(objfile, 0);
		look_up(objfile, UINT64_MAX);
		for (uint64_t offset = 0; offset < size; offset += size / 16 + 1)
			if (objfile_get_elf_address(objfile, offset, &elf_address) == 0)
				look_up(objfile, elf_address);
		search(objfile);
		find_runtime(objfile);
		objfile_unref(objfile);
	} else {
		require(error.message[0] != '\0');
	}
	close(fd);
	return 0;
}
