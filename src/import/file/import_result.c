/* SPDX-License-Identifier: Apache-2.0 */
#include "import/file/import_result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

void import_copy_text(char *ret, size_t size, const char *text)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++)
		ret[n++] = (char)(*text < ' ' || *text > '~' ? '?' : *text);
	ret[n] = '\0';
}

void import_add_note(struct import_result *r, const char *fmt, ...)
{
	char text[sizeof(r->notes[0])], plain[sizeof(r->notes[0])];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	import_copy_text(plain, sizeof(plain), text);
	for (uint32_t i = 0; i < MIN(r->n_notes, (uint32_t)IMPORT_NOTES); i++)
		if (!strcmp(r->notes[i], plain))
			return;
	if (r->n_notes < IMPORT_NOTES)
		memcpy(r->notes[r->n_notes], plain, sizeof(plain));
	r->n_notes++;
}

int import_set_error(struct import_result *r, int code, const char *fmt, ...)
{
	char text[sizeof(r->problem)];
	va_list args;

	if (r->error)
		return code;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	import_copy_text(r->problem, sizeof(r->problem), text);
	r->error = code;
	return code;
}
