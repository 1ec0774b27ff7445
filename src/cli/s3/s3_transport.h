/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * HTTP by libcurl, which is loaded at run time: sonda starts without it, and the static build works
 * without it.
 */

struct s3_transport;

/* ca_file: CA certificates to trust instead of the system's; NULL: none. stop: a transfer ends soon
 * after it is set; borrowed. Returns 0, or -errno and sets e. */
int s3_transport_open(const char *ca_file, const volatile sig_atomic_t *stop,
		      struct s3_transport **ret, struct err_text *e);
void s3_transport_close(struct s3_transport *t);

struct s3_exchange {
	/* the request; borrowed */
	const char *method; /* GET, HEAD, PUT, POST, DELETE */
	const char *url;
	const char *const *headers; /* "name: value" */
	size_t n_headers;
	const void *body; /* of PUT and POST */
	size_t body_len;
	const int *save_to; /* file that gets the body of an answer 200; NULL: none */

	/* the answer */
	unsigned status;
	struct strbuf answer; /* owned; the caller frees */
	char etag[160], date[64], sha256[72], region[64]; /* headers; "": missing or too long */
	uint64_t length; /* Content-Length */
	bool has_headers; /* the line after the last header was read */
	int save_error; /* 0, or -errno of save_to */
};

/* Sends the request and receives the answer. Redirects are not followed. Returns 0; -ECANCELED if
 * *stop was set; -EPERM and sets e if the certificate is not trusted; -ECOMM and sets e if the
 * connection failed: then it is unknown whether the request arrived; or another -errno and sets e:
 * save_to cannot be written, or memory ran out. */
int s3_transport_perform(struct s3_transport *t, struct s3_exchange *x, struct err_text *e);
