/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The head of an HTTP/1.0 or 1.1 request (RFC 9112), from untrusted bytes. It is stricter than the
 * RFC allows: lines end with CRLF, there are no folded lines, no control characters, and no second
 * Host or Content-Length. A body needs a Content-Length.
 */

#define HTTP_HEAD_MAX 8192u /* bytes of a head; longer ones are refused */
#define HTTP_HEADERS_MAX 64u

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OTHER };

struct http_request {
	enum http_method method;
	bool is_1_1;
	bool is_of_page; /* sent for a page of a site: it has Origin or Sec-Fetch-Site */
	bool has_length;
	bool awaits_continue; /* Expect: 100-continue */
	uint64_t length; /* of the body */
	char path[256]; /* without the query */
	char host[256], accept[1024], authorization[512], content_type[128]; /* "": none */
};

enum http_result { HTTP_INCOMPLETE, HTTP_COMPLETE, HTTP_REFUSED };

/* Parses the head at the beginning of data. HTTP_COMPLETE: *ret_len is its length. HTTP_REFUSED:
 * *ret_status is the status code of the answer. */
enum http_result http_request_parse(const char *data, size_t len, struct http_request *ret,
				    size_t *ret_len, unsigned *ret_status);
