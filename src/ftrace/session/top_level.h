/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * The top level of tracefs is everybody's. Reading its rings takes records away from whoever wants
 * to have them, so before we begin there it is looked whether somebody does: a tracer is set, an
 * event is on, some process reads, or a recording was stopped and lies in the rings. (Markers that
 * come into rings which are on, where nothing else is, are nobody's recording.)
 *
 * 0, or -EBUSY with a sentence.
 */
int top_level_is_free(const char *root, const char *proc_root, struct err_text *e);
