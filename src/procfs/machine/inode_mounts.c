/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/inode_mounts.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/sysmacros.h>

#include "base/text/span.h"
#include "wire/pb_enc.h"

/*
 * A line (fs/proc_namespace.c, show_mountinfo):
 *
 *	36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime master:1 - ext3 /dev/root rw
 *	id up dev  root  mount point     ...
 *
 * Blanks, newlines and backslashes of a name are written as three octal digits.
 */

/* Takes the first three words of a line. */
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

/* A name as it is; to has room for as many bytes as it is written with. */
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

bool inode_mounts_next(struct span *text, dev_t device, char name[static INODE_MOUNT_BYTES],
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
