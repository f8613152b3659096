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
#include "runtime/hotspot.h"
#include "runtime/named.h"
#include "runtime/python.h"
#include "runtime/script.h"
#include "runtime/v8.h"

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

/* An interpreter is known with all that its walk asks for, or said to be none that is. */
static void find_python(struct objfile *objfile)
{
	struct python_build build;

	if (python_find(objfile, &build))
		return;
	require(build.num_eval_parts > 0 && build.num_eval_parts <= EVALUATION_MAX_PARTS);
	for (unsigned int i = 0; i < build.num_eval_parts; i++)
		require(build.eval_parts[i].start <= build.eval_parts[i].end);
	require((build.support == PYTHON_KNOWN) == (build.layout.minor != 0));
	if (build.support != PYTHON_KNOWN)
		return;
	require(build.layout.minor == build.minor);
	require(build.layout.frame_bytes % 8 == 0 && build.layout.code_bytes % 8 == 0);
	require(build.layout.code_begin % 8 == 0);
	require(build.layout.frame_bytes <= WIRE_PYTHON_OBJECT_BYTES &&
		build.layout.code_begin + build.layout.code_bytes <= WIRE_PYTHON_OBJECT_BYTES);
}

static void find_v8(struct objfile *objfile)
{
	struct v8_build build;
	const struct wire_v8_layout *layout = &build.layout;

	if (v8_find(objfile, &build))
		return;
	require((build.support == V8_KNOWN) == (layout->major != 0));
	if (build.support != V8_KNOWN)
		return;
	require(layout->major == build.major && layout->minor == build.minor);
	require(layout->shared_bytes % 8 == 0 && layout->shared_bytes <= WIRE_V8_OBJECT_BYTES);
	require(layout->shared_name <= layout->shared_bytes - 8 &&
		layout->shared_script <= layout->shared_bytes - 8 &&
		layout->shared_literal <= layout->shared_bytes - 4);
	require(layout->scope_num_locals < layout->scope_locals &&
		layout->scope_locals <= WIRE_V8_OBJECT_BYTES);
}

static void find_script(struct objfile *objfile)
{
	struct script_build build;

	if (script_find(objfile, &build))
		return;
	require(build.support < NUM_SCRIPT_SUPPORTS && build.runtime < NUM_WIRE_RUNTIMES);
	require(build.num_eval_parts <= EVALUATION_MAX_PARTS);
	for (unsigned int i = 0; i < build.num_eval_parts; i++)
		require(build.eval_parts[i].start <= build.eval_parts[i].end);
	require(build.num_pushes <= SCRIPT_MAX_PUSHES);
	for (unsigned int i = 0; i < build.num_pushes; i++)
		require(build.pushes[i].start < build.pushes[i].end);
	require((build.support == SCRIPT_KNOWN) == (build.layout.runtime != 0));
}

static void find_hotspot(struct objfile *objfile)
{
	struct hotspot_build build;

	if (!hotspot_find(objfile, &build))
		require(build.structs && build.types && build.int_constants);
}

static void find_named_runtime(struct objfile *objfile)
{
	uint32_t number;

	if (!named_runtime_find(objfile, &number))
		require(number < NUM_NAMED_RUNTIMES);
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
		find_python(objfile);
		find_v8(objfile);
		find_hotspot(objfile);
		find_named_runtime(objfile);
		find_script(objfile);
		objfile_unref(objfile);
	} else {
		require(error.message[0] != '\0');
	}
	close(fd);
	return 0;
}
