#!/bin/sh
# readability.sh SRCDIR OUTDIR [FILE]: puts Readability.js and its licence into
# OUTDIR, from FILE, the copy of a release, or the package pinned by
# page/package-lock.json. An empty Readability.js says that there is none.
set -e
src=$1/page
out=$2
file=$3
: >"$out/LICENSE.md"
if [ -n "$file" ]; then
	cp "$file" "$out/Readability.js"
	dir=$(dirname "$file")
	test ! -f "$dir/LICENSE.md" || cp "$dir/LICENSE.md" "$out/"
elif [ -f "$src/vendor/Readability.js" ]; then
	cp "$src/vendor/Readability.js" "$src/vendor/LICENSE.md" "$out/"
elif [ -n "$NPM" ]; then
	rm -rf "$out/npm"
	mkdir -p "$out/npm"
	cp "$src/package.json" "$src/package-lock.json" "$out/npm/"
	(cd "$out/npm" &&
	    "$NPM" ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) || {
		cat "$out/npm/npm.log" >&2
		echo "readability.sh: npm ci failed; give --with-readability=FILE" >&2
		exit 1
	}
	cp "$out/npm/node_modules/@mozilla/readability/Readability.js" \
	    "$out/npm/node_modules/@mozilla/readability/LICENSE.md" "$out/"
	rm -rf "$out/npm"
else
	echo "readability.sh: no npm and no file: built without Readability" >&2
	: >"$out/Readability.js"
fi
chmod u+w "$out/Readability.js" "$out/LICENSE.md"
