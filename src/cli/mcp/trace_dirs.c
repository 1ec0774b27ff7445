/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/trace_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define LIST_DEPTH_MAX 3 /* directories */
#define LIST_FILES_MAX 2000
#define TRACE_FIRST_BYTE 0x0a /* field 1 of Trace, a message */

static int open_beneath(int dir, const char *name, int flags)
{
	const struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int trace_dirs_add(struct trace_dirs *f, const char *path, struct err_text *e)
{
	char *real;
	int fd;

	if (f->n == TRACE_DIRS_MAX)
		return err_set(e, -E2BIG, "too many directories; the limit is %d", TRACE_DIRS_MAX);
	real = realpath(path, NULL);
	fd = real ? open(real, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0) {
		int r = -errno;

		free(real);
		return err_set(e, r, "cannot open the directory %s: %s", path, strerror(-r));
	}
	f->of[f->n].path = real;
	f->of[f->n++].fd = fd;
	return 0;
}

void trace_dirs_deinit(struct trace_dirs *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->of[i].path);
		closep(&f->of[i].fd);
	}
	f->n = 0;
}

/* Returns the part of an absolute name below the directory, NULL if it is not below it. Returns a
 * relative name unchanged. */
static const char *path_below_dir(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	if (name[0] != '/')
		return name;
	if (len == 1)
		return name + strspn(name, "/");
	return !strncmp(name, dir, len) && name[len] == '/' ? name + len + strspn(name + len, "/")
							    : NULL;
}

static bool is_trace(int fd)
{
	struct stat st;
	unsigned char first;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, &first, 1, 0) == 1 &&
	       first == TRACE_FIRST_BYTE;
}

int trace_dirs_open(const struct trace_dirs *f, const char *name, struct err_text *e)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < f->n && fd < 0; i++) {
		const char *below = path_below_dir(f->of[i].path, name);

		/* A pipe would block without O_NONBLOCK. */
		if (below && *below)
			fd = open_beneath(f->of[i].fd, below, O_RDONLY | O_NONBLOCK);
		if (fd == -EXDEV || fd == -ELOOP)
			break;
	}
	if (fd == -EXDEV || fd == -ELOOP)
		return err_set(e, -EACCES,
			       "'%.200s' is outside the given directories, or is a symbolic link",
			       name);
	if (fd == -ENOENT)
		return err_set(
			e, fd,
			"the directories contain no trace '%.200s'; call list with kind traces",
			name);
	if (fd < 0)
		return err_set(e, fd, "cannot open %.200s: %s", name, strerror(-fd));
	if (!is_trace(fd)) {
		close(fd);
		return err_set(e, -EINVAL, "'%.200s' is not a trace", name);
	}
	return fd;
}

struct listing {
	struct answer *answer;
	unsigned files;
};

static void list_file(struct listing *l, int fd, const char *name)
{
	struct stat st;
	struct tm at;
	char time[32];
	struct strbuf line = {0};

	if (!is_trace(fd) || fstat(fd, &st) < 0)
		return;
	gmtime_r(&st.st_mtime, &at);
	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &at);
	strbuf_putc(&line, '[');
	strbuf_put_json(&line, name);
	strbuf_printf(&line, ",%" PRId64 ",\"%s\"]", (int64_t)st.st_size, time);
	answer_add(l->answer, line.s ? line.s : "");
	strbuf_deinit(&line);
	l->files++;
}

/* Lists the directory of an open descriptor, which it closes. */
static void list_dir(struct listing *l, int fd, const char *prefix, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *entry;

	if (!d) {
		close(fd);
		return;
	}
	while ((entry = readdir(d)) && l->files < LIST_FILES_MAX) {
		char name[PATH_MAX];
		int below, n;

		if (entry->d_name[0] == '.' || (entry->d_type != DT_REG && entry->d_type != DT_DIR))
			continue;
		n = snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "/" : "",
			     entry->d_name);
		if (n < 0 || n >= (int)sizeof(name))
			continue;
		below = open_beneath(dirfd(d), entry->d_name, O_RDONLY | O_NONBLOCK);
		if (below < 0)
			continue;
		if (entry->d_type == DT_DIR && depth < LIST_DEPTH_MAX) {
			list_dir(l, below, name, depth + 1);
			continue;
		}
		list_file(l, below, name);
		close(below);
	}
	closedir(d);
}

void trace_dirs_list(const struct trace_dirs *f, struct answer *ret)
{
	char count[STR_COUNT_SIZE];
	struct listing l = {.answer = ret};

	answer_add_head(ret, "columns [\"trace\",\"size_bytes\",\"modified\"]");
	for (size_t i = 0; i < f->n; i++) {
		int fd = open_beneath(f->of[i].fd, ".", O_RDONLY | O_DIRECTORY);

		if (fd >= 0)
			list_dir(&l, fd, "", 1);
	}
	answer_end_rows(ret);
	answer_printf(ret, "%s%s", str_count(l.files, "trace", count),
		      l.files == LIST_FILES_MAX ? "; more are not listed" : "");
}
