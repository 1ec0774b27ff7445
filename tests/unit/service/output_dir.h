/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/output/file_helper.h"

/* For tests whose sessions have an output_path below /tmp: setup and teardown of a group. */

static inline int output_dir_start(void **state)
{
	const struct file_helper_options o = {.output_dir = "/tmp"};
	struct err_text e;

	return file_helper_start(&o, &e);
}

static inline int output_dir_end(void **state)
{
	file_helper_end();
	return 0;
}
