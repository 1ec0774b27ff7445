/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signature is an HMAC chain over two texts:
 *
 *	canonical request	METHOD \n path \n query \n name:value \n ... \n \n names \n payload hash
 *	string to sign		AWS4-HMAC-SHA256 \n time \n scope \n hash of the canonical request
 *
 * where the scope is date/region/s3/aws4_request.
 */
#include "cli/s3/s3_sign.h"

#include <stdlib.h>
#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define DATE_LEN 8

static bool is_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

void s3_put_encoded(struct strbuf *b, const char *s, bool keep_slash)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (is_unreserved(c) || (keep_slash && c == '/'))
			strbuf_putc(b, *s);
		else
			strbuf_printf(b, "%%%02X", c);
	}
}

static int s3_pair_compare(const void *a, const void *b)
{
	return strcmp(((const struct s3_pair *)a)->name, ((const struct s3_pair *)b)->name);
}

void s3_put_query(struct strbuf *b, struct s3_pair *pairs, size_t n)
{
	if (n)
		qsort(pairs, n, sizeof(*pairs), s3_pair_compare);
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_putc(b, '&');
		s3_put_encoded(b, pairs[i].name, false);
		strbuf_putc(b, '=');
		s3_put_encoded(b, pairs[i].value, false);
	}
}

void s3_signing_key(const char *secret, const char *date, const char *region, const char *service,
		    uint8_t ret[static SHA256_SIZE])
{
	struct strbuf first = {0};

	strbuf_printf(&first, "AWS4%s", secret);
	hmac_sha256(first.s ? first.s : "", first.len, date, DATE_LEN, ret);
	if (first.s)
		explicit_bzero(first.s, first.len);
	strbuf_deinit(&first);
	hmac_sha256(ret, SHA256_SIZE, region, strlen(region), ret);
	hmac_sha256(ret, SHA256_SIZE, service, strlen(service), ret);
	hmac_sha256(ret, SHA256_SIZE, "aws4_request", strlen("aws4_request"), ret);
}

static void put_header_names(struct strbuf *b, const struct s3_signing *s)
{
	for (size_t i = 0; i < s->n_headers; i++)
		strbuf_printf(b, "%s%s", i ? ";" : "", s->headers[i].name);
}

static void put_scope(struct strbuf *b, const struct s3_signing *s)
{
	strbuf_printf(b, "%.*s/%s/s3/aws4_request", DATE_LEN, s->time, s->region);
}

static void hash_canonical_request(const struct s3_signing *s, char ret[static SHA256_HEX_SIZE])
{
	uint8_t hash[SHA256_SIZE];
	struct strbuf b = {0};

	strbuf_printf(&b, "%s\n%s\n%s\n", s->method, s->path, s->query);
	for (size_t i = 0; i < s->n_headers; i++)
		strbuf_printf(&b, "%s:%s\n", s->headers[i].name, s->headers[i].value);
	strbuf_putc(&b, '\n');
	put_header_names(&b, s);
	strbuf_printf(&b, "\n%s", s->payload_hash);
	sha256_of(b.s, b.len, hash);
	sha256_to_hex(hash, ret);
	strbuf_deinit(&b);
}

void s3_put_authorization(struct strbuf *b, const struct s3_signing *s)
{
	char hex[SHA256_HEX_SIZE];
	uint8_t key[SHA256_SIZE];
	struct strbuf text = {0};

	qsort(s->headers, s->n_headers, sizeof(*s->headers), s3_pair_compare);
	hash_canonical_request(s, hex);
	strbuf_printf(&text, ALGORITHM "\n%s\n", s->time);
	put_scope(&text, s);
	strbuf_printf(&text, "\n%s", hex);
	s3_signing_key(s->secret_key, s->time, s->region, "s3", key);
	hmac_sha256(key, sizeof(key), text.s, text.len, key);
	sha256_to_hex(key, hex);
	strbuf_deinit(&text);
	strbuf_printf(b, ALGORITHM " Credential=%s/", s->access_key);
	put_scope(b, s);
	strbuf_puts(b, ", SignedHeaders=");
	put_header_names(b, s);
	strbuf_printf(b, ", Signature=%s", hex);
}
