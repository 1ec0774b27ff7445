/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/finding.h"
#include "analyze/findings/recorded.h"

/* The bytes up to the first 0 as the file of a finding, those after it as the config of a trace. */

#define MUST(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_finding(const struct finding *f, const uint8_t *config, size_t len)
{
	MUST(f->title && f->words && f->n_thresholds);
	MUST(f->n_needs <= FINDING_NEEDS_MAX && f->n_thresholds <= FINDING_THRESHOLDS_MAX);
	MUST(!f->n_needs || !f->needs[f->n_needs - 1].or_next);
	for (size_t i = 0; i < f->n_needs; i++) {
		MUST(*f->needs[i].name);
		if (f->needs[i].kind == NEED_EVENT || f->needs[i].kind == NEED_SOURCE)
			recorded_is_requested(config, len, &f->needs[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	char *text = malloc(len + 1);
	struct err_text e = {""};
	struct finding f;
	int r;

	if (!text)
		return 0;
	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	r = finding_parse("finding.sql", text, &f, &e);
	MUST(r == 0 || (r == -EINVAL && !strncmp(e.text, "finding.sql:", 12)) || r == -ENOMEM);
	if (r == 0) {
		check_finding(&f, end ? end + 1 : NULL, end ? size - len - 1 : 0);
		finding_deinit(&f);
	}
	free(text);
	return 0;
}
