/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err_text *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	if (vsnprintf(e->text, sizeof(e->text), fmt, ap) < 0)
		e->text[0] = '\0';
	va_end(ap);
	return code;
}
