/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "subjects/cgroup_path.h"

/* The files in which container runtimes keep the names of their containers. They are hostile: the
 * authors of images and pods choose labels and names. An id is hostile, too: it is the name of a
 * group. */
#define RUNTIME_FILE_MAX (1u << 20) /* bytes; a larger file is not read */
#define CONTAINER_NAME_SIZE 257 /* of each name, with a NUL; longer ones are ignored */

enum runtime_file {
	RUNTIME_FILE_NONE,
	RUNTIME_FILE_DOCKER, /* config.v2.json */
	RUNTIME_FILE_OCI, /* config.json of a bundle: containerd, CRI-O */
	RUNTIME_FILE_PODMAN, /* containers.json: a list of all containers */
	RUNTIME_FILE_MACHINE, /* of systemd-machined: lines KEY=VALUE */
	RUNTIME_FILE_CONTAINER_LOGS, /* a directory of links POD_NAMESPACE_CONTAINER-ID.log */
	RUNTIME_FILE_POD_LOGS, /* a directory of directories NAMESPACE_POD_UID */
	RUNTIME_FILE_END
};

struct container_names {
	char name[CONTAINER_NAME_SIZE]; /* "": unknown, as are the others */
	char image[CONTAINER_NAME_SIZE];
	char pod[CONTAINER_NAME_SIZE];
	char namespace[CONTAINER_NAME_SIZE];
	char pod_uid[CGROUP_POD_UID_SIZE];
};

/* What is requested: a container, or a pod (kind POD; id is its uid). */
struct container_key {
	uint32_t kind, runtime; /* enum cgroup_kind, enum cgroup_runtime */
	uint32_t uid; /* whose container it is; 0: the system's */
	char id[CONTAINER_NAME_SIZE];
	char namespace[CONTAINER_NAME_SIZE]; /* of containerd; "": the default one */
	char scope[CONTAINER_NAME_SIZE]; /* name of its group */
};

/* Writes the path of the n-th file to try, counted from 0, below root and below home (of the user,
 * "" if it is unknown). Returns RUNTIME_FILE_NONE after the last one; a path that does not fit, or
 * would lead elsewhere, is "". */
enum runtime_file runtime_file_path(const struct container_key *k, unsigned n, const char *root,
				    const char *home, char *ret, size_t size);
static inline bool runtime_file_is_dir(enum runtime_file f)
{
	return f == RUNTIME_FILE_CONTAINER_LOGS || f == RUNTIME_FILE_POD_LOGS;
}

/* Add to *ret what the text of a file, or the name of an entry in a directory, contains about the
 * container. Names that *ret has already stay. Return true if the container is in it. */
bool runtime_file_parse(enum runtime_file f, struct span text, const char *id,
			struct container_names *ret);
bool runtime_file_parse_entry(enum runtime_file f, const char *entry, const char *id,
			      struct container_names *ret);

/* Returns true if it is a name of 1 to 256 bytes: UTF-8 without control characters. */
bool container_name_is_valid(const char *name);
