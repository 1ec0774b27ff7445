/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/system/fs.h"

/*
 * Every recording creates an instance, so the directory "instances" must exist and be writable.
 * Accessing it also triggers an automount below debugfs.
 */

const char *const tracefs_dirs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing", NULL};

/* Returns 0 if instances can be made in dir, or -errno. */
static int check_instances_dir(const char *dir)
{
	char path[256];
	int r = fs_join(path, sizeof(path), dir, "instances");

	if (r < 0)
		return r;
	/* Checks with the effective ids and capabilities, as mkdir does. */
	return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

/* Sets e to what the user can do about the error of a directory. Returns the error of
 * tracefs_find(). */
static int tracefs_explain(const char *dir, int error, struct err_text *e)
{
	if (error == -ENOENT && !fs_exists(dir))
		return err_set(e, -EOPNOTSUPP,
			       "%s does not exist: the kernel was built without CONFIG_FTRACE, or "
			       "sysfs is not mounted",
			       dir);
	if (error == -ENOENT)
		return err_set(e, -ENOENT,
			       "nothing is mounted on %s: run as root: mount -t tracefs tracefs %s",
			       dir, dir);
	/* Files that are created in tracefs and in instances/ get the owner of the directory;
	 * before Linux 6.6 the existing files of the kernel do not. */
	return err_set(
		e, -EACCES,
		"%s/instances: %s: run sonda-probes as root, or let its user create instances: "
		"sudo chown USER %s %s/instances (before Linux 6.6 also: chown -R USER %s/events)",
		dir, strerror(-error), dir, dir, dir);
}

int tracefs_find(const char *const *dirs, struct err_text *e, const char **ret_dir)
{
	int first = 0;

	for (size_t i = 0; dirs[i]; i++) {
		int r = check_instances_dir(dirs[i]);

		if (r == 0) {
			*ret_dir = dirs[i];
			return 0;
		}
		if (i == 0)
			first = r;
	}
	return tracefs_explain(dirs[0], first, e);
}

static int fail_on_any_name(void *ctx, const char *name, unsigned char d_type)
{
	return -EEXIST;
}

int tracefs_mount_private(const char *dir)
{
	int r = fs_each(dir, fail_on_any_name, NULL);

	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	/* This process still sees what other processes mount below /sys later. They do not see
	 * what this process mounts. */
	if (mount(NULL, "/sys", NULL, MS_SLAVE, NULL) < 0)
		return -errno;
	return mount("tracefs", dir, "tracefs", 0, NULL) == 0 ? 0 : -errno;
}
