/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of container runtimes, and paths of control groups. The first byte says which file; the rest
 * is its text, the name of an entry, and the path of a group. Names are valid, whatever comes in.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "subjects/runtime_files.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *name)
{
	assert(!*name || container_name_is_valid(name));
}

static void check_inside(struct span part, const char *path)
{
	assert(!part.p || (part.p >= path && part.p + part.len <= path + strlen(path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container_names n = {0};
	struct cgroup_place place;
	enum runtime_file file;
	char *text, out[64];
	bool found;

	if (size < 1)
		return 0;
	file = data[0] % RUNTIME_FILE_END;
	/* On the heap, without a byte after the text: a read beyond it is seen. */
	text = malloc(size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	found = runtime_file_parse(file, (struct span){text, size - 1}, ID, &n);
	assert(found || !*n.name);
	text[size - 1] = '\0';
	(void)runtime_file_parse_entry(file, text, ID, &n);
	check(n.name);
	check(n.image);
	check(n.pod);
	check(n.namespace);
	check(n.pod_uid);
	cgroup_path_parse(text, &place);
	check_inside(place.container, text);
	check_inside(place.unit, text);
	check_inside(place.namespace, text);
	assert(strlen(place.pod_uid) < sizeof(place.pod_uid));
	(void)cgroup_path_unescape(place.container, out, sizeof(out));
	free(text);
	return 0;
}
