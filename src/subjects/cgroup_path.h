/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/span.h"

/*
 * What the path of a control group reveals about it, by the conventions of systemd, of container
 * runtimes and of Kubernetes. Paths are relative to the mount, begin with '/', and are bytes: the
 * kernel allows any but NUL and newline in a name, which the user who makes the group chooses.
 */

enum cgroup_kind {
	CGROUP_OTHER,
	CGROUP_SLICE, /* of systemd */
	CGROUP_UNIT, /* service or scope of systemd, or below one */
	CGROUP_POD, /* of Kubernetes or podman: the parent of its containers */
	CGROUP_CONTAINER, /* a container, or below one */
	CGROUP_MACHINE, /* a virtual machine, or below one */
};

enum cgroup_runtime {
	RUNTIME_NONE,
	RUNTIME_DOCKER,
	RUNTIME_CONTAINERD, /* ctr, nerdctl */
	RUNTIME_CRI_CONTAINERD, /* Kubernetes with containerd */
	RUNTIME_CRIO,
	RUNTIME_KUBERNETES, /* with a runtime that the path does not name */
	RUNTIME_PODMAN,
	RUNTIME_BUILDKIT,
	RUNTIME_LXC,
	RUNTIME_NSPAWN, /* and other machines of systemd-machined */
	RUNTIME_LIBVIRT,
	RUNTIME_END
};

#define CGROUP_POD_UID_SIZE 37 /* with a NUL */

struct cgroup_place {
	enum cgroup_kind kind;
	enum cgroup_runtime runtime;
	/* The outermost container: its id, or the name if the path has no id; borrowed from the
	 * path. */
	struct span container;
	struct span namespace; /* of containerd; borrowed */
	/* The last service or scope, inside the container if it has one. Borrowed, escaped as
	 * systemctl(1) shows it. */
	struct span unit;
	struct span scope; /* the name of the container's own group; borrowed */
	char pod_uid[CGROUP_POD_UID_SIZE]; /* "": not in a pod; a static pod has 32 digits */
	uint32_t uid; /* whose service manager made it; 0: that of the system */
	/* Any two nested groups could be a container of containerd: only its files show whether
	 * they are. Then kind does not count the container. */
	bool is_guess;
};

/* Finds what the path reveals. *ret borrows from it. */
void cgroup_path_parse(const char *path, struct cgroup_place *ret);

/* Returns the name in a trace and in SQL; "" for RUNTIME_NONE. */
const char *cgroup_runtime_name(enum cgroup_runtime runtime);
const char *cgroup_kind_name(enum cgroup_kind kind);

/* Writes a name of systemd without its escapes (\x2d). Returns false if it does not fit. */
bool cgroup_path_unescape(struct span name, char *ret, size_t size);
