#!/usr/bin/perl
# A system of its own, booted by systemd in a container, with the service
# installed in it: start, a batch, reload, restart, a killed launcher, a hung
# supervisor, a clean stop, and a start by socket. The container has the
# machine's /usr and nothing else of it; what is tried inside is in
# t/scenario/systemd_inside.pl, which prints what is compared here.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my ($src, $build) = ($ENV{srcdir}, $ENV{builddir});
my $SECONDS = 120;

plan skip_all => 'needs root' if $> != 0;
plan skip_all => 'systemd-nspawn is not installed (systemd-container)'
    if system('command -v systemd-nspawn >/dev/null') != 0;
plan skip_all => 'systemd is not installed' if !-x '/lib/systemd/systemd';
plan skip_all => 'a build with sanitizers has no filters, and takes too long'
    if sanitized();
my ($prefix) = (slurp("$build/Makefile") // '') =~ /^prefix = (.*)$/m;
plan skip_all => 'the build is for a prefix that systemd does not look below'
    if ($prefix // '') !~ m{^/usr(?:/local)?$};

my $dir = tempdir('bt-systemd-XXXXXX', TMPDIR => 1);
my $root = "$dir/root";
my $child = 0;
my $owner = $$;
END {
	if ($$ == $owner && defined $dir) {
		my $status = $?;
		kill 'KILL', $child if $child;
		remove_tree($dir);
		$? = $status;
	}
}
$SIG{$_} = sub { exit 1 } for qw(HUP INT PIPE TERM);

is(install(), 0, 'make install DESTDIR=');
for my $file (qw(system/browsertaskd.service system/browsertaskd-admin.socket
    system/browsertaskd-client.socket user/browsertaskd.service)) {
	my @found = grep { -e } glob "$dir/inst/usr/{,local/}lib/systemd/$file";
	is(scalar @found, 1, "$file is installed");
}
make_root();
my ($status, $console) = boot();
my $out = slurp("$root/results");
if (!defined $out) {
	# Not every machine lets a container be made: one in a container may not.
	diag $console;
	plan_skip('systemd-nspawn boots nothing here');
}
my %got;
while ($out =~ /^(\w+): (.*)$/mg) {
	push @{ $got{$1} }, $2;
}
is($status, 0, 'the container was started and powered off');
for my $want (
	[ sysusers => qr/^browsertask:.*browsertask-admin:/,
	    'the groups are made' ],
	[ start => qr/^0 active running$/, 'start returns when it is ready' ],
	[ batch => qr/^0 succeeded 3 items$/, 'a batch of local pages' ],
	[ credential => qr/^0 not told, the site got user=ada&password=canary-5071$/,
	    'a secret that systemd hands over is filled in' ],
	[ doctor => qr/^0 off:$/, 'doctor finds no protection missing' ],
	[ reload => qr/^0 active, took 7$/, 'reload takes a setting' ],
	[ badreload => qr/^[1-9]\d* active, has 7$/,
	    'a file with a mistake is refused by reload' ],
	[ restart => qr/^0 active, runs kept: 1$/,
	    'restart: another process, the same runs' ],
	[ killed => qr/^active, restarts 1, left 0$/,
	    'kill -9: started anew, nothing left of before' ],
	[ hung => qr/^active, restarts 2, watchdog$/,
	    'a supervisor that hangs: the watchdog ends and starts it' ],
	[ stop => qr/^0 inactive, processes 0, sockets 0, groups 0$/,
	    'stop: nothing is left' ],
	[ socket => qr/^inactive, then 0 active$/,
	    'a client starts it by its socket' ],
	[ socketstop => qr/^0 inactive, processes 0, sockets 2$/,
	    'stop leaves the sockets to systemd' ],
	[ nobody => qr/^refused$/, 'users outside the group are kept out' ],
) {
	my ($name, $re, $text) = @$want;
	like(join("\n", @{ $got{$name} // ['(nothing)'] }), $re, $text);
}
diag $out, $console if !Test::More->builder->is_passing;
note $out;
done_testing();

sub sanitized {
	my $defs = slurp("$build/config.status") // '';
	return $defs =~ /-fsanitize=|--coverage/;
}

sub plan_skip {
	my ($why) = @_;
SKIP: {
		skip $why, 1;
	}
	done_testing();
	exit 0;
}

sub slurp {
	my ($path) = @_;
	open(my $in, '<', $path) or return undef;
	local $/;
	return scalar <$in>;
}

sub install {
	local %ENV = %ENV;
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
	return system("make -s -C '$build' install DESTDIR='$dir/inst' "
	    . ">'$dir/install.log' 2>&1") >> 8;
}

sub make_root {
	make_path(map { "$root/$_" } qw(etc/systemd/system proc sys dev run tmp
	    var/lib var/log root home usr srv));
	symlink "usr/$_", "$root/$_" for qw(bin sbin lib lib64);
	for my $file (qw(passwd group nsswitch.conf ld.so.cache ld.so.conf)) {
		copy("/etc/$file", "$root/etc/$file") if -e "/etc/$file";
	}
	# So that /etc/ssl and the others keep their links.
	for my $sub (qw(alternatives fonts ssl)) {
		system('cp', '-a', "/etc/$sub", "$root/etc/") if -d "/etc/$sub";
	}
	system("sed -i '/^browsertask/d' '$root/etc/group'");
	put('etc/machine-id', '');
	put('etc/os-release', "ID=debian\n");
	put('inside.pl', slurp("$src/t/scenario/systemd_inside.pl"));
	# What is not below /usr where it was installed.
	for my $top (qw(etc var)) {
		system('cp', '-a', "$dir/inst/$top", "$root/")
		    if -d "$dir/inst/$top";
	}
	put('etc/systemd/system/inside.service', <<'END');
[Unit]
After=basic.target
[Service]
Type=oneshot
ExecStart=/usr/bin/perl /inside.pl
ExecStopPost=/bin/systemctl --no-block --force poweroff
StandardOutput=file:/results
StandardError=file:/errors
TimeoutStartSec=100
END
}

sub put {
	my ($name, $text) = @_;
	open(my $fh, '>', "$root/$name") or die "$name: $!\n";
	print $fh $text;
	close $fh or die "$name: $!\n";
}

sub boot {
	my $end = time + $SECONDS;

	$child = fork() // die "fork: $!\n";
	if ($child == 0) {
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', "$dir/console");
		open(STDERR, '>&', \*STDOUT);
		# One tree of control groups, as on a machine of today.
		$ENV{SYSTEMD_NSPAWN_UNIFIED_HIERARCHY} = 1;
		exec('systemd-nspawn', '-q', '-D', $root, '--boot',
		    '--register=no', '--keep-unit', '--private-network',
		    '--console=pipe', '--machine=browsertask-test',
		    "--overlay-ro=/usr:$dir/inst/usr:/usr",
		    '--system-call-filter=landlock_create_ruleset '
		    . 'landlock_add_rule landlock_restrict_self',
		    '--', 'systemd.unit=inside.service')
		    or POSIX::_exit(127);
	}
	$SIG{ALRM} = sub { kill 'KILL', $child };
	alarm $SECONDS;
	waitpid $child, 0;
	alarm 0;
	$child = 0;
	return ($?, (slurp("$dir/console") // '')
	    . (slurp("$root/errors") // ''));
}
