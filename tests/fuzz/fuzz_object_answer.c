/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of an object store, of any bytes: elements, errors, ids, dates. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/s3/s3_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), value[S3_UPLOAD_ID_SIZE];
	struct span body = {copy, size};
	time_t t;

	memcpy(copy, data, size);
	copy[size] = '\0';
	while (s3_answer_find(&body, "UploadId", value, sizeof(value)))
		if (strlen(value) >= sizeof(value) || body.p + body.len != copy + size ||
		    (s3_upload_id_is_valid(value) && strchr(value, '\n')))
			abort();
	if (s3_answer_is_error((struct span){copy, size}) && size < strlen("<Error>"))
		abort();
	if (s3_etag_is_valid(copy) && strlen(copy) >= S3_ETAG_SIZE)
		abort();
	(void)s3_answer_parse_date(copy, &t);
	free(copy);
	return 0;
}
