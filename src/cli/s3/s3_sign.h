/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/sha256.h"
#include "base/text/str.h"

/*
 * Signatures of requests to an object store: AWS Signature Version 4 in the Authorization header.
 *
 * Source: Amazon S3 API Reference, "Signature Calculations for the Authorization Header". libcurl
 * can sign, too, but three versions of it sign differently, and wrongly for some paths.
 */

/* Appends s with each byte but A-Z a-z 0-9 - . _ ~ as %XX; keep_slash: / stays, too. Paths and
 * queries of requests are written with this function, so the store signs the same bytes. */
void s3_put_encoded(struct strbuf *b, const char *s, bool keep_slash);

struct s3_pair {
	const char *name, *value; /* borrowed */
};

/* Appends a query: the pairs, sorted by name, encoded, joined by '&'. Sorts the pairs. */
void s3_put_query(struct strbuf *b, struct s3_pair *pairs, size_t n);

/* A request that is signed. All pointers are borrowed. */
struct s3_signing {
	const char *method;
	const char *path; /* encoded, with the '/' at its beginning */
	const char *query; /* as s3_put_query() writes it; "": none */
	struct s3_pair *headers; /* names in lower case; get sorted; "host" must be among them */
	size_t n_headers;
	const char *payload_hash; /* in hex */
	const char *time; /* "20261127T201500Z" */
	const char *region;
	const char *access_key, *secret_key;
};

/* Derives the key of a day. date: the first 8 characters of a time. */
void s3_signing_key(const char *secret, const char *date, const char *region, const char *service,
		    uint8_t ret[static SHA256_SIZE]);

/* Appends the value of the header Authorization. */
void s3_put_authorization(struct strbuf *b, const struct s3_signing *s);
