# setup.sh: what ./demo and ./check share: saying what happens, installing
# Debian packages when they are missing, building. Sourced, not run.

# Needed to build and run, and only to check.
packages_build="autoconf automake make gcc libc6-dev pkg-config libevent-dev
libmsgpack-dev libc-ares-dev liblmdb-dev nettle-dev libbsd-dev
liblua5.4-dev libpcre2-dev
libconfuse-dev libseccomp-dev libidn2-dev chromium-headless-shell fonts-dejavu-core perl procps"
packages_check="chromium clang clang-format clang-tidy libclang-rt-14-dev
cppcheck iproute2 libjson-c-dev mandoc zstd xz-utils binutils util-linux
openssl python3 strace systemd systemd-container user-mode-linux zsh"

say() {
	printf '%s: %s\n' "${0##*/}" "$*"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# die_of LOG MESSAGE...: with the end of what says why.
die_of() {
	of=$1
	shift
	tail -40 "$of" >&2
	die "$*: the end of $of is above"
}

# as_root COMMAND...: runs it as root, through sudo when need be.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root or sudo for: $*"
	fi
}

# all_reach PATH: whether an ordinary user can read it.
all_reach() {
	as_root setpriv --reuid=65534 --regid=65534 --clear-groups \
		test -r "$1"
}

# elsewhere_if_hidden: when $top is below a directory such as /root, of which an
# ordinary user sees nothing, runs the script that sources this in a copy of the
# tree, brings its logs back, and exits as it does.
elsewhere_if_hidden() {
	script=${0##*/}
	! all_reach "$top/$script" || return 0
	for in in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
		! all_reach "$in" || break
	done
	copy=$(mktemp -d "$in/browsertask-$script.XXXXXX") ||
		die "no ordinary user can read $top, and it cannot be copied"
	trap 'as_root rm -rf "$copy"' EXIT
	trap 'exit 1' HUP INT TERM
	say "no ordinary user can read $top: a copy is used, $copy/tree"
	chmod 755 "$copy" && mkdir -p "$copy/tree" "$copy/shared" &&
		tar -C "$top" --exclude=./build -cf - . |
		tar -C "$copy/tree" -xf - && chmod 755 "$copy/tree" ||
		die "$top cannot be copied to $copy"
	[ ! -d "$top/../shared/vectors" ] ||
		cp -R "$top/../shared/vectors" "$copy/shared/" ||
		die "the test vectors cannot be copied to $copy"
	"$copy/tree/$script" "$@"
	status=$?
	mkdir -p "$top/build" && cp -R "$copy/tree/build/log" "$top/build/"
	exit "$status"
}

# install_packages NAME...: installs those that are missing, and npm unless
# some npm is there already.
install_packages() {
	command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
		die "needs a Debian system (apt-get): install by hand: $*"
	command -v npm >/dev/null || set -- "$@" npm
	missing=
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
			grep -qx installed || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "installing packages:$missing"
	# The list of packages may be old or absent: make it new once.
	as_root apt-get -qq update ||
		die "apt-get update failed: is the package archive reachable?"
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends $missing >"$log_dir/packages.log" 2>&1 ||
		die_of "$log_dir/packages.log" "installing failed"
}

# build_in DIR CONFIGURE-OPTION...: configures once and builds.
build_in() {
	dir=$1
	shift
	[ -x "$top/configure" ] && [ "$top/configure" -nt "$top/configure.ac" ] ||
		(cd "$top" && ./autogen.sh) >"$log_dir/autogen.log" 2>&1 ||
		die_of "$log_dir/autogen.log" "autogen.sh failed"
	mkdir -p "$dir"
	[ -f "$dir/config.status" ] ||
		(cd "$dir" && "$top/configure" "$@") \
			>"$log_dir/configure.log" 2>&1 ||
		die_of "$log_dir/configure.log" "configure failed"
	make -C "$dir" -j"$(nproc)" >"$log_dir/build.log" 2>&1 ||
		die_of "$log_dir/build.log" "building failed"
}
