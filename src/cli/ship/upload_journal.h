/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "cli/s3/s3_client.h"

/*
 * What the bucket has of an entry. Lines are appended, each before the next request is sent
 * (fsync); a last line without its end was cut off by a crash, and does not count:
 *
 *	begin KEY		an upload in parts may exist from here on
 *	upload KEY ID		the id of this upload
 *	part KEY NUMBER ETAG	the store has this part of it
 *	done KEY		the object exists
 */
struct upload_journal {
	int fd; /* owned */
	struct strbuf text; /* owned: all lines */
};

/* Opens journal/UUID, and creates it, durably, if it is missing. *ret_is_new: it was. Returns 0 or
 * -errno. */
int upload_journal_open(int dir, const char *uuid, struct upload_journal *ret, bool *ret_is_new);
void upload_journal_close(struct upload_journal *j);

/* Appends a line. Returns 0 or -errno. */
int upload_journal_add(struct upload_journal *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What the journal says of a key. */
struct upload_state {
	bool is_done;
	bool is_begun;
	char id[S3_UPLOAD_ID_SIZE]; /* "": unknown */
	char (*etags)[S3_ETAG_SIZE]; /* owned: of n parts; "": the store does not have it */
	unsigned n;
};
/* Sets *ret to what the journal says of a key. n: the number of parts of the object. Returns 0 or
 * -ENOMEM. The caller frees ret->etags. */
int upload_journal_find(const struct upload_journal *j, const char *key, unsigned n,
			struct upload_state *ret);
