/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/inode_mounts.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/sysmacros.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/span.h"
#include "wire/pb_enc.h"
#include "base/system/log.h"

/*
 * A line (fs/proc_namespace.c, show_mountinfo):
 *
 *	36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime master:1 - ext3 /dev/root rw
 *	id up dev  root  mount point     ...
 *
 * Blanks, newlines and backslashes of a name are escaped as three octal digits.
 */

/* Parses the first three words of a line. */
static bool take_device(struct span *line, struct span *ret_id, dev_t *ret_device)
{
	struct span word, major_part, minor_part;
	uint32_t a, b;

	if (!span_next_word(line, ret_id) || !span_next_word(line, &word) ||
	    !span_next_word(line, &word) || !span_split(word, &major_part, &minor_part) ||
	    !span_number(major_part, &a) || !span_number(minor_part, &b))
		return false;
	*ret_device = makedev(a, b);
	return true;
}

static bool is_octal(const char *p, const char *end)
{
	return end - p >= 4 && p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
	       p[2] <= '7' && p[3] >= '0' && p[3] <= '7';
}

/* Unescapes a name; to has room for the escaped length. */
static size_t unescape(struct span word, char *to)
{
	const char *p = word.p, *end = p + word.len;
	size_t n = 0;

	while (p < end) {
		if (is_octal(p, end)) {
			to[n++] = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			to[n++] = *p++;
		}
	}
	return n;
}

_Static_assert(INODE_MOUNT_BYTES == 4 * PATH_MAX, "each byte may be escaped");

/*
 * Finds the next mount point of the device in *text and advances *text. name is not terminated.
 * Returns false if there is none.
 */
static bool inode_mounts_next(struct span *text, dev_t device, char name[static INODE_MOUNT_BYTES],
			      size_t *ret_len)
{
	struct span line, word;
	dev_t of;

	while (span_next_line(text, &line)) {
		if (!take_device(&line, &word, &of) || of != device)
			continue;
		if (!span_next_word(&line, &word) || !span_next_word(&line, &word) ||
		    word.len > INODE_MOUNT_BYTES)
			continue;
		*ret_len = unescape(word, name);
		return true;
	}
	return false;
}

bool inode_mounts_device(const char *mountinfo, size_t len, uint64_t mount, dev_t *ret_device)
{
	struct span text = {mountinfo, len}, line, id;
	uint32_t number;
	dev_t device;

	while (span_next_line(&text, &line)) {
		if (!take_device(&line, &id, &device) || !span_number(id, &number) ||
		    number != mount)
			continue;
		*ret_device = device;
		return true;
	}
	return false;
}

void inode_mounts_encode(struct pb_enc *e, uint32_t field, const char *mountinfo, size_t len,
			 dev_t device)
{
	struct span text = {mountinfo, len};
	char name[INODE_MOUNT_BYTES];
	size_t n;

	for (unsigned i = 0; i < INODE_MOUNTS_MAX; i++) {
		if (!inode_mounts_next(&text, device, name, &n))
			break;
		pb_enc_bytes(e, field, name, n);
	}
}

void inode_roots_deinit(struct inode_roots *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		free(r->rows[i].mount_point);
		free(r->rows[i].path);
	}
	*r = (struct inode_roots){0};
}

/* Returns -ENOSPC above the limit. */
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
		log_warn("linux.inode_file_map: '%s' is not an absolute path",
			 mount_point[0] != '/' ? mount_point : path);
		return 0;
	}
	e = add(r, mount_point, path);
	if (e != -ENOSPC)
		return e;
	log_warn("linux.inode_file_map: %s is skipped: the limit is %d directories", path,
		 INODE_ROOTS_MAX);
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
	/* If mount points are named, others are not scanned, even if they are mapped. */
	for (size_t i = 0; i < c->n_mount_point_mapping && e == 0; i++)
		if (c->n_scan_mount_points == 0 && c->mount_point_mapping[i]->mountpoint)
			e = add_mapping(r, c->mount_point_mapping[i]);
	return e;
}

/* ---- a device ---- */

/*
 * Adds the directories that the config maps the mount point to. Without any it adds the mount
 * point, unless named->only_these is set.
 */
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
