/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pb_read.h"

#include <string.h>

static void pb_read_store(const struct pb_to *to, const struct pb_field *f)
{
	if (to->kind != PB_KIND_ANY && (to->kind == PB_KIND_BYTES) != (f->data != NULL))
		return;
	switch (to->kind) {
	case PB_KIND_32:
		*(uint32_t *)to->to = (uint32_t)f->u64;
		break;
	case PB_KIND_64:
		memcpy(to->to, &f->u64, sizeof(f->u64));
		break;
	case PB_KIND_BOOL:
		*(bool *)to->to = f->u64 != 0;
		break;
	case PB_KIND_BYTES:
	case PB_KIND_ANY:
		*(struct pb_field *)to->to = *f;
		break;
	}
}

bool pb_read_fields(const struct pb_field *message, const struct pb_to *to, size_t n)
{
	struct pb_dec d = pb_dec_of(message);
	uint64_t wanted = 0; /* a bit for each number modulo 64; skips most fields of long lists */
	struct pb_field f;

	for (size_t i = 0; i < n; i++)
		wanted |= UINT64_C(1) << to[i].field % 64;
	while (pb_dec_next(&d, &f))
		for (size_t i = 0; i < n && wanted >> f.id % 64 & 1; i++)
			if (to[i].field == f.id)
				pb_read_store(&to[i], &f);
	return pb_dec_ok_of(&d, message);
}
