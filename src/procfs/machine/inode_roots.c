/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/inode_roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/log.h"
#include "procfs/machine/inode_mounts.h"
#include "base/text/span.h"

void inode_roots_deinit(struct inode_roots *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		free(r->rows[i].mount_point);
		free(r->rows[i].path);
	}
	*r = (struct inode_roots){0};
}

/* -ENOSPC: there is no room. */
static int add(struct inode_roots *r, const char *mount_point, const char *path)
{
	struct inode_root *root = &r->rows[r->n];

	if (r->n == INODE_ROOTS_MAX)
		return -ENOSPC;
	root->mount_point = strdup(mount_point);
	root->path = strdup(path);
	r->n++;
	return root->mount_point && root->path ? 0 : -ENOMEM;
}

/* ---- the config ---- */

static int add_named(struct inode_roots *r, const char *mount_point, const char *path)
{
	int e;

	if (mount_point[0] != '/' || path[0] != '/') {
		log_warn("linux.inode_file_map: '%s' is not a path from the root",
			 mount_point[0] != '/' ? mount_point : path);
		return 0;
	}
	e = add(r, mount_point, path);
	if (e != -ENOSPC)
		return e;
	log_warn("linux.inode_file_map: %s is left out: the config names more than %d folders",
		 path, INODE_ROOTS_MAX);
	return 0;
}

static int add_mapping(struct inode_roots *r, const Pb__InodeFileConfig__MountPointMappingEntry *m)
{
	int e = 0;

	for (size_t i = 0; i < m->n_scan_roots && e == 0; i++)
		e = add_named(r, m->mountpoint, m->scan_roots[i]);
	return e;
}

static int add_mount_point(struct inode_roots *r, const Pb__InodeFileConfig *c, const char *name)
{
	for (size_t i = 0; i < c->n_mount_point_mapping; i++) {
		const Pb__InodeFileConfig__MountPointMappingEntry *m = c->mount_point_mapping[i];

		if (m->mountpoint && strcmp(m->mountpoint, name) == 0)
			return add_mapping(r, m);
	}
	return add_named(r, name, name);
}

int inode_roots_configure(struct inode_roots *r, const Pb__InodeFileConfig *c)
{
	int e = 0;

	r->only_these = c->n_scan_mount_points > 0;
	for (size_t i = 0; i < c->n_scan_mount_points && e == 0; i++)
		e = add_mount_point(r, c, c->scan_mount_points[i]);
	/* Where mount points are named, others are not scanned, mapped or not. */
	for (size_t i = 0; i < c->n_mount_point_mapping && e == 0; i++)
		if (c->n_scan_mount_points == 0 && c->mount_point_mapping[i]->mountpoint)
			e = add_mapping(r, c->mount_point_mapping[i]);
	return e;
}

/* ---- a device ---- */

/* What the config has for the mount point, or itself. */
static int add_for(struct inode_roots *r, const struct inode_roots *named, const char *mount_point)
{
	bool any = false;
	int e = 0;

	for (unsigned i = 0; i < named->n && e == 0; i++) {
		if (strcmp(named->rows[i].mount_point, mount_point) != 0)
			continue;
		any = true;
		e = add(r, mount_point, named->rows[i].path);
	}
	return any || named->only_these ? e : add(r, mount_point, mount_point);
}

int inode_roots_add_device(struct inode_roots *r, const struct inode_roots *named,
			   const char *mountinfo, size_t len, dev_t device)
{
	struct span text = {mountinfo, len};
	char name[INODE_MOUNT_BYTES + 1];
	size_t n;
	int e = 0;

	while (e == 0 && inode_mounts_next(&text, device, name, &n)) {
		name[n] = '\0';
		e = add_for(r, named, name);
	}
	return e == -ENOSPC ? 0 : e;
}
