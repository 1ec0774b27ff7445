/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/report.h"

#include <string.h>

#include "base/core/mem.h"

#define REPORT_ADDRESS(name) &report_##name,

static const struct report *const reports[] = {REPORT_ROWS(REPORT_ADDRESS)};

const struct report *report_at(size_t i)
{
	return i < ARRAY_SIZE(reports) ? reports[i] : NULL;
}

const struct report *report_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		if (!strcmp(reports[i]->name, name))
			return reports[i];
	return NULL;
}
