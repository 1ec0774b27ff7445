#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: [INNER=DIR] tools/page_parts.sh DIR PAGE.html STYLE.css SCRIPT.js...
#
# Writes DIR/before.html and DIR/after.html: the page before and behind the data of a trace. Lines of PAGE.html:
#
#     @style@, @script@    are replaced by the style, and by the scripts as one
#     @data@               is where the first part ends
#
# The words STYLE_HASH and SCRIPT_HASH become the hashes of the Content-Security-Policy: the browser runs this script
# only. INNER_STYLE_HASH and INNER_SCRIPT_HASH are those of the page in INNER, which this page shows in a frame.
set -eu
out=$1 page=$2 style=$3
shift 3
mkdir -p "$out"

cat "$style" >"$out/style.css"
{
  echo '"use strict";'
  echo '(() => {'
  for script in "$@"; do
    echo
    sed '1{/SPDX-License-Identifier/d}' "$script"
  done
  echo '})();'
} >"$out/script.js"
if grep -n -i '</style\|<!--' "$out/style.css" || grep -n -i '</script\|<!--' "$out/script.js"; then
  echo "page_parts: this would end the element in HTML" >&2
  exit 1
fi

# The base64 of the SHA-256 of a file.
hash_of() {
  env printf "$(sha256sum "$1" | cut -c 1-64 | sed 's/../\\x&/g')" | base64
}

inner=
[ -z "${INNER:-}" ] ||
  inner="s|INNER_STYLE_HASH|sha256-$(hash_of "$INNER/style.css")|;s|INNER_SCRIPT_HASH|sha256-$(hash_of "$INNER/script.js")|"
sed -e "$inner" -e "s|STYLE_HASH|sha256-$(hash_of "$out/style.css")|" -e "s|SCRIPT_HASH|sha256-$(hash_of "$out/script.js")|" \
  "$page" >"$out/page.html"
awk -v style="$out/style.css" -v script="$out/script.js" -v before="$out/before.html" -v after="$out/after.html" '
  function put(tag, file,    line) {
    printf "<%s>", tag >to
    while ((getline line <file) > 0)
      print line >to
    printf "</%s>\n", tag >to
  }
  BEGIN { to = before }
  $1 == "@style@" { put("style", style); next }
  $1 == "@script@" { put("script", script); next }
  $1 == "@data@" { to = after; next }
  { print >to }' "$out/page.html"
