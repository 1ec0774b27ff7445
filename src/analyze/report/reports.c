/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/report.h"

#include <string.h>

const struct report *report_at(size_t i)
{
	return i < n_reports ? &reports[i] : NULL;
}

const struct report *report_find(const char *name)
{
	for (size_t i = 0; i < n_reports; i++)
		if (!strcmp(reports[i].name, name))
			return &reports[i];
	return NULL;
}
