/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/metrics/http_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/text/str.h"

enum {
	BAD_REQUEST = 400,
	LENGTH_REQUIRED = 411,
	URI_TOO_LONG = 414,
	HEAD_TOO_LARGE = 431,
	BAD_VERSION = 505
};

struct http_parse {
	struct http_request *r;
	bool has_host;
	unsigned n_headers;
	unsigned status; /* 0: good so far */
};

static void set_parse_error(struct http_parse *p, unsigned status)
{
	if (!p->status)
		p->status = status;
}

/* Returns true for a token of RFC 9110, 5.6.2. */
static bool is_http_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			    s[i]) ||
		    !s[i])
			return false;
	return len > 0;
}

static bool is_visible(const char *s, size_t len, bool with_blanks)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] > 0x7e ||
		    (s[i] <= ' ' && !(with_blanks && (s[i] == ' ' || s[i] == '\t'))))
			return false;
	return true;
}

static bool copy_header_value(char *to, size_t size, const char *value, size_t len)
{
	if (len >= size)
		return false;
	memcpy(to, value, len);
	to[len] = '\0';
	return true;
}

/* ---- the request line ---- */

static enum http_method find_method(const char *s, size_t len)
{
	static const char *const names[] = {
		[HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD", [HTTP_POST] = "POST"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], s, len))
			return (enum http_method)i;
	return HTTP_OTHER;
}

static void parse_target(struct http_parse *p, const char *s, size_t len)
{
	const char *query = memchr(s, '?', len);

	if (!len || *s != '/' || !is_visible(s, len, false))
		set_parse_error(p, BAD_REQUEST);
	else if (!copy_header_value(p->r->path, sizeof(p->r->path), s,
				    query ? (size_t)(query - s) : len))
		set_parse_error(p, URI_TOO_LONG);
}

static void parse_request_line(struct http_parse *p, const char *s, size_t len)
{
	const char *first = memchr(s, ' ', len), *second;
	size_t version;

	second = first ? memchr(first + 1, ' ', len - (size_t)(first + 1 - s)) : NULL;
	if (!second || !is_http_token(s, (size_t)(first - s))) {
		set_parse_error(p, BAD_REQUEST);
		return;
	}
	p->r->method = find_method(s, (size_t)(first - s));
	parse_target(p, first + 1, (size_t)(second - first - 1));
	version = len - (size_t)(second + 1 - s);
	p->r->is_1_1 = version == 8 && !memcmp(second + 1, "HTTP/1.1", 8);
	if (!p->r->is_1_1 && !(version == 8 && !memcmp(second + 1, "HTTP/1.0", 8)))
		set_parse_error(p, version == 8 && !memcmp(second + 1, "HTTP/", 5) ? BAD_VERSION
										   : BAD_REQUEST);
}

/* ---- header lines ---- */

static bool is_header_name(const char *name, size_t len, const char *what)
{
	return strlen(what) == len && !strncasecmp(name, what, len);
}

static void set_content_length(struct http_parse *p, const char *value, size_t len)
{
	char number[20];

	if (p->r->has_length || !copy_header_value(number, sizeof(number), value, len) ||
	    str_to_u64(number, &p->r->length) < 0)
		set_parse_error(p, BAD_REQUEST);
	p->r->has_length = true;
}

static void set_host(struct http_parse *p, const char *value, size_t len)
{
	if (p->has_host || !copy_header_value(p->r->host, sizeof(p->r->host), value, len))
		set_parse_error(p, BAD_REQUEST);
	p->has_host = true;
}

static void set_header_text(struct http_parse *p, char *to, size_t size, const char *value,
			    size_t len)
{
	if (!copy_header_value(to, size, value, len))
		set_parse_error(p, HEAD_TOO_LARGE);
}

static void handle_header(struct http_parse *p, const char *name, size_t name_len,
			  const char *value, size_t len)
{
	struct http_request *r = p->r;

	if (is_header_name(name, name_len, "Host"))
		set_host(p, value, len);
	else if (is_header_name(name, name_len, "Content-Length"))
		set_content_length(p, value, len);
	else if (is_header_name(name, name_len, "Transfer-Encoding"))
		set_parse_error(p, LENGTH_REQUIRED);
	else if (is_header_name(name, name_len, "Accept"))
		set_header_text(p, r->accept, sizeof(r->accept), value, len);
	else if (is_header_name(name, name_len, "Authorization"))
		set_header_text(p, r->authorization, sizeof(r->authorization), value, len);
	else if (is_header_name(name, name_len, "Content-Type"))
		set_header_text(p, r->content_type, sizeof(r->content_type), value, len);
	else if (is_header_name(name, name_len, "Expect"))
		r->awaits_continue = len == 12 && !strncasecmp(value, "100-continue", 12);
	else if (is_header_name(name, name_len, "Origin"))
		r->is_of_page = true;
	else if (is_header_name(name, name_len, "Sec-Fetch-Site"))
		r->is_of_page |= !(len == 4 && !memcmp(value, "none", 4));
}

static void parse_header_line(struct http_parse *p, const char *s, size_t len)
{
	const char *colon = memchr(s, ':', len), *value, *end = s + len;

	if (++p->n_headers > HTTP_HEADERS_MAX) {
		set_parse_error(p, HEAD_TOO_LARGE);
		return;
	}
	if (!colon || !is_http_token(s, (size_t)(colon - s)) ||
	    !is_visible(colon + 1, (size_t)(end - colon - 1), true)) {
		set_parse_error(p, BAD_REQUEST);
		return;
	}
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t');)
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	handle_header(p, s, (size_t)(colon - s), value, (size_t)(end - value));
}

/* ---- the head ---- */

enum http_result http_request_parse(const char *data, size_t len, struct http_request *ret,
				    size_t *ret_len, unsigned *ret_status)
{
	size_t looked = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX;
	const char *end = memmem(data, looked, "\r\n\r\n", 4), *at = data, *line;
	struct http_parse p = {.r = ret};

	if (!end && looked < HTTP_HEAD_MAX)
		return HTTP_INCOMPLETE;
	*ret = (struct http_request){.method = HTTP_OTHER};
	if (!end)
		set_parse_error(&p, HEAD_TOO_LARGE);
	for (; end && at < end + 2 && !p.status; at = line + 2) {
		line = memmem(at, (size_t)(end + 2 - at), "\r\n", 2);
		if (at == data)
			parse_request_line(&p, at, (size_t)(line - at));
		else
			parse_header_line(&p, at, (size_t)(line - at));
	}
	if (ret->is_1_1 && !p.has_host)
		set_parse_error(&p, BAD_REQUEST);
	if (ret->method == HTTP_POST && !ret->has_length)
		set_parse_error(&p, LENGTH_REQUIRED);
	if (p.status) {
		*ret_status = p.status;
		return HTTP_REFUSED;
	}
	*ret_len = (size_t)(end + 4 - data);
	return HTTP_COMPLETE;
}
