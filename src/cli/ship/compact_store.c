/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/compact_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "cli/s3/s3_client.h"
#include "cli/ship/entry_files.h"
#include "cli/ship/spool.h"

#define WORK_DIR "compact"
#define KEY_MAX (SHIP_PREFIX_SIZE + SPOOL_KEY_MAX)

/* ---- names ---- */

void compact_names_deinit(struct compact_names *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->of[i]);
	free(n->of);
	*n = (struct compact_names){0};
}

struct compact_listing {
	struct compact_names names;
	const char *ending;
	size_t skip; /* bytes of a key before the name */
};

static int add_name(struct compact_listing *l, const char *name)
{
	if (!str_ends(name, l->ending) || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return 0;
	if (array_reserve(&l->names.of, &l->names.cap, l->names.n + 1, sizeof(*l->names.of)))
		return -ENOMEM;
	l->names.of[l->names.n] = strdup(name);
	if (!l->names.of[l->names.n])
		return -ENOMEM;
	l->names.n++;
	return 0;
}

static int on_listed_key(void *ctx, const char *key)
{
	struct compact_listing *l = ctx;

	return strlen(key) > l->skip ? add_name(l, key + l->skip) : 0;
}

static int list_local(int root, const char *directory, struct compact_listing *l)
{
	int fd = openat(root, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	const struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(dir)))
		r = add_name(l, entry->d_name);
	if (r == 0)
		r = -errno;
	closedir(dir);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- start and end ---- */

/* Opens the directory for the files in the spool, and creates it if it is missing. Returns 0 or
 * -errno. */
static int open_work_dir(const char *spool, int *ret)
{
	_cleanup_(closep) int fd = -1;

	if (mkdir(spool, 0750) < 0 && errno != EEXIST)
		return -errno;
	fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (mkdirat(fd, WORK_DIR, 0750) < 0 && errno != EEXIST))
		return -errno;
	*ret = openat(fd, WORK_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

/* Removes what an earlier process left in the directory: it may have been killed. */
static int empty_work_dir(int root)
{
	struct compact_listing l = {.ending = ""};
	int r = list_local(root, ".", &l);

	for (size_t i = 0; r == 0 && i < l.names.n; i++)
		if (unlinkat(root, l.names.of[i], 0) < 0)
			r = -errno;
	compact_names_deinit(&l.names);
	return r;
}

static int open_client(struct compact_store *s, struct err_text *e)
{
	const struct ship_options *o = s->options;
	const struct s3_config config = {
		.endpoint = o->endpoint,
		.bucket = o->bucket,
		.region = o->region,
		.bucket_in_host = o->bucket_in_host,
		.ca_file = o->ca_file,
		.credentials_file = o->credentials,
		.profile = o->profile,
		.retries = o->retries,
		.retry_max_ms = o->retry_max_ms,
		.stop = s->stop,
	};

	return s3_client_open(&config, &s->client, e);
}

int compact_store_open(const struct ship_options *o, const volatile sig_atomic_t *stop,
		       struct compact_store *ret, struct err_text *e)
{
	struct compact_store s = {.root = -1, .options = o, .stop = stop};
	int r = 0;

	if (o->uploads)
		r = open_work_dir(o->spool, &s.root);
	else if ((s.root = open(o->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot open %.300s: %s", o->spool, strerror(-r));
	if (flock(s.root, LOCK_EX | LOCK_NB) < 0)
		r = err_set(e, -EBUSY, "%.300s is in use by another sonda ship --compact",
			    o->spool);
	if (r == 0 && o->uploads) {
		r = empty_work_dir(s.root);
		r = r < 0 ? err_set(e, r, "cannot empty %.300s/%s: %s", o->spool, WORK_DIR,
				    strerror(-r))
			  : open_client(&s, e);
	}
	if (r < 0)
		compact_store_close(&s);
	else
		*ret = s;
	return r;
}

void compact_store_close(struct compact_store *s)
{
	s3_client_close(s->client);
	closep(&s->root);
}

/* ---- lists ---- */

/* Converts the result of a request to an errno. */
static int errno_of_request(int r)
{
	return r == S3_STOPPED ? -EINTR : r == S3_NOT_FOUND ? -ENOENT : r;
}

static void put_key(const struct compact_store *s, const char *key, char ret[static KEY_MAX])
{
	snprintf(ret, KEY_MAX, "%s%s", s->options->prefix, key);
}

int compact_store_list(const struct compact_store *s, const char *directory, const char *ending,
		       struct compact_names *ret, struct err_text *e)
{
	struct compact_listing l = {.ending = ending};
	char prefix[KEY_MAX];
	int r;

	if (s->client) {
		put_key(s, directory, prefix);
		l.skip = strlen(prefix);
		r = errno_of_request(s3_list(s->client, prefix, on_listed_key, &l, e));
	} else {
		r = list_local(s->root, directory, &l);
		if (r < 0)
			err_set(e, r, "cannot read %s: %s", directory, strerror(-r));
	}
	if (l.names.n)
		qsort(l.names.of, l.names.n, sizeof(*l.names.of), compare_names);
	*ret = l.names;
	return r;
}

/* ---- objects ---- */

const char *compact_store_path(const struct compact_store *s, const char *key)
{
	const char *slash = s->client ? strrchr(key, '/') : NULL;

	return slash ? slash + 1 : key;
}

int compact_store_make_dirs(const struct compact_store *s, const char *path, struct err_text *e)
{
	char directory[SPOOL_KEY_MAX];

	snprintf(directory, sizeof(directory), "%s", path);
	for (char *at = strchr(directory, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdirat(s->root, directory, 0750) < 0 && errno != EEXIST)
			return err_set(e, -errno, "cannot create the directory %s: %s", directory,
				       strerror(errno));
		*at = '/';
	}
	return 0;
}

static int hash_local_file(const struct compact_store *s, const char *path, struct file_hash *ret,
			   char hex[static SHA256_HEX_SIZE], struct err_text *e)
{
	_cleanup_(closep) int fd = openat(s->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : file_hash_read(fd, -1, s->stop, ret);

	if (r < 0)
		return err_set(e, r, "cannot read %s: %s", path, strerror(-r));
	sha256_to_hex(ret->whole, hex);
	file_hash_deinit(ret);
	return 0;
}

static int fetch_object(const struct compact_store *s, const char *key, struct err_text *e)
{
	_cleanup_(closep) int fd =
		openat(s->root, compact_store_path(s, key),
		       O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	char object[KEY_MAX];
	int r;

	if (fd < 0)
		return err_set(e, -errno, "cannot write %s: %s", key, strerror(errno));
	put_key(s, key, object);
	r = errno_of_request(s3_get_file(s->client, object, fd, e));
	if (r < 0)
		compact_store_remove_copy(s, key);
	if (r == -ENOSPC || r == -EDQUOT)
		err_set(e, r, "no room for %s in %.300s/" WORK_DIR ": %s", key, s->options->spool,
			strerror(-r));
	return r;
}

int compact_store_fetch(const struct compact_store *s, const char *key, const char *sha256,
			struct err_text *e)
{
	struct file_hash h = {0};
	char hex[SHA256_HEX_SIZE];
	int r = s->client ? fetch_object(s, key, e) : 0;

	if (r < 0 || !sha256)
		return r;
	r = hash_local_file(s, compact_store_path(s, key), &h, hex, e);
	if (r == 0 && strcmp(hex, sha256) != 0)
		r = err_set(e, -EBADMSG, "the SHA-256 of %s differs from its manifest", key);
	return r;
}

static int put_object(const struct compact_store *s, const char *file, const char *key,
		      uint64_t bytes, const char *sha256, struct err_text *e)
{
	_cleanup_(closep) int fd = openat(s->root, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char object[KEY_MAX];

	if (fd < 0)
		return err_set(e, -errno, "cannot read %s: %s", file, strerror(errno));
	put_key(s, key, object);
	return errno_of_request(s3_put_file(s->client, object, fd, bytes, sha256, e))
		       ?: unlinkat(s->root, file, 0) < 0
			  ? err_set(e, -errno, "cannot remove %s: %s", file, strerror(errno))
			  : 0;
}

/* Moves a file to its key. The file was synchronised to disk before; the directory is here. */
static int rename_local(const struct compact_store *s, const char *file, const char *key,
			struct err_text *e)
{
	_cleanup_(closep) int fd = -1;
	char directory[SPOOL_KEY_MAX];

	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(key, '/') - key), key);
	fd = openat(s->root, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || renameat(s->root, file, s->root, key) < 0 || fsync(fd) < 0)
		return err_set(e, -errno, "cannot write %s: %s", key, strerror(errno));
	return 0;
}

int compact_store_put(const struct compact_store *s, const char *file, const char *key,
		      uint64_t *ret_bytes, char ret_sha256[static SHA256_HEX_SIZE],
		      struct err_text *e)
{
	struct file_hash h = {0};
	int r = hash_local_file(s, file, &h, ret_sha256, e);

	*ret_bytes = h.bytes;
	if (r < 0)
		return r;
	return s->client ? put_object(s, file, key, h.bytes, ret_sha256, e)
			 : rename_local(s, file, key, e);
}

int compact_store_check_sha256(const struct compact_store *s, const char *key, const char *sha256,
			       struct err_text *e)
{
	char object[KEY_MAX], hex[SHA256_HEX_SIZE];
	struct s3_object there = {.sha256 = ""};
	struct file_hash h = {0};
	int r;

	if (!s->client) {
		r = hash_local_file(s, key, &h, hex, e);
	} else {
		put_key(s, key, object);
		r = errno_of_request(s3_head(s->client, object, &there, e));
		memcpy(hex, there.sha256, sizeof(hex));
		if (r == -ENOENT)
			err_set(e, r, "there is no object %s", object);
	}
	if (r == 0 && strcmp(hex, sha256) != 0)
		r = err_set(e, -EBADMSG, "the SHA-256 of %s differs from the manifest", key);
	return r;
}

int compact_store_remove(const struct compact_store *s, const char *key, struct err_text *e)
{
	char object[KEY_MAX];

	if (!s->client)
		return unlinkat(s->root, key, 0) < 0 && errno != ENOENT
			       ? err_set(e, -errno, "cannot remove %s: %s", key, strerror(errno))
			       : 0;
	put_key(s, key, object);
	return errno_of_request(s3_delete(s->client, object, e));
}

void compact_store_remove_copy(const struct compact_store *s, const char *key)
{
	if (s->client)
		(void)unlinkat(s->root, compact_store_path(s, key), 0);
}

int compact_store_abort_uploads(const struct compact_store *s, const char *directory,
				struct err_text *e)
{
	char object[KEY_MAX];

	if (!s->client)
		return 0;
	put_key(s, directory, object);
	return errno_of_request(s3_multipart_abort_all(s->client, object, e));
}
