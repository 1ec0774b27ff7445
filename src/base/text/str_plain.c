/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 as of RFC 3629: the first byte tells the length, and a range for the second that leaves out
 * what could be written shorter, surrogates, and numbers past U+10FFFF. The controls are
 *
 *	00..1F 7F         as in ASCII
 *	C2 80 .. C2 9F    the second set, which terminals obey, too (C2 9B is CSI)
 */
#include "base/text/str.h"

#include <stdint.h>
#include <string.h>

struct lead {
	uint8_t first, last; /* bytes that begin a sequence */
	uint8_t len;
	uint8_t low, high; /* what the second byte may be */
};

static const struct lead leads[] = {
	{0x20, 0x7e, 1, 0, 0},	     {0xc2, 0xc2, 2, 0xa0, 0xbf}, {0xc3, 0xdf, 2, 0x80, 0xbf},
	{0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
	{0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf},
	{0xf4, 0xf4, 4, 0x80, 0x8f},
};

/* Bytes of the character that s begins with, 0 when it is none that may be shown. */
static size_t shown_len(const uint8_t *s, size_t len)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		const struct lead *l = &leads[i];

		if (*s < l->first || *s > l->last)
			continue;
		if (len < l->len || (l->len > 1 && (s[1] < l->low || s[1] > l->high)))
			return 0;
		for (size_t k = 2; k < l->len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return l->len;
	}
	return 0;
}

void str_make_plain(char *s, size_t len, const char *keep)
{
	size_t i = 0, n;

	while (i < len) {
		n = shown_len((const uint8_t *)s + i, len - i);
		if (!n && !(s[i] && strchr(keep, s[i])))
			s[i] = '?';
		i += n ? n : 1;
	}
}
