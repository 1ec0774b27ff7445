/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of Alertmanager's webhook, of any bytes. An alert that is written as JSON is read as the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/alert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(void *ctx, const struct alert *a)
{
	struct strbuf json = {0}, packet = {0};
	struct json_reader r;
	struct alert again;

	++*(size_t *)ctx;
	alert_put_json(a, &json);
	alert_put_packet(a, &packet);
	json_reader_init(&r, json.s, json.len);
	if (!alert_read(&r, &again) || !json_end(&r) || again.n_labels > a->n_labels ||
	    again.is_firing != a->is_firing || strcmp(again.fingerprint, a->fingerprint) != 0 ||
	    strchr(json.s, '\n') || !packet.len)
		abort();
	strbuf_deinit(&json);
	strbuf_deinit(&packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + !size);
	size_t n = 0;

	memcpy(copy, data, size);
	if (alert_for_each(copy, size, write_again, &n) < 0 && n)
		abort();
	free(copy);
	return 0;
}
