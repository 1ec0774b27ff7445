/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/tracefs/instance.h"

/*
 * Takes the instance that a config names, on loan: one of root/instances, or "hyp" and "hypervisor"
 * beside that folder. state: see struct loan_terms. 0; -EINVAL (no name), -ENOENT (not there), or
 * -errno, with a sentence that begins with the name.
 */
int named_instance_borrow(struct instance *i, const char *root, const char *state, const char *name,
			  struct err_text *e);
