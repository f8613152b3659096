/*
 * The .cpuprofile files of V8, which Chrome and Node.js write: one object with the nodes and the
 * samples; see cpu_nodes.h. Files without a list of samples have a count at each node, and no time.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/cpu_nodes.h"
#include "formats/format.h"
#include "formats/reader.h"

#define DETECTION_TOKENS 200

static int read_members(struct chrome_cpu_nodes *nodes, struct json *json,
			struct chrome_cpu_sample_lists *lists)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(nodes->import, json->offset,
					"expected an object with nodes");
	while ((token = json_next(json)) == JSON_KEY) {
		int err = chrome_cpu_nodes_read_member(nodes, json, lists);

		if (err)
			return err;
	}
	/* Behind the object there must be nothing. */
	if (token != JSON_FAILED)
		token = json_next(json);
	if (token == JSON_FAILED)
		return reader_fail_json(nodes->import, json, 0);
	if (!nodes->nodes.length)
		return import_fail_byte(nodes->import, 0, "expected an object with nodes");
	if (!nodes->has_frames && !nodes->has_hits && !lists->samples)
		return import_fail_byte(nodes->import, 0, "expected nodes with call frames");
	return 0;
}

static int read_cpuprofile(struct import *import)
{
	_cleanup_(chrome_cpu_nodes_release) struct chrome_cpu_nodes nodes = {.import = import};
	_cleanup_(json_release) struct json json = json_of(import->data, import->size);
	struct chrome_cpu_sample_lists lists = {0};
	uint32_t thread;
	int err = read_members(&nodes, &json, &lists);

	if (err)
		return err;
	err = reader_add_anonymous_thread(import, &thread);
	if (err)
		return err;
	err = chrome_cpu_nodes_read_samples(&nodes, &lists);
	if (err)
		return err;
	return chrome_cpu_nodes_finish(&nodes, thread);
}

/* Nodes with call frames. */
static enum detection detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	bool has_nodes = false;
	bool has_frame = false;

	if (json_next(&json) != JSON_OBJECT)
		return DETECTED_NOT;
	for (int i = 0; i < DETECTION_TOKENS; i++) {
		enum json_token token = json_next(&json);

		if (token == JSON_FAILED || token == JSON_END)
			return DETECTED_NOT;
		has_nodes |= token == JSON_KEY && json_is(&json, "nodes");
		has_frame |= token == JSON_KEY && json_is(&json, "callFrame");
		if (has_nodes && has_frame)
			return DETECTED_SURE;
	}
	return DETECTED_NOT;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.extension = ".cpuprofile",
	.summary = "CPU profiles of Chrome and Node.js",
	.producers = "Node.js 20",
	.detect = detect,
	.read = read_cpuprofile,
};
