/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/copy_nontemporal.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

bool copy_nontemporal_is_supported(void)
{
	return true;
}

static void copy_nontemporal_lines(uint8_t *dst, const uint8_t *src, size_t n)
{
	const __m128i *from = (const __m128i *)src;
	__m128i *to = (__m128i *)dst;

	for (; n > 0; n--, from += 4, to += 4) {
		__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1),
			c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

		/* Adjacent stores: a cache line that is written only in part must be read first. */
		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
}

void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t head = -(uintptr_t)dst & (COPY_CACHE_LINE - 1), lines;

	if (len < head + COPY_CACHE_LINE) {
		memcpy(dst, src, len);
		return;
	}
	lines = (len - head) / COPY_CACHE_LINE;
	memcpy(dst, src, head);
	copy_nontemporal_lines(dst + head, src + head, lines);
	head += lines * COPY_CACHE_LINE;
	memcpy(dst + head, src + head, len - head);
}

#else /* other architectures have no such instructions on every processor */

bool copy_nontemporal_is_supported(void)
{
	return false;
}

void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len)
{
	memcpy(dst, src, len);
}

#endif
