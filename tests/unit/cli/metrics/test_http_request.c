/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/metrics/http_request.h"

#include "base/text/str.h"
#include "unit/test.h"

static struct http_request request;
static size_t head_len;
static unsigned status;

static enum http_result parse(const char *text)
{
	return http_request_parse(text, strlen(text), &request, &head_len, &status);
}

static void is_refused(const char *text, unsigned expected)
{
	status = 0;
	assert_int_equal(parse(text), HTTP_REFUSED);
	assert_int_equal(status, expected);
}

TEST(a_scrape)
{
	static const char text[] = "GET /metrics?x=1 HTTP/1.1\r\nHost: 127.0.0.1:9437\r\n"
				   "User-Agent: Prometheus/2.42\r\nAccept:  */*;q=0.1 \r\n\r\n";

	assert_int_equal(parse(text), HTTP_COMPLETE);
	assert_int_equal(head_len, strlen(text));
	assert_int_equal(request.method, HTTP_GET);
	assert_string_equal(request.path, "/metrics");
	assert_string_equal(request.host, "127.0.0.1:9437");
	assert_string_equal(request.accept, "*/*;q=0.1");
	assert_false(request.is_of_page);
	for (size_t len = 0; len < strlen(text); len++)
		assert_int_equal(http_request_parse(text, len, &request, &head_len, &status),
				 HTTP_INCOMPLETE);
}

TEST(a_post)
{
	assert_int_equal(parse("POST /alerts HTTP/1.1\r\nhost: localhost\r\nContent-Length: 12\r\n"
			       "AUTHORIZATION: Bearer x\r\nExpect: 100-continue\r\n\r\n"),
			 HTTP_COMPLETE);
	assert_int_equal(request.length, 12);
	assert_string_equal(request.authorization, "Bearer x");
	assert_true(request.awaits_continue);
}

TEST(requests_of_pages_are_marked)
{
	assert_int_equal(parse("GET / HTTP/1.0\r\nOrigin: http://a\r\n\r\n"), HTTP_COMPLETE);
	assert_true(request.is_of_page);
	assert_int_equal(parse("GET / HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\n\r\n"),
			 HTTP_COMPLETE);
	assert_true(request.is_of_page);
	assert_int_equal(parse("GET / HTTP/1.0\r\nSec-Fetch-Site: none\r\n\r\n"), HTTP_COMPLETE);
	assert_false(request.is_of_page);
}

TEST(what_is_not_strictly_valid_is_refused)
{
	is_refused("GET /\r\n\r\n", 400);
	is_refused("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	is_refused("GET / HTTP/1.1\r\n\r\n", 400); /* no Host */
	is_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400);
	is_refused("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400);
	is_refused("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400);
	is_refused("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400); /* a bare LF */
	is_refused("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400);
	is_refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
	is_refused("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		   400);
	is_refused("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400);
	is_refused("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
		   400);
	is_refused("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411);
	is_refused("POST / HTTP/1.1\r\nHost: a\r\n\r\n", 411);
	is_refused("\r\n\r\n", 400);
}

TEST(a_nul_is_refused)
{
	static const char text[] = "GET /\0 HTTP/1.0\r\n\r\n";

	assert_int_equal(http_request_parse(text, sizeof(text) - 1, &request, &head_len, &status),
			 HTTP_REFUSED);
	assert_int_equal(status, 400);
}

TEST(a_head_has_limits)
{
	struct strbuf b = {0};

	strbuf_puts(&b, "GET / HTTP/1.0\r\n");
	for (unsigned i = 0; i <= HTTP_HEADERS_MAX; i++)
		strbuf_puts(&b, "a: b\r\n");
	strbuf_puts(&b, "\r\n");
	is_refused(b.s, 431);
	strbuf_clear(&b);
	strbuf_puts(&b, "GET /");
	for (unsigned i = 0; i < 300; i++)
		strbuf_putc(&b, 'a');
	strbuf_puts(&b, " HTTP/1.0\r\n\r\n");
	is_refused(b.s, 414);
	strbuf_clear(&b);
	for (unsigned i = 0; i < HTTP_HEAD_MAX + 1; i++)
		strbuf_putc(&b, 'a');
	is_refused(b.s, 431);
	strbuf_deinit(&b);
}
