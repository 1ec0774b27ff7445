// SPDX-License-Identifier: Apache-2.0
/*
 *	open, look  -- hidden -->  kptr_restrict N-1, open, kptr_restrict N, look  -- hidden -->  N-2
 *
 * Hidden addresses are zeros. A few real ones are zero as well (per-CPU offsets), so as much is
 * looked at as the kernel writes at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "ftrace/symbols/kallsyms.h"

static int open_file(const char *proc_root)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/kallsyms", proc_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* 1: some address is not zero. 0, or -errno. */
static int shows_addresses(int fd)
{
	char text[4097], *line, *eol;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (line = text; *line; line = *eol ? eol + 1 : eol) {
		eol = strchrnul(line, '\n');
		if (strtoull(line, NULL, 16))
			return 1;
	}
	return 0;
}

/* ---- kptr_restrict ---- */

static void restrict_path(const char *proc_root, char *path, size_t size)
{
	snprintf(path, size, "%s/sys/kernel/kptr_restrict", proc_root);
}

/* The value, or -errno. */
static int read_restrict(const char *proc_root)
{
	struct strbuf b = {0};
	char path[4096];
	int r;

	restrict_path(proc_root, path, sizeof(path));
	r = fs_read_file(path, 64, &b);
	if (!r)
		r = b.s ? atoi(b.s) : -EIO;
	strbuf_deinit(&b);
	return r;
}

static int write_restrict(const char *proc_root, int value)
{
	char path[4096], text[16];

	restrict_path(proc_root, path, sizeof(path));
	snprintf(text, sizeof(text), "%d\n", value);
	return fs_write_file(path, text, false);
}

/* Opens the file as if the value were the lower one. Nothing may come between. */
static int open_lowered(const char *proc_root, int value, int lower, bool *ret_is_back)
{
	int fd, r = write_restrict(proc_root, lower);

	if (r)
		return r;
	fd = open_file(proc_root);
	*ret_is_back = !write_restrict(proc_root, value) || !write_restrict(proc_root, value);
	return fd;
}

static int hidden(struct err_text *e, int value)
{
	return err_set(
		e, -EACCES,
		"/proc/kallsyms shows no addresses: kptr_restrict is %d, and this process may "
		"not lower it",
		value);
}

static int open_hidden(const char *proc_root, struct err_text *e)
{
	int value = read_restrict(proc_root), fd, r;
	bool is_back = true;

	if (value < 0)
		return err_set(e, -EACCES, "/proc/kallsyms shows no addresses");
	for (int lower = value - 1; lower >= 0; lower--) {
		fd = open_lowered(proc_root, value, lower, &is_back);
		if (fd < 0)
			break;
		r = is_back ? shows_addresses(fd) : 0;
		if (r > 0)
			return fd;
		close(fd);
		if (!is_back)
			return err_set(e, -EIO,
				       "kptr_restrict was %d, is %d and cannot be set back", value,
				       lower);
	}
	return hidden(e, value);
}

int kallsyms_open(const char *proc_root, struct err_text *e)
{
	int fd = open_file(proc_root), r;

	if (fd < 0)
		return err_set(e, fd, "cannot open /proc/kallsyms: %s", strerror(-fd));
	r = shows_addresses(fd);
	if (r > 0)
		return fd;
	close(fd);
	if (r < 0)
		return err_set(e, r, "cannot read /proc/kallsyms: %s", strerror(-r));
	return open_hidden(proc_root, e);
}
