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
	int err = 0;

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(nodes->import, json->offset,
					"expected an object with nodes");
	while (!err && (token = json_next(json)) == JSON_KEY)
		err = chrome_cpu_nodes_read_member(nodes, json, lists);
	if (!err && token != JSON_FAILED)
		token = json_next(json);
	if (!err && token == JSON_FAILED)
		err = reader_fail_json(nodes->import, json, 0);
	if (!err && !nodes->nodes.length)
		err = import_fail_byte(nodes->import, 0, "expected an object with nodes");
	return err;
}

static int read_cpuprofile(struct import *import)
{
	struct chrome_cpu_nodes nodes = {.import = import};
	struct chrome_cpu_sample_lists lists = {0};
	struct json json = json_of(import->data, import->size);
	uint32_t thread;
	int err = read_members(&nodes, &json, &lists);

	if (!err)
		err = reader_add_nameless_thread(import, &thread);
	if (!err)
		err = chrome_cpu_nodes_read_samples(&nodes, &lists);
	if (!err)
		err = chrome_cpu_nodes_finish(&nodes, thread);
	json_release(&json);
	chrome_cpu_nodes_release(&nodes);
	return err;
}

/* Nodes with call frames. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct json json = json_of(data, size);
	bool has_nodes = false;
	bool has_frame = false;

	if (json_next(&json) == JSON_OBJECT) {
		for (int i = 0; i < DETECTION_TOKENS && !(has_nodes && has_frame); i++) {
			enum json_token token = json_next(&json);

			if (token == JSON_FAILED || token == JSON_END)
				break;
			has_nodes |= token == JSON_KEY && json_is(&json, "nodes");
			has_frame |= token == JSON_KEY && json_is(&json, "callFrame");
		}
	}
	json_release(&json);
	return has_nodes && has_frame ? DETECTED_SURE : DETECTED_NOT;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.extension = ".cpuprofile",
	.summary = "CPU profiles of Chrome and Node.js",
	.detect = detect,
	.read = read_cpuprofile,
};
