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
#include "cli/trace/safe_path.h"

/* The name of the output in the hidden directory, if the output is a file. */
#define OUTPUT "output"
#define SELF_PATH_MAX 32

/* ---- the hidden directory ---- */

/*
 * The output's directory may belong to another user, who can rename the hidden directory and put a
 * link in its place. So this file uses the hidden directory by its descriptor; only the user of
 * this process can change what is in it.
 */

/* Returns "DIR/.NAME.XXXXXX", which the caller frees, or NULL. */
static char *hidden_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash + 1 - path) : 0;
	char *name;

	return asprintf(&name, "%.*s.%.200s.XXXXXX", (int)dir, path, path + dir) < 0 ? NULL : name;
}

/* Returns a descriptor of the directory that mkdtemp(3) has made, or -errno: -ESTALE if another
 * user has put a different one in its place. */
static int open_own_dir(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
		return -ESTALE;
	return TAKE_FD(fd);
}

static int create_file(int directory, const char *name)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		sudo_user_chown(fd);
	return fd;
}

static void format_self_path(int directory, char buf[static SELF_PATH_MAX])
{
	snprintf(buf, SELF_PATH_MAX, "/proc/self/fd/%d", directory);
}

static int remove_entry(void *directory, const char *name, unsigned char type)
{
	unlinkat(*(int *)directory, name, 0);
	return 0;
}

static void remove_entries(int directory)
{
	char self[SELF_PATH_MAX];

	format_self_path(directory, self);
	fs_each(self, remove_entry, &directory);
}

/* ---- removal by a signal ---- */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* The hidden directory that a signal removes ("": none). The handler makes system calls only. */
static char doomed[PATH_MAX];
static int doomed_dir;

static void remove_discarded_dir(void)
{
	static _Alignas(struct dirent64) char entries[4096];
	ssize_t n;

	lseek(doomed_dir, 0, SEEK_SET);
	/* The kernel skips no name, although the names that it has returned are removed. */
	while ((n = getdents64(doomed_dir, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(entries + at);

			unlinkat(doomed_dir, d->d_name, 0);
			at += d->d_reclen;
		}
	rmdir(doomed);
}

static void out_path_on_signal(int number)
{
	if (doomed[0])
		remove_discarded_dir();
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(void)
{
	struct sigaction old;

	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		if (!sigaction(ending_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			signal(ending_signals[i], out_path_on_signal);
}

/* Delays the signals while the directory exists and out_path_on_signal() does not know it. */
static void block_signals(sigset_t *ret_before)
{
	sigset_t ending;

	sigemptyset(&ending);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		sigaddset(&ending, ending_signals[i]);
	sigprocmask(SIG_BLOCK, &ending, ret_before);
}

/* ---- creating and removing ---- */

static int refuse_existing_path(const char *path, bool is_dir, bool replace, struct err_text *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!replace)
		return err_set(e, -EEXIST,
			       "%s already exists; replace it with --force, or choose another name "
			       "with -o",
			       path);
	if (S_ISDIR(st.st_mode) != is_dir)
		return err_set(e, -EEXIST, "'%s' is %s directory; choose another name with -o",
			       path, is_dir ? "not a" : "a");
	return 0;
}

static int create_hidden_file(struct out_path *o)
{
	int fd;

	o->hidden = hidden_name(o->path);
	if (!o->hidden || strlen(o->hidden) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!mkdtemp(o->hidden))
		return -errno;
	o->dir = open_own_dir(o->hidden);
	if (o->dir < 0)
		return o->dir;
	doomed_dir = o->dir;
	strcpy(doomed, o->hidden);
	watch_signals();
	if (o->is_dir)
		return 0;
	fd = create_file(o->dir, OUTPUT);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int out_path_create(struct out_path *o, const char *path, bool is_dir, bool replace,
		    struct err_text *e)
{
	int r = refuse_existing_path(path, is_dir, replace, e);
	sigset_t before;

	if (r < 0)
		return r;
	*o = (struct out_path){.path = path, .dir = -1, .is_dir = is_dir, .replace = replace};
	block_signals(&before);
	r = create_hidden_file(o);
	if (r < 0) {
		err_set(e, r, "cannot write %s: %s", path, strerror(-r));
		out_path_deinit(o);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

void out_path_deinit(struct out_path *o)
{
	doomed[0] = '\0';
	if (o->hidden && o->dir >= 0)
		remove_entries(o->dir);
	if (o->hidden)
		rmdir(o->hidden);
	closep(&o->dir);
	freep(&o->hidden);
}

/* ---- the name ---- */

/* Refuses a file that no export makes: an old directory with such a file must stay. */
static int check_old_entry(void *ctx, const char *name, unsigned char type)
{
	return str_ends(name, ".csv") || str_ends(name, ".parquet") ? 0 : -ENOTEMPTY;
}

/* Returns 0, or -errno: -EINVAL also if the file system does not support the flags. */
static int rename_to_final(struct out_path *o, unsigned flags)
{
	int from = o->is_dir ? AT_FDCWD : o->dir;
	const char *name = o->is_dir ? o->hidden : OUTPUT;

	return renameat2(from, name, AT_FDCWD, o->path, flags) < 0 ? -errno : 0;
}

static int replace_dir(struct out_path *o)
{
	_cleanup_(closep) int old = open(o->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[SELF_PATH_MAX];
	int r;

	if (old < 0)
		return -errno;
	format_self_path(old, self);
	r = fs_each(self, check_old_entry, NULL);
	if (r < 0)
		return r;
	r = rename_to_final(o, RENAME_EXCHANGE);
	if (r < 0 && r != -EINVAL)
		return r;
	remove_entries(old);
	if (r == -EINVAL)
		return rename_to_final(o, 0); /* it replaces an empty directory only */
	rmdir(o->hidden);
	return 0;
}

int out_path_finish(struct out_path *o, struct err_text *e)
{
	bool exchanges = o->replace && o->is_dir && fs_exists(o->path);
	int r;

	if (o->is_dir)
		sudo_user_chown(o->dir);
	r = exchanges ? replace_dir(o) : rename_to_final(o, o->replace ? 0 : RENAME_NOREPLACE);
	if (r == -EINVAL)
		r = rename_to_final(o, 0);
	if (r < 0)
		err_set(e, r, "cannot rename the output to %s: %s", o->path,
			r == -ENOTEMPTY
				? "the directory contains files other than *.csv and *.parquet"
				: strerror(-r));
	else if (o->is_dir)
		freep(&o->hidden);
	out_path_deinit(o);
	return r;
}

/* ---- files ---- */

void out_path_get_proc_path(const struct out_path *o, char buf[static OUT_PATH_INSIDE_MAX])
{
	snprintf(buf, OUT_PATH_INSIDE_MAX, "/proc/self/fd/%d/" OUTPUT, o->dir);
}

FILE *out_path_open(const struct out_path *o, const char *name)
{
	int fd = name ? create_file(o->dir, name)
		      : openat(o->dir, OUTPUT, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

int out_path_open_special(const char *path, FILE **ret, struct err_text *e)
{
	_cleanup_(freep) char *last = strdup(path);
	_cleanup_(closep) int found = -1;
	struct err_text why = {""};
	struct stat st;
	int fd, r = last ? safe_path_follow(&last, &found, &st, &why) : -ENOMEM;

	if (why.text[0])
		return err_set(e, r, "%s", why.text);
	*ret = NULL;
	if (r == 0 && (found < 0 || S_ISREG(st.st_mode)))
		return 0;
	fd = r ? r : safe_path_open(found, last, &st);
	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (*ret)
		return 0;
	r = fd < 0 ? fd : -errno;
	if (fd >= 0)
		close(fd);
	return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
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
