/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/out_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/terminal/sudo_user.h"

/* ---- removal, also by a signal ---- */

/* What a signal removes. Its handler makes system calls only. */
static char doomed_file[PATH_MAX], doomed_folder[PATH_MAX];

static void remove_doomed_folder(void)
{
	static _Alignas(struct dirent64) char entries[4096];
	int fd = open(doomed_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	/* The kernel returns each name once, although names before it are removed meanwhile. */
	while (fd >= 0 && (n = getdents64(fd, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(entries + at);

			unlinkat(fd, d->d_name, 0);
			at += d->d_reclen;
		}
	rmdir(doomed_folder);
}

static void on_signal(int number)
{
	if (doomed_file[0])
		unlink(doomed_file);
	if (doomed_folder[0])
		remove_doomed_folder();
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old;

	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
			signal(numbers[i], on_signal);
}

static int remove_entry(void *ctx, const char *name, unsigned char type)
{
	char path[PATH_MAX];

	(void)type;
	if (fs_join(path, sizeof(path), ctx, name) == 0)
		unlink(path);
	return 0;
}

static void remove_all(const char *path, bool is_folder)
{
	if (!is_folder) {
		unlink(path);
		return;
	}
	fs_each(path, remove_entry, (void *)path);
	rmdir(path);
}

/* ---- the hidden neighbour ---- */

/* Returns "DIR/.NAME.XXXXXX", which the caller frees, or NULL. */
static char *hidden_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash + 1 - path) : 0;
	char *name;

	return asprintf(&name, "%.*s.%.200s.XXXXXX", (int)dir, path, path + dir) < 0 ? NULL : name;
}

static int refuse_taken(const char *path, bool is_folder, bool replace, struct err_text *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!replace)
		return err_set(e, -EEXIST,
			       "%s exists already; replace it with --force, or choose another name "
			       "with -o",
			       path);
	if (S_ISDIR(st.st_mode) != is_folder)
		return err_set(e, -EEXIST, "%s is %s folder; choose another name with -o", path,
			       is_folder ? "not a" : "a");
	return 0;
}

int out_path_create(struct out_path *o, const char *path, bool is_folder, bool replace,
		    struct err_text *e)
{
	int fd, r = refuse_taken(path, is_folder, replace, e);

	if (r < 0)
		return r;
	*o = (struct out_path){.path = path, .is_folder = is_folder, .replace = replace};
	o->hidden = hidden_name(path);
	if (!o->hidden || strlen(o->hidden) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "cannot write %s: %s", path,
			       strerror(ENAMETOOLONG));
	fd = is_folder ? (mkdtemp(o->hidden) ? 0 : -1) : mkostemp(o->hidden, O_CLOEXEC);
	if (fd < 0) {
		r = err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
		freep(&o->hidden);
		return r;
	}
	if (!is_folder)
		close(fd);
	strcpy(is_folder ? doomed_folder : doomed_file, o->hidden);
	watch_signals();
	return 0;
}

void out_path_deinit(struct out_path *o)
{
	if (o->hidden)
		remove_all(o->hidden, o->is_folder);
	freep(&o->hidden);
	doomed_file[0] = doomed_folder[0] = '\0';
}

/* Only files that an export made are removed: an old folder with anything else stays. */
static int check_old_entry(void *ctx, const char *name, unsigned char type)
{
	(void)ctx;
	(void)type;
	return str_ends(name, ".csv") ? 0 : -ENOTEMPTY;
}

static int replace_folder(struct out_path *o)
{
	int r = fs_each(o->path, check_old_entry, NULL);

	if (r < 0)
		return r;
	if (renameat2(AT_FDCWD, o->hidden, AT_FDCWD, o->path, RENAME_EXCHANGE) < 0)
		return -errno;
	remove_all(o->hidden, true);
	return 0;
}

int out_path_finish(struct out_path *o, struct err_text *e)
{
	int r = -EINVAL;

	sudo_user_give_path(o->hidden);
	if (o->replace && o->is_folder && fs_exists(o->path))
		r = replace_folder(o);
	else if (!o->replace)
		r = renameat2(AT_FDCWD, o->hidden, AT_FDCWD, o->path, RENAME_NOREPLACE) < 0 ? -errno
											    : 0;
	/* A file system without these flags. */
	if (r == -EINVAL)
		r = rename(o->hidden, o->path) < 0 ? -errno : 0;
	if (r < 0)
		err_set(e, r, "cannot name the output %s: %s", o->path,
			r == -ENOTEMPTY ? "the folder has other files than *.csv" : strerror(-r));
	else
		freep(&o->hidden);
	out_path_deinit(o);
	return r;
}

FILE *out_path_open(const struct out_path *o, const char *name)
{
	char path[PATH_MAX];
	FILE *f;
	int fd;

	if (!name)
		return fopen(o->hidden, "we");
	if (fs_join(path, sizeof(path), o->hidden, name) < 0) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		sudo_user_give(fd);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int out_close(FILE *f, const char *path, struct err_text *e)
{
	bool failed = ferror(f);
	int error;

	errno = 0;
	failed |= fflush(f) != 0;
	error = errno;
	if (f != stdout)
		failed |= fclose(f) != 0;
	if (!failed)
		return 0;
	error = error ? error : errno ? errno : EIO;
	return err_set(e, -error, "cannot write %s: %s", path, strerror(error));
}
