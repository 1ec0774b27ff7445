/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/sha256.h"
#include "base/text/str.h"
#include "cli/ship/ship_options.h"

/* Objects of a bucket, or files of a directory with the same layout. Objects that are read or
 * written are files below `root`: the directory itself, or SPOOL/compact, in which they have no
 * directories. The root is locked (flock). Each function returns 0, or -errno and sets e; -EINTR if
 * *stop was set. */
struct s3_client;
struct compact_store {
	int root; /* owned */
	struct s3_client *client; /* owned; NULL: the root is the store */
	const struct ship_options *options; /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed */
};

int compact_store_open(const struct ship_options *o, const volatile sig_atomic_t *stop,
		       struct compact_store *ret, struct err_text *e);
void compact_store_close(struct compact_store *s);

/* Names of objects in a directory, sorted. compact_names_deinit() frees. */
struct compact_names {
	char **of; /* owned: names in the directory */
	size_t n, cap;
};
/* Lists the objects of a directory whose names end in `ending`. The caller frees *ret in either
 * case. */
int compact_store_list(const struct compact_store *s, const char *dir, const char *ending,
		       struct compact_names *ret, struct err_text *e);
void compact_names_deinit(struct compact_names *n);

/* Returns the path of an object's file below the root: the key, or the end of it. */
const char *compact_store_path(const struct compact_store *s, const char *key);
/* Makes the directories above the file at this path. */
int compact_store_make_dirs(const struct compact_store *s, const char *path, struct err_text *e);

/* Fetches an object into its file below the root, unless the root is the store; compares the
 * SHA-256 unless sha256 is NULL. Returns -EBADMSG if it differs, -ENOENT if there is no such
 * object. */
int compact_store_fetch(const struct compact_store *s, const char *key, const char *sha256,
			struct err_text *e);
/* Moves a file below the root to the object `key`, and sets *ret_bytes and ret_sha256 to its size
 * and hash. */
int compact_store_put(const struct compact_store *s, const char *file, const char *key,
		      uint64_t *ret_bytes, char ret_sha256[static SHA256_HEX_SIZE],
		      struct err_text *e);
/* Returns 0 if there is an object with this hash, -ENOENT or -EBADMSG if not. */
int compact_store_check_sha256(const struct compact_store *s, const char *key, const char *sha256,
			       struct err_text *e);
int compact_store_remove(const struct compact_store *s, const char *key, struct err_text *e);
/* Removes the file of an object that was fetched or put. */
void compact_store_remove_copy(const struct compact_store *s, const char *key);
/* Aborts the uploads in parts that an earlier process has left in a directory. */
int compact_store_abort_uploads(const struct compact_store *s, const char *dir, struct err_text *e);
