/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/sha256.h"
#include "cli/s3/s3_answer.h"

/*
 * Objects of one bucket of an S3-compatible store. A request is repeated, with growing random
 * pauses, while the store or the network fails. Each function blocks until the answer is there, and
 * returns 0, one of enum s3_result, or -errno and sets e: the store refuses the request, or all
 * attempts failed (-ETIMEDOUT).
 */

enum s3_result {
	S3_EXISTS = 1, /* the object exists already, and must not be replaced */
	S3_NOT_FOUND = 2, /* there is no such object or upload, or the account may not look at it */
	S3_STOPPED = 3, /* config.stop was set */
};

#define S3_PARTS_MAX 10000

struct s3_config {
	/* All borrowed. */
	const char *endpoint; /* "https://HOST[:PORT]" */
	const char *bucket, *region;
	bool bucket_in_host; /* BUCKET.HOST/KEY; else HOST/BUCKET/KEY */
	const char *ca_file; /* NULL: the system's certificates */
	const char *credentials_file, *profile; /* NULL: s3_credentials_load() */
	uint32_t retries; /* attempts of a request; 0: without limit */
	uint32_t retry_max_ms; /* the longest pause between two attempts */
	const volatile sig_atomic_t *stop;
};

struct s3_client;

/* Loads libcurl and the keys. Returns 0, or -errno and sets e. */
int s3_client_open(const struct s3_config *config, struct s3_client **ret, struct err_text *e);
void s3_client_close(struct s3_client *c);

struct s3_content {
	const void *data; /* borrowed */
	size_t len;
	char hash[SHA256_HEX_SIZE]; /* of data; signed, so the store checks it */
};

struct s3_object {
	uint64_t bytes;
	char sha256[SHA256_HEX_SIZE]; /* x-amz-meta-sha256; "": it has none */
};

/* Stores a file, in parts if it is large, with x-amz-meta-sha256; replaces an object. */
int s3_put_file(struct s3_client *c, const char *key, int fd, uint64_t bytes, const char *sha256,
		struct err_text *e);
/* Reads an object into the file, which is emptied first. */
int s3_get_file(struct s3_client *c, const char *key, int fd, struct err_text *e);
/* Removes an object; one that does not exist is removed. */
int s3_delete(struct s3_client *c, const char *key, struct err_text *e);
/* Calls fn with each key that begins with prefix; fn returns 0 or -errno, which ends the list. */
int s3_list(struct s3_client *c, const char *prefix, int (*fn)(void *ctx, const char *key),
	    void *ctx, struct err_text *e);

/* Reads the size and hash of an object. Returns S3_NOT_FOUND also if the store answers 403: it does
 * so for missing objects to an account that may not list the bucket. */
int s3_head(struct s3_client *c, const char *key, struct s3_object *ret, struct err_text *e);

/* Stores an object with x-amz-meta-sha256. only_new: returns S3_EXISTS, and changes nothing, if
 * there is one; a store without such conditions replaces it. */
int s3_put(struct s3_client *c, const char *key, const struct s3_content *content, bool only_new,
	   struct err_text *e);

/* Begins an object of several parts. sha256: of the whole content, for x-amz-meta-sha256. If an
 * answer is lost, the upload that it may have begun is aborted. */
int s3_multipart_begin(struct s3_client *c, const char *key, const char *sha256,
		       char ret_id[static S3_UPLOAD_ID_SIZE], struct err_text *e);
/* number: 1 to S3_PARTS_MAX. Replaces the part if there is one. */
int s3_multipart_put(struct s3_client *c, const char *key, const char *id, unsigned number,
		     const struct s3_content *content, char ret_etag[static S3_ETAG_SIZE],
		     struct err_text *e);
/* etags: of the parts 1 to n. Returns S3_NOT_FOUND if there is no such upload: it may be complete
 * already. Returns -EILSEQ and sets e if a part is missing. */
int s3_multipart_complete(struct s3_client *c, const char *key, const char *id,
			  char (*etags)[S3_ETAG_SIZE], unsigned n, bool only_new,
			  struct err_text *e);
int s3_multipart_abort(struct s3_client *c, const char *key, const char *id, struct err_text *e);
/* Aborts all uploads that are not complete, of keys that begin with this one. If the account may
 * not list them, they stay, and 0 is returned. */
int s3_multipart_abort_all(struct s3_client *c, const char *key, struct err_text *e);
