/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/s3/s3_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/s3/s3_credentials.h"
#include "cli/s3/s3_sign.h"
#include "cli/s3/s3_transport.h"

#define FIRST_PAUSE_MS 500u
#define QUERY_MAX 3
#define EXTRA_MAX 2
#define HEADERS_MAX (EXTRA_MAX + 4)
#define SLEEP_SLICE_MS 100

struct s3_client {
	struct s3_config config;
	struct s3_transport *transport; /* owned */
	struct s3_credentials credentials;
	const char *host; /* borrowed from the endpoint */
	time_t skew; /* added to this machine's clock, which is wrong by more than 15 minutes */
	bool no_conditions; /* the store does not know If-None-Match */
	struct log_limit failures;
};

int s3_client_open(const struct s3_config *config, struct s3_client **ret, struct err_text *e)
{
	struct s3_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->config = *config;
	c->host = strstr(config->endpoint, "://") + strlen("://");
	r = s3_credentials_load(config->credentials_file, config->profile, &c->credentials, e);
	if (r == 0)
		r = s3_transport_open(config->ca_file, config->stop, &c->transport, e);
	if (r < 0) {
		s3_client_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void s3_client_close(struct s3_client *c)
{
	if (!c)
		return;
	s3_transport_close(c->transport);
	s3_credentials_clear_keys(&c->credentials);
	free(c);
}

/* ---- one attempt ---- */

struct s3_request {
	const char *method;
	const char *key; /* NULL: the bucket */
	struct s3_pair query[QUERY_MAX];
	size_t n_query;
	struct s3_pair extra[EXTRA_MAX]; /* headers */
	size_t n_extra;
	const void *body;
	size_t body_len;
	const char *hash; /* of the body */
};

#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Writes the path, encoded, and the value of the header Host. */
static void put_place(const struct s3_client *c, const struct s3_request *q, struct strbuf *path,
		      struct strbuf *host)
{
	if (c->config.bucket_in_host)
		strbuf_printf(host, "%s.", c->config.bucket);
	strbuf_puts(host, c->host);
	strbuf_putc(path, '/');
	if (!c->config.bucket_in_host) {
		s3_put_encoded(path, c->config.bucket, false);
		if (q->key)
			strbuf_putc(path, '/');
	}
	if (q->key)
		s3_put_encoded(path, q->key, true);
}

static int put_headers(const struct s3_signing *signing, char *lines[HEADERS_MAX + 1])
{
	struct strbuf b = {0};

	for (size_t i = 0; i < signing->n_headers; i++) {
		strbuf_printf(&b, "%s: %s", signing->headers[i].name, signing->headers[i].value);
		lines[i] = strbuf_take(&b);
		if (!lines[i])
			return -ENOMEM;
	}
	strbuf_puts(&b, "Authorization: ");
	s3_put_authorization(&b, signing);
	lines[signing->n_headers] = strbuf_take(&b);
	return lines[signing->n_headers] ? 0 : -ENOMEM;
}

static int s3_client_send_signed(struct s3_client *c, const struct s3_request *q, const char *host,
				 struct s3_signing *signing, struct s3_exchange *x,
				 struct err_text *e)
{
	char *lines[HEADERS_MAX + 1] = {NULL};
	struct strbuf url = {0};
	int r = put_headers(signing, lines);

	strbuf_printf(&url, "%.*s%s%s%s%s", (int)(c->host - c->config.endpoint), c->config.endpoint,
		      host, signing->path, q->n_query ? "?" : "", signing->query);
	if (r < 0 || url.failed) {
		r = err_set(e, -ENOMEM, "out of memory");
	} else {
		x->method = q->method;
		x->url = url.s;
		x->headers = (const char *const *)lines;
		x->n_headers = signing->n_headers + 1;
		x->body = q->body;
		x->body_len = q->body_len;
		r = s3_transport_perform(c->transport, x, e);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		free(lines[i]);
	strbuf_deinit(&url);
	return r;
}

static int s3_client_send(struct s3_client *c, struct s3_request *q, struct s3_exchange *x,
			  struct err_text *e)
{
	struct strbuf path = {0}, query = {0}, host = {0};
	struct s3_pair headers[HEADERS_MAX];
	time_t now = time(NULL) + c->skew;
	struct s3_signing signing = {
		.method = q->method,
		.headers = headers,
		.payload_hash = q->hash ? q->hash : EMPTY_HASH,
		.region = c->config.region,
		.access_key = c->credentials.access_key,
		.secret_key = c->credentials.secret_key,
	};
	char when[32];
	struct tm tm;
	int r;

	put_place(c, q, &path, &host);
	s3_put_query(&query, q->query, q->n_query);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	headers[signing.n_headers++] = (struct s3_pair){"host", host.s};
	headers[signing.n_headers++] =
		(struct s3_pair){"x-amz-content-sha256", signing.payload_hash};
	headers[signing.n_headers++] = (struct s3_pair){"x-amz-date", when};
	if (c->credentials.token[0])
		headers[signing.n_headers++] =
			(struct s3_pair){"x-amz-security-token", c->credentials.token};
	for (size_t i = 0; i < q->n_extra; i++)
		headers[signing.n_headers++] = q->extra[i];
	signing.path = path.s;
	signing.query = query.s ? query.s : "";
	signing.time = when;
	r = path.failed || query.failed || host.failed
		    ? err_set(e, -ENOMEM, "out of memory")
		    : s3_client_send_signed(c, q, host.s, &signing, x, e);
	strbuf_deinit(&path);
	strbuf_deinit(&query);
	strbuf_deinit(&host);
	return r;
}

/* ---- what an answer means ---- */

/* Further results of an attempt, in addition to 0 and enum s3_result. */
enum {
	S3_AGAIN = 10, /* the request may succeed later */
	S3_REFUSED = 11,
};

static struct span get_answer_body(const struct s3_exchange *x)
{
	return (struct span){x->answer.s ? x->answer.s : "", x->answer.len};
}

static bool is_temporary(unsigned status, const char *code)
{
	static const char *const codes[] = {"InternalError",	  "SlowDown",
					    "ServiceUnavailable", "OperationAborted",
					    "RequestTimeout",	  "ConditionalRequestConflict"};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (!strcmp(code, codes[i]))
			return true;
	return status == 408 || status == 409 || status == 429 || status == 500 || status == 502 ||
	       status == 503 || status == 504;
}

/* Sets the skew by the store's time. Returns true, and logs it, if that changes the skew by a
 * minute or more: the request was signed with a wrong time. */
static bool set_clock_skew(struct s3_client *c, const struct s3_exchange *x)
{
	time_t theirs, before = c->skew;

	if (!s3_answer_parse_date(x->date, &theirs))
		return false;
	c->skew = theirs - time(NULL);
	if (labs((long)(c->skew - before)) < 60)
		return false;
	log_warn("this machine's clock differs from the store's by %ld s; requests are signed with "
		 "the store's time",
		 (long)c->skew);
	return true;
}

static bool reload_keys(struct s3_client *c)
{
	struct err_text e = {""};
	int r = s3_credentials_refresh(&c->credentials, &e);

	if (r < 0)
		log_warn("%s; using the old keys", e.text);
	return r > 0;
}

/* Sets e to what the store answered, with the option that helps if there is one. */
static void explain_error_answer(const struct s3_request *q, const struct s3_exchange *x,
				 const char *code, struct err_text *e)
{
	char message[256] = "", what[300];
	struct span body = get_answer_body(x);

	(void)s3_answer_find(&body, "Message", message, sizeof(message));
	str_make_plain(message, strlen(message), "");
	snprintf(what, sizeof(what), "%s %s", q->method, q->key ? q->key : "of the bucket");
	if (x->status == 302 || x->status == 303 || x->status == 308)
		err_set(e, -EPROTO,
			"%s: %u: the endpoint sent a redirect, and redirects are not followed; set "
			"--endpoint to the store's own address",
			what, x->status);
	else if (x->status == 301 || x->status == 307)
		err_set(e, -EPROTO, "%s: the bucket is in another region; use --region %s", what,
			x->region[0] ? x->region : "REGION");
	else
		err_set(e, -EPROTO, "%s: %u%s%s%s%s", what, x->status, *code ? " " : "", code,
			*message ? ": " : "", message);
}

static int s3_client_check_reply(struct s3_client *c, const struct s3_request *q,
				 const struct s3_exchange *x, struct err_text *e)
{
	char code[64] = "";
	struct span body = get_answer_body(x);

	(void)s3_answer_find(&body, "Code", code, sizeof(code));
	str_make_plain(code, strlen(code), "");
	if (x->status >= 200 && x->status < 300 && !s3_answer_is_error(get_answer_body(x)))
		return 0;
	explain_error_answer(q, x, code, e);
	if (x->status == 412)
		return S3_EXISTS;
	if (x->status == 404 && strcmp(code, "NoSuchBucket") != 0)
		return S3_NOT_FOUND;
	if (!strcmp(code, "NoSuchUpload"))
		return S3_NOT_FOUND;
	if (is_temporary(x->status, code))
		return S3_AGAIN;
	if (!strcmp(code, "RequestTimeTooSkewed"))
		return set_clock_skew(c, x) ? S3_AGAIN : S3_REFUSED;
	if (x->status == 403 || !strcmp(code, "ExpiredToken"))
		return reload_keys(c) ? S3_AGAIN : S3_REFUSED;
	return S3_REFUSED;
}

/* ---- attempts ---- */

/* Waits for a random time, which grows with each attempt. Returns S3_STOPPED if it was
 * interrupted. */
static int s3_client_pause(const struct s3_client *c, uint32_t attempt)
{
	uint64_t longest = MIN((uint64_t)FIRST_PAUSE_MS << MIN(attempt, 20u),
			       (uint64_t)c->config.retry_max_ms);
	uint64_t random = 0, end;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = clock_mono_ns();
	end = clock_mono_ns() + random % (longest * NS_PER_MS + 1);
	while (!*c->config.stop) {
		uint64_t now = clock_mono_ns();

		if (now >= end)
			return 0;
		poll(NULL, 0, (int)MIN((end - now) / NS_PER_MS + 1, (uint64_t)SLEEP_SLICE_MS));
	}
	return S3_STOPPED;
}

/* Sends the request once. Returns 0, S3_STOPPED, or, and sets e, S3_AGAIN, S3_REFUSED, another of
 * enum s3_result, or -errno. */
static int s3_client_try(struct s3_client *c, struct s3_request *q, struct s3_exchange *x,
			 struct err_text *e)
{
	struct err_text why = {""};
	int r;

	if (*c->config.stop)
		return S3_STOPPED;
	r = s3_client_send(c, q, x, &why);
	if (r == -ECANCELED)
		return S3_STOPPED;
	if (r < 0) {
		err_set(e, r, "%s %s: %s", q->method, q->key ? q->key : "of the bucket", why.text);
		return r == -ECOMM ? S3_AGAIN : r;
	}
	return s3_client_check_reply(c, q, x, e);
}

/* Sends a request until it is answered or refused, or the attempts are used up (-ETIMEDOUT).
 * before_again, unless NULL, is called before each attempt but the first; its error ends the
 * request. */
static int s3_client_send_with_retries(struct s3_client *c, struct s3_request *q,
				       struct s3_exchange *x,
				       int (*before_again)(struct s3_client *c, const char *key,
							   struct err_text *e),
				       struct err_text *e)
{
	for (uint32_t attempt = 0;; attempt++) {
		int r = s3_client_try(c, q, x, e);

		if (r == S3_REFUSED)
			return -EPROTO;
		if (r != S3_AGAIN)
			return r;
		if (c->config.retries && attempt + 1 >= c->config.retries)
			return -ETIMEDOUT;
		log_write_limited(&c->failures, LOG_LEVEL_WARN, "%s; trying again", e->text);
		r = s3_client_pause(c, attempt);
		if (r == 0 && before_again)
			r = before_again(c, q->key, e);
		if (r)
			return r;
	}
}

/* ---- requests ---- */

int s3_head(struct s3_client *c, const char *key, struct s3_object *ret, struct err_text *e)
{
	struct s3_request q = {.method = "HEAD", .key = key};
	struct s3_exchange x = {.answer = {0}};
	int r = s3_client_send_with_retries(c, &q, &x, NULL, e);

	strbuf_deinit(&x.answer);
	/* An account that may not list the bucket gets 403 for missing objects. */
	if (r == -EPROTO && x.status == 403)
		return S3_NOT_FOUND;
	if (r)
		return r;
	ret->bytes = x.length;
	snprintf(ret->sha256, sizeof(ret->sha256), "%.64s", x.sha256);
	return 0;
}

/* Sends a request that creates an object only if there is none. A store that does not know the
 * condition gets the request without it. */
static int s3_send_if_absent(struct s3_client *c, struct s3_request *q, struct s3_exchange *x,
			     struct err_text *e)
{
	int r;

	if (c->no_conditions)
		return s3_client_send_with_retries(c, q, x, NULL, e);
	q->extra[q->n_extra++] = (struct s3_pair){"if-none-match", "*"};
	r = s3_client_send_with_retries(c, q, x, NULL, e);
	q->n_extra--;
	if (r != -EPROTO || x->status != 501)
		return r;
	log_info("this store does not support conditional writes");
	c->no_conditions = true;
	return s3_client_send_with_retries(c, q, x, NULL, e);
}

int s3_put(struct s3_client *c, const char *key, const struct s3_content *content, bool only_new,
	   struct err_text *e)
{
	struct s3_request q = {
		.method = "PUT",
		.key = key,
		.extra = {{"x-amz-meta-sha256", content->hash}},
		.n_extra = 1,
		.body = content->data,
		.body_len = content->len,
		.hash = content->hash,
	};
	struct s3_exchange x = {.answer = {0}};
	int r = only_new ? s3_send_if_absent(c, &q, &x, e)
			 : s3_client_send_with_retries(c, &q, &x, NULL, e);

	strbuf_deinit(&x.answer);
	return r;
}

int s3_multipart_begin(struct s3_client *c, const char *key, const char *sha256,
		       char ret_id[static S3_UPLOAD_ID_SIZE], struct err_text *e)
{
	struct s3_request q = {
		.method = "POST",
		.key = key,
		.query = {{"uploads", ""}},
		.n_query = 1,
		.extra = {{"x-amz-meta-sha256", sha256}},
		.n_extra = 1,
	};
	struct s3_exchange x = {.answer = {0}};
	char id[S3_UPLOAD_ID_SIZE];
	int r = s3_client_send_with_retries(c, &q, &x, s3_multipart_abort_all, e);

	if (r == 0) {
		struct span body = get_answer_body(&x);

		if (s3_answer_find(&body, "UploadId", id, sizeof(id)) && s3_upload_id_is_valid(id))
			memcpy(ret_id, id, sizeof(id));
		else
			r = err_set(e, -EPROTO, "POST %s: the reply contains no UploadId", key);
	}
	strbuf_deinit(&x.answer);
	return r;
}

int s3_multipart_put(struct s3_client *c, const char *key, const char *id, unsigned number,
		     const struct s3_content *content, char ret_etag[static S3_ETAG_SIZE],
		     struct err_text *e)
{
	char digits[16];
	struct s3_request q = {
		.method = "PUT",
		.key = key,
		.query = {{"partNumber", digits}, {"uploadId", id}},
		.n_query = 2,
		.body = content->data,
		.body_len = content->len,
		.hash = content->hash,
	};
	struct s3_exchange x = {.answer = {0}};
	int r;

	snprintf(digits, sizeof(digits), "%u", number);
	r = s3_client_send_with_retries(c, &q, &x, NULL, e);
	strbuf_deinit(&x.answer);
	if (r == 0 && !s3_etag_is_valid(x.etag))
		r = err_set(e, -EPROTO, "PUT %s: the reply has no ETag", key);
	if (r == 0)
		snprintf(ret_etag, S3_ETAG_SIZE, "%.*s", S3_ETAG_SIZE - 1, x.etag);
	return r;
}

int s3_multipart_complete(struct s3_client *c, const char *key, const char *id,
			  char (*etags)[S3_ETAG_SIZE], unsigned n, bool only_new,
			  struct err_text *e)
{
	char hex[SHA256_HEX_SIZE];
	uint8_t hash[SHA256_SIZE];
	struct strbuf body = {0};
	struct s3_request q = {
		.method = "POST",
		.key = key,
		.query = {{"uploadId", id}},
		.n_query = 1,
	};
	struct s3_exchange x = {.answer = {0}};
	int r;

	strbuf_puts(&body, "<CompleteMultipartUpload>");
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&body, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>",
			      i + 1, etags[i]);
	strbuf_puts(&body, "</CompleteMultipartUpload>");
	if (body.failed) {
		strbuf_deinit(&body);
		return err_set(e, -ENOMEM, "out of memory");
	}
	sha256_of(body.s, body.len, hash);
	sha256_to_hex(hash, hex);
	q.body = body.s;
	q.body_len = body.len;
	q.hash = hex;
	r = only_new ? s3_send_if_absent(c, &q, &x, e)
		     : s3_client_send_with_retries(c, &q, &x, NULL, e);
	if (r == -EPROTO && strstr(e->text, "InvalidPart"))
		r = -EILSEQ;
	strbuf_deinit(&x.answer);
	strbuf_deinit(&body);
	return r;
}

int s3_multipart_abort(struct s3_client *c, const char *key, const char *id, struct err_text *e)
{
	struct s3_request q = {
		.method = "DELETE",
		.key = key,
		.query = {{"uploadId", id}},
		.n_query = 1,
	};
	struct s3_exchange x = {.answer = {0}};
	int r = s3_client_send_with_retries(c, &q, &x, NULL, e);

	strbuf_deinit(&x.answer);
	return r == S3_NOT_FOUND ? 0 : r;
}

/* Aborts all uploads of a key. An answer lists up to 1,000 of them; there are no more, as the key
 * has a UUID, or is the directory of one table and day. */
int s3_multipart_abort_all(struct s3_client *c, const char *key, struct err_text *e)
{
	char found[1100], id[S3_UPLOAD_ID_SIZE];
	struct s3_request q = {
		.method = "GET",
		.query = {{"prefix", key}, {"uploads", ""}},
		.n_query = 2,
	};
	struct s3_exchange x = {.answer = {0}};
	int r = s3_client_send_with_retries(c, &q, &x, NULL, e);
	struct span body = get_answer_body(&x);

	while (r == 0 && s3_answer_find(&body, "Key", found, sizeof(found)) &&
	       s3_answer_find(&body, "UploadId", id, sizeof(id)))
		if (str_starts(found, key) && s3_upload_id_is_valid(id))
			r = s3_multipart_abort(c, found, id, e);
	if (r == -EPROTO && (x.status == 403 || x.status == 501)) {
		log_warn("%s; parts of an interrupted upload may remain in the bucket", e->text);
		r = 0;
	}
	strbuf_deinit(&x.answer);
	return r == S3_NOT_FOUND ? 0 : r;
}

/* ---- files, lists ---- */

#define PART_BYTES (16u << 20)

static int read_content(const char *key, int fd, uint64_t at, size_t len, uint8_t *buf,
			struct s3_content *ret, struct err_text *e)
{
	uint8_t hash[SHA256_SIZE];

	for (size_t n = 0; n < len;) {
		ssize_t got = pread(fd, buf + n, len - n, (off_t)(at + n));

		if (got <= 0 && (got == 0 || errno != EINTR))
			return err_set(e, got ? -errno : -EBADMSG,
				       "cannot read the file for %s: %s", key,
				       got ? strerror(errno) : "it was truncated");
		n += got > 0 ? (size_t)got : 0;
	}
	*ret = (struct s3_content){.data = buf, .len = len};
	sha256_of(buf, len, hash);
	sha256_to_hex(hash, ret->hash);
	return 0;
}

static int put_parts(struct s3_client *c, const char *key, int fd, uint64_t bytes,
		     const char *sha256, uint8_t *buf, struct err_text *e)
{
	unsigned n = (unsigned)((bytes + PART_BYTES - 1) / PART_BYTES);
	_cleanup_(freep) char(*etags)[S3_ETAG_SIZE] = calloc(n, S3_ETAG_SIZE);
	char id[S3_UPLOAD_ID_SIZE];
	int r = etags ? s3_multipart_begin(c, key, sha256, id, e)
		      : err_set(e, -ENOMEM, "out of memory");

	for (unsigned i = 0; r == 0 && i < n; i++) {
		uint64_t at = (uint64_t)i * PART_BYTES;
		struct s3_content content;

		r = read_content(key, fd, at, (size_t)MIN(bytes - at, (uint64_t)PART_BYTES), buf,
				 &content, e);
		if (r == 0)
			r = s3_multipart_put(c, key, id, i + 1, &content, etags[i], e);
	}
	if (r == 0)
		r = s3_multipart_complete(c, key, id, etags, n, false, e);
	return r;
}

int s3_put_file(struct s3_client *c, const char *key, int fd, uint64_t bytes, const char *sha256,
		struct err_text *e)
{
	_cleanup_(freep) uint8_t *buf = malloc(PART_BYTES);
	struct s3_content content;
	struct s3_object there;
	int r;

	if (!buf || bytes / PART_BYTES >= S3_PARTS_MAX)
		return err_set(e, buf ? -EFBIG : -ENOMEM, buf ? "%s is too large" : "out of memory",
			       key);
	if (bytes > PART_BYTES) {
		r = put_parts(c, key, fd, bytes, sha256, buf, e);
		if (r != S3_NOT_FOUND)
			return r;
		/* The answer to an earlier attempt was lost, or the store has lost the parts. */
		r = s3_head(c, key, &there, e);
		if (r)
			return r == S3_NOT_FOUND
				       ? err_set(e, -EPROTO, "the store lost the upload of %s", key)
				       : r;
		return there.bytes == bytes && !strcmp(there.sha256, sha256)
			       ? 0
			       : err_set(e, -EPROTO,
					 "the store has a different object under the key %s", key);
	}
	r = read_content(key, fd, 0, (size_t)bytes, buf, &content, e);
	return r ?: s3_put(c, key, &content, false, e);
}

int s3_get_file(struct s3_client *c, const char *key, int fd, struct err_text *e)
{
	struct s3_request q = {.method = "GET", .key = key};
	struct s3_exchange x = {.save_to = &fd};
	int r = s3_client_send_with_retries(c, &q, &x, NULL, e);

	strbuf_deinit(&x.answer);
	return r;
}

int s3_delete(struct s3_client *c, const char *key, struct err_text *e)
{
	struct s3_request q = {.method = "DELETE", .key = key};
	struct s3_exchange x = {.answer = {0}};
	int r = s3_client_send_with_retries(c, &q, &x, NULL, e);

	strbuf_deinit(&x.answer);
	return r == S3_NOT_FOUND ? 0 : r;
}

int s3_list(struct s3_client *c, const char *prefix, int (*fn)(void *ctx, const char *key),
	    void *ctx, struct err_text *e)
{
	char key[1100], token[1100] = "";
	int r = 0;

	do {
		struct s3_request q = {
			.method = "GET",
			.query = {{"list-type", "2"},
				  {"prefix", prefix},
				  {"continuation-token", token}},
			.n_query = token[0] ? 3 : 2,
		};
		struct s3_exchange x = {.answer = {0}};
		struct span body, rest;

		r = s3_client_send_with_retries(c, &q, &x, NULL, e);
		body = rest = get_answer_body(&x);
		while (r == 0 && s3_answer_find(&rest, "Key", key, sizeof(key)))
			r = fn(ctx, key);
		if (r || !s3_answer_find(&body, "NextContinuationToken", token, sizeof(token)))
			token[0] = '\0';
		strbuf_deinit(&x.answer);
	} while (r == 0 && token[0]);
	return r;
}
