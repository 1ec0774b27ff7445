/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/s3/s3_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

static const struct {
	const char *name;
	char is;
} entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

static void copy_content(struct span content, char *ret, size_t size)
{
	size_t n = 0;

	while (content.len && n + 1 < size) {
		size_t used = 1;
		char c = *content.p;

		for (size_t i = 0; c == '&' && i < ARRAY_SIZE(entities); i++) {
			size_t len = strlen(entities[i].name);

			if (content.len >= len && !memcmp(content.p, entities[i].name, len)) {
				c = entities[i].is;
				used = len;
				break;
			}
		}
		ret[n++] = c;
		content.p += used;
		content.len -= used;
	}
	ret[n] = '\0';
}

bool s3_answer_find(struct span *text, const char *element, char *ret, size_t size)
{
	char open[64];
	size_t n = (size_t)snprintf(open, sizeof(open), "<%s>", element);
	const char *end = text->p + text->len;
	const char *begin = memmem(text->p, text->len, open, n);
	const char *close = begin ? memchr(begin + n, '<', (size_t)(end - begin) - n) : NULL;

	if (!close)
		return false;
	copy_content((struct span){begin + n, (size_t)(close - begin) - n}, ret, size);
	*text = (struct span){close, (size_t)(end - close)};
	return true;
}

static struct span skip_space(struct span s)
{
	while (s.len && *s.p && strchr(" \t\r\n", *s.p)) {
		s.p++;
		s.len--;
	}
	return s;
}

bool s3_answer_is_error(struct span body)
{
	static const char root[] = "<Error";
	const size_t n = strlen(root);

	body = skip_space(body);
	if (body.len >= 2 && !memcmp(body.p, "<?", 2)) {
		const char *end = memmem(body.p, body.len, "?>", 2);

		if (!end)
			return false;
		end += 2;
		body = skip_space((struct span){end, body.len - (size_t)(end - body.p)});
	}
	return body.len > n && !memcmp(body.p, root, n) && (body.p[n] == '>' || body.p[n] == ' ');
}

bool s3_upload_id_is_valid(const char *id)
{
	size_t n = 0;

	for (; id[n]; n++)
		if (id[n] <= ' ' || id[n] > '~')
			return false;
	return n > 0 && n < S3_UPLOAD_ID_SIZE;
}

bool s3_etag_is_valid(const char *etag)
{
	static const char allowed[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
	size_t quote = etag[0] == '"', n = strspn(etag + quote, allowed);

	return n > 0 && n <= 128 && !strcmp(etag + quote + n, quote ? "\"" : "");
}

bool s3_answer_parse_date(const char *text, time_t *ret)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S", &tm);
	time_t t;

	if (!end || strcmp(end, " GMT") != 0)
		return false;
	t = timegm(&tm);
	if (t < 0)
		return false;
	*ret = t;
	return true;
}
