/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/text/span.h"

/* Answers of an object store: XML of a few known elements, and dates. The bytes are hostile. */

#define S3_ANSWER_MAX (4u << 20) /* bytes of a body that are read */
#define S3_UPLOAD_ID_SIZE 1025
#define S3_ETAG_SIZE 131

/* Cuts the text up to the next element of this name off *text, and writes its content with the five
 * entities of XML replaced, cut to fit. Elements with attributes or elements inside are not found.
 * Returns false if there is none. */
bool s3_answer_find(struct span *text, const char *element, char *ret, size_t size);

/* Returns true if the body is an error: some answers with status 200 have one. */
bool s3_answer_is_error(struct span body);

/* Returns true for the id of an upload that can be written into a line of a journal: 1 to 1024
 * printable ASCII characters without blanks. */
bool s3_upload_id_is_valid(const char *id);
/* Returns true for an ETag that can be written into a line of a journal and into XML: 1 to 128
 * letters, digits and '-', in quotation marks or not. */
bool s3_etag_is_valid(const char *etag);

/* Parses the date of a header, "Fri, 27 Nov 2026 20:15:00 GMT". Returns false if it is not one. */
bool s3_answer_parse_date(const char *text, time_t *ret);
