#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What README.md, CONTRIBUTING.md, NEWS.md and docs/ name exists: links, files, make targets, options, config fields, message
# fields. Configs in them parse, and commands that need no rights run. (Examples of `sonda record` are run by
# tests/root/test_record_examples.sh.)
set -u
cd "$(dirname "$0")/../.." || exit 2
command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 77; }
exec python3 tests/rules/check_docs.py "${BUILD:-build}"
