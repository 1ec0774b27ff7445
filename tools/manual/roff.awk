# SPDX-License-Identifier: Apache-2.0
#
# Functions for awk programs that write man pages.

# Escapes what roff would interpret, and makes quotes and dashes those that a shell reads. text must not have line ends.
function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/'/, "\\(aq", text)
	gsub(/`/, "\\(ga", text)
	gsub(/\^/, "\\(ha", text)
	gsub(/~/, "\\(ti", text)
	return text
}

# One argument of a macro.
function roff_arg(text) {
	text = roff(text)
	gsub(/"/, "\\(dq", text)
	return "\"" text "\""
}

# A line of text that does not begin with a control character.
function put(text) {
	sub(/^ +/, "", text)
	print (text ~ /^[.]/ ? "\\&" : "") text
}

function bold(text) {
	return "\\fB" roff(text) "\\fR"
}

function italic(text) {
	return text == "" ? "\\&" : "\\fI" roff(text) "\\fR"
}

# A usage or an option: options and lower-case words are typed as they are, words in capitals are replaced.
function synopsis(text,    out, word) {
	out = ""
	while (match(text, /--?[A-Za-z][-a-z]*|[A-Z][A-Z_0-9]+|[a-z][-a-z]*|[^-A-Za-z]+|./)) {
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (word ~ /^-|^[a-z]/)
			out = out bold(word)
		else if (word ~ /^[A-Z]/)
			out = out "\\fI" roff(word) "\\fR"
		else
			out = out roff(word)
	}
	return out
}

# Markdown's `code`, **bold** and [text](target) of one paragraph.
function inline(text,    out, at, rest, target) {
	out = ""
	while (match(text, /`[^`]+`|\*\*[^*]+\*\*|\[[^]]+\]\([^)]+\)/)) {
		out = out roff(substr(text, 1, RSTART - 1))
		at = substr(text, RSTART, RLENGTH)
		rest = substr(text, RSTART + RLENGTH)
		if (at ~ /^`/) {
			out = out bold(substr(at, 2, length(at) - 2))
		} else if (at ~ /^\*/) {
			out = out bold(substr(at, 3, length(at) - 4))
		} else {
			target = at
			sub(/^.*\]\(/, "", target)
			sub(/\)$/, "", target)
			sub(/\]\(.*$/, "", at)
			at = substr(at, 2)
			gsub(/`/, "", at)
			out = out roff(at)
			if (target ~ /^https?:/ && target != at)
				out = out " (" roff(target) ")"
		}
		text = rest
	}
	return out roff(text)
}
