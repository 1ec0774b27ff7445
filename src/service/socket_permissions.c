/* SPDX-License-Identifier: Apache-2.0 */
#include "service/socket_permissions.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define FORM "it must be PGROUP:PMODE:CGROUP:CMODE, as in perfetto:0666:perfetto:0660"

static int parse_group(const char *text, gid_t *ret, struct err_text *e)
{
	const struct group *g;
	uint32_t number;

	if (str_to_u32(text, &number) == 0) {
		*ret = number;
		return 0;
	}
	g = getgrnam(text);
	if (!g)
		return err_set(e, -ENOENT, "there is no group \"%.100s\"", text);
	*ret = g->gr_gid;
	return 0;
}

static int parse_mode(const char *text, mode_t *ret, struct err_text *e)
{
	mode_t mode = 0;

	if (strlen(text) != 4 || strspn(text, "01234567") != 4)
		return err_set(e, -EINVAL, "\"%.100s\" is no mode: four octal digits, as in 0660",
			       text);
	for (; *text; text++)
		mode = mode * 8 + (mode_t)(*text - '0');
	*ret = mode;
	return 0;
}

int socket_permissions_parse(const char *text, struct socket_permissions ret[static 2],
			     struct err_text *e)
{
	_cleanup_(freep) char *copy = strdup(text);
	struct socket_permissions found[2];
	char *parts[4], *rest = copy;
	int r = 0;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < 4; i++) {
		parts[i] = strsep(&rest, ":");
		if (!parts[i] || !parts[i][0])
			return err_set(e, -EINVAL, "\"%.100s\": " FORM, text);
	}
	if (rest)
		return err_set(e, -EINVAL, "\"%.100s\": " FORM, text);
	for (size_t i = 0; i < 2 && r == 0; i++) {
		r = parse_group(parts[2 * i], &found[i].group, e);
		if (r == 0)
			r = parse_mode(parts[2 * i + 1], &found[i].mode, e);
	}
	if (r == 0)
		memcpy(ret, found, sizeof(found));
	return r;
}

/* The group first: its members shall not have to wait, others shall not come in between. */
int socket_permissions_set(const char *path, const struct socket_permissions *p, struct err_text *e)
{
	if (fchownat(AT_FDCWD, path, (uid_t)-1, p->group, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, -errno, "cannot give %s to group %u: %s", path,
			       (unsigned)p->group, strerror(errno));
	if (chmod(path, p->mode) < 0)
		return err_set(e, -errno, "cannot set the mode of %s to %04o: %s", path,
			       (unsigned)p->mode, strerror(errno));
	return 0;
}
