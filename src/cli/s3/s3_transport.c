/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers are those of libcurl's ABI, which has not changed since libcurl.so.4 of 2006. Source:
 * curl/curl.h of libcurl 7.88 and 8.14.
 */
#include "cli/s3/s3_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/shared_library.h"
#include "cli/s3/s3_answer.h"

#define CONNECT_SECONDS 30L
#define STALL_SECONDS 60L /* without a byte in either direction */

enum {
	OPT_UPLOAD = 46,
	OPT_NOPROGRESS = 43,
	OPT_NOBODY = 44,
	OPT_LOW_SPEED_LIMIT = 19,
	OPT_LOW_SPEED_TIME = 20,
	OPT_CONNECTTIMEOUT = 78,
	OPT_FRESH_CONNECT = 74,
	OPT_HTTPGET = 80,
	OPT_HTTP_VERSION = 84,
	OPT_NOSIGNAL = 99,
	OPT_PROTOCOLS = 181,
	OPT_PATH_AS_IS = 234,
	OPT_WRITEDATA = 10001,
	OPT_URL = 10002,
	OPT_READDATA = 10009,
	OPT_HTTPHEADER = 10023,
	OPT_ERRORBUFFER = 10010,
	OPT_HEADERDATA = 10029,
	OPT_CUSTOMREQUEST = 10036,
	OPT_XFERINFODATA = 10057,
	OPT_CAINFO = 10065,
	OPT_SEEKDATA = 10168,
	OPT_WRITEFUNCTION = 20011,
	OPT_READFUNCTION = 20012,
	OPT_HEADERFUNCTION = 20079,
	OPT_SEEKFUNCTION = 20167,
	OPT_XFERINFOFUNCTION = 20219,
	OPT_INFILESIZE_LARGE = 30115,
	INFO_RESPONSE_CODE = 0x200002,
	HTTP_VERSION_1_1 = 2,
	PROTOCOL_HTTP_AND_HTTPS = 3,
	ERROR_ABORTED_BY_CALLBACK = 42,
	ERROR_PEER_CERTIFICATE = 60,
	ERROR_CA_FILE = 77,
	GLOBAL_ALL = 3,
};

struct s3_transport {
	void *library; /* owned */
	void *handle; /* owned: keeps the connection for the next request */
	const char *ca_file; /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed */
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	void (*easy_reset)(void *handle);
	void (*easy_cleanup)(void *handle);
	int (*easy_setopt)(void *handle, int option, ...);
	int (*easy_getinfo)(void *handle, int info, ...);
	int (*easy_perform)(void *handle);
	const char *(*easy_strerror)(int code);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
};

static const struct shared_function functions[] = {
	SHARED_FUNCTION(struct s3_transport, global_init, "curl_global_init"),
	SHARED_FUNCTION(struct s3_transport, easy_init, "curl_easy_init"),
	SHARED_FUNCTION(struct s3_transport, easy_reset, "curl_easy_reset"),
	SHARED_FUNCTION(struct s3_transport, easy_cleanup, "curl_easy_cleanup"),
	SHARED_FUNCTION(struct s3_transport, easy_setopt, "curl_easy_setopt"),
	SHARED_FUNCTION(struct s3_transport, easy_getinfo, "curl_easy_getinfo"),
	SHARED_FUNCTION(struct s3_transport, easy_perform, "curl_easy_perform"),
	SHARED_FUNCTION(struct s3_transport, easy_strerror, "curl_easy_strerror"),
	SHARED_FUNCTION(struct s3_transport, slist_append, "curl_slist_append"),
	SHARED_FUNCTION(struct s3_transport, slist_free_all, "curl_slist_free_all"),
};

/* Debian's two builds: with OpenSSL and with GnuTLS. */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

int s3_transport_open(const char *ca_file, const volatile sig_atomic_t *stop,
		      struct s3_transport **ret, struct err_text *e)
{
	struct s3_transport *t = calloc(1, sizeof(*t));
	const char *why = "";
	int r = -ENOENT;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->ca_file = ca_file;
	t->stop = stop;
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(libraries); i++)
		r = shared_library_open(libraries[i], functions, ARRAY_SIZE(functions), t,
					&t->library, &why);
	if (r < 0) {
		err_set(e, r, "cannot load %s: %s%s", libraries[0], why,
			r == -ELIBACC ? "" : "; install libcurl4");
		s3_transport_close(t);
		return r;
	}
	if (t->global_init(GLOBAL_ALL) || !(t->handle = t->easy_init())) {
		s3_transport_close(t);
		return err_set(e, -ENOMEM, "cannot initialize libcurl");
	}
	*ret = t;
	return 0;
}

void s3_transport_close(struct s3_transport *t)
{
	if (!t)
		return;
	if (t->handle)
		t->easy_cleanup(t->handle);
	shared_library_close(&t->library);
	free(t);
}

/* ---- callbacks of libcurl ---- */

struct body_reader {
	const uint8_t *data; /* borrowed */
	size_t len, at;
};

static size_t on_read(char *to, size_t size, size_t n, void *ctx)
{
	struct body_reader *b = ctx;
	size_t len = MIN(size * n, b->len - b->at);

	if (len)
		memcpy(to, b->data + b->at, len);
	b->at += len;
	return len;
}

/* When a kept connection turns out to be closed, libcurl sends the body again on a new one. */
static int on_seek(void *ctx, int64_t offset, int origin)
{
	struct body_reader *b = ctx;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > b->len)
		return 1;
	b->at = (size_t)offset;
	return 0;
}

static size_t on_write(char *data, size_t size, size_t n, void *ctx)
{
	struct s3_exchange *x = ctx;

	if (x->save_to && x->status == 200) {
		x->save_error = fs_write_all(*x->save_to, data, size * n);
		return x->save_error ? 0 : size * n;
	}
	if (x->answer.len + size * n > S3_ANSWER_MAX)
		return 0;
	strbuf_add(&x->answer, data, size * n);
	return x->answer.failed ? 0 : size * n;
}

static void store_reply_header(struct span line, const char *name, char *ret, size_t size)
{
	struct span key, value;

	if (!span_split(line, &key, &value) || key.len != strlen(name) ||
	    strncasecmp(key.p, name, key.len) != 0 || value.len >= size)
		return;
	memcpy(ret, value.p, value.len);
	ret[value.len] = '\0';
	str_make_plain(ret, value.len, "");
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct span rest = {data, size * n}, line;
	struct s3_exchange *x = ctx;
	char length[24] = "";

	if (!span_next_line(&rest, &line))
		return size * n;
	line = span_trim(line);
	if (line.len >= strlen("HTTP/1.1 200") && !strncmp(line.p, "HTTP/1.", 7))
		x->status = !strncmp(line.p + 8, " 200", 4) ? 200 : 0;
	/* Interim answers (100) precede the final one. */
	x->has_headers = !line.len;
	store_reply_header(line, "etag", x->etag, sizeof(x->etag));
	store_reply_header(line, "date", x->date, sizeof(x->date));
	store_reply_header(line, "x-amz-meta-sha256", x->sha256, sizeof(x->sha256));
	store_reply_header(line, "x-amz-bucket-region", x->region, sizeof(x->region));
	store_reply_header(line, "content-length", length, sizeof(length));
	if (length[0])
		(void)str_to_u64(length, &x->length);
	return size * n;
}

static int on_progress(void *ctx, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const struct s3_transport *t = ctx;

	return *t->stop != 0;
}

/* ---- a request ---- */

static void *make_headers(const struct s3_transport *t, const struct s3_exchange *x)
{
	/* For a large body libcurl would send an "Expect" of its own, and wait for the answer to
	 * it: this empty one prevents that. */
	void *list = t->slist_append(NULL, "Expect:");

	for (size_t i = 0; list && i < x->n_headers; i++) {
		void *longer = t->slist_append(list, x->headers[i]);

		if (!longer) {
			t->slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static void set_options(const struct s3_transport *t, struct s3_exchange *x,
			struct body_reader *body, void *headers)
{
	void *h = t->handle;

	t->easy_reset(h);
	t->easy_setopt(h, OPT_URL, x->url);
	t->easy_setopt(h, OPT_PATH_AS_IS, 1L);
	t->easy_setopt(h, OPT_PROTOCOLS, (long)PROTOCOL_HTTP_AND_HTTPS);
	t->easy_setopt(h, OPT_HTTP_VERSION, (long)HTTP_VERSION_1_1);
	t->easy_setopt(h, OPT_NOSIGNAL, 1L);
	t->easy_setopt(h, OPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	t->easy_setopt(h, OPT_LOW_SPEED_LIMIT, 1L);
	t->easy_setopt(h, OPT_LOW_SPEED_TIME, STALL_SECONDS);
	t->easy_setopt(h, OPT_HTTPHEADER, headers);
	t->easy_setopt(h, OPT_WRITEFUNCTION, on_write);
	t->easy_setopt(h, OPT_WRITEDATA, x);
	t->easy_setopt(h, OPT_HEADERFUNCTION, on_header);
	t->easy_setopt(h, OPT_HEADERDATA, x);
	t->easy_setopt(h, OPT_NOPROGRESS, 0L);
	t->easy_setopt(h, OPT_XFERINFOFUNCTION, on_progress);
	t->easy_setopt(h, OPT_XFERINFODATA, t);
	if (t->ca_file)
		t->easy_setopt(h, OPT_CAINFO, t->ca_file);
	if (!strcmp(x->method, "HEAD")) {
		t->easy_setopt(h, OPT_NOBODY, 1L);
	} else if (!strcmp(x->method, "PUT") || !strcmp(x->method, "POST")) {
		/* libcurl repeats a request by itself if a connection from an earlier one closes
		 * without an answer: a POST may have begun an upload whose id is lost then. */
		t->easy_setopt(h, OPT_FRESH_CONNECT, !strcmp(x->method, "POST") ? 1L : 0L);
		t->easy_setopt(h, OPT_UPLOAD, 1L);
		t->easy_setopt(h, OPT_READFUNCTION, on_read);
		t->easy_setopt(h, OPT_READDATA, body);
		t->easy_setopt(h, OPT_SEEKFUNCTION, on_seek);
		t->easy_setopt(h, OPT_SEEKDATA, body);
		/* Of unknown size it would be sent in chunks, which S3 refuses. */
		t->easy_setopt(h, OPT_INFILESIZE_LARGE, (int64_t)x->body_len);
		t->easy_setopt(h, OPT_CUSTOMREQUEST, x->method);
	} else {
		t->easy_setopt(h, OPT_HTTPGET, 1L);
		t->easy_setopt(h, OPT_CUSTOMREQUEST, x->method);
	}
}

#define ERROR_TEXT_SIZE 256 /* CURL_ERROR_SIZE */

/* Sets e to why a request failed. Returns -EPERM if a later attempt cannot help, because the
 * certificate is not trusted; else -ECOMM. */
static int explain_failure(const struct s3_transport *t, int code,
			   char text[static ERROR_TEXT_SIZE], struct err_text *e)
{
	str_make_plain(text, strlen(text), "");
	if (code == ERROR_CA_FILE)
		return err_set(e, -EPERM,
			       "cannot read the certificates of %.200s; is it a PEM file?",
			       t->ca_file ? t->ca_file : "the system");
	if (code == ERROR_PEER_CERTIFICATE)
		return err_set(e, -EPERM,
			       "%s; pass the store's CA with --ca FILE, and use the host name from "
			       "its certificate in --endpoint",
			       text[0] ? text : t->easy_strerror(code));
	return err_set(e, -ECOMM, "%s", text[0] ? text : t->easy_strerror(code));
}

int s3_transport_perform(struct s3_transport *t, struct s3_exchange *x, struct err_text *e)
{
	struct body_reader body = {.data = x->body, .len = x->body_len};
	char text[ERROR_TEXT_SIZE] = "";
	void *headers;
	long status = 0;
	int code;

	strbuf_clear(&x->answer);
	x->etag[0] = x->date[0] = x->sha256[0] = x->region[0] = '\0';
	x->length = 0;
	x->status = 0;
	x->has_headers = false;
	x->save_error = 0;
	if (x->save_to && (ftruncate(*x->save_to, 0) < 0 || lseek(*x->save_to, 0, SEEK_SET) < 0))
		return err_set(e, -errno, "cannot truncate the file for the download: %s",
			       strerror(errno));
	headers = make_headers(t, x);
	if (!headers)
		return err_set(e, -ENOMEM, "out of memory");
	set_options(t, x, &body, headers);
	t->easy_setopt(t->handle, OPT_ERRORBUFFER, text);
	code = t->easy_perform(t->handle);
	t->easy_setopt(t->handle, OPT_ERRORBUFFER, NULL);
	t->easy_getinfo(t->handle, INFO_RESPONSE_CODE, &status);
	t->slist_free_all(headers);
	if (*t->stop && code == ERROR_ABORTED_BY_CALLBACK)
		return -ECANCELED;
	if (x->save_error)
		return err_set(e, x->save_error, "cannot write a file: %s",
			       strerror(-x->save_error));
	if (code)
		return explain_failure(t, code, text, e);
	/* libcurl takes a connection that ends among the headers of a HEAD for a complete
	 * answer. */
	if (!x->has_headers)
		return err_set(e, -ECOMM, "the reply is truncated");
	x->status = (unsigned)status;
	return 0;
}
