/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of any bytes, as sonda metrics takes them, whole and in two pieces; and the choice of a format. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/metrics_write.h"
#include "cli/metrics/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy on the heap: reads behind its end are found. */
static enum http_result parse(const uint8_t *data, size_t size, size_t *ret_len)
{
	char *copy = malloc(size + !size);
	struct http_request request;
	enum http_result r;
	unsigned status = 0;

	memcpy(copy, data, size);
	r = http_request_parse(copy, size, &request, ret_len, &status);
	if (r == HTTP_COMPLETE && (*ret_len > size || request.path[0] != '/' ||
				   strlen(request.path) >= sizeof(request.path)))
		abort();
	if (r == HTTP_REFUSED && (status < 400 || status > 505))
		abort();
	if (r == HTTP_COMPLETE)
		(void)metrics_format_choose(request.accept);
	free(copy);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = 0, again = 0;
	enum http_result r = parse(data, size, &len);

	/* What follows the head changes nothing, and half a head is incomplete or refused. */
	if (r == HTTP_COMPLETE && (parse(data, len, &again) != HTTP_COMPLETE || again != len))
		abort();
	if (r == HTTP_COMPLETE && parse(data, len / 2, &again) == HTTP_COMPLETE)
		abort();
	return 0;
}
