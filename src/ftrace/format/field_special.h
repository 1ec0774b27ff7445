/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "ftrace/format/field_kind.h"

/*
 * Fields of the kernel's group "ftrace", whose declarations do not say what they are: addresses of
 * code in an unsigned long, arrays that are longer than declared, bytes that are called char.
 * False: the declaration is all there is to know.
 */
bool field_plan_special(const struct tep_format_field *field, struct field_plan *ret);
