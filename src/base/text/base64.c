/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/base64.h"

#include <string.h>

bool strbuf_put_decoded_base64(struct strbuf *b, const char *text, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	unsigned n_bits = 0;

	for (int padding = 0; padding < 2 && len && text[len - 1] == '='; padding++)
		len--;
	for (size_t i = 0; i < len; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return false;
		bits = bits << 6 | (uint32_t)(digit - digits);
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			strbuf_putc(b, (char)(bits >> n_bits));
		}
	}
	return len % 4 != 1;
}
