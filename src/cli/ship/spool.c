/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"

#define MARK_DAYS 90

/* ---- the name of an entry ---- */

void spool_make_uuid(const uint8_t hash[static SHA256_SIZE], char ret[static SPOOL_UUID_SIZE])
{
	uint8_t b[16];

	memcpy(b, hash, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x80);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(ret, SPOOL_UUID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
}

bool spool_is_uuid(const char *name)
{
	for (size_t i = 0; i < SPOOL_UUID_SIZE - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? name[i] != '-' : !name[i] || !strchr("0123456789abcdef", name[i]))
			return false;
	}
	return name[SPOOL_UUID_SIZE - 1] == '\0';
}

/* ---- directories ---- */

/* Opens a directory, and makes it if it is missing. Its group may read: that is the group of the
 * uploader, if it is another user. A directory of a user's own spool admits no other user. */
static int open_dir(int parent, const char *name, mode_t mode, int *ret)
{
	if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
		if (errno != EACCES && errno != EPERM && errno != EROFS)
			return -errno;
	*ret = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

static int spool_open_dirs(const char *path, struct spool *s)
{
	int r;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	s->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = s->root < 0 ? -errno : open_dir(s->root, "ready", 0750, &s->ready);
	if (r == 0)
		r = open_dir(s->root, "upload", 0750, &s->upload);
	if (r == 0)
		r = open_dir(s->upload, "journal", 0750, &s->journal);
	if (r == 0)
		r = open_dir(s->upload, "done", 0750, &s->done);
	return r ?: open_dir(s->upload, "bad", 0750, &s->upload_bad);
}

static int spool_open_own_dirs(struct spool *s)
{
	int r = open_dir(s->root, "in", 0700, &s->in);

	if (r == 0)
		r = open_dir(s->root, "dropped", 0700, &s->dropped);
	return r ?: open_dir(s->root, "bad", 0700, &s->bad);
}

int spool_open(const char *path, enum spool_role role, struct spool *ret, struct err_text *e)
{
	struct spool s = SPOOL_CLOSED;
	int r = spool_open_dirs(path, &s);

	if (r == 0 && role == SPOOL_COLLECTOR)
		r = spool_open_own_dirs(&s);
	if (r < 0) {
		spool_close(&s);
		return err_set(e, r, "cannot use the spool %.300s: %s", path, strerror(-r));
	}
	s.lock = openat(role == SPOOL_COLLECTOR ? s.root : s.upload, "lock",
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s.lock < 0 || flock(s.lock, LOCK_EX | LOCK_NB) < 0) {
		r = s.lock >= 0 && errno == EWOULDBLOCK ? -EBUSY : -errno;
		spool_close(&s);
		return r == -EBUSY ? err_set(e, r,
					     "another 'sonda ship' is already %s the spool %.300s",
					     role == SPOOL_COLLECTOR ? "collecting into"
								     : "uploading from",
					     path)
				   : err_set(e, r, "cannot lock the spool %.300s: %s", path,
					     strerror(-r));
	}
	*ret = s;
	return 0;
}

void spool_close(struct spool *s)
{
	int *fds[] = {&s->root,	  &s->in,      &s->ready, &s->dropped,	  &s->bad,
		      &s->upload, &s->journal, &s->done,  &s->upload_bad, &s->lock};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		closep(fds[i]);
}

/* Calls fn for each name in an open directory. */
static int each_name_in_dir(int directory, void (*fn)(void *ctx, int directory, const char *name),
			    void *ctx)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;

	if (!dir) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			fn(ctx, directory, d->d_name);
	closedir(dir);
	return 0;
}

static void unlink_name(void *ctx, int directory, const char *name)
{
	(void)unlinkat(directory, name, 0);
}

int spool_remove_dir(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		each_name_in_dir(fd, unlink_name, NULL);
	closep(&fd);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static void remove_unfinished(void *ctx, int directory, const char *name)
{
	if (spool_remove_dir(directory, name) == -ENOTDIR)
		(void)unlinkat(directory, name, 0);
}

void spool_remove_unfinished(const struct spool *s)
{
	each_name_in_dir(s->in, remove_unfinished, NULL);
}

/* ---- entries ---- */

static void entries_add(void *ctx, int directory, const char *name)
{
	struct spool_entries *l = ctx;
	struct stat st;

	if (!spool_is_uuid(name) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode) || array_reserve(&l->of, &l->cap, l->n + 1, sizeof(*l->of)) < 0)
		return;
	memcpy(l->of[l->n].uuid, name, SPOOL_UUID_SIZE);
	l->of[l->n++].made = st.st_mtim;
}

static int spool_entry_compare(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;

	if (x->made.tv_sec != y->made.tv_sec)
		return x->made.tv_sec < y->made.tv_sec ? -1 : 1;
	if (x->made.tv_nsec != y->made.tv_nsec)
		return x->made.tv_nsec < y->made.tv_nsec ? -1 : 1;
	return strcmp(x->uuid, y->uuid);
}

int spool_entries_read(const struct spool *s, struct spool_entries *ret)
{
	int r;

	ret->n = 0;
	r = each_name_in_dir(s->ready, entries_add, ret);
	if (ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), spool_entry_compare);
	return r;
}

static void add_disk_bytes(void *ctx, int directory, const char *name)
{
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*(uint64_t *)ctx += (uint64_t)st.st_blocks * 512;
}

uint64_t spool_entry_bytes(const struct spool *s, const char *uuid)
{
	int fd = openat(s->ready, uuid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t bytes = 0;

	if (fd >= 0)
		each_name_in_dir(fd, add_disk_bytes, &bytes);
	closep(&fd);
	return bytes;
}

/* Removes an entry. It leaves ready/ first, so that no reader finds it there with only some of its
 * files. */
int spool_entry_remove(const struct spool *s, const char *uuid)
{
	spool_remove_dir(s->in, uuid);
	if (renameat(s->ready, uuid, s->in, uuid) < 0)
		return -errno;
	return spool_remove_dir(s->in, uuid);
}

/* ---- marks ---- */

int spool_mark(int directory, const char *uuid)
{
	int fd = openat(directory, uuid, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (fd < 0)
		return -errno;
	close(fd);
	return fsync(directory) < 0 ? -errno : 0;
}

bool spool_has_name(int directory, const char *name)
{
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void prune_old_mark(void *ctx, int directory, const char *name)
{
	time_t oldest = time(NULL) - (time_t)MARK_DAYS * 86400;
	struct stat st;

	if (spool_is_uuid(name) && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_mtim.tv_sec < oldest)
		(void)unlinkat(directory, name, 0);
}

void spool_marks_prune(int directory)
{
	each_name_in_dir(directory, prune_old_mark, NULL);
}

static void count_mark(void *ctx, int directory, const char *name)
{
	*(size_t *)ctx += spool_is_uuid(name);
}

size_t spool_marks_count(int directory)
{
	size_t n = 0;

	each_name_in_dir(directory, count_mark, &n);
	return n;
}

/* ---- lists ---- */

static bool is_hash(const char *s)
{
	return strspn(s, "0123456789abcdef") == SHA256_HEX_SIZE - 1 && !s[SHA256_HEX_SIZE - 1];
}

int spool_list_next(const char **at, struct spool_file *ret)
{
	struct spool_file f = {0};
	const char *end;
	int n = 0;

	if (!**at)
		return 0;
	if (sscanf(*at, "file %" SCNu64 " %64s %127[^ /\n] %511[^ \n]%n", &f.bytes, f.sha256,
		   f.name, f.key, &n) != 4 ||
	    (*at)[n] != '\n' || !is_hash(f.sha256) || f.name[0] == '.')
		return -EBADMSG;
	end = *at + n + 1;
	if (!strncmp(end, "chunk ", strlen("chunk ")))
		f.chunks = end;
	while (!strncmp(end, "chunk ", strlen("chunk "))) {
		end = strchr(end, '\n');
		if (!end)
			return -EBADMSG;
		end++;
	}
	*ret = f;
	*at = end;
	return 1;
}

bool spool_list_chunk(const struct spool_file *f, uint64_t i, char ret[static SHA256_HEX_SIZE])
{
	static const size_t line = sizeof("chunk ") - 1 + SHA256_HEX_SIZE; /* with its end */
	const char *at = f->chunks;

	if (!at) {
		memcpy(ret, f->sha256, SHA256_HEX_SIZE);
		return i == 0;
	}
	for (; i && !strncmp(at, "chunk ", strlen("chunk ")); i--)
		at = strnlen(at, line) == line && at[line - 1] == '\n' ? at + line : "";
	return sscanf(at, "chunk %64[0-9a-f]", ret) == 1 && is_hash(ret);
}
